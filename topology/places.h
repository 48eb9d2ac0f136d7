// Where a job's ranks sit, and what follows from it: the order of rings, and groups of ranks that are near. Pure
// functions of exchanged facts: every rank computes the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace peal {

// One rank's place. -1: unknown, or it may run on several of that kind.
struct Place {
  std::string host;  // equal for ranks of one host
  int package = -1;
  int numa = -1;
  int cache = -1;  // last-level, by its order in the host
  int core = -1;
  int gpu = -1;           // device number
  int gpu_position = -1;  // of the GPU in its host's best ring (topology/rings.h)
  int nic = -1;           // number of the nearest one
  bool operator==(const Place&) const = default;
};

// The place of a rank that may run on `cpus` of this host and drives `gpu` (-1: none). Its NIC is the one nearest to
// the GPU if there is one, else to its core, NUMA node or package.
PEAL_API Place place_on(const Host& host, std::string host_id, std::span<const int> cpus, int gpu = -1);

// "package 0, NUMA node 1, core 12, NIC 0"; "anywhere" where nothing is known.
PEAL_API std::string to_string(const Place& place);

enum class Level : uint8_t { kNone, kCache, kNuma, kPackage, kHost };
inline constexpr int kLevels = 5;
PEAL_API std::string_view name_of(Level level) noexcept;

// The outermost level at which two places are known to differ.
PEAL_API Level separation(const Place& a, const Place& b) noexcept;

struct Placement {
  // The rank at each position of the ring. Neighbours are near: a ring through it enters each host, package, NUMA node
  // and cache once.
  std::vector<int> ring;
  // Ranks of one host (several hosts), or of one package, NUMA node or cache (one host; the outermost that tells ranks
  // apart), in ring order. One group: nothing tells them apart.
  std::vector<std::vector<int>> groups;
  Level level = Level::kNone;  // what separates the groups

  // Algorithms that work in groups need several, of which one at least has several ranks.
  bool grouped() const noexcept;
};

PEAL_API Placement place_ranks(std::span<const Place> places);

// Without any knowledge: rank order, one group.
PEAL_API Placement flat_placement(int ranks);

// The same groups along a ring that the user gives: "3,1,0,2" or "3 1 0 2". Throws Error(kInvalidArgument) unless it
// names every rank once.
PEAL_API Placement with_ring(Placement placement, std::string_view ring);

// The first `ranks` positions of the ring as a job of their own: position p becomes rank p.
PEAL_API Placement first_of_ring(const Placement& placement, int ranks);

// "0 2 | 1 3, by host".
PEAL_API std::string to_string(const Placement& placement);

// Part `index` of `parts` of the host's processors, or of those `within`: whole cores, neighbours in the tree. All of
// them when there are more parts than cores.
PEAL_API std::vector<int> share_of_cpus(const Host& host, int index, int parts);
PEAL_API std::vector<int> share_of_cpus(const Host& host, std::span<const int> within, int index, int parts);

}  // namespace peal
