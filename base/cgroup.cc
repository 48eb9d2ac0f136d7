#include "base/cgroup.h"

#include <algorithm>
#include <climits>
#include <fstream>
#include <string>

namespace peal {
namespace {

int cores_of(int64_t quota_us, int64_t period_us) {
  if (quota_us <= 0 || period_us <= 0) return INT_MAX;  // -1: no limit
  return static_cast<int>(std::clamp<int64_t>((quota_us + period_us - 1) / period_us, 1, INT_MAX));
}

// The first number in a file; 0 where there is none ("max", or no such file).
int64_t first_number(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : 0;
}

// One line, "quota period" or "max period".
int cores_version_2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  int64_t quota = 0, period = 0;
  return file >> quota >> period ? cores_of(quota, period) : INT_MAX;
}

int cores_version_1(const std::string& directory) {
  return cores_of(first_number(directory + "/cpu.cfs_quota_us"), first_number(directory + "/cpu.cfs_period_us"));
}

// This process's directory in the hierarchy of `controller` ("" for version 2): lines are "id:controllers:path".
std::string own_path(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",," ? controller.empty() : controllers.find("," + controller + ",") != std::string::npos) {
      return line.substr(second + 1);
    }
  }
  return "";
}

// A limit may stand at any level above; a container sees its own level as the root.
template <class CoresOf>
int least_of_levels(const std::string& mount, std::string path, CoresOf cores) {
  int least = cores(mount);
  for (; path.size() > 1; path.resize(path.rfind('/'))) least = std::min(least, cores(mount + path));
  return least;
}

}  // namespace

int cgroup_cores(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  return std::min(least_of_levels(mount, own_path(root, ""), cores_version_2),
                  least_of_levels(mount + "/cpu", own_path(root, "cpu"), cores_version_1));
}

}  // namespace peal
