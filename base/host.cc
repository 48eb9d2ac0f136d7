#include "base/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <sstream>
#include <string>

#include "base/settings.h"

namespace peal {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Whole cores that a quota of `quota` microseconds each `period` allows; INT_MAX without one.
int cores_of(long quota, long period) {
  if (quota <= 0 || period <= 0) return INT_MAX;
  return static_cast<int>(std::max(1L, (quota + period - 1) / period));
}

// The directory of this process's cgroup in hierarchy `controller` ("" for version 2), relative to its mount.
std::string cgroup_path(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == "," + controller + "," ||
        (!controller.empty() && controllers.find("," + controller + ",") != std::string::npos)) {
      return line.substr(second + 1);
    }
  }
  return "";
}

int quota_version_2(const std::string& directory) {
  std::istringstream line(first_line(directory + "/cpu.max"));
  std::string quota;
  long period = 0;
  line >> quota >> period;
  return quota.empty() || quota == "max" ? INT_MAX : cores_of(std::atol(quota.c_str()), period);
}

// A limit may stand at any level above; a container sees its own level as the root.
int cgroup_cores() {
  const std::string root = "/sys/fs/cgroup";
  int least = std::min(quota_version_2(root), cores_of(std::atol(first_line(root + "/cpu/cpu.cfs_quota_us").c_str()),
                                                       std::atol(first_line(root + "/cpu/cpu.cfs_period_us").c_str())));
  for (std::string path = cgroup_path(""); path.size() > 1; path = path.substr(0, path.rfind('/'))) {
    least = std::min(least, quota_version_2(root + path));
  }
  for (std::string path = cgroup_path("cpu"); path.size() > 1; path = path.substr(0, path.rfind('/'))) {
    least = std::min(least, cores_of(std::atol(first_line(root + "/cpu" + path + "/cpu.cfs_quota_us").c_str()),
                                     std::atol(first_line(root + "/cpu" + path + "/cpu.cfs_period_us").c_str())));
  }
  return least;
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

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int allowed = sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 1;
  return std::max(1, std::min(allowed, cgroup_cores()));
}

}  // namespace peal
