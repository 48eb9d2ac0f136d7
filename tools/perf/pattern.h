// Contents of buffers whose exact result is known. Every pattern repeats after 8 x ranks elements, so that filling and
// checking run at the speed of memory, by tiles.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/data_type.h"
#include "base/reduce.h"

namespace peal::perf {

// A repeated stretch of elements.
class Tile {
 public:
  // value(i) for i < period, a whole number that `type` holds exactly.
  Tile(DataType type, size_t period, const std::function<double(size_t)>& value);

  void fill(void* buffer, size_t count) const;
  // Elements of `buffer` that differ. `tolerance_ulps` > 0: floats may be that many units in the last place off.
  size_t count_wrong(const void* buffer, size_t count, int tolerance_ulps = 0) const;

 private:
  DataType type_;
  std::vector<unsigned char> bytes_;
};

// The pattern of a reduction or of data that only moves. Whole numbers small enough that every type holds every partial
// result: of the terms of a sum at most two are 1 and the others 0, of the factors of a product one is 2.
class Pattern {
 public:
  Pattern(DataType type, ReduceOp op, bool reduces, int ranks)
      : type_(type), op_(op), reduces_(reduces), ranks_(ranks) {}

  // What rank contributes to block `block`.
  Tile input(int rank, size_t block) const;
  // What block `block` of everybody's contributions reduces to.
  Tile reduced(size_t block) const;
  // A rank's own factor for mulsum.
  static double factor(int rank) { return rank % 2 == 0 ? 1 : 2; }
  // Averages of floats may round differently from one division.
  int tolerance_ulps() const { return reduces_ && op_ == ReduceOp::kAvg && is_floating(type_) ? 2 : 0; }

 private:
  double value(int rank, size_t at) const;
  double reduced_value(size_t at) const;
  size_t period() const { return 8 * static_cast<size_t>(ranks_); }

  DataType type_;
  ReduceOp op_;
  bool reduces_;
  int ranks_;
};

}  // namespace peal::perf
