#include "transports/bootstrap/root_address.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace peal {
namespace {

bool parse_port(const std::string& text, uint16_t& port) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port != 0;
}

}  // namespace

RootAddress parse_root(const std::string& text) {
  RootAddress root;
  if (text.starts_with("unix:")) root.unix_name = text.substr(5);
  if (!root.unix_name.empty()) return root;
  size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0 && parse_port(text.substr(colon + 1), root.port)) {
    root.host = text.substr(0, colon);
    bool bracketed = root.host.size() > 2 && root.host.front() == '[' && root.host.back() == ']';
    if (bracketed) root.host = root.host.substr(1, root.host.size() - 2);
    if (bracketed || root.host.find_first_of(":[]") == std::string::npos) return root;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("root is \"{}\": expected host:port, [ipv6]:port or unix:NAME", text));
}

}  // namespace peal
