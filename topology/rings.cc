#include "topology/rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.h"
#include "topology/canonical_order.h"
#include "topology/cheapest_cycle.h"
#include "topology/cycle_packing.h"
#include "topology/defaults.h"
#include "topology/ring_entries.h"
#include "topology/two_way_rings.h"

namespace peal {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

bool joins_devices(LinkKind kind) {
  return kind == LinkKind::kNvlink || kind == LinkKind::kXgmi || kind == LinkKind::kC2c;
}

// Crossings weigh more than all cheaper hops of 16 GPUs together, so that the sum of a ring compares crossings of
// sockets first, then host bridges, then PCI bridges.
int64_t weight(PathKind kind) {
  switch (kind) {
    case PathKind::kPix:
      return 100;
    case PathKind::kPxb:
      return 100 * 100;
    case PathKind::kPhb:
      return 100 * 100 * 100;
    case PathKind::kNode:
      return 100 * 100 * 100 * 100;
    case PathKind::kSys:
      return int64_t{100} * 100 * 100 * 100 * 100;
    default:
      return 0;
  }
}

// The GPUs of one search, in an order that does not depend on their numbers.
class Search {
 public:
  Search(const Host& host, const std::vector<int>& objects, bool two_way) : host_(host), two_way_(two_way) {
    const auto count = objects.size();
    std::vector<Path> paths;
    for (const int from : objects) {
      for (const int to : objects) paths.push_back(peal::path(host, from, to));
    }
    const auto path_at = [&](int a, int b) -> const Path& {
      return paths[static_cast<size_t>(a) * count + static_cast<size_t>(b)];
    };
    const std::vector<int> order = canonical_order(static_cast<int>(count), [&](int a, int b) {
      return static_cast<int64_t>(path_at(a, b).kind) * 100'000'000 +
             static_cast<int64_t>(path_at(a, b).bytes_per_ns * 1000);
    });
    for (const int a : order) {
      objects_.push_back(objects[static_cast<size_t>(a)]);
      for (const int b : order) paths_.push_back(path_at(a, b));
    }
  }

  RingSet rings() const;

 private:
  int count() const { return static_cast<int>(objects_.size()); }
  const Path& path(int a, int b) const { return paths_[static_cast<size_t>(a * count() + b)]; }
  int number(int node) const { return at(host_, objects_[static_cast<size_t>(node)]).number; }
  double into_switch(int node) const;
  bool all_switched() const;
  LinkGraph links(double* each) const;
  RingSet switched() const;
  bool linked(RingSet& set) const;
  RingSet mixed() const;
  double tree_share(const Cycle& cycle) const;
  Ring ring_of(const Cycle& cycle) const;
  void bound_by_bus(RingSet& set) const;

