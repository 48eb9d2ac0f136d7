#include "topology/canonical_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace peal {

std::vector<int> canonical_order(int nodes, const std::function<int64_t(int, int)>& color) {
  std::vector<int64_t> own(static_cast<size_t>(nodes), 0);  // the node's color: its rank among all
  const auto refine = [&] {
    for (int round = 0; round < nodes; round++) {
      std::vector<std::vector<std::pair<int64_t, int64_t>>> signatures(own.size());
      for (int a = 0; a < nodes; a++) {
        auto& signature = signatures[static_cast<size_t>(a)];
        for (int b = 0; b < nodes; b++) {
          if (a != b) signature.emplace_back(own[static_cast<size_t>(b)], color(a, b));
        }
        std::sort(signature.begin(), signature.end());
        signature.insert(signature.begin(), {own[static_cast<size_t>(a)], 0});
      }
      std::map<std::vector<std::pair<int64_t, int64_t>>, int64_t> ranks;
      for (const auto& signature : signatures) ranks[signature] = 0;
      int64_t rank = 0;
      for (auto& [signature, number] : ranks) number = rank++;
      std::vector<int64_t> finer;
      for (const auto& signature : signatures) finer.push_back(ranks[signature]);
      if (finer == own) return;
      own = finer;
    }
  };
  refine();
  // Nodes that are still alike: one of them is singled out, which tells others apart.
  for (int round = 0; round < nodes; round++) {
    int alike = -1;
    for (int a = 0; a < nodes && alike < 0; a++) {
      if (std::count(own.begin(), own.end(), own[static_cast<size_t>(a)]) > 1) alike = a;
    }
    // The first class in the order of colors, not of numbers.
    for (int a = 0; a < nodes && alike >= 0; a++) {
      const int64_t mine = own[static_cast<size_t>(a)];
      if (std::count(own.begin(), own.end(), mine) > 1 && mine < own[static_cast<size_t>(alike)]) alike = a;
    }
    if (alike < 0) break;
    for (int64_t& each : own) each = each * 2 + 1;
    own[static_cast<size_t>(alike)]--;
    refine();
  }
  std::vector<int> order(own.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return own[static_cast<size_t>(a)] < own[static_cast<size_t>(b)]; });
  return order;
}

}  // namespace peal
