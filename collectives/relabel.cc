#include "collectives/relabel.h"

#include "base/error.h"

namespace peal {
namespace {

// Does chunk c of this space belong to rank c?
bool block_per_rank(Collective collective, Space space) {
  switch (collective) {
    case Collective::kAllToAll:
      return true;
    case Collective::kAllGather:
    case Collective::kGather:
      return space != Space::kInput;
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return space != Space::kOutput;
    default:
      return false;
  }
}

class Relabelling {
 public:
  Relabelling(const Plan& plan, std::span<const int> ring)
      : collective_(plan.collective), blocks_(plan.chunks), ring_(ring) {}

  int rank(int position) const { return position < 0 ? position : ring_[static_cast<size_t>(position)]; }

  void chunks(Chunks& chunks) const {
    if (!block_per_rank(collective_, chunks.space)) return;
    const bool whole = chunks.first == 0 && chunks.count == blocks_;
    if (whole && chunks.space < Space::kScratch) return;
    if (chunks.count != 1) throw Error(ErrorCode::kInternal, "a run of blocks can't follow the ring");
    chunks.like = rank(chunks.like);
    if (chunks.space < Space::kScratch) chunks.first = chunks.like;
  }

 private:
  Collective collective_;
  int blocks_;
  std::span<const int> ring_;
};

}  // namespace

Plan relabel(Plan plan, std::span<const int> ring) {
  const Relabelling to(plan, ring);
  plan.rank = to.rank(plan.rank);
  plan.root = to.rank(plan.root);
  for (int& peer : plan.send_peers) peer = to.rank(peer);
  for (int& peer : plan.recv_peers) peer = to.rank(peer);
  for (Step& step : plan.steps) {
    step.peer = to.rank(step.peer);
    to.chunks(step.dst);
    to.chunks(step.src);
  }
  return plan;
}

}  // namespace peal
