// NCCL's and RCCL's topology files: what NCCL_TOPO_DUMP_FILE writes and cloud providers ship. <system> holds a <cpu>
// for each NUMA node, that <pci> bridges and devices, those <gpu>s with their links and <nic>s with their <net> ports.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "topology/cpu_list.h"
#include "topology/defaults.h"
#include "topology/device_links.h"
#include "topology/read.h"
#include "topology/xml.h"

namespace peal {
namespace {

using xml::Element;

constexpr size_t kMostObjects = 1 << 16;
constexpr size_t kMostHosts = 4096;
constexpr double kBytesPerNsOfMbit = 1e6 / 8 / 1e9;

// "32.0 GT/s PCIe": the number before the unit, or 0.
double gigatransfers(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && value > 0 && value < 1000 ? value : 0;
}

Capacity pcie_link(const Element& pci) {
  const double speed = gigatransfers(xml::text_of(pci, "link_speed"));
  const int64_t width = xml::integer_of(pci, "link_width").value_or(0);
  if (speed <= 0 || width < 1 || width > 64) return {};
  const auto lanes = static_cast<int>(width);
  return {lanes, {pcie_bytes_per_ns(speed, lanes), Source::kDerived}, {}};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

int small(std::optional<int64_t> value, int otherwise) {
  return value && *value >= 0 && *value < 1'000'000'000 ? static_cast<int>(*value) : otherwise;
}

// "gfx90a": 90; 0 where there is none that fits.
int number_in(const std::string& text) {
  const size_t digits = std::min(text.find_first_of("0123456789"), text.size());
  int value = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return value;
}

// 0x030200 is a 3D controller, 0x030000 and 0x038000 displays, 0x120000 an accelerator: GPUs where a maker of GPUs says
// so (board controllers show themselves as displays too).
bool is_gpu(const Element& pci) {
  if (pci.FirstChildElement("gpu") != nullptr) return true;
  const std::string kind = lower(xml::text_of(pci, "class")), vendor = lower(xml::text_of(pci, "vendor"));
  if (kind.starts_with("0x0302")) return true;
  const bool makes_gpus = vendor == "0x10de" || vendor == "0x1002";
  return makes_gpus && (kind.starts_with("0x0300") || kind.starts_with("0x0380") || kind.starts_with("0x1200"));
}

bool is_network(const Element& pci) {
  return pci.FirstChildElement("nic") != nullptr || lower(xml::text_of(pci, "class")).starts_with("0x02");
}

bool is_switch_class(const std::string& kind) { return lower(kind).starts_with("0x0680"); }

class Reader {
 public:
  Reader(Machine& machine, std::string_view name) : machine_(machine), name_(name) {}
  void read(const Element& system);

 private:
  // One host's part of the work: links name devices that may come later in the file.
  struct HostInWork {
    Host host;
    int gpus = 0, nics = 0;
    std::map<std::string, int> by_bus;                    // bus id -> object
    std::vector<std::pair<int, const Element*>> linkers;  // GPU object, its element
  };

  int add(HostInWork& work, Object object);
  void read_cpu(HostInWork& work, const Element& cpu);
  void read_pci(HostInWork& work, const Element& pci, int parent);
  void read_gpu(HostInWork& work, const Element& pci, Object object);
  void read_ports(HostInWork& work, const Element& owner, Object like);
  void read_links(HostInWork& work);
  int target_of(HostInWork& work, int gpu, const Element& link);
  void finish(HostInWork& work);
  void warn(const Object& object, const Element& element, std::string text) {
    machine_.warnings.push_back({label(object), element.GetLineNum(), std::move(text)});
  }

  Machine& machine_;
  std::string_view name_;
};

int Reader::add(HostInWork& work, Object object) {
  if (work.host.objects.size() >= kMostObjects) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: line {}: expected at most {} objects of a host, found more", name_, object.line,
                            kMostObjects));
  }
  work.host.objects.push_back(std::move(object));
  return static_cast<int>(work.host.objects.size()) - 1;
}

