// This machine through hwloc: what it found is written as XML and read like any file, so that a machine and a file of
// it can't be told apart. What hwloc does not look at comes from sysfs, libibverbs and CUDA.
#include <fmt/format.h>
#include <hwloc.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "topology/cuda_devices.h"
#include "topology/discover_flat.h"
#include "topology/rdma_devices.h"
#include "topology/read.h"

namespace peal {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

// hwloc unloads its plugins with the last topology, and what they allocated once for the process is lost then, and
// allocated again next time. An empty topology that lives as long as the process keeps them.
void keep_plugins_loaded() {
  static hwloc_topology_t empty = nullptr;
  static const int once = hwloc_topology_init(&empty);
  static_cast<void>(once);
}

// hwloc leaves out what a cgroup forbids; at the affinity mask it does not look. Devices stay, wherever they hang.
void cut_to_affinity(hwloc_topology_t topology) {
  const hwloc_bitmap_t bound = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_topology_restrict(topology, bound, HWLOC_RESTRICT_FLAG_ADAPT_IO);
  }
  hwloc_bitmap_free(bound);
}

Topology load(Cut cut) {
  keep_plugins_loaded();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // These start a display driver or an OpenCL runtime, which takes long and tells nothing that is used here.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "opencl");
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  if (cut == Cut::kAffinity) cut_to_affinity(raw);
  return topology;
}

std::string as_xml(hwloc_topology_t topology) {
  char* buffer = nullptr;
  int bytes = 0;
  if (hwloc_topology_export_xmlbuffer(topology, &buffer, &bytes, 0) != 0) return "";
  std::string text(buffer);  // `bytes` counts the end mark
  hwloc_free_xmlbuffer(topology, buffer);
  return text;
}

double number_in(const std::string& file) {
  double value = 0;
  std::ifstream(file) >> value;
  return value;
}

// Functions of another card's function, carrier and speed.
void ask_sysfs(Object& nic) {
  std::error_code ignored;
  if (!nic.pci.empty() && std::filesystem::exists("/sys/bus/pci/devices/" + nic.pci + "/physfn", ignored)) {
    nic.nic.role = NicRole::kVirtualFunction;
  }
  const std::string folder = "/sys/class/net/" + nic.name;
  if (nic.name.empty() || !std::filesystem::exists(folder, ignored)) return;
  nic.nic.link_layer = "Ethernet";
  nic.nic.active = number_in(folder + "/carrier") == 1;
  const double megabits = number_in(folder + "/speed");
  if (megabits > 0 && megabits < 1e8) nic.wire.bandwidth = {megabits * 1e6 / 8 / 1e9, Source::kRead};
}

}  // namespace

Machine discover_machine(Cut cut) {
  Machine machine;
  try {
    const Topology topology = load(cut);
    machine = parse_hwloc_xml(topology ? as_xml(topology.get()) : "", "hwloc");
  } catch (const Error& error) {
    machine = discover_flat();
    machine.warnings.push_back(
        {"this machine", 0, fmt::format("is taken as a flat list of processors: {}", error.what())});
    return machine;
  }
  machine.source = "this machine (hwloc)";
  Host& host = machine.hosts[0];
  host.name = host_name();
  for (Object& object : host.objects) {
    object.line = 0;  // there is no file
    if (object.kind == ObjectKind::kNic) ask_sysfs(object);
  }
  for (Warning& warning : machine.warnings) warning.line = 0;
  merge_rdma_ports(host, rdma_ports());
  // A job's ranks look at the machine too: initialising CUDA would cost each half a second, and forbid it to fork.
  if (cut == Cut::kAffinity) merge_cuda_devices(host, cuda_devices());
  return machine;
}

}  // namespace peal
