// Hosts that are the same but for numbers.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "topology/machine.h"

namespace peal {

// The same host with its devices numbered and its objects listed in another order.
inline Host renumbered(const Host& host, std::mt19937& random) {
  std::vector<int> order{0};  // new position -> old object; parents stay before children
  std::vector<int> left(host.objects.size() - 1);
  std::iota(left.begin(), left.end(), 1);
  std::shuffle(left.begin(), left.end(), random);
  std::vector<int> place(host.objects.size(), -1);
  place[0] = 0;
  while (!left.empty()) {
    for (auto next = left.begin(); next != left.end();) {
      const int parent = host.objects[static_cast<size_t>(*next)].parent;
      if (place[static_cast<size_t>(parent)] < 0) {
        ++next;
        continue;
      }
      place[static_cast<size_t>(*next)] = static_cast<int>(order.size());
      order.push_back(*next);
      next = left.erase(next);
    }
  }
  Host other{host.name, {}, {}};
  std::map<ObjectKind, std::vector<int>> numbers;
  for (const ObjectKind kind : {ObjectKind::kGpu, ObjectKind::kNic}) {
    numbers[kind].resize(objects_of(host, kind).size());
    std::iota(numbers[kind].begin(), numbers[kind].end(), 0);
    std::shuffle(numbers[kind].begin(), numbers[kind].end(), random);
  }
  for (const int old : order) {
    Object object = host.objects[static_cast<size_t>(old)];
    if (object.parent >= 0) object.parent = place[static_cast<size_t>(object.parent)];
    if (numbers.count(object.kind) > 0) object.number = numbers[object.kind][static_cast<size_t>(object.number)];
    other.objects.push_back(object);
  }
  other.links = host.links;
  std::shuffle(other.links.begin(), other.links.end(), random);
  for (Link& link : other.links) {
    link.a = place[static_cast<size_t>(link.a)];
    link.b = place[static_cast<size_t>(link.b)];
    if (random() % 2 == 0) std::swap(link.a, link.b);
  }
  return other;
}

}  // namespace peal
