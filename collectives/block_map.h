// Where a caller's chunks lie: chunk -> (offset, count), in elements. Given at execution, so that one cached plan
// serves every count, and v-variants are the same plans with another map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace peal {

class BlockMap {
 public:
  // `count` elements cut into `chunks` parts whose lengths differ by at most one.
  void set_parts(size_t count, int chunks) {
    each_ = count / static_cast<size_t>(chunks);
    longer_ = count % static_cast<size_t>(chunks);
    given_ = false;
  }
  // One block of `count` elements per chunk, back to back.
  void set_blocks(size_t count) {
    each_ = count;
    longer_ = 0;
    given_ = false;
  }
  // The v-variants. Copies the two lists, so that the caller's may go at once.
  void set_given(std::span<const size_t> counts, std::span<const size_t> displacements) {
    counts_.assign(counts.begin(), counts.end());
    displacements_.assign(displacements.begin(), displacements.end());
    given_ = true;
  }

  size_t count(int chunk) const noexcept {
    const auto c = static_cast<size_t>(chunk);
    return given_ ? counts_[c] : each_ + (c < longer_ ? 1 : 0);
  }
  size_t offset(int chunk) const noexcept {
    const auto c = static_cast<size_t>(chunk);
    return given_ ? displacements_[c] : c * each_ + std::min(c, longer_);
  }
  // Are neighbouring chunks neighbours in memory, on every rank alike?
  bool dense() const noexcept { return !given_; }

 private:
  bool given_ = false;
  size_t each_ = 0;
  size_t longer_ = 0;  // the first `longer_` parts have one element more
  std::vector<size_t> counts_, displacements_;
};

}  // namespace peal