void Reader::read_cpu(HostInWork& work, const Element& cpu) {
  Object node{.kind = ObjectKind::kNumaNode,
              .parent = 0,
              .number = small(xml::integer_of(cpu, "numaid"), -1),
              .line = cpu.GetLineNum()};
  const std::string mask = xml::text_of(cpu, "affinity");
  if (const auto cpus = parse_cpu_mask(mask)) {
    node.cpus = *cpus;
  } else if (!mask.empty()) {
    warn(node, cpu, fmt::format("has the affinity '{}', which is no mask: left out", mask.substr(0, 40)));
  }
  const int index = add(work, node);
  const int bridge = add(work, {.kind = ObjectKind::kHostBridge, .parent = index, .line = cpu.GetLineNum()});
  xml::for_each_child(cpu, "pci", [&](const Element& pci) { read_pci(work, pci, bridge); });
  // No PCI device stands behind these: interfaces made by software, or the reader of the file had no right to look.
  xml::for_each_child(cpu, "nic", [&](const Element& nic) {
    read_ports(work, nic, {.kind = ObjectKind::kNic, .parent = index, .nic = {.role = NicRole::kSoftware}});
  });
}

void Reader::read_pci(HostInWork& work, const Element& pci, int parent) {
  Object object{.kind = ObjectKind::kPciBridge,
                .parent = parent,
                .line = pci.GetLineNum(),
                .pci = lower(xml::text_of(pci, "busid")),
                .up = pcie_link(pci)};
  if (!object.pci.empty() && work.by_bus.count(object.pci) > 0) {
    warn(object, pci, "is in the file a second time: left out");
    return;
  }
  if (is_gpu(pci)) {
    read_gpu(work, pci, object);
  } else if (is_network(pci)) {
    object.kind = ObjectKind::kNic;
    const Element* nic = pci.FirstChildElement("nic");
    if (nic != nullptr) return read_ports(work, *nic, object);
    object.number = work.nics++;
    const int index = add(work, object);
    if (!object.pci.empty()) work.by_bus.emplace(object.pci, index);
  } else {
    const int index = add(work, object);
    if (!object.pci.empty()) work.by_bus.emplace(object.pci, index);
    xml::for_each_child(pci, "pci", [&](const Element& below) { read_pci(work, below, index); });
  }
}

void Reader::read_gpu(HostInWork& work, const Element& pci, Object object) {
  object.kind = ObjectKind::kGpu;
  object.number = work.gpus++;
  const Element* gpu = pci.FirstChildElement("gpu");
  if (gpu != nullptr) {
    const std::string gcn = xml::text_of(*gpu, "gcn");
    object.gpu.compute_capability = gcn.empty() ? small(xml::integer_of(*gpu, "sm"), 0) : number_in(gcn);
    object.gpu.direct = xml::integer_of(*gpu, "gdr").value_or(0) != 0;
    if (gpu->NextSiblingElement("gpu") != nullptr) warn(object, pci, "holds several <gpu>: the first one counts");
  }
  const int index = add(work, object);
  if (!object.pci.empty()) work.by_bus.emplace(object.pci, index);
  if (gpu != nullptr) work.linkers.emplace_back(index, gpu);
}

// `like`: what all ports of the card have in common.
void Reader::read_ports(HostInWork& work, const Element& owner, Object like) {
  xml::for_each_child(owner, "net", [&](const Element& net) {
    Object port = like;
    port.line = net.GetLineNum();
    port.number = work.nics++;
    port.name = xml::text_of(net, "name");
    port.nic.port = small(xml::integer_of(net, "port"), 1);
    port.nic.guid = xml::text_of(net, "guid");
    port.nic.direct = xml::integer_of(net, "gdr").value_or(0) != 0;
    const double megabits = xml::number_of(net, "speed").value_or(0);
    if (megabits > 0 && megabits < 1e9) {
      port.wire.bandwidth = {megabits * kBytesPerNsOfMbit, Source::kRead};
    } else if (megabits != 0) {
      warn(port, net, fmt::format("has a speed of {:g} Mb/s: left out", megabits));
    }
    const int index = add(work, port);
    if (!port.pci.empty()) work.by_bus.emplace(port.pci, index);
  });
}

