#include "base/conf_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace peal {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

std::vector<ConfLine> parse_conf(std::istream& text, const std::string& path) {
  std::vector<ConfLine> lines;
  std::string whole;
  for (int number = 1; std::getline(text, whole); number++) {
    const std::string_view line = trim(whole);
    if (line.empty() || line.front() == '#') continue;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}:{}: expected NAME=value, found '{}'", path, number, line));
    }
    lines.push_back({std::string(trim(line.substr(0, equals))), std::string(trim(line.substr(equals + 1))), number});
  }
  return lines;
}

std::vector<ConfLine> read_conf_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  // A directory opens, and fails at the first read.
  if (!file || (file.peek() == std::ifstream::traits_type::eof() && errno != 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("PEAL_CONF_FILE: can't read '{}': {}", path, std::strerror(errno)));
  }
  file.clear();
  return parse_conf(file, path);
}

}  // namespace peal
