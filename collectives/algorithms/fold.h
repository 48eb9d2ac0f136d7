// Algorithms for a power of two of ranks serve any n when the ranks beyond it hand their input to a neighbour first and
// get the result from it at the end.
#pragma once

namespace peal {

struct Fold {
  int power = 1;        // the largest power of two <= ranks: ranks 0 .. power-1 run the algorithm
  int gives_to = -1;    // this rank is beyond it, and this is its neighbour
  int takes_from = -1;  // this rank has such a neighbour
};

inline Fold fold_to_power_of_two(int rank, int ranks) {
  Fold fold;
  while (fold.power * 2 <= ranks) fold.power *= 2;
  if (rank >= fold.power) fold.gives_to = rank - fold.power;
  if (rank + fold.power < ranks) fold.takes_from = rank + fold.power;
  return fold;
}

}  // namespace peal
