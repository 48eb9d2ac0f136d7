// The machine as plain data. First form: what of this host's processor and memory a process may use. Functions on it
// are pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/api.h"

namespace peal {

struct CacheGroup {  // cores that share a last-level cache
  uint64_t bytes = 0;
  std::vector<int> cpus;
};

struct NumaNode {
  int number = 0;
  uint64_t memory_bytes = 0;
  std::vector<int> cpus;
};

struct Machine {
  std::string processor;  // model name, "" if unknown
  std::vector<int> cpus;  // logical processors that may be used, by the kernel's numbers
  int cores = 0;          // physical cores among them
  int packages = 0;
  std::vector<NumaNode> numa_nodes;
  std::vector<CacheGroup> last_level_caches;
  std::string source;  // "hwloc" or "the kernel's affinity mask"
};

// This machine, cut to what this process may use (affinity, cgroup cpuset). Never fails: what can't be read is left
// out.
PEAL_API Machine discover_machine();

// One or a few lines for people: "1 package, 2 cores, 1 NUMA node of 23.4 GiB, 1 last-level cache of 260 MiB".
PEAL_API std::string summary(const Machine& machine);

}  // namespace peal
