#include "collectives/plan_builder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace peal {
namespace {

void note_peer(std::vector<int>& peers, int peer) {
  if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
}

}  // namespace

PlanBuilder::PlanBuilder(Collective collective, const PlanRequest& request, int chunks) {
  plan_.collective = collective;
  plan_.rank = request.rank;
  plan_.ranks = request.ranks;
  plan_.root = request.root;
  plan_.in_place = request.in_place;
  plan_.chunks = chunks;
}

void PlanBuilder::copy(Chunks dst, Chunks src) {
  if (resolve(dst) == resolve(src)) return;
  add({StepKind::kCopy, -1, dst, src});
}

Step PlanBuilder::staged(StepKind kind, int peer, Chunks dst, Chunks src, int stage) const {
  Step step{kind, peer, dst, src};
  step.stage = static_cast<int16_t>(stage);
  return step;
}

void PlanBuilder::publish(Chunks src, int stage) { add(staged(StepKind::kPublish, -1, {}, src, stage)); }

void PlanBuilder::read(Chunks dst, int peer, Chunks src, int stage) {
  add(staged(StepKind::kRead, peer, dst, src, stage));
}

void PlanBuilder::read_reduce(Chunks dst, Chunks own, Chunks src, int stage) {
  Step step = staged(StepKind::kReadReduce, -1, dst, src, stage);
  step.own = own;
  add(step);
}

void PlanBuilder::write(int peer, Chunks dst, Chunks src, int stage) {
  add(staged(StepKind::kWrite, peer, dst, src, stage));
}

void PlanBuilder::take(Chunks dst, int peer, Chunks src, int stage) {
  add(staged(StepKind::kTake, peer, dst, src, stage));
}

// A step waits for the newest earlier step that touches the same chunks, unless both only read them. What lies before
// `oldest` all later steps wait for anyway: looking there would make long plans (a ring of 16,384 ranks has 32,766
// steps) cost the square of their length.
int PlanBuilder::newest_hazard(const Step& step, int oldest) const {
  const bool writes = step.kind != StepKind::kSend && step.kind != StepKind::kPublish && step.kind != StepKind::kWrite;
  const bool reads_src = step.kind != StepKind::kRecv && step.kind != StepKind::kRecvReduce &&
                         step.kind != StepKind::kRead && step.kind != StepKind::kReadReduce;
  const bool reads_own = step.kind == StepKind::kReadReduce;
  for (int i = static_cast<int>(plan_.steps.size()) - 1; i > oldest; i--) {
    const Step& earlier = plan_.steps[static_cast<size_t>(i)];
    if (step.kind == StepKind::kPublish && earlier.waits_for_publish()) return i;  // peers may conclude that it is done
    if (writes && (earlier.reads(step.dst) || earlier.writes(step.dst))) return i;
    if (reads_src && earlier.writes(step.src)) return i;
    if (reads_own && earlier.writes(step.own)) return i;
  }
  return oldest;
}

void PlanBuilder::add(Step step) {
  const bool src_is_a_peers = step.kind == StepKind::kRead || step.kind == StepKind::kReadReduce;
  const bool dst_is_a_peers = step.kind == StepKind::kWrite;
  if (!dst_is_a_peers) step.dst = resolve(step.dst);
  if (!src_is_a_peers) step.src = resolve(step.src);
  step.own = resolve(step.own);
  for (const Chunks& chunks : {step.dst, step.src}) {
    int& slots = chunks.space == Space::kScratch ? plan_.scratch_slots : plan_.shared_slots;
    if (chunks.space >= Space::kScratch) slots = std::max(slots, chunks.first + chunks.count);
  }
  if (step.kind == StepKind::kPublish && step.src.space != Space::kShared) plan_.exposes_user_memory = true;
  const bool message =
      step.kind == StepKind::kSend || step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce;
  const Chunks& carried = step.kind == StepKind::kSend ? step.src : step.dst;
  if (message && carried.count > 1 && carried.space >= Space::kScratch) {
    throw Error(ErrorCode::kInternal, "a message of several chunks must come from or go to the caller's buffers");
  }
  if (step.kind >= StepKind::kPublish) plan_.stages = std::max(plan_.stages, step.stage + 1);
  if (step.kind == StepKind::kSend) note_peer(plan_.send_peers, step.peer);
  if (step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce) note_peer(plan_.recv_peers, step.peer);

  const int before = plan_.steps.empty() ? -1 : plan_.steps.back().after;
  step.after = newest_hazard(step, before);  // issue is in order, so waits only grow
  step.own_wait = step.after > before;
  plan_.steps.push_back(step);
}

void PlanBuilder::embed(const Plan& plan, std::span<const int> members, int first_chunk) {
  if (!plan.in_place || plan.needs_window()) throw Error(ErrorCode::kInternal, "only plans in place can be embedded");
  const int first_slot = plan_.scratch_slots;
  const auto here = [&](const Chunks& chunks) {
    if (chunks.space == Space::kOutput) return out(chunks.first + first_chunk, chunks.count);
    return scratch(chunks.first + first_slot, chunks.like + first_chunk, chunks.count);
  };
  for (Step step : plan.steps) {
    if (step.peer >= 0) step.peer = members[static_cast<size_t>(step.peer)];
    const bool sends = step.kind == StepKind::kSend;
    const bool has_src = sends || step.kind == StepKind::kCopy || step.kind == StepKind::kReduce;
    if (has_src) step.src = here(step.src);
    if (!sends) step.dst = here(step.dst);
    add(step);
  }
}

Plan PlanBuilder::finish() && { return std::move(plan_); }

}  // namespace peal
