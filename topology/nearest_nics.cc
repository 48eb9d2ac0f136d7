#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "topology/rings.h"

namespace peal {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

bool on_pci_bus(const Host& host, int nic) {
  return !at(host, nic).pci.empty() || ancestor(host, nic, ObjectKind::kHostBridge) >= 0;
}

// 0 is best. Interfaces that software makes, and functions of a card that is there itself, are no ways out.
int tier(const Host& host, int nic) {
  const NicFacts& facts = at(host, nic).nic;
  if (facts.role == NicRole::kSoftware) return 4;
  if (facts.role == NicRole::kVirtualFunction) return 3;
  if (!facts.active) return 2;
  return on_pci_bus(host, nic) ? 0 : 1;
}

}  // namespace

std::vector<int> ring_nics(const Host& host) {
  std::array<std::vector<int>, 5> by_tier;
  for (const int nic : objects_of(host, ObjectKind::kNic)) {
    by_tier[static_cast<size_t>(tier(host, nic))].push_back(at(host, nic).number);
  }
  for (const auto& numbers : by_tier) {
    if (!numbers.empty()) return numbers;
  }
  return {};
}

namespace {

// The deepest ancestor that the object shares with a NIC that is fit, in steps from the host. -1: none is.
int nearness_of(const Host& host, int object, const std::vector<int>& nics, const std::vector<int>& fit) {
  int nearness = -1;
  for (const int number : fit) {
    nearness = std::max(nearness, depth(host, common_ancestor(host, object, nics[static_cast<size_t>(number)])));
  }
  return nearness;
}

// Of the NICs that are fit: the deepest common ancestor, then the fewest users.
int nearest_of(const Host& host, int object, const std::vector<int>& nics, const std::vector<int>& fit,
               const std::vector<int>& users) {
  int chosen = -1;
  std::pair<int, int> best;
  for (const int number : fit) {
    const int nearness = depth(host, common_ancestor(host, object, nics[static_cast<size_t>(number)]));
    const std::pair rank{nearness, -users[static_cast<size_t>(number)]};
    if (chosen >= 0 && rank <= best) continue;
    best = rank;
    chosen = number;
  }
  return chosen;
}

}  // namespace

// GPUs that are nearest to their NICs choose first. The NICs to choose from are all those under one ancestor, so that a
// later GPU's choice contains an earlier one's or has nothing in common with it: it evens out what those before it did,
// and the shares depend on no number.
std::vector<int> nearest_nics(const Host& host) {
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu), nics = objects_of(host, ObjectKind::kNic),
                         fit = ring_nics(host);
  std::vector<std::pair<int, size_t>> turns;  // (-nearness, GPU)
  for (size_t gpu = 0; gpu < gpus.size(); gpu++) turns.emplace_back(-nearness_of(host, gpus[gpu], nics, fit), gpu);
  std::sort(turns.begin(), turns.end());
  std::vector<int> chosen(gpus.size()), users(nics.size());
  for (const auto& [nearness, gpu] : turns) {
    chosen[gpu] = nearest_of(host, gpus[gpu], nics, fit, users);
    if (chosen[gpu] >= 0) users[static_cast<size_t>(chosen[gpu])]++;
  }
  return chosen;
}

int nearest_nic(const Host& host, int object) {
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  return nearest_of(host, object, nics, ring_nics(host), std::vector<int>(nics.size()));
}

}  // namespace peal