// The object that a link of the GPU leads to; -1 with a warning where there is none.
int Reader::target_of(HostInWork& work, int gpu, const Element& link) {
  const std::string target = lower(xml::text_of(link, "target")), kind = xml::text_of(link, "tclass");
  const auto known = work.by_bus.find(target);
  if (known != work.by_bus.end()) return known->second;
  if (is_switch_class(kind)) {
    const int index = add(work, {.kind = ObjectKind::kNvSwitch, .parent = 0, .line = link.GetLineNum(), .pci = target});
    work.by_bus.emplace(target, index);
    return index;
  }
  // POWER9 and Grace: the processor at the other end has no PCI address.
  if (kind == "0x000000" || kind == "0x060000" || link.Name() == std::string_view("c2c")) {
    return ancestor(work.host, gpu, ObjectKind::kNumaNode);
  }
  warn(work.host.objects[static_cast<size_t>(gpu)], link, fmt::format("is linked to {}, which is not there", target));
  return -1;
}

void Reader::read_links(HostInWork& work) {
  DeviceLinks links;
  for (const auto& [gpu, element] : work.linkers) {
    const int capability = work.host.objects[static_cast<size_t>(gpu)].gpu.compute_capability;
    const auto add_links = [&, gpu_index = gpu, told = element](const char* name, LinkKind kind, double bytes_per_ns) {
      xml::for_each_child(*told, name, [&](const Element& link) {
        const int count = small(xml::integer_of(link, "count"), kind == LinkKind::kC2c ? 1 : 0);
        if (count == 0) return;
        const int target = target_of(work, gpu_index, link);
        if (target < 0) return;
        links.add(kind, gpu_index, target, {count, {count * bytes_per_ns, Source::kDerived}, {}}, link.GetLineNum());
      });
    };
    add_links("nvlink", LinkKind::kNvlink, nvlink_bytes_per_ns(capability));
    add_links("xgmi", LinkKind::kXgmi, xgmi_bytes_per_ns(capability));
    add_links("c2c", LinkKind::kC2c, kC2cBytesPerNs);
  }
  links.settle(work.host, machine_.warnings);
}

void Reader::finish(HostInWork& work) {
  for (const int node : objects_of(work.host, ObjectKind::kNumaNode)) {
    std::vector<int>& all = work.host.objects[0].cpus;
    const std::vector<int>& some = work.host.objects[static_cast<size_t>(node)].cpus;
    all.insert(all.end(), some.begin(), some.end());
  }
  std::vector<int>& cpus = work.host.objects[0].cpus;
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  read_links(work);
  machine_.hosts.push_back(std::move(work.host));
}

// NCCL marks the processors of a multi-node NVLink domain by the host that they are of.
void Reader::read(const Element& system) {
  std::vector<std::pair<std::string, HostInWork>> hosts;
  xml::for_each_child(system, "cpu", [&](const Element& cpu) {
    const std::string hash = xml::text_of(cpu, "host_hash");
    auto found = std::find_if(hosts.begin(), hosts.end(), [&](const auto& one) { return one.first == hash; });
    if (found == hosts.end()) {
      if (hosts.size() >= kMostHosts) {
        throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: expected at most {} hosts, found more",
                                                             name_, cpu.GetLineNum(), kMostHosts));
      }
      found = hosts.insert(found, {hash, HostInWork{}});
      found->second.host.name = hash;
      found->second.host.objects.push_back({.kind = ObjectKind::kHost, .line = system.GetLineNum()});
    }
    read_cpu(found->second, cpu);
  });
  if (hosts.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: line {}: expected <cpu> in <system>, found none", name_, system.GetLineNum()));
  }
  for (auto& [hash, work] : hosts) finish(work);
}

}  // namespace

Machine parse_nccl_xml(std::string_view text, std::string_view name) {
  const xml::Document document(text, name, "system");
  Machine machine;
  machine.source = fmt::format("file {} (NCCL XML)", name);
  Reader(machine, name).read(document.root());
  return machine;
}

}  // namespace peal
