#include <algorithm>
#include <array>
#include <tuple>

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

std::vector<int> nearest_nics(const Host& host) {
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu), nics = objects_of(host, ObjectKind::kNic);
  const std::vector<int> fit = ring_nics(host);
  std::vector<int> chosen(gpus.size(), -1), users(nics.size());
  for (size_t i = 0; i < gpus.size(); i++) {
    std::tuple<int, int> best;  // depth, then few users
    for (const int number : fit) {
      const int nearness = depth(host, common_ancestor(host, gpus[i], nics[static_cast<size_t>(number)]));
      const std::tuple<int, int> rank{nearness, -users[static_cast<size_t>(number)]};
      if (chosen[i] >= 0 && rank <= best) continue;
      best = rank;
      chosen[i] = number;
    }
    if (chosen[i] >= 0) users[static_cast<size_t>(chosen[i])]++;
  }
  return chosen;
}

}  // namespace peal