  const Host& host_;
  bool two_way_;
  std::vector<int> objects_;
  std::vector<Path> paths_;
};

double Search::into_switch(int node) const {
  double width = 0;
  for (const Link& link : host_.links) {
    if (link.kind != LinkKind::kNvlink) continue;
    for (const auto& [gpu, other] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const bool mine = gpu == objects_[static_cast<size_t>(node)];
      if (mine && at(host_, other).kind == ObjectKind::kNvSwitch) width += link.capacity.bandwidth.value;
    }
  }
  return width;
}

bool Search::all_switched() const {
  for (int node = 0; node < count(); node++) {
    if (into_switch(node) <= 0) return false;
  }
  return true;
}

// Direct links of one kind and speed: all are counted in units of the slowest single link.
LinkGraph Search::links(double* each) const {
  LinkGraph graph{count(), std::vector<int>(static_cast<size_t>(count() * count()))};
  std::map<int, int> node_of;
  for (int node = 0; node < count(); node++) node_of[objects_[static_cast<size_t>(node)]] = node;
  *each = std::numeric_limits<double>::max();
  for (const Link& link : host_.links) {
    if (!joins_devices(link.kind) || node_of.count(link.a) == 0 || node_of.count(link.b) == 0 || link.a == link.b)
      continue;
    const int count = std::max(1, link.capacity.count), a = node_of[link.a], b = node_of[link.b];
    graph.links(a, b) += count;
    graph.links(b, a) += count;
    *each = std::min(*each, link.capacity.bandwidth.value / count);
  }
  return graph;
}

Ring Search::ring_of(const Cycle& cycle) const {
  Ring ring;
  for (size_t i = 0; i < cycle.size(); i++) {
    const int from = cycle[i], to = cycle[(i + 1) % cycle.size()];
    ring.order.push_back(number(from));
    if (from != to) ring.hops.push_back({number(from), number(to), path(from, to).kind, path(from, to).bytes_per_ns});
  }
  return ring;
}

void share(Ring& ring, double bytes_per_ns) {
  for (Hop& hop : ring.hops) hop.bytes_per_ns = std::min(hop.bytes_per_ns, bytes_per_ns);
  ring.bytes_per_ns = std::numeric_limits<double>::max();
  for (const Hop& hop : ring.hops) ring.bytes_per_ns = std::min(ring.bytes_per_ns, hop.bytes_per_ns);
}

// Every order is as good as every other. One ring for each NIC, since each has its own way in and out.
RingSet Search::switched() const {
  RingSet set;
  set.any_order = true;
  set.bound = std::numeric_limits<double>::max();
  for (int node = 0; node < count(); node++) {
    if (into_switch(node) >= set.bound) continue;
    set.bound = into_switch(node);
    set.bound_reason = fmt::format("GPU {}'s NVLinks into the switch, together {:.4g} GB/s", number(node), set.bound);
  }
  Cycle cycle(static_cast<size_t>(count()));
  std::iota(cycle.begin(), cycle.end(), 0);
  std::sort(cycle.begin(), cycle.end(), [&](int a, int b) { return number(a) < number(b); });
  const size_t rings = std::max<size_t>(1, ring_nics(host_).size());
  for (size_t i = 0; i < rings; i++) {
    set.rings.push_back(ring_of(cycle));
    share(set.rings.back(), set.bound / static_cast<double>(rings));
  }
  set.bytes_per_ns = set.bound;
  return set;
}

// Over links alone; false where no ring of links passes through all GPUs.
bool Search::linked(RingSet& set) const {
  double each = 0;
  const LinkGraph graph = links(&each);
  const Packing packing = pack_cycles(graph, two_way_);
  if (packing.cycles.empty()) return false;
  set.exact = packing.exact;
  for (const Cycle& cycle : packing.cycles) {
    set.rings.push_back(ring_of(cycle));
    share(set.rings.back(), each);
    set.bytes_per_ns += set.rings.back().bytes_per_ns;
  }
  set.bound = std::numeric_limits<double>::max();
  for (int node = 0; node < count(); node++) {
    int links = 0;
    for (int other = 0; other < count(); other++) links += graph.links(node, other);
    if (links * each >= set.bound) continue;
    set.bound = links * each;
    set.bound_reason =
        fmt::format("GPU {}'s {} links of {:.4g} GB/s, each used once each way", number(node), links, each);
  }
  return true;
}

double width_of(const Capacity& capacity, double otherwise) {
  return capacity.bandwidth.known() ? capacity.bandwidth.value : otherwise;
}

double socket_width(const Host& host) {
  for (const Link& link : host.links) {
    if (link.kind == LinkKind::kSocket) return width_of(link.capacity, kSocketBytesPerNs);
  }
  return kSocketBytesPerNs;
}

// The NUMA node or, where the host has none, the package that an object is in.
int side_of(const Host& host, int object) {
  const int numa = ancestor(host, object, ObjectKind::kNumaNode);
  return numa >= 0 ? numa : ancestor(host, object, ObjectKind::kPackage);
}

bool has_wire(const Object& object) {
  return object.kind >= ObjectKind::kPciBridge && (object.up.bandwidth.known() || !object.pci.empty());
}

// What the hops over the tree leave each other: a wire that several of them pass the same way is shared.
double Search::tree_share(const Cycle& cycle) const {
  std::map<std::tuple<int, int>, std::pair<int, double>> wires;  // (object or -2 - side, direction or other side)
  const auto pass = [&](int a, int b, double width) {
    auto& [users, known] = wires[{a, b}];
    users++;
    known = width;
  };
  for (size_t i = 0; i < cycle.size(); i++) {
    const int from = cycle[i], to = cycle[(i + 1) % cycle.size()];
    if (path(from, to).kind <= PathKind::kC2c) continue;
    const int a = objects_[static_cast<size_t>(from)], b = objects_[static_cast<size_t>(to)];
    const int top = common_ancestor(host_, a, b);
    const auto climb = [&](int object, int direction) {
      for (; object != top; object = at(host_, object).parent) {
        if (has_wire(at(host_, object))) pass(object, direction, width_of(at(host_, object).up, kPcieBytesPerNs));
      }
    };
    climb(a, 0);
    climb(b, 1);
    if (path(from, to).kind == PathKind::kSys) pass(-2 - side_of(host_, a), side_of(host_, b), socket_width(host_));
  }
  double share = std::numeric_limits<double>::max();
  for (const auto& [wire, use] : wires) share = std::min(share, use.second / use.first);
  return share;
}

// What no ring over the bus can exceed: it passes every GPU's own link, and a socket link where GPUs are on several.
void Search::bound_by_bus(RingSet& set) const {
  set.bound = std::numeric_limits<double>::max();
  std::set<int> sides;
  for (int node = 0; node < count(); node++) {
    double best = 0;  // of this GPU, to whichever other
    for (int other = 0; other < count(); other++) {
      if (other != node) best = std::max(best, path(node, other).bytes_per_ns);
    }
    if (best < set.bound) {
      set.bound = best;
      set.bound_reason = fmt::format("GPU {}'s fastest way to any other, {:.4g} GB/s", number(node), best);
    }
    sides.insert(side_of(host_, objects_[static_cast<size_t>(node)]));
  }
  int crossings = 0;
  for (const Hop& hop : set.rings[0].hops) crossings += hop.kind == PathKind::kSys ? 1 : 0;
  if (crossings == 0) return;
  set.bound = std::min(set.bound, socket_width(host_));
  set.bound_reason += fmt::format("; GPUs on {} NUMA nodes or packages: at least {} crossings, at {:.4g} GB/s",
                                  sides.size(), sides.size(), socket_width(host_));
}

// Through links where there are some and the PCI tree elsewhere.
RingSet Search::mixed() const {
  RingSet set;
  Cycle start(static_cast<size_t>(count()));
  std::iota(start.begin(), start.end(), 0);
  // Neighbours in the tree are neighbours in the file: a ring in this order enters every subtree once.
  std::sort(start.begin(), start.end(),
            [&](int a, int b) { return objects_[static_cast<size_t>(a)] < objects_[static_cast<size_t>(b)]; });
  const Cycle cycle = cheapest_cycle(
      count(), [&](int a, int b) { return weight(path(a, b).kind); }, start, &set.exact);
  set.rings.push_back(ring_of(cycle));
  share(set.rings[0], tree_share(cycle));
  set.bytes_per_ns = set.rings[0].bytes_per_ns;
  bound_by_bus(set);
  return set;
}

RingSet Search::rings() const {
  if (count() == 0) return {};
  RingSet set;
  if (count() == 1) {
    set.rings.emplace_back().order = {number(0)};
    set.bound_reason = "one GPU: nothing to pass on";
    return set;
  }
  if (all_switched()) return switched();
  if (linked(set)) return set;
  return mixed();
}

std::vector<int> objects_with(const Host& host, const std::vector<int>& gpus) {
  const std::vector<int> all = objects_of(host, ObjectKind::kGpu);
  if (gpus.empty()) return all;
  std::vector<int> objects;
  for (const int number : gpus) {
    if (number < 0 || static_cast<size_t>(number) >= all.size() || std::count(gpus.begin(), gpus.end(), number) > 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("GPU {}: expected GPUs 0 to {}, each once", number, static_cast<int>(all.size()) - 1));
    }
    objects.push_back(all[static_cast<size_t>(number)]);
  }
  return objects;
}

RingSet search(const Host& host, const std::vector<int>& gpus, bool two_way) {
  const std::vector<int> objects = objects_with(host, gpus);
  RingSet set = Search(host, objects, two_way).rings();
  for (Ring& ring : set.rings) {  // as people would write it, before a NIC says otherwise
    const auto least = std::min_element(ring.order.begin(), ring.order.end());
    rotate_to(ring, static_cast<size_t>(least - ring.order.begin()));
  }
  std::stable_sort(set.rings.begin(), set.rings.end(), [](const Ring& a, const Ring& b) { return a.order < b.order; });
  attach_nics(host, set);
  return set;
}

}  // namespace

RingSet find_rings(const Host& host, std::vector<int> gpus) { return search(host, gpus, false); }

RingSet find_two_way_rings(const Host& host, std::vector<int> gpus) { return search(host, gpus, true); }

}  // namespace peal
