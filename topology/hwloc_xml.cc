// hwloc's XML, versions 1.x and 2.x: what lstopo writes, and what discover_hwloc.cc hands over of this machine. Parsed
// here rather than by libhwloc, which does not say on which line something lies.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "topology/cpu_list.h"
#include "topology/hwloc_matrices.h"
#include "topology/read.h"
#include "topology/xml.h"

namespace peal {
namespace {

using xml::Element;

constexpr size_t kMostObjects = 1 << 16;
constexpr uint64_t kMostKib = uint64_t{1} << 50;  // more is a mistake

enum OsDevice { kNetwork = 2, kOpenFabrics = 3 };  // osdev_type

std::string type_of(const Element& object) { return xml::text_of(object, "type"); }

int number_of(const Element& object, const char* attribute) {
  const int64_t value = xml::integer_of(object, attribute).value_or(-1);
  return value >= 0 && value < 1'000'000'000 ? static_cast<int>(value) : -1;
}

uint64_t bytes_of(const Element& object, const char* attribute) {
  const int64_t value = xml::integer_of(object, attribute).value_or(0);
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

// The value of an <info> of the object itself.
std::string own_info(const Element& object, const std::string& name) {
  std::string value;
  xml::for_each_child(object, "info", [&](const Element& info) {
    if (value.empty() && xml::text_of(info, "name") == name) value = xml::text_of(info, "value");
  });
  return value;
}

// ... or of what the operating system sees in it (CUDA's and NVML's names of a GPU).
std::string info_of(const Element& object, const std::string& name) {
  std::string value = own_info(object, name);
  xml::for_each_child(object, "object", [&](const Element& child) {
    if (value.empty() && type_of(child) == "OSDev") value = own_info(child, name);
  });
  return value;
}

// "0302 [10de:15f8] [10de:118f] a1": class, vendor, device.
struct PciType {
  std::string kind, vendor, device;
};

PciType pci_type_of(const Element& object) {
  const std::string text = xml::text_of(object, "pci_type");
  PciType type{text.substr(0, 4), "", ""};
  const size_t open = text.find('['), colon = text.find(':'), close = text.find(']');
  if (open != text.npos && colon != text.npos && close != text.npos && open < colon && colon < close) {
    type.vendor = text.substr(open + 1, colon - open - 1);
    type.device = text.substr(colon + 1, close - colon - 1);
  }
  return type;
}

// 3D controllers are GPUs; displays where a maker of GPUs built them: a server's board controller shows itself as one
// too. Vendor 0000 is a device that was out of reach when the file was written.
bool is_gpu(const PciType& type) {
  if (type.kind == "0302") return true;
  const bool makes_gpus = type.vendor == "10de" || type.vendor == "1002" || type.vendor == "0000";
  return makes_gpus && (type.kind == "0300" || type.kind == "0380" || type.kind == "1200");
}

class Reader {
 public:
  Reader(Machine& machine, std::string_view name) : machine_(machine), name_(name) {}
  void read(const Element& topology);

 private:
  int add(const Element& element, Object object);
  std::vector<int> cpus_of(const Element& element);
  void visit(const Element& element, int parent);
  void visit_children(const Element& element, int parent);
  void visit_container(const Element& element, int parent, ObjectKind kind);
  void visit_numa_node(const Element& element, int parent);
  int inside_numa_node(const Element& element, int parent);
  void visit_cache(const Element& element, int parent);
  void visit_bridge(const Element& element, int parent);
  void visit_pci_device(const Element& element, int parent);
  void add_gpu(const Element& element, Object object);
  void add_nic(const Element& element, Object object, const PciType& type);
  bool is_virtual_function(const Element& element, const PciType& type) const;
  void check_bus(const Element& element, const Object& object);
  void visit_os_device(const Element& element, int parent);
  void warn(std::string object, const Element& element, std::string text) {
    machine_.warnings.push_back({std::move(object), element.GetLineNum(), std::move(text)});
  }

  Machine& machine_;
  std::string_view name_;
  Host host_;
  std::vector<int> allowed_;  // processors that may be used
  int last_level_ = 0;        // of caches
  int gpus_ = 0, nics_ = 0, caches_ = 0;
  std::map<std::string, const Element*> by_bus_;
  std::map<int64_t, int> by_gp_index_;              // of objects and of the OS devices in them
  std::vector<std::pair<int, std::string>> buses_;  // of the host bridges that we are in: "0000:[00-0c]"
};

int Reader::add(const Element& element, Object object) {
  if (host_.objects.size() >= kMostObjects) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: expected at most {} objects, found more", name_,
                                                         element.GetLineNum(), kMostObjects));
  }
  object.line = element.GetLineNum();
  host_.objects.push_back(std::move(object));
  const int index = static_cast<int>(host_.objects.size()) - 1;
  if (const auto gp = xml::integer_of(element, "gp_index")) by_gp_index_.emplace(*gp, index);
  xml::for_each_child(element, "object", [&](const Element& child) {
    const auto gp = xml::integer_of(child, "gp_index");
    if (type_of(child) == "OSDev" && gp) by_gp_index_.emplace(*gp, index);
  });
  return index;
}

