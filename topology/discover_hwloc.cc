#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/host.h"
#include "topology/read.h"

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

}  // namespace

Machine discover_machine(Cut cut) {
  Machine machine;
  machine.source = "this machine (hwloc)";
  Host& host = machine.hosts.emplace_back();
  host.name = host_name();
  Object& root_object = host.objects.emplace_back();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return machine;
  const Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return machine;
  // hwloc leaves out what a cgroup forbids; the affinity mask it does not look at.
  hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  if (cut == Cut::kAffinity && hwloc_get_cpubind(raw, bound, HWLOC_CPUBIND_PROCESS) == 0)
    hwloc_topology_restrict(raw, bound, 0);
  hwloc_bitmap_free(bound);
  root_object.cpus = numbers(hwloc_get_root_obj(raw)->cpuset);
  const auto add = [&](hwloc_obj_type_t type, ObjectKind kind) {
    for (hwloc_obj_t from = nullptr; (from = hwloc_get_next_obj_by_type(raw, type, from)) != nullptr;) {
      Object object{
          .kind = kind, .parent = 0, .number = static_cast<int>(from->os_index), .cpus = numbers(from->cpuset)};
      if (kind == ObjectKind::kNumaNode) object.bytes = from->attr->numanode.local_memory;
      if (kind == ObjectKind::kCache) object.bytes = from->attr->cache.size, object.cache_level = 3;
      const char* model = hwloc_obj_get_info_by_name(from, "CPUModel");
      if (kind == ObjectKind::kPackage && model != nullptr) object.name = model;
      host.objects.push_back(std::move(object));
    }
  };
  add(HWLOC_OBJ_PACKAGE, ObjectKind::kPackage);
  add(HWLOC_OBJ_NUMANODE, ObjectKind::kNumaNode);
  add(HWLOC_OBJ_L3CACHE, ObjectKind::kCache);
  add(HWLOC_OBJ_CORE, ObjectKind::kCore);
  return machine;
}

}  // namespace peal
