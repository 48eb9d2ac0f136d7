#include "collectives/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace peal {
namespace {

constexpr std::array<std::string_view, kCollectives> kNames = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather", "scatter", "all_to_all", "barrier"};

std::string to_string(const Chunks& chunks) {
  static constexpr std::array<std::string_view, 4> kSpaces = {"in", "out", "scratch", "shared"};
  const std::string_view space = kSpaces[static_cast<size_t>(chunks.space)];
  std::string text = chunks.count == 1
                         ? fmt::format("{}[{}]", space, chunks.first)
                         : fmt::format("{}[{}..{}]", space, chunks.first, chunks.first + chunks.count - 1);
  if (chunks.space >= Space::kScratch && chunks.like != chunks.first) text += fmt::format("~{}", chunks.like);
  return text;
}

}  // namespace

std::string_view name_of(Collective collective) noexcept { return kNames[static_cast<size_t>(collective)]; }

Collective parse_collective(std::string_view word) {
  const auto found = std::find(kNames.begin(), kNames.end(), word);
  if (found == kNames.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("unknown collective '{}'; valid: {}", word, fmt::join(kNames, " ")));
  }
  return static_cast<Collective>(found - kNames.begin());
}

bool reduces(Collective collective) noexcept {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce || collective == Collective::kBarrier;
}

bool Step::reads(const Chunks& chunks) const noexcept {
  switch (kind) {
    case StepKind::kSend:
    case StepKind::kCopy:
    case StepKind::kWrite:
    case StepKind::kTake:
      return src.overlaps(chunks);
    case StepKind::kReduce:
      return src.overlaps(chunks) || dst.overlaps(chunks);
    case StepKind::kRecvReduce:
      return dst.overlaps(chunks);
    case StepKind::kReadReduce:
      return own.overlaps(chunks);
    case StepKind::kPublish:  // done when issued, so that no later step need wait for it
    case StepKind::kRecv:
    case StepKind::kRead:
      return false;
  }
  return false;
}

bool Step::writes(const Chunks& chunks) const noexcept {
  return kind != StepKind::kSend && kind != StepKind::kPublish && kind != StepKind::kWrite && dst.overlaps(chunks);
}

Chunks in_place_chunks(Collective collective, int rank, Chunks chunks) noexcept {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kGather:
      if (chunks.space == Space::kInput) return {Space::kOutput, rank, chunks.count, rank};
      break;
    case Collective::kReduceScatter:
    case Collective::kScatter:
      if (chunks.space == Space::kOutput) return {Space::kInput, rank, chunks.count, rank};
      break;
    default:
      if (chunks.space == Space::kInput) chunks.space = Space::kOutput;
  }
  return chunks;
}

int input_chunks(const Plan& plan) noexcept {
  return plan.collective == Collective::kAllGather || plan.collective == Collective::kGather ? 1 : plan.chunks;
}

int output_chunks(const Plan& plan) noexcept {
  return plan.collective == Collective::kReduceScatter || plan.collective == Collective::kScatter ? 1 : plan.chunks;
}

std::string to_string(const Step& step) {
  switch (step.kind) {
    case StepKind::kSend:
      return fmt::format("send {} to {}", to_string(step.src), step.peer);
    case StepKind::kRecv:
      return fmt::format("recv {} from {}", to_string(step.dst), step.peer);
    case StepKind::kRecvReduce:
      return fmt::format("recv_reduce {} from {}", to_string(step.dst), step.peer);
    case StepKind::kCopy:
      return fmt::format("copy {} = {}", to_string(step.dst), to_string(step.src));
    case StepKind::kReduce:
      return fmt::format("reduce {} += {}", to_string(step.dst), to_string(step.src));
    case StepKind::kPublish:
      return fmt::format("publish {} as stage {}", to_string(step.src), step.stage);
    case StepKind::kRead:
      return fmt::format("read {} = {} of {} at stage {}", to_string(step.dst), to_string(step.src), step.peer,
                         step.stage);
    case StepKind::kReadReduce:
      return fmt::format("read_reduce {} = {} + {} of all others at stage {}", to_string(step.dst), to_string(step.own),
                         to_string(step.src), step.stage);
    case StepKind::kWrite:
      return fmt::format("write {} of {} = {} at stage {}", to_string(step.dst), step.peer, to_string(step.src),
                         step.stage);
    case StepKind::kTake:
      return fmt::format("take {} = {} written by {} at stage {}", to_string(step.dst), to_string(step.src), step.peer,
                         step.stage);
  }
  return "?";
}

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("{} {}: rank {} of {}, {} chunks, {} scratch and {} shared slots{}\n", plan.algorithm,
                                 name_of(plan.collective), plan.rank, plan.ranks, plan.chunks, plan.scratch_slots,
                                 plan.shared_slots, plan.in_place ? ", in place" : "");
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const Step& step = plan.steps[i];
    text += fmt::format("{:4}  {}", i, to_string(step));
    if (step.own_wait) text += fmt::format("  (after {})", step.after);
    text += '\n';
  }
  return text;
}

}  // namespace peal
