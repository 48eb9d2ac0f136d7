#include "collectives/planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace peal {
namespace {

constexpr size_t kMostCandidates = 5;
constexpr double kWorthTrying = 4;  // times the least expected: the model knows no better
// Calls from one round of trials to the next: 25 trials, some of which take twice as long, are then under 1 %.
constexpr uint32_t kCallsBetweenRounds = 4096;
// A new choice must win by this much, so that noise doesn't flip it.
constexpr double kWin = 0.95;

// Segments of plans through slots that are worth trying besides the default of 64 KiB, for messages of several of them.
constexpr size_t kLongSegment = 256 << 10;

std::vector<Choice> candidates_of(std::vector<Choice> ranked, size_t bytes, bool tries) {
  const Choice best = ranked.front();
  if (!tries || best.algorithm->needs == Needs::kConnections) return {best};
  std::erase_if(ranked, [&](const Choice& choice) {
    return choice.algorithm->needs == Needs::kConnections || choice.expected_ns > kWorthTrying * best.expected_ns;
  });
  if (ranked.size() > kMostCandidates - 1) ranked.resize(kMostCandidates - 1);
  if (bytes >= 4 * kLongSegment && best.segment_bytes == 0) {
    const auto slots = std::find_if(ranked.begin(), ranked.end(),
                                    [](const Choice& choice) { return choice.algorithm->needs == Needs::kWindow; });
    if (slots != ranked.end()) {
      ranked.push_back(*slots);
      ranked.back().segment_bytes = kLongSegment;
    }
  }
  return ranked;
}

}  // namespace

uint32_t Planner::SizeClass::trials() const noexcept {
  return candidates.size() < 2 ? 0 : kTrialsEach * static_cast<uint32_t>(candidates.size());
}

Planner::Planner(int rank, JobShape job, std::string_view algorithms, int channels, size_t segment_bytes, bool tries,
                 Log& log)
    : rank_(rank), selector_(std::move(job), algorithms, channels, segment_bytes), tries_(tries), log_(log) {}

Planner::SizeClass& Planner::size_class(Collective collective, size_t bytes, Circumstances circumstances) {
  const uint32_t key = Selector::size_class(collective, bytes, circumstances);
  const auto known = classes_.find(key);
  if (known != classes_.end()) return known->second;
  SizeClass made;
  made.candidates = candidates_of(selector_.ranked(collective, bytes, circumstances), bytes, tries_);
  made.ns.resize(made.candidates.size());
  made.median_ns.resize(made.candidates.size());
  return classes_.emplace(key, std::move(made)).first->second;
}

const Choice& Planner::choice(Collective collective, size_t bytes, Circumstances circumstances) {
  const SizeClass& known = size_class(collective, bytes, circumstances);
  return known.candidates[known.chosen];
}

int Planner::calls_to_settle(Collective collective, size_t bytes, Circumstances circumstances) {
  const SizeClass& known = size_class(collective, bytes, circumstances);
  return known.trying() ? static_cast<int>(known.trials() - known.calls) + 1 : 0;
}

std::span<const double> Planner::to_agree(const Operation& operation) {
  SizeClass& known = size_class(operation);
  if (known.trials() == 0 || known.calls != known.trials()) return {};
  for (size_t i = 0; i < known.ns.size(); i++) {
    std::array<double, kTrialsEach> sorted = known.ns[i];
    std::sort(sorted.begin(), sorted.end());
    known.median_ns[i] = sorted[kTrialsEach / 2];
  }
  return known.median_ns;
}

void Planner::agree(const Operation& operation, std::span<const double> worst) {
  SizeClass& known = size_class(operation);
  size_t best = known.chosen;
  for (size_t i = 0; i < worst.size(); i++) {
    if (worst[i] < worst[best] * (best == known.chosen ? kWin : 1)) best = i;
  }
  if (log_.enabled(LogLevel::kInfo)) {
    const Choice& choice = known.candidates[best];
    log_.info(
        fmt::format("{} of {} bytes: {}{} took {:.1f} us on the slowest rank, the best of {} tried{}",
                    name_of(operation.collective), operation.bytes, choice.algorithm->name,
                    choice.segment_bytes > 0 ? fmt::format(" in {} KiB segments", choice.segment_bytes >> 10) : "",
                    worst[best] / 1e3, worst.size(), best == known.chosen ? "" : ", chosen now"));
  }
  known.chosen = best;
  known.calls++;
}

bool Planner::plan(Operation& operation) {
  SizeClass& known = size_class(operation);
  const bool measures = known.trying();
  tried_now_ = known.current();
  const Choice& choice = known.candidates[tried_now_];
  operation.plan = &cached_plan(*choice.algorithm, operation.fingerprint.root, operation.in_place);
  operation.channels = choice.channels;
  operation.segment_bytes = choice.segment_bytes;
  if (operation.whole_buffer) {
    operation.input_map.set_parts(operation.fingerprint.count, operation.plan->chunks);
    operation.output_map.set_parts(operation.fingerprint.count, operation.plan->chunks);
  }
  if (known.trials() > 0 && !measures && ++known.calls > kCallsBetweenRounds) known.calls = 0;
  return measures;
}

void Planner::took(const Operation& operation, double ns) noexcept {
  SizeClass& known = size_class(operation);
  known.ns[tried_now_][known.calls / known.candidates.size()] = ns;
  known.calls++;
}

const Plan& Planner::cached_plan(const Algorithm& algorithm, int root, bool in_place) {
  const auto number = static_cast<uint64_t>(&algorithm - algorithms().data());
  const uint64_t key = (number << 40) | (static_cast<uint64_t>(root + 1) << 1) | (in_place ? 1 : 0);
  std::unique_ptr<Plan>& plan = plans_[key];
  if (!plan) {
    const JobShape& job = selector_.job();
    plan =
        std::make_unique<Plan>(build_plan(algorithm, {rank_, job.ranks, std::max(root, 0), in_place, &job.placement}));
  }
  return *plan;
}

}  // namespace peal
