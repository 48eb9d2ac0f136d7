// Contents of buffers whose exact result is known: whole numbers so small that every type holds every partial result,
// in whatever order it is formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/data_type.h"
#include "base/reduce.h"

namespace peal::perf {

// A stretch of elements that a buffer repeats, so that filling and checking run at the speed of memory. Its length is a
// prime: data that is off by any number of whole chunks, segments or blocks differs.
class Tile {
 public:
  static constexpr size_t kPeriod = 1021;

  // Numbers: value(i) for i < kPeriod, a number that `type` holds exactly (or rounds to, within the tolerance below).
  static Tile of_numbers(DataType type, const std::function<double(size_t)>& value);
  // Any bits, for data that only moves: the lowest size_of(type) bytes of bits(i).
  static Tile of_bits(DataType type, const std::function<uint64_t(size_t)>& bits);

  void fill(void* buffer, size_t count) const;
  // Elements of `buffer` that differ. `tolerance_ulps` > 0: floats may be that many units in the last place off.
  size_t count_wrong(const void* buffer, size_t count, int tolerance_ulps = 0) const;

 private:
  Tile(DataType type, const std::function<void(size_t, void*)>& put);

  DataType type_;
  std::vector<unsigned char> bytes_;
};

// What ranks contribute, and what comes out.
class Pattern {
 public:
  // `reduces`: false for data that only moves, whose `op` does not matter.
  Pattern(DataType type, ReduceOp op, bool reduces, int ranks)
      : type_(type), op_(op), reduces_(reduces), ranks_(ranks) {}

  // What rank contributes to block `block`.
  Tile input(int rank, size_t block) const;
  // What block `block` of everybody's contributions reduces to.
  Tile reduced(size_t block) const;
  // A rank's own factor for mulsum.
  static double factor(int rank) { return rank % 2 == 0 ? 1 : 2; }
  // Averages of floats may round differently from one division.
  int tolerance_ulps() const;

 private:
  // `bits` are those of one element, equal on all ranks.
  int one_rank(uint64_t bits) const { return static_cast<int>((bits >> 8) % static_cast<uint64_t>(ranks_)); }
  int another_rank(uint64_t bits) const { return static_cast<int>((bits >> 32) % static_cast<uint64_t>(ranks_)); }
  double value(int rank, uint64_t bits) const;
  double term(int rank, uint64_t bits) const;
  double factor_of_product(int rank, uint64_t bits) const;
  double level(int rank, uint64_t bits) const;
  double reduced_value(uint64_t bits) const;

  DataType type_;
  ReduceOp op_;
  bool reduces_;
  int ranks_;
};

}  // namespace peal::perf
