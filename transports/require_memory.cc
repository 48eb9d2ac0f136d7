#include "transports/require_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace peal {
namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

// MemAvailable of /proc/meminfo.
size_t left_on_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    size_t kb = 0;
    if (word == "MemAvailable:" && file >> kb) return kb * 1024;
  }
  return kUnlimited;
}

std::optional<size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

// What the version 2 cgroup of this process may still take; its ancestors are not asked.
size_t left_in_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    std::string folder = "/sys/fs/cgroup" + line.substr(3);
    auto most = number_in(folder + "/memory.max"), now = number_in(folder + "/memory.current");
    if (most && now) return *most > *now ? *most - *now : 0;
  }
  return kUnlimited;
}

size_t memory_left() { return std::min(left_on_machine(), left_in_cgroup()); }

}  // namespace

void require_memory(std::string_view transport, size_t bytes) {
  if (bytes >= (size_t{1} << 20) && bytes > memory_left()) throw no_memory(transport, bytes, ENOMEM);
}

Error no_memory(std::string_view transport, size_t bytes, int error_number) {
  return system_error(
      fmt::format("{}: can't reserve {:.1f} MiB of memory, {:.1f} MiB are left; lower PEAL_BUFFSIZE or "
                  "PEAL_WINDOW, raise the memory limit, or use PEAL_TRANSPORT=tcp",
                  transport, static_cast<double>(bytes) / 1048576, static_cast<double>(memory_left()) / 1048576),
      error_number);
}

}  // namespace peal