std::vector<int> Reader::cpus_of(const Element& element) {
  const std::string text = xml::text_of(element, "cpuset");
  if (text.empty()) return {};
  const auto cpus = parse_cpu_mask(text);
  if (!cpus) {
    warn(type_of(element), element, fmt::format("has the cpuset '{}', which is no mask: left out", text.substr(0, 40)));
    return {};
  }
  std::vector<int> usable;
  std::set_intersection(cpus->begin(), cpus->end(), allowed_.begin(), allowed_.end(), std::back_inserter(usable));
  return usable;
}

void Reader::visit_children(const Element& element, int parent) {
  xml::for_each_child(element, "object", [&](const Element& child) { visit(child, parent); });
}

void Reader::visit(const Element& element, int parent) {
  const std::string type = type_of(element);
  if (type == "Package" || type == "Socket") return visit_container(element, parent, ObjectKind::kPackage);
  if (type == "NUMANode") return visit_numa_node(element, parent);
  if (type == "Cache" || (type.size() >= 7 && type[0] == 'L' && type.ends_with("Cache"))) {
    return visit_cache(element, parent);
  }
  if (type == "Core") {
    Object core{.kind = ObjectKind::kCore,
                .parent = parent,
                .number = number_of(element, "os_index"),
                .cpus = cpus_of(element)};
    if (!core.cpus.empty()) add(element, core);
    return;
  }
  if (type == "Bridge") return visit_bridge(element, parent);
  if (type == "PCIDev") return visit_pci_device(element, parent);
  if (type == "OSDev") return visit_os_device(element, parent);
  // Groups, dies and what later versions may add: what is in them counts.
  visit_children(element, inside_numa_node(element, parent));
}

void Reader::visit_container(const Element& element, int parent, ObjectKind kind) {
  Object object{.kind = kind,
                .parent = parent,
                .number = number_of(element, "os_index"),
                .name = own_info(element, "CPUModel"),
                .cpus = cpus_of(element)};
  const int index = add(element, object);
  visit_children(element, inside_numa_node(element, index));
}

// In version 2 the memory of a container is a child beside its cores and bridges. Here these are in the node, so that
// each has its nearest memory above it. -> the parent of the container's other children.
int Reader::inside_numa_node(const Element& element, int parent) {
  int near = parent, of_cpus = 0;
  const auto look = [&](const Element& child) {
    if (type_of(child) != "NUMANode" || child.FirstChildElement("object") != nullptr) return;
    Object node{.kind = ObjectKind::kNumaNode,
                .parent = parent,
                .number = number_of(child, "os_index"),
                .cpus = cpus_of(child),
                .bytes = bytes_of(child, "local_memory")};
    const std::string subtype = xml::text_of(child, "subtype");
    if (subtype == "GPUMemory") {
      node.memory = MemoryRole::kGpu;
    } else if (!subtype.empty() && subtype != "DRAM") {
      node.memory = MemoryRole::kOther;  // HBM, SPM, NVM, CXL-DRAM
    } else if (node.cpus.empty()) {
      node.memory = MemoryRole::kOther;
    }
    const int index = add(child, node);
    if (node.memory != MemoryRole::kCpu) return;
    of_cpus++;
    near = index;
  };
  xml::for_each_child(element, "object", [&](const Element& child) {
    look(child);
    if (type_of(child) == "MemCache") xml::for_each_child(child, "object", look);
  });
  return of_cpus == 1 ? near : parent;
}

// Of version 1, where it is a container. Those of version 2 are seen to by inside_numa_node().
void Reader::visit_numa_node(const Element& element, int parent) {
  if (element.FirstChildElement("object") == nullptr) return;
  Object node{.kind = ObjectKind::kNumaNode,
              .parent = parent,
              .number = number_of(element, "os_index"),
              .cpus = cpus_of(element),
              .bytes = bytes_of(element, "local_memory")};
  visit_children(element, add(element, node));
}

