#include "topology/set_packing.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace peal {
namespace {

// Exactly `target` candidates, or the proof that there are none such, or neither when the steps are used up.
class Search {
 public:
  Search(const PackingProblem& problem, int target, int64_t steps)
      : problem_(problem), room_(problem.room), steps_left_(steps) {
    std::vector<size_t> all;
    for (size_t i = 0; i < problem.candidates.size(); i++) all.push_back(i);
    found_ = extend(all, target);
  }
  bool found() const { return found_; }
  bool decided() const { return found_ || steps_left_ >= 0; }
  const std::vector<size_t>& chosen() const { return chosen_; }

 private:
  int room_at(uint64_t wires) const {
    int sum = 0;
    for (; wires != 0; wires &= wires - 1) sum += room_[static_cast<size_t>(std::countr_zero(wires))];
    return sum;
  }
  uint64_t full() const {
    uint64_t wires = 0;
    for (size_t wire = 0; wire < room_.size(); wire++) wires |= uint64_t{room_[wire] == 0} << wire;
    return wires;
  }
  // Of the port with the least to spare, a wire that still has room: whether it is used is decided next. -1: some port
  // has too few for `need` more.
  int scarcest_wire(int need) const {
    int least = std::numeric_limits<int>::max();
    uint64_t wires = 0;
    for (const PackingProblem::Port& port : problem_.ports) {
      const int spare = room_at(port.wires) - port.uses * need;
      if (spare < 0) return -1;
      if (spare >= least) continue;
      least = spare;
      wires = port.wires;
    }
    wires &= ~full();
    return wires == 0 ? -1 : std::countr_zero(wires);
  }
  void hold(size_t candidate, int change) {
    for (uint64_t wires = problem_.candidates[candidate]; wires != 0; wires &= wires - 1) {
      room_[static_cast<size_t>(std::countr_zero(wires))] += change;
    }
  }
  // Those from the `from`-th on and, before it, those without `wire`, that hold none of the forbidden wires.
  std::vector<size_t> left_of(const std::vector<size_t>& list, size_t from, uint64_t wire, uint64_t forbidden) {
    std::vector<size_t> left;
    steps_left_ -= static_cast<int64_t>(list.size());
    for (size_t i = 0; i < list.size(); i++) {
      const uint64_t wires = problem_.candidates[list[i]];
      if ((wires & forbidden) == 0 && (i >= from || (wires & wire) == 0)) left.push_back(list[i]);
    }
    return left;
  }

  // Every choice either holds the scarcest wire, and then some candidate of the list is its first that does, or never.
  bool extend(const std::vector<size_t>& list, int need) {
    if (need == 0) return true;
    const int scarcest = list.empty() ? -1 : scarcest_wire(need);
    if (scarcest < 0) return false;
    const uint64_t wire = uint64_t{1} << scarcest;
    for (size_t i = 0; i < list.size(); i++) {
      if ((problem_.candidates[list[i]] & wire) == 0) continue;
      hold(list[i], -1);
      chosen_.push_back(list[i]);
      if (extend(left_of(list, i, wire, full()), need - 1)) return true;
      chosen_.pop_back();
      hold(list[i], 1);
      if (steps_left_ < 0) return false;
    }
    int& room = room_[static_cast<size_t>(scarcest)];
    const int before = room;
    room = 0;
    const bool without = extend(left_of(list, list.size(), wire, wire), need);
    room = before;
    return without;
  }

  const PackingProblem& problem_;
  std::vector<int> room_;
  int64_t steps_left_;
  std::vector<size_t> chosen_;
  bool found_ = false;
};

}  // namespace

// The most first: where all wires are used up, little room is left to go astray. Then from below, as each size that
// exists is found at once, until one fails: a larger choice would contain one of that size.
SetPacking pack_sets(const PackingProblem& problem, int least, int most, int64_t steps) {
  SetPacking best;
  if (least > most) return best;
  const Search all(problem, most, steps);
  if (all.found()) return {all.chosen(), true};
  best.exact = all.decided();
  for (int size = least; size < most; size++) {
    const Search next(problem, size, steps);
    if (!next.found()) {
      best.exact = next.decided();
      break;
    }
    best.chosen = next.chosen();
  }
  return best;
}

}  // namespace peal
