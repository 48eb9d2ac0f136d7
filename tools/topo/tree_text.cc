#include "tools/topo/tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "topology/cpu_list.h"
#include "topology/path.h"
#include "topology/rings.h"

namespace peal::topo {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

std::vector<std::vector<int>> children_of(const Host& host) {
  std::vector<std::vector<int>> children(host.objects.size());
  for (size_t i = 1; i < host.objects.size(); i++) {
    children[static_cast<size_t>(host.objects[i].parent)].push_back(static_cast<int>(i));
  }
  return children;
}

std::string link_text(const Capacity& link, std::string_view what) {
  if (!link.bandwidth.known()) return "";
  const std::string lanes = link.count > 0 ? fmt::format("x{}, ", link.count) : "";
  return fmt::format("{} {}{}", what, lanes, figure_text(link.bandwidth));
}

std::string nic_state(const NicFacts& nic) {
  std::string text = nic.role == NicRole::kVirtualFunction ? "virtual function"
                     : nic.role == NicRole::kSoftware      ? "software"
                                                           : "";
  if (!nic.active) text += text.empty() ? "down" : ", down";
  if (nic.rdma) text += text.empty() ? "RDMA" : ", RDMA";
  if (nic.port > 1) text += fmt::format("{}port {}", text.empty() ? "" : ", ", nic.port);
  return text;
}

class Tree {
 public:
  explicit Tree(const Host& host) : host_(host), children_(children_of(host)) {}

  std::string text() {
    show_children(0, 1);
    return text_;
  }

 private:
  void line(int depth, const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) {
      if (!part.empty()) all += all.empty() ? part : "  " + part;
    }
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + all + "\n";
  }

  // The same but for numbers, and nothing in it that has a name.
  std::string shape(int index) const {
    const Object& object = at(host_, index);
    std::string shape = fmt::format("{}/{}/{}/{}(", static_cast<int>(object.kind), object.bytes, object.cache_level,
                                    object.cpus.size());
    if (object.kind >= ObjectKind::kHostBridge) shape += std::to_string(index);
    for (const int child : children_[static_cast<size_t>(index)]) shape += this->shape(child);
    return shape + ")";
  }

  void show_children(int parent, int depth) {
    const std::vector<int>& all = children_[static_cast<size_t>(parent)];
    for (size_t first = 0, next = 0; first < all.size(); first = next) {
      next = first + 1;
      while (next < all.size() && shape(all[next]) == shape(all[first])) next++;
      show_run(std::vector<int>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                all.begin() + static_cast<std::ptrdiff_t>(next)),
               depth);
    }
  }

  void show_run(const std::vector<int>& run, int depth) {
    const Object& object = at(host_, run[0]);
    if (object.kind == ObjectKind::kNvSwitch) return;  // the paths say more of it
    std::string title = title_of(object);
    std::vector<int> cpus;
    for (const int one : run) cpus.insert(cpus.end(), at(host_, one).cpus.begin(), at(host_, one).cpus.end());
    std::sort(cpus.begin(), cpus.end());
    if (run.size() > 1) title = fmt::format("{} x {}", run.size(), title_without_number(object));
    if (object.kind == ObjectKind::kCore && run.size() > 1)
      title = fmt::format("cores {}-{}", object.number, at(host_, run.back()).number);
    const std::string processors =
        object.kind == ObjectKind::kCore ? fmt::format("processors {}", to_cpu_list(cpus)) : "";
    const std::string named = object.kind == ObjectKind::kHostBridge ? "" : object.pci;
    line(depth, {title, named, nic_text(object), processors,
                 link_text(object.up, object.kind == ObjectKind::kNumaNode ? "memory" : "PCIe"),
                 link_text(object.wire, "wire")});
    if (object.kind != ObjectKind::kCore) show_children(run[0], depth + 1);
  }

  static std::string title_without_number(Object object) {
    object.number = -1;
    object.name.clear();
    return title_of(object);
  }
  static std::string nic_text(const Object& object) {
    return object.kind == ObjectKind::kNic ? nic_state(object.nic) : "";
  }

  const Host& host_;
  std::vector<std::vector<int>> children_;
  std::string text_;
};

int links_between(const Host& host, int a, int b) {
  int count = 0, into_switch_a = 0, into_switch_b = 0;
  for (const Link& link : host.links) {
    for (const auto& [one, other] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (one == a && other == b) count += link.capacity.count;
      if (at(host, other).kind != ObjectKind::kNvSwitch) continue;
      if (one == a) into_switch_a += link.capacity.count;
      if (one == b) into_switch_b += link.capacity.count;
    }
  }
  return std::max(count, std::min(into_switch_a, into_switch_b));
}

