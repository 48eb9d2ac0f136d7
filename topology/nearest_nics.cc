#include <algorithm>
#include <array>
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

std::vector<int> nearest_nics(const Host& host) {
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic), fit = ring_nics(host);
  std::vector<int> chosen, users(nics.size());
  for (const int gpu : objects_of(host, ObjectKind::kGpu)) {
    chosen.push_back(nearest_of(host, gpu, nics, fit, users));
    if (chosen.back() >= 0) users[static_cast<size_t>(chosen.back())]++;
  }
  return chosen;
}

int nearest_nic(const Host& host, int object) {
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  return nearest_of(host, object, nics, ring_nics(host), std::vector<int>(nics.size()));
}

}  // namespace peal
