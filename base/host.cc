#include "base/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <string>

#include "base/cgroup.h"
#include "base/settings.h"

namespace peal {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Processors in the affinity mask. The mask's size is the kernel's choice, so larger ones are tried.
int allowed_cores() {
  for (int processors = CPU_SETSIZE; processors <= 1 << 20; processors *= 2) {
    cpu_set_t* mask = CPU_ALLOC(processors);
    if (mask == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const int error = sched_getaffinity(0, bytes, mask) == 0 ? 0 : errno;
    const int count = error == 0 ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (error != EINVAL) return count;
  }
  return 1;
}

}  // namespace

std::string host_id(const Settings& settings) {
  if (!settings.host_id.empty()) return settings.host_id;
  struct stat status {};
  stat("/proc/self/ns/net", &status);
  return fmt::format("{}-{}", first_line("/proc/sys/kernel/random/boot_id"), status.st_ino);
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

int usable_cores() { return std::max(1, std::min(allowed_cores(), cgroup_cores())); }

}  // namespace peal
