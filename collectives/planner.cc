#include "collectives/planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace peal {
namespace {

constexpr size_t kMostAlgorithms = 4;
constexpr double kWorthTrying = 4;  // times the least expected: the model knows no better
// Calls from one round of trials to the next: 40 trials at most, some of which take twice as long, are then under 1 %.
constexpr uint32_t kCallsBetweenRounds = 4096;
// A new choice must win by this much, so that noise doesn't flip it.
constexpr double kWin = 0.95;

// Segments of plans through slots that are worth trying besides the default of 64 KiB, for messages of several of them.
constexpr size_t kLongSegment = 256 << 10;
// Smaller messages stay in caches that cores share.
constexpr size_t kLeastStreamed = 64 << 10;

// The same algorithm, written and cut otherwise: how far apart cores are decides which is faster.
void add_variants(std::vector<Choice>& candidates, size_t bytes, bool cuts, bool streams) {
  const auto written = std::find_if(candidates.begin(), candidates.end(), [](const Choice& choice) {
    return choice.algorithm->needs == Needs::kWindow || choice.algorithm->needs == Needs::kSymmetric;
  });
  if (written == candidates.end()) return;
  const Choice plain = *written;
  const bool through_slots = plain.algorithm->needs == Needs::kWindow;
  const auto add = [&](size_t segment, Streaming streaming) {
    candidates.push_back(plain);
    candidates.back().segment_bytes = segment;
    candidates.back().streaming = streaming;
  };
  cuts = cuts && through_slots && plain.segment_bytes == 0 && bytes >= 4 * kLongSegment;
  if (cuts) add(kLongSegment, plain.streaming);
  if (!streams || bytes < kLeastStreamed) return;
  add(plain.segment_bytes, Streaming::kResults);
  if (!through_slots) return;
  add(plain.segment_bytes, Streaming::kAll);
  if (cuts) add(kLongSegment, Streaming::kResults);
}

std::vector<Choice> candidates_of(std::vector<Choice> ranked, size_t bytes, bool tries,
                                  std::optional<Streaming> streaming) {
  for (Choice& choice : ranked) choice.streaming = streaming.value_or(Streaming::kNever);
  const Choice best = ranked.front();
  if (!tries || best.algorithm->needs == Needs::kConnections) return {best};
  std::erase_if(ranked, [&](const Choice& choice) {
    return choice.algorithm->needs == Needs::kConnections || choice.expected_ns > kWorthTrying * best.expected_ns;
  });
  if (ranked.size() > kMostAlgorithms) ranked.resize(kMostAlgorithms);
  add_variants(ranked, bytes, true, !streaming);
  return ranked;
}

}  // namespace

uint32_t Planner::SizeClass::trials() const noexcept {
  return candidates.size() < 2 ? 0 : kTrialsEach * static_cast<uint32_t>(candidates.size());
}

Planner::Planner(int rank, JobShape job, std::string_view algorithms, int channels, size_t segment_bytes, bool tries,
                 std::optional<Streaming> streaming, Log& log)
    : rank_(rank),
      selector_(std::move(job), algorithms, channels, segment_bytes),
      tries_(tries),
      streaming_(streaming),
      log_(log) {}

Planner::SizeClass& Planner::size_class(Collective collective, size_t bytes, Circumstances circumstances) {
  const uint32_t key = Selector::size_class(collective, bytes, circumstances);
  const auto known = classes_.find(key);
  if (known != classes_.end()) return known->second;
  SizeClass made;
  made.candidates = candidates_of(selector_.ranked(collective, bytes, circumstances), bytes, tries_, streaming_);
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
    std::string tried;
    for (size_t i = 0; i < worst.size(); i++) {
      tried += fmt::format("{}{} {:.1f}", i == 0 ? "" : ", ", to_string(known.candidates[i]), worst[i] / 1e3);
    }
    log_.info(fmt::format("{} of about {} bytes: {}{}; tried, us on the slowest rank: {}",
                          name_of(operation.collective), operation.bytes, to_string(known.candidates[best]),
                          best == known.chosen ? "" : ", chosen now", tried));
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
  operation.streaming = choice.streaming;
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
