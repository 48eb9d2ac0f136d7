#include "topology/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "topology/rings.h"

namespace peal {
namespace {

// The one object of `objects` that all of `cpus` lie in: its index among them, or -1.
int only_one(const Host& host, const std::vector<int>& objects, std::span<const int> cpus) {
  for (size_t i = 0; i < objects.size(); i++) {
    const std::vector<int>& inside = host.objects[static_cast<size_t>(objects[i])].cpus;
    if (std::includes(inside.begin(), inside.end(), cpus.begin(), cpus.end())) return static_cast<int>(i);
  }
  return -1;
}

// Of CPU memory: a GPU's memory is no place for a rank.
std::vector<int> cpu_numa_nodes(const Host& host) {
  std::vector<int> nodes = objects_of(host, ObjectKind::kNumaNode);
  std::erase_if(nodes, [&](int node) { return host.objects[static_cast<size_t>(node)].memory != MemoryRole::kCpu; });
  return nodes;
}

auto by_place(const Place& place) {
  return std::tie(place.gpu_position, place.package, place.numa, place.cache, place.core);
}

// What tells ranks of one host apart at a level; -1: nothing.
int label(const Place& place, Level level) {
  switch (level) {
    case Level::kPackage:
      return place.package;
    case Level::kNuma:
      return place.numa;
    case Level::kCache:
      return place.cache;
    default:
      return -1;
  }
}

// Does the level split these ranks, each of which it knows?
bool splits(std::span<const Place> places, Level level) {
  bool differ = false;
  for (const Place& place : places) {
    if (label(place, level) < 0) return false;
    differ |= label(place, level) != label(places[0], level);
  }
  return differ;
}

void group(Placement& placement, const std::function<bool(int, int)>& together) {
  placement.groups.clear();
  for (const int rank : placement.ring) {
    if (placement.groups.empty() || !together(placement.groups.back().front(), rank)) placement.groups.emplace_back();
    placement.groups.back().push_back(rank);
  }
}

}  // namespace

std::string_view name_of(Level level) noexcept {
  constexpr std::array<std::string_view, kLevels> kNames = {"none", "last-level cache", "NUMA node", "package", "host"};
  return kNames[static_cast<size_t>(level)];
}

Level separation(const Place& a, const Place& b) noexcept {
  if (a.host != b.host) return Level::kHost;
  for (const Level level : {Level::kPackage, Level::kNuma, Level::kCache}) {
    if (label(a, level) >= 0 && label(b, level) >= 0 && label(a, level) != label(b, level)) return level;
  }
  return Level::kNone;
}

std::string to_string(const Place& place) {
  std::string text;
  const auto add = [&](const char* what, int number) {
    if (number >= 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, number);
  };
  add("package", place.package);
  add("NUMA node", place.numa);
  add("last-level cache", place.cache);
  add("core", place.core);
  add("GPU", place.gpu);
  add("NIC", place.nic);
  return text.empty() ? "anywhere" : text;
}

Place place_on(const Host& host, std::string host_id, std::span<const int> cpus, int gpu) {
  Place place;
  place.host = std::move(host_id);
  place.gpu = gpu;
  int near = 0;  // the smallest object that the rank is in
  const auto find = [&](const std::vector<int>& objects) {
    const int one = cpus.empty() ? -1 : only_one(host, objects, cpus);
    if (one >= 0) near = objects[static_cast<size_t>(one)];
    return one;
  };
  place.package = find(objects_of(host, ObjectKind::kPackage));
  place.numa = find(cpu_numa_nodes(host));
  place.cache = find(last_level_caches(host));
  place.core = find(objects_of(host, ObjectKind::kCore));
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu);
  if (gpu >= 0 && static_cast<size_t>(gpu) < gpus.size()) near = gpus[static_cast<size_t>(gpu)];
  place.nic = nearest_nic(host, near);
  return place;
}

bool Placement::grouped() const noexcept { return groups.size() > 1 && groups.size() < ring.size(); }

Placement flat_placement(int ranks) {
  Placement placement;
  placement.ring.resize(static_cast<size_t>(ranks));
  std::iota(placement.ring.begin(), placement.ring.end(), 0);
  placement.groups = {placement.ring};
  return placement;
}

