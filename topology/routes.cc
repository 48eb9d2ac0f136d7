#include "topology/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "topology/defaults.h"

namespace peal {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

bool same_capacity(const Capacity& a, const Capacity& b) {
  return a.count == b.count && a.bandwidth.value == b.bandwidth.value && a.latency.value == b.latency.value;
}

bool same_object(const Object& a, const Object& b) {
  return a.kind == b.kind && a.parent == b.parent && a.number == b.number && a.pci.empty() == b.pci.empty() &&
         a.nic.role == b.nic.role && a.nic.active == b.nic.active && same_capacity(a.up, b.up) &&
         same_capacity(a.wire, b.wire);
}

bool same_link(const Link& a, const Link& b) {
  return a.kind == b.kind && a.a == b.a && a.b == b.b && same_capacity(a.capacity, b.capacity);
}

bool same_shape(const Host& a, const Host& b) {
  return std::equal(a.objects.begin(), a.objects.end(), b.objects.begin(), b.objects.end(), same_object) &&
         std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(), same_link);
}

std::string label(const Host& host, int object) {
  const Object& named = at(host, object);
  const char* kind = named.kind == ObjectKind::kGpu ? "GPU" : named.kind == ObjectKind::kNic ? "NIC" : nullptr;
  const std::string word = kind != nullptr ? kind : std::string(name_of(named.kind));
  return word + fmt::format(" {}", named.number >= 0 ? named.number : object);
}

bool usable(const Object& nic) { return nic.nic.role == NicRole::kPhysical && nic.nic.active; }

// NICs under the deepest common ancestor; real ones before all others.
std::vector<int> nearest(const Host& host, int object, const std::vector<int>& nics) {
  std::vector<int> best;
  std::pair<bool, int> best_rank{false, -1};
  for (const int nic : nics) {
    const std::pair<bool, int> rank{usable(at(host, nic)), depth(host, common_ancestor(host, object, nic))};
    if (rank < best_rank) continue;
    if (rank > best_rank) best.clear();
    best_rank = rank;
    best.push_back(nic);
  }
  return best;
}

// Every object's NIC: those with the same choice take turns.
std::vector<int> nics_by_object(const Host& host) {
  std::vector<int> chosen(host.objects.size(), -1);
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  if (nics.empty()) return chosen;
  for (const ObjectKind kind : {ObjectKind::kGpu, ObjectKind::kCore}) {
    std::map<int, size_t> turns;  // by the first NIC of the choice
    for (const int object : objects_of(host, kind)) {
      const std::vector<int> choice = nearest(host, object, nics);
      chosen[static_cast<size_t>(object)] = choice[turns[choice[0]]++ % choice.size()];
    }
  }
  return chosen;
}

double bandwidth_or(const Capacity& capacity, double otherwise) {
  return capacity.bandwidth.known() ? capacity.bandwidth.value : otherwise;
}

bool joins_devices(LinkKind kind) {
  return kind == LinkKind::kNvlink || kind == LinkKind::kXgmi || kind == LinkKind::kC2c;
}

}  // namespace

Routes::Routes(Machine machine) : machine_(std::move(machine)) {
  first_.push_back(0);
  for (int index = 0; index < static_cast<int>(machine_.hosts.size()); index++) {
    const auto found = std::find_if(shapes_.begin(), shapes_.end(),
                                    [&](const Shape& one) { return same_shape(host(one.host), host(index)); });
    shape_of_.push_back(static_cast<int>(found - shapes_.begin()));
    if (found == shapes_.end()) shapes_.push_back(shape_of(index));
    first_.push_back(first_.back() + static_cast<int>(shape(index).links.size()));
  }
}

