#include "topology/discover_flat.h"

#include <sched.h>

#include "base/host.h"

namespace peal {

Machine discover_flat() {
  Machine machine;
  machine.source = "the kernel's affinity mask";
  Host& host = machine.hosts.emplace_back();
  host.name = host_name();
  Object object;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &mask)) object.cpus.push_back(cpu);
  }
  host.objects.push_back(object);
  for (const int cpu : object.cpus) {
    host.objects.push_back({.kind = ObjectKind::kCore, .parent = 0, .number = cpu, .cpus = {cpu}});
  }
  return machine;
}

}  // namespace peal