std::string cell(const Host& host, int a, int b) {
  if (a == b) return "X";
  const PathKind kind = path(host, a, b).kind;
  const int links = kind <= PathKind::kC2c ? links_between(host, a, b) : 0;
  if (kind == PathKind::kNvlink) return links > 0 ? fmt::format("NV{}", links) : "NV";
  return std::string(name_of(kind));
}

// As nvidia-smi prints it, for eyes that know that table.
std::string paths_text(const Host& host) {
  std::vector<int> devices = objects_of(host, ObjectKind::kGpu);
  const size_t gpus = devices.size();
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  devices.insert(devices.end(), nics.begin(), nics.end());
  if (gpus == 0 || devices.size() > 40) return "";
  const auto name = [&](size_t i) { return i < gpus ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - gpus); };
  std::string text = "  paths\n    " + std::string(6, ' ');
  for (size_t i = 0; i < devices.size(); i++) text += fmt::format("{:>6}", name(i));
  text += gpus > 0 && !nics.empty() ? "   nearest NIC\n" : "\n";
  const std::vector<int> nearest = nearest_nics(host);
  for (size_t i = 0; i < devices.size(); i++) {
    text += fmt::format("    {:<6}", name(i));
    for (const int other : devices) text += fmt::format("{:>6}", cell(host, devices[i], other));
    if (i < gpus && nearest[i] >= 0) text += fmt::format("   NIC{}", nearest[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); unit++) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string figure_text(const Figure& bytes_per_ns) {
  return fmt::format("{:.4g} GB/s{}", bytes_per_ns.value, bytes_per_ns.source == Source::kDefault ? " (default)" : "");
}

std::string title_of(const Object& object) {
  const std::string number = object.number >= 0 ? fmt::format(" {}", object.number) : "";
  switch (object.kind) {
    case ObjectKind::kHost:
      return "host";
    case ObjectKind::kPackage:
      return "package" + number + (object.name.empty() ? "" : "  " + object.name);
    case ObjectKind::kNumaNode: {
      const char* what = object.memory == MemoryRole::kGpu     ? "GPU memory as NUMA node"
                         : object.memory == MemoryRole::kOther ? "other memory as NUMA node"
                                                               : "NUMA node";
      return what + number + (object.bytes > 0 ? ", " + bytes_text(object.bytes) : "");
    }
    case ObjectKind::kCache:
      return fmt::format("L{} cache{}", object.cache_level, object.bytes > 0 ? ", " + bytes_text(object.bytes) : "");
    case ObjectKind::kCore:
      return "core" + number;
    case ObjectKind::kHostBridge:
      return "host bridge";
    case ObjectKind::kPciBridge:
      return "PCI bridge";
    case ObjectKind::kGpu:
      return "GPU" + number + (object.name.empty() ? "" : "  " + object.name) +
             (object.gpu.memory_bytes > 0 ? ", " + bytes_text(object.gpu.memory_bytes) : "");
    case ObjectKind::kNic:
      return "NIC" + number + (object.name.empty() ? "" : "  " + object.name);
    case ObjectKind::kNvSwitch:
      return "NVSwitch";
  }
  return "?";
}

std::vector<std::pair<size_t, size_t>> runs_of_alike_hosts(const Machine& machine) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < machine.hosts.size(); i++) {
    const bool alike = i > 0 && machine.hosts[i].objects == machine.hosts[i - 1].objects &&
                       machine.hosts[i].links == machine.hosts[i - 1].links;
    if (alike) {
      runs.back().second = i;
    } else {
      runs.emplace_back(i, i);
    }
  }
  return runs;
}

std::string tree_text(const Machine& machine) {
  std::string text;
  for (const auto& [first, last] : runs_of_alike_hosts(machine)) {
    const Host& host = machine.hosts[first];
    const std::string name = host.name.empty() ? "" : " " + host.name;
    text += first == last ? fmt::format("host{}\n", name)
                          : fmt::format("{} hosts alike,{} to {}\n", last - first + 1, name, machine.hosts[last].name);
    text += Tree(host).text() + paths_text(host);
  }
  if (machine.network.bandwidth.known())
    text += fmt::format("network between hosts: {}\n", figure_text(machine.network.bandwidth));
  for (const Measurement& one : machine.measurements) {
    text += fmt::format("measured, {}: {} of host {} to {} of host {}: {:.2f} us, {:.3g} GB/s\n", one.transport,
                        title_of(at(machine.hosts[static_cast<size_t>(one.from_host)], one.from)), one.from_host,
                        title_of(at(machine.hosts[static_cast<size_t>(one.to_host)], one.to)), one.to_host,
                        one.latency_ns / 1e3, one.bytes_per_ns);
  }
  return text + fmt::format("from {}\n", machine.source);
}

}  // namespace peal::topo