Routes::Shape Routes::shape_of(int index) const {
  const Host& all = host(index);
  const size_t objects = all.objects.size();
  Shape shape;
  shape.host = index;
  for (auto* numbers : {&shape.up, &shape.down, &shape.memory_read, &shape.memory_write, &shape.out, &shape.in,
                        &shape.to_switch, &shape.from_switch}) {
    numbers->assign(objects, -1);
  }
  shape.nic = nics_by_object(all);
  const auto add = [&](std::string name, double bytes_per_ns) {
    shape.links.push_back({std::move(name), bytes_per_ns});
    return static_cast<int>(shape.links.size()) - 1;
  };
  for (size_t i = 0; i < objects; i++) {
    const Object& object = all.objects[i];
    const std::string name = label(all, static_cast<int>(i));
    // As in path(): up to the host bridge only what has a figure or is a PCI device has a wire of its own.
    if (object.kind >= ObjectKind::kPciBridge && (object.up.bandwidth.known() || !object.pci.empty())) {
      const double width = bandwidth_or(object.up, kPcieBytesPerNs);
      shape.up[i] = add(name + " up", width);
      shape.down[i] = add(name + " down", width);
    }
    if (object.kind == ObjectKind::kNumaNode) {
      const double width = bandwidth_or(object.up, kMemoryBytesPerNs);
      shape.memory_read[i] = add(name + " memory, reading", width);
      shape.memory_write[i] = add(name + " memory, writing", width);
    }
    if (object.kind == ObjectKind::kNic) {
      const double width = bandwidth_or(object.wire, kNetworkBytesPerNs);
      shape.out[i] = add(name + " out", width);
      shape.in[i] = add(name + " in", width);
    }
  }
  Capacity between_sockets;
  for (const Link& link : all.links) {
    if (link.kind == LinkKind::kSocket) between_sockets = link.capacity;
    if (!joins_devices(link.kind) || link.a == link.b) continue;
    for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const double width = link.capacity.bandwidth.value;
      int* number = nullptr;
      std::string name;
      if (at(all, to).kind == ObjectKind::kNvSwitch) {
        number = &shape.to_switch[static_cast<size_t>(from)];
        name = label(all, from) + " to NVSwitch";
      } else if (at(all, from).kind == ObjectKind::kNvSwitch) {
        number = &shape.from_switch[static_cast<size_t>(to)];
        name = "NVSwitch to " + label(all, to);
      } else {
        number = &shape.direct.emplace(std::pair(from, to), -1).first->second;
        name = fmt::format("{} to {} ({})", label(all, from), label(all, to), peal::name_of(link.kind));
      }
      if (*number < 0) *number = add(name, 0);
      shape.links[static_cast<size_t>(*number)].bytes_per_ns += width;
    }
  }
  const std::vector<int> nodes = objects_of(all, ObjectKind::kNumaNode);
  for (const int from : nodes) {
    for (const int to : nodes) {
      if (from == to) continue;
      shape.socket[{from, to}] =
          add(label(all, from) + " to " + label(all, to), bandwidth_or(between_sockets, kSocketBytesPerNs));
    }
  }
  const bool has_nic = std::any_of(shape.nic.begin(), shape.nic.end(), [](int nic) { return nic >= 0; });
  if (machine_.hosts.size() > 1 && (machine_.network.bandwidth.known() || !has_nic)) {
    shape.network_out = add("network out", bandwidth_or(machine_.network, kNetworkBytesPerNs));
    shape.network_in = add("network in", bandwidth_or(machine_.network, kNetworkBytesPerNs));
  }
  return shape;
}

int Routes::host_of(int link) const noexcept {
  return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), link) - first_.begin()) - 1;
}

const Routes::LocalLink& Routes::local(int link) const noexcept {
  const int host = host_of(link);
  return shape(host).links[static_cast<size_t>(link - first_link(host))];
}

std::string Routes::name_of(int link) const {
  return machine_.hosts.size() > 1 ? fmt::format("host {}: {}", host_of(link), local(link).name) : local(link).name;
}