int level_of(const Element& cache) {
  const std::string type = type_of(cache);
  if (type == "Cache") return number_of(cache, "depth");
  return type[1] - '0';
}

bool holds_data(const Element& cache) {  // cache_type 2 is for instructions
  return !type_of(cache).ends_with("iCache") && xml::integer_of(cache, "cache_type").value_or(0) != 2;
}

// Caches of a single core say nothing of neighbours, unless they are the last level.
void Reader::visit_cache(const Element& element, int parent) {
  const int level = level_of(element);
  int cores = 0;
  xml::for_each_child(element, "object", [&](const Element& child) { cores += type_of(child) == "Core" ? 1 : 2; });
  Object cache{.kind = ObjectKind::kCache,
               .parent = parent,
               .cpus = cpus_of(element),
               .bytes = bytes_of(element, "cache_size"),
               .cache_level = level};
  const bool tells = holds_data(element) && !cache.cpus.empty() && level > 1 && (level == last_level_ || cores > 2);
  if (tells) {
    cache.number = caches_++;
    parent = add(element, cache);
  }
  visit_children(element, inside_numa_node(element, parent));
}

void Reader::visit_bridge(const Element& element, int parent) {
  const bool of_host = xml::text_of(element, "bridge_type").starts_with("0");
  Object bridge{.kind = of_host ? ObjectKind::kHostBridge : ObjectKind::kPciBridge,
                .parent = parent,
                .pci = xml::text_of(element, "pci_busid")};
  const double speed = xml::number_of(element, "pci_link_speed").value_or(0);
  if (speed > 0 && speed < 1e5) bridge.up.bandwidth = {speed, Source::kRead};
  if (of_host) buses_.emplace_back(element.GetLineNum(), xml::text_of(element, "bridge_pci"));
  visit_children(element, add(element, bridge));
  if (of_host) buses_.pop_back();
}

// A device lies on the buses of the host bridge that it is under, and at an address of its own.
void Reader::check_bus(const Element& element, const Object& object) {
  if (object.pci.empty()) return;
  const auto [known, is_new] = by_bus_.emplace(object.pci, &element);
  if (!is_new) {
    warn("PCI device " + object.pci, element,
         fmt::format("is also on line {}: taken as two", known->second->GetLineNum()));
  }
  // "0000:[80-84]" against "0000:04:00.0".
  if (buses_.empty() || buses_.back().second.size() != 12 || object.pci.size() < 7) return;
  const std::string& range = buses_.back().second;
  const std::string bus = object.pci.substr(5, 2);
  const bool inside =
      range.substr(0, 4) == object.pci.substr(0, 4) && range.substr(6, 2) <= bus && bus <= range.substr(9, 2);
  if (!inside) {
    warn("PCI device " + object.pci, element,
         fmt::format("is under the host bridge of the buses {} (line {}), and not on one of them: two localities in "
                     "conflict, where it stands in the file counts",
                     range, buses_.back().first));
  }
}

void Reader::visit_pci_device(const Element& element, int parent) {
  const PciType type = pci_type_of(element);
  const bool gpu = is_gpu(type), nic = type.kind.starts_with("02");
  if (!gpu && !nic) return;
  Object object{.kind = gpu ? ObjectKind::kGpu : ObjectKind::kNic,
                .parent = parent,
                .name = own_info(element, "PCIDevice"),
                .pci = xml::text_of(element, "pci_busid")};
  const double speed = xml::number_of(element, "pci_link_speed").value_or(0);
  if (speed > 0 && speed < 1e5) object.up.bandwidth = {speed, Source::kRead};
  check_bus(element, object);
  if (gpu) {
    add_gpu(element, object);
  } else {
    add_nic(element, object, type);
  }
}

void Reader::add_gpu(const Element& element, Object object) {
  object.number = gpus_++;
  const std::string model = info_of(element, "GPUModel");
  if (!model.empty()) object.name = model;
  const std::string kib = info_of(element, "CUDAGlobalMemorySize");
  const uint64_t memory = kib.empty() ? 0 : std::strtoull(kib.c_str(), nullptr, 10);
  if (memory < kMostKib) object.gpu.memory_bytes = memory << 10;
  add(element, object);
}

