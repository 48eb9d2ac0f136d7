// What algorithms write plans with. Steps are written in the order in which they should be issued; the builder works
// out which earlier steps each must wait for, and maps the spaces of an in-place call onto one buffer.
#pragma once

#include <algorithm>
#include <span>

#include "collectives/plan.h"

namespace peal {

inline Chunks in(int first, int count = 1) { return {Space::kInput, first, count, first}; }
inline Chunks out(int first, int count = 1) { return {Space::kOutput, first, count, first}; }
// Scratch or shared slots [slot, slot + count) holding chunks [like, like + count).
inline Chunks scratch(int slot, int like, int count = 1) { return {Space::kScratch, slot, count, like}; }
inline Chunks shared(int slot, int like, int count = 1) { return {Space::kShared, slot, count, like}; }

// x modulo n, never negative: rank arithmetic on rings.
inline int wrap(int x, int n) { return ((x % n) + n) % n; }

class PlanBuilder {
 public:
  // `chunks`: parts that the buffer is cut into (all_reduce, broadcast, reduce), or the number of blocks (= ranks).
  PlanBuilder(Collective collective, const PlanRequest& request, int chunks);

  void send(int peer, Chunks src) { add({StepKind::kSend, peer, {}, src}); }
  void recv(int peer, Chunks dst) { add({StepKind::kRecv, peer, dst}); }
  void recv_reduce(int peer, Chunks dst) { add({StepKind::kRecvReduce, peer, dst}); }
  void copy(Chunks dst, Chunks src);  // nothing when in place makes them the same
  void reduce(Chunks dst, Chunks src) { add({StepKind::kReduce, -1, dst, src}); }
  // Shared slots that the group uses, where this rank's own steps don't name them all: ranks must agree.
  void use_shared_slots(int slots) { plan_.shared_slots = std::max(plan_.shared_slots, slots); }
  void publish(Chunks src, int stage);
  void read(Chunks dst, int peer, Chunks src, int stage);
  void read_reduce(Chunks dst, Chunks own, Chunks src, int stage);
  void write(int peer, Chunks dst, Chunks src, int stage);
  void take(Chunks dst, int peer, Chunks src, int stage);

  // All steps of a plan of fewer ranks: its rank i is members[i] here, its caller's chunks 0, 1, ... are
  // out(first_chunk),
  // ... It was built in place, and uses no mapped memory.
  void embed(const Plan& plan, std::span<const int> members, int first_chunk);

  Plan finish() &&;

 private:
  void add(Step step);
  Chunks resolve(Chunks chunks) const {
    return plan_.in_place ? in_place_chunks(plan_.collective, plan_.rank, chunks) : chunks;
  }
  Step staged(StepKind kind, int peer, Chunks dst, Chunks src, int stage) const;
  int newest_hazard(const Step& step, int oldest) const;

  Plan plan_;
};

}  // namespace peal
