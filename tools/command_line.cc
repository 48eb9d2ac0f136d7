#include "tools/command_line.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "topology/read.h"

namespace peal {

int run_command(CLI::App& app, std::string_view name, int argc, char** argv, const std::function<int()>& work) {
  constexpr int kUsage = 2;
  try {
    app.parse(argc, argv);
    return work();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return error.code() == ErrorCode::kInvalidArgument ? kUsage : 1;
  }
}

Machine machine_argument(const std::string& text) {
  std::error_code error;
  const bool described = text.find(':') != std::string::npos || text.starts_with("dgx-");
  return described && !std::filesystem::exists(text, error) ? parse_machine(text, "--from") : read_machine(text);
}

}  // namespace peal
