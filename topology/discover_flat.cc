// Without hwloc: a flat list of processors.
#include <sched.h>

#include "topology/machine.h"

namespace peal {

Machine discover_machine() {
  Machine machine;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &mask)) machine.cpus.push_back(cpu);
  }
  machine.cores = static_cast<int>(machine.cpus.size());
  machine.source = "the kernel's affinity mask";
  return machine;
}

}  // namespace peal
