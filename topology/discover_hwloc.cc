#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "topology/machine.h"

namespace peal {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

std::vector<int> numbers(hwloc_const_cpuset_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) cpus.push_back(cpu);
  return cpus;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
}

// The outermost cache that the processor has.
std::vector<CacheGroup> last_level_caches(hwloc_topology_t topology) {
  std::vector<CacheGroup> groups;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    for (int i = 0; i < count(topology, type); i++) {
      const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, static_cast<unsigned>(i));
      groups.push_back({cache->attr->cache.size, numbers(cache->cpuset)});
    }
    if (!groups.empty()) break;
  }
  return groups;
}

}  // namespace

Machine discover_machine() {
  Machine machine;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return machine;
  const Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return machine;
  // hwloc leaves out what a cgroup forbids; the affinity mask it does not look at.
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(raw, bound, HWLOC_CPUBIND_PROCESS) == 0) hwloc_topology_restrict(raw, bound, 0);
  hwloc_bitmap_free(bound);

  const hwloc_obj_t root = hwloc_get_root_obj(raw);
  machine.cpus = numbers(root->cpuset);
  machine.cores = count(raw, HWLOC_OBJ_CORE);
  machine.packages = count(raw, HWLOC_OBJ_PACKAGE);
  for (int i = 0; i < count(raw, HWLOC_OBJ_NUMANODE); i++) {
    const hwloc_obj_t node = hwloc_get_obj_by_type(raw, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
    machine.numa_nodes.push_back(
        {static_cast<int>(node->os_index), node->attr->numanode.local_memory, numbers(node->cpuset)});
  }
  machine.last_level_caches = last_level_caches(raw);
  if (machine.packages > 0) {
    const char* model = hwloc_obj_get_info_by_name(hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0), "CPUModel");
    if (model != nullptr) machine.processor = model;
  }
  machine.source = "hwloc";
  return machine;
}

}  // namespace peal
