// What messages between a job's ranks take, measured: figures that replace the defaults of a Machine.
#pragma once

#include "collectives/communicator.h"
#include "topology/machine.h"

namespace peal::topo {

// More pairs than this are sampled: a pair takes about 60 ms, this many two minutes.
inline constexpr int kMostPairs = 2000;

// Collective over the job. `mine`: what this rank runs on (its first host). The hosts of all ranks joined, rank 0's
// first; Machine::measurements has both directions of every pair that was measured, one pair at a time while all others
// wait, and Machine::processor what the slowest rank's core does. Equal on all ranks.
Machine measure(Communicator& communicator, const Machine& mine);

}  // namespace peal::topo