// Hosts in the order of their lowest ranks; inside, by GPU ring, then package, NUMA node, cache and core. Stable, so
// that where nothing is known ranks keep their order.
Placement place_ranks(std::span<const Place> places) {
  Placement placement = flat_placement(static_cast<int>(places.size()));
  const auto at = [&](int rank) -> const Place& { return places[static_cast<size_t>(rank)]; };
  std::map<std::string_view, int> first;  // host -> its lowest rank
  for (const int rank : placement.ring) first.emplace(at(rank).host, rank);
  std::stable_sort(placement.ring.begin(), placement.ring.end(), [&](int a, int b) {
    const int host_a = first[at(a).host], host_b = first[at(b).host];
    return host_a != host_b ? host_a < host_b : by_place(at(a)) < by_place(at(b));
  });
  if (first.size() > 1) {
    placement.level = Level::kHost;
    group(placement, [&](int a, int b) { return at(a).host == at(b).host; });
    return placement;
  }
  placement.groups = {placement.ring};
  for (const Level level : {Level::kPackage, Level::kNuma, Level::kCache}) {
    if (!splits(places, level)) continue;
    placement.level = level;
    group(placement, [&](int a, int b) { return label(at(a), level) == label(at(b), level); });
    break;
  }
  return placement;
}

Placement with_ring(Placement placement, std::string_view ring) {
  const auto wrong = [&](const std::string& found) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("PEAL_RING_ORDER '{}': expected each of the ranks 0 to {} once, found {}", ring,
                             placement.ring.size() - 1, found));
  };
  std::vector<int> order, position(placement.ring.size(), -1);
  for (const char* at = ring.data(); at != ring.data() + ring.size();) {
    const char* end = ring.data() + ring.size();
    if (*at == ' ' || *at == ',') {
      at++;
      continue;
    }
    int rank = -1;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || (next != end && *next != ' ' && *next != ',')) {
      throw wrong(fmt::format("'{}'", std::string_view(at, static_cast<size_t>(end - at))));
    }
    if (rank < 0 || static_cast<size_t>(rank) >= position.size()) throw wrong(fmt::format("rank {}", rank));
    if (position[static_cast<size_t>(rank)] >= 0) throw wrong(fmt::format("rank {} twice", rank));
    position[static_cast<size_t>(rank)] = static_cast<int>(order.size());
    order.push_back(rank);
    at = next;
  }
  if (order.size() != position.size()) throw wrong(fmt::format("{} ranks", order.size()));
  placement.ring = order;
  for (std::vector<int>& members : placement.groups) {
    std::sort(members.begin(), members.end(),
              [&](int a, int b) { return position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)]; });
  }
  std::sort(placement.groups.begin(), placement.groups.end(), [&](const auto& a, const auto& b) {
    return position[static_cast<size_t>(a[0])] < position[static_cast<size_t>(b[0])];
  });
  return placement;
}

Placement first_of_ring(const Placement& placement, int ranks) {
  std::vector<int> position(placement.ring.size());
  for (size_t i = 0; i < position.size(); i++) position[static_cast<size_t>(placement.ring[i])] = static_cast<int>(i);
  Placement first = flat_placement(ranks);
  first.level = placement.level;
  first.groups.clear();
  for (const std::vector<int>& members : placement.groups) {
    std::vector<int> kept;
    for (const int rank : members) {
      if (position[static_cast<size_t>(rank)] < ranks) kept.push_back(position[static_cast<size_t>(rank)]);
    }
    if (!kept.empty()) first.groups.push_back(kept);
  }
  return first;
}

std::string to_string(const Placement& placement) {
  std::vector<std::string> groups;
  for (const auto& members : placement.groups) groups.push_back(fmt::format("{}", fmt::join(members, " ")));
  if (placement.groups.size() == 1) return groups[0];
  return fmt::format("{}, by {}", fmt::join(groups, " | "), name_of(placement.level));
}

std::vector<int> share_of_cpus(const Host& host, std::span<const int> within, int index, int parts) {
  std::vector<std::vector<int>> cores;  // those of their processors that are within
  for (const int core : objects_of(host, ObjectKind::kCore)) {
    std::vector<int> usable;
    for (const int cpu : host.objects[static_cast<size_t>(core)].cpus) {
      if (std::find(within.begin(), within.end(), cpu) != within.end()) usable.push_back(cpu);
    }
    if (!usable.empty()) cores.push_back(usable);
  }
  const auto count = static_cast<int>(cores.size());
  if (parts > count || parts < 1) return {within.begin(), within.end()};
  std::vector<int> cpus;
  for (int i = index * count / parts; i < (index + 1) * count / parts; i++) {
    const std::vector<int>& core = cores[static_cast<size_t>(i)];
    cpus.insert(cpus.end(), core.begin(), core.end());
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::vector<int> share_of_cpus(const Host& host, int index, int parts) {
  return share_of_cpus(host, host.objects[0].cpus, index, parts);
}

}  // namespace peal
