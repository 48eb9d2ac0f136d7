// Which operations of a communicator are still under way. A Work is an entry here; a group's Work counts several
// operations.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace peal {

class WorkTable {
 public:
  // An entry that is done once `operations` of them were completed. Reuses entries, so that steady use allocates
  // nothing.
  uint32_t open(uint32_t operations) {
    if (free_.empty()) {
      entries_.push_back(0);
      free_.push_back(static_cast<uint32_t>(entries_.size() - 1));
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot] = operations;
    return slot;
  }
  void add(uint32_t slot) noexcept { entries_[slot]++; }
  void complete(uint32_t slot) noexcept { entries_[slot]--; }
  bool done(uint32_t slot) const noexcept { return entries_[slot] == 0; }
  void close(uint32_t slot) { free_.push_back(slot); }

 private:
  std::deque<uint32_t> entries_;  // operations still under way
  std::vector<uint32_t> free_;
};

}  // namespace peal
