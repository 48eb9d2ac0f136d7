#include "topology/path.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "topology/defaults.h"

namespace peal {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

// From the object up to, and without, `top`.
std::vector<int> climb(const Host& host, int object, int top) {
  std::vector<int> way;
  for (; object != top && object >= 0; object = at(host, object).parent) way.push_back(object);
  return way;
}

bool have_many(const Host& host, ObjectKind kind) {
  int seen = 0;
  for (const Object& object : host.objects) seen += object.kind == kind ? 1 : 0;
  return seen > 1;
}

PathKind kind_over(const Host& host, int from, int to, int top) {
  const ObjectKind kind = at(host, top).kind;
  if (kind == ObjectKind::kPciBridge) {
    // A switch may be one object, or an upstream port with a port below it for each device: both are one switch.
    const auto bridges = [&](int device) {
      const std::vector<int> way = climb(host, device, top);
      return std::count_if(way.begin(), way.end(),
                           [&](int object) { return at(host, object).kind == ObjectKind::kPciBridge; });
    };
    return bridges(from) <= 1 && bridges(to) <= 1 ? PathKind::kPix : PathKind::kPxb;
  }
  if (kind == ObjectKind::kHostBridge) return PathKind::kPhb;
  const int a = ancestor(host, from, ObjectKind::kNumaNode), b = ancestor(host, to, ObjectKind::kNumaNode);
  if (a >= 0 && b >= 0 && a != b) return PathKind::kSys;
  if (kind != ObjectKind::kHost) return PathKind::kNode;
  const bool several = have_many(host, ObjectKind::kPackage) || have_many(host, ObjectKind::kNumaNode);
  return several ? PathKind::kSys : PathKind::kNode;
}

double capacity_or(const Capacity& capacity, double otherwise) {
  return capacity.bandwidth.known() ? capacity.bandwidth.value : otherwise;
}

// The link between sockets where the host says what it is, else the typical one.
Capacity socket_link(const Host& host) {
  for (const Link& link : host.links) {
    if (link.kind == LinkKind::kSocket) return link.capacity;
  }
  return {};
}

double up_latency(const Object& object) {
  if (object.up.latency.known()) return object.up.latency.value;
  return object.kind >= ObjectKind::kHostBridge ? kPcieHopLatencyNs : kMemoryLatencyNs / 2;
}

void narrow(Path& path, const Capacity& capacity, double default_bandwidth) {
  path.bytes_per_ns = std::min(path.bytes_per_ns, capacity_or(capacity, default_bandwidth));
}

// Up to the host bridge only devices and bridges have a wire of their own; what lies above is the processor's.
void follow(const Host& host, int object, int top, Path& path) {
  for (const int step : climb(host, object, top)) {
    const Object& passed = at(host, step);
    if (passed.kind < ObjectKind::kPciBridge) continue;
    path.latency_ns += up_latency(passed);
    if (passed.up.bandwidth.known() || !passed.pci.empty()) narrow(path, passed.up, kPcieBytesPerNs);
  }
}

// NVLink and its like between the two, or -1. Several links between a pair add up.
Path direct_path(const Host& host, int from, int to, LinkKind wanted, PathKind kind) {
  Path direct{kind, 0, 0};
  for (const Link& link : host.links) {
    const bool joins = (link.a == from && link.b == to) || (link.a == to && link.b == from);
    if (!joins || link.kind != wanted) continue;
    direct.bytes_per_ns += link.capacity.bandwidth.value;
    direct.latency_ns = link.capacity.latency.known() ? link.capacity.latency.value : kNvlinkLatencyNs;
  }
  return direct;
}

// Through NVSwitches: all that both have into the switches.
Path switched_path(const Host& host, int from, int to) {
  double from_width = 0, to_width = 0;
  for (const Link& link : host.links) {
    if (link.kind != LinkKind::kNvlink) continue;
    for (const auto& [gpu, other] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (at(host, other).kind != ObjectKind::kNvSwitch) continue;
      if (gpu == from) from_width += link.capacity.bandwidth.value;
      if (gpu == to) to_width += link.capacity.bandwidth.value;
    }
  }
  return {PathKind::kNvlink, std::min(from_width, to_width), kNvlinkLatencyNs};
}

}  // namespace

std::string_view name_of(PathKind kind) noexcept {
  constexpr std::array<std::string_view, 10> kNames = {"SELF", "NVLINK", "XGMI", "C2C", "PIX",
                                                       "PXB",  "PHB",    "NODE", "SYS", "NET"};
  return kNames[static_cast<size_t>(kind)];
}

Path tree_path(const Host& host, int from, int to) {
  if (from == to) return {PathKind::kSelf, kMemoryBytesPerNs, 0};
  const int top = common_ancestor(host, from, to);
  Path path{kind_over(host, from, to, top), std::numeric_limits<double>::max(), 0};
  follow(host, from, top, path);
  follow(host, to, top, path);
  if (path.kind >= PathKind::kNode) {
    const int numa = ancestor(host, from, ObjectKind::kNumaNode);
    narrow(path, numa >= 0 ? at(host, numa).up : Capacity{}, kMemoryBytesPerNs);
    path.latency_ns += kMemoryLatencyNs;
  }
  if (path.kind == PathKind::kSys) {
    const Capacity socket = socket_link(host);
    narrow(path, socket, kSocketBytesPerNs);
    path.latency_ns += socket.latency.known() ? socket.latency.value : kSocketLatencyNs;
  }
  path.bytes_per_ns = std::min(path.bytes_per_ns, kC2cBytesPerNs);
  return path;
}

Path path(const Host& host, int from, int to) {
  Path best = tree_path(host, from, to);
  if (from == to) return best;
  for (const Path& other :
       {direct_path(host, from, to, LinkKind::kNvlink, PathKind::kNvlink),
        direct_path(host, from, to, LinkKind::kXgmi, PathKind::kXgmi),
        direct_path(host, from, to, LinkKind::kC2c, PathKind::kC2c), switched_path(host, from, to)}) {
    if (other.bytes_per_ns > best.bytes_per_ns) best = other;
  }
  return best;
}

}  // namespace peal