// From an object up to where the two meet, and down to the other: over the tree.
void Routes::climb(int index, int from, int to, Route& route) const {
  const Host& all = host(index);
  const Shape& links = shape(index);
  const int top = common_ancestor(all, from, to);
  const auto pass = [&](int link) {
    if (link >= 0) route.links.push_back(first_link(index) + link);
  };
  for (int object = from; object != top; object = at(all, object).parent) pass(links.up[static_cast<size_t>(object)]);
  const int near = ancestor(all, from, ObjectKind::kNumaNode), far = ancestor(all, to, ObjectKind::kNumaNode);
  const auto is_core = [&](int object) { return at(all, object).kind == ObjectKind::kCore; };
  if (is_core(from) && near >= 0) pass(links.memory_read[static_cast<size_t>(near)]);
  if (near >= 0 && far >= 0 && near != far) pass(links.socket.at({near, far}));
  if (is_core(to) && far >= 0) pass(links.memory_write[static_cast<size_t>(far)]);
  std::vector<int> way;
  for (int object = to; object != top; object = at(all, object).parent) {
    way.push_back(links.down[static_cast<size_t>(object)]);
  }
  std::for_each(way.rbegin(), way.rend(), pass);
}

Route Routes::inside(int index, int from, int to) const {
  const Path best = path(host(index), from, to);
  Route route{best.kind, best.latency_ns, best.bytes_per_ns, {}};
  const Shape& links = shape(index);
  const auto direct = links.direct.find({from, to});
  if (best.kind > PathKind::kC2c || from == to) {
    climb(index, from, to, route);
  } else if (direct != links.direct.end() &&
             links.links[static_cast<size_t>(direct->second)].bytes_per_ns >= best.bytes_per_ns) {
    route.links.push_back(first_link(index) + direct->second);
  } else {
    route.links = {first_link(index) + links.to_switch[static_cast<size_t>(from)],
                   first_link(index) + links.from_switch[static_cast<size_t>(to)]};
  }
  return route;
}

void Routes::leave(int index, int object, Route& route) const {
  const Shape& links = shape(index);
  const int nic = links.nic[static_cast<size_t>(object)];
  const auto pass = [&](int link) {
    route.links.push_back(first_link(index) + link);
    route.bytes_per_ns = std::min(route.bytes_per_ns, links.links[static_cast<size_t>(link)].bytes_per_ns);
  };
  if (nic >= 0) {
    const Path way = tree_path(host(index), object, nic);
    route.bytes_per_ns = std::min(route.bytes_per_ns, way.bytes_per_ns);
    route.latency_ns += way.latency_ns + at(host(index), nic).wire.latency.value;
    climb(index, object, nic, route);
    pass(links.out[static_cast<size_t>(nic)]);
  }
  if (links.network_out >= 0) pass(links.network_out);
}

void Routes::arrive(int index, int object, Route& route) const {
  const Shape& links = shape(index);
  const int nic = links.nic[static_cast<size_t>(object)];
  const auto pass = [&](int link) {
    route.links.push_back(first_link(index) + link);
    route.bytes_per_ns = std::min(route.bytes_per_ns, links.links[static_cast<size_t>(link)].bytes_per_ns);
  };
  if (links.network_in >= 0) pass(links.network_in);
  if (nic >= 0) {
    const Path way = tree_path(host(index), nic, object);
    route.bytes_per_ns = std::min(route.bytes_per_ns, way.bytes_per_ns);
    route.latency_ns += way.latency_ns + at(host(index), nic).wire.latency.value;
    pass(links.in[static_cast<size_t>(nic)]);
    climb(index, nic, object, route);
  }
}

Route Routes::between(Location from, Location to) const {
  if (from.host == to.host) return inside(from.host, from.object, to.object);
  Route route{PathKind::kNet, 0, std::numeric_limits<double>::max(), {}};
  route.latency_ns = machine_.network.latency.known() ? machine_.network.latency.value : kNetworkLatencyNs;
  leave(from.host, from.object, route);
  arrive(to.host, to.object, route);
  return route;
}

}  // namespace peal
