// CPU time that the kernel's control groups grant this process.
#pragma once

#include <string>

namespace peal {

// Whole cores' worth of CPU time, rounded up and at least 1; INT_MAX without a limit. Reads /proc/self/cgroup and
// /sys/fs/cgroup (version 2, and version 1's cpu hierarchy) below `root`, which tests point at a tree of their own.
int cgroup_cores(const std::string& root = "");

}  // namespace peal
