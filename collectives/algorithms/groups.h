// The groups of near ranks that hierarchical algorithms work in, seen from one rank. Groups may differ in size, so work
// is matched between them by proportion: member i of s does what member i * t / s does in a group of t.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/plan.h"

namespace peal {

class Groups {
 public:
  // Without a placement: one group of all.
  explicit Groups(const PlanRequest& request)
      : groups_(request.placement != nullptr ? request.placement->groups : flat_placement(request.ranks).groups) {
    for (const auto& members : groups_) largest_ = std::max(largest_, static_cast<int>(members.size()));
    own_ = group_of(request.rank);
    index_ = index_in(own_, request.rank);
  }

  int count() const noexcept { return static_cast<int>(groups_.size()); }
  int own() const noexcept { return own_; }          // this rank's group
  int index() const noexcept { return index_; }      // this rank in it
  int largest() const noexcept { return largest_; }  // members of the largest group
  int size(int group) const noexcept { return static_cast<int>(at(group).size()); }
  int member(int group, int index) const { return at(group)[static_cast<size_t>(index)]; }
  const std::vector<int>& members(int group) const { return at(group); }

  int group_of(int rank) const {
    const auto holds = [rank](const auto& members) {
      return std::find(members.begin(), members.end(), rank) != members.end();
    };
    return static_cast<int>(std::find_if(groups_.begin(), groups_.end(), holds) - groups_.begin());
  }
  int index_in(int group, int rank) const {
    return static_cast<int>(std::find(at(group).begin(), at(group).end(), rank) - at(group).begin());
  }

  // The member of `group` that stands for `rank`: itself in its own group.
  int mate(int group, int rank) const {
    const int home = group_of(rank);
    return member(group, index_in(home, rank) * size(group) / size(home));
  }
  // All ranks of `group` that this rank stands for.
  std::vector<int> charges(int group, int rank) const {
    std::vector<int> ranks;
    for (const int other : at(group)) {
      if (mate(group_of(rank), other) == rank) ranks.push_back(other);
    }
    return ranks;
  }

  // With as many slices as the largest group has members, member i of a group owns a run of them.
  int first_slice(int group, int index) const { return index * largest_ / size(group); }
  int slices(int group, int index) const { return first_slice(group, index + 1) - first_slice(group, index); }
  int owner(int group, int slice) const { return member(group, ((slice + 1) * size(group) - 1) / largest_); }

  // The index of this rank's partner in step 0 .. size - 1 of a pairwise exchange in its group; itself: pause.
  int partner(int step) const {
    const int all = size(own_);
    return ((step - index_) % all + all) % all;
  }

 private:
  const std::vector<int>& at(int group) const { return groups_[static_cast<size_t>(group)]; }

  std::vector<std::vector<int>> groups_;
  int own_ = 0, index_ = 0, largest_ = 0;
};

}  // namespace peal