// By name where the file has names; else a function beyond the first one that is of another make and that no driver has
// taken up.
bool Reader::is_virtual_function(const Element& element, const PciType& type) const {
  const std::string name = own_info(element, "PCIDevice");
  if (name.find("Virtual Function") != name.npos || name.find("SR-IOV VF") != name.npos) return true;
  const std::string bus = xml::text_of(element, "pci_busid");
  const size_t dot = bus.rfind('.');
  if (dot == bus.npos || bus.substr(dot) == ".0") return false;
  const auto first = by_bus_.find(bus.substr(0, dot) + ".0");
  return first != by_bus_.end() && pci_type_of(*first->second).device != type.device &&
         element.FirstChildElement("object") == nullptr;
}

// A NIC for each port that RDMA names, else one for what the network calls it, else one without a name.
void Reader::add_nic(const Element& element, Object object, const PciType& type) {
  if (is_virtual_function(element, type)) object.nic.role = NicRole::kVirtualFunction;
  const Element *rdma = nullptr, *network = nullptr;
  xml::for_each_child(element, "object", [&](const Element& child) {
    const int64_t kind = xml::integer_of(child, "osdev_type").value_or(-1);
    if (kind == kOpenFabrics && rdma == nullptr) rdma = &child;
    if (kind == kNetwork && network == nullptr) network = &child;
  });
  if (rdma == nullptr) {
    if (network != nullptr) object.name = xml::text_of(*network, "name");
    object.number = nics_++;
    add(element, object);
    return;
  }
  object.name = xml::text_of(*rdma, "name");
  object.nic.rdma = true;
  object.nic.guid = own_info(*rdma, "NodeGUID");
  int ports = 0;
  for (int port = 1; port <= 8; port++) {
    const std::string state = own_info(*rdma, fmt::format("Port{}State", port));
    if (state.empty()) continue;
    object.nic.port = port;
    object.nic.active = state == "4";  // IBV_PORT_ACTIVE
    object.nic.gid = own_info(*rdma, fmt::format("Port{}GID0", port));
    object.number = nics_++;
    add(element, object);
    ports++;
  }
  if (ports > 0) return;
  object.number = nics_++;
  add(element, object);
}

// On no PCI device: bridges, veth, docker and the like.
void Reader::visit_os_device(const Element& element, int parent) {
  const int64_t kind = xml::integer_of(element, "osdev_type").value_or(-1);
  if (kind != kNetwork && kind != kOpenFabrics) return;
  Object nic{.kind = ObjectKind::kNic, .parent = parent, .number = nics_++, .name = xml::text_of(element, "name")};
  nic.nic.role = NicRole::kSoftware;
  nic.nic.rdma = kind == kOpenFabrics;
  add(element, nic);
}

int deepest_cache(const Element& element) {
  int deepest = 0;
  xml::for_each_child(element, "object",
                      [&](const Element& child) { deepest = std::max(deepest, deepest_cache(child)); });
  const std::string type = type_of(element);
  const bool is_cache = type == "Cache" || (type.size() >= 7 && type[0] == 'L' && type.ends_with("Cache"));
  return is_cache && holds_data(element) ? std::max(deepest, level_of(element)) : deepest;
}

void Reader::read(const Element& topology) {
  const Element* root = topology.FirstChildElement("object");
  if (root == nullptr || type_of(*root) != "Machine") {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: expected <object type=\"Machine\">, found none",
                                                         name_, topology.GetLineNum()));
  }
  bool restricted = false;
  for (const char* attribute : {"cpuset", "allowed_cpuset", "online_cpuset"}) {
    const auto cpus = parse_cpu_mask(xml::text_of(*root, attribute));
    if (!cpus) continue;
    std::vector<int> both;
    std::set_intersection(cpus->begin(), cpus->end(), allowed_.begin(), allowed_.end(), std::back_inserter(both));
    allowed_ = std::exchange(restricted, true) ? both : *cpus;
  }
  host_.name = own_info(*root, "HostName");
  last_level_ = deepest_cache(*root);
  add(*root, {.kind = ObjectKind::kHost, .cpus = allowed_});
  visit_children(*root, inside_numa_node(*root, 0));
  read_link_matrices(topology, by_gp_index_, host_, machine_.warnings);
  machine_.hosts.push_back(std::move(host_));
}

}  // namespace

Machine parse_hwloc_xml(std::string_view text, std::string_view name) {
  const xml::Document document(text, name, "topology");
  const std::string version = xml::text_of(document.root(), "version");
  if (!version.empty() && !version.starts_with("1.") && !version.starts_with("2.")) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: expected hwloc XML of version 1 or 2, found {}",
                                                         name, document.root().GetLineNum(), version.substr(0, 20)));
  }
  Machine machine;
  machine.source = fmt::format("file {} (hwloc XML)", name);
  Reader(machine, name).read(document.root());
  return machine;
}

}  // namespace peal
