#include "collectives/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace peal {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool holds(const std::map<Collective, std::vector<const Algorithm*>>& lists, const Algorithm& algorithm) {
  const auto found = lists.find(algorithm.collective);
  return found != lists.end() &&
         std::find(found->second.begin(), found->second.end(), &algorithm) != found->second.end();
}

// More ranks than this are not simulated rank by rank when choosing at run time: the first call of each size class pays
// for it (64 ranks: 1 to 20 ms).
constexpr int kSimulatedRanks = 64;

// Bytes of one segment, all chunks together: 64 KiB starts pipelines early, 1 MiB fits an L2 cache.
constexpr std::array<size_t, 3> kSegments = {64 << 10, 256 << 10, 1 << 20};
constexpr std::array<int, 2> kMoreChannels = {2, 4};

constexpr std::array<std::string_view, 3> kStreamingNames = {"never", "results", "all"};

// Where ranks may know different counts, all decide as for this many bytes.
constexpr size_t kUnknownBytes = 1 << 20;

// The first ranks along the ring, which become ranks 0, 1, ... in that order.
JobShape sample_of(const JobShape& job) {
  JobShape sample = job;
  if (sample.placement.ring.empty()) sample.placement = flat_placement(job.ranks);
  if (job.ranks <= kSimulatedRanks) return sample;
  const std::vector<int> ring = sample.placement.ring;
  sample.ranks = kSimulatedRanks;
  sample.costs.path = [path = job.costs.path, ring](int from, int to) {
    return path(ring[static_cast<size_t>(from)], ring[static_cast<size_t>(to)]);
  };
  sample.placement = first_of_ring(sample.placement, kSimulatedRanks);
  return sample;
}

}  // namespace

std::string_view name_of(Streaming streaming) noexcept { return kStreamingNames[static_cast<size_t>(streaming)]; }

std::string to_string(const Choice& choice) {
  std::string text(choice.algorithm->name);
  if (choice.segment_bytes > 0) text += fmt::format(" in {} KiB", choice.segment_bytes >> 10);
  if (choice.streaming != Streaming::kNever) text += fmt::format(", {} past the caches", name_of(choice.streaming));
  return text;
}

std::optional<Streaming> parse_streaming(std::string_view word) noexcept {
  const auto found = std::find(kStreamingNames.begin(), kStreamingNames.end(), word);
  if (found == kStreamingNames.end()) return std::nullopt;
  return static_cast<Streaming>(found - kStreamingNames.begin());
}

AlgorithmFilter::AlgorithmFilter(std::string_view text) {
  for (const std::string_view part : split(text, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("PEAL_ALGO: '{}' is not COLLECTIVE:ALGORITHM[,ALGORITHM] or COLLECTIVE:^ALGORITHM", part));
    }
    const Collective collective = parse_collective(part.substr(0, colon));
    std::string_view list = part.substr(colon + 1);
    const bool excludes = !list.empty() && list.front() == '^';
    if (excludes) list.remove_prefix(1);
    auto& names = excludes ? excluded_[collective] : only_[collective];
    for (const std::string_view name : split(list, ',')) names.push_back(&find_algorithm(collective, name));
  }
}

bool AlgorithmFilter::allows(const Algorithm& algorithm) const noexcept {
  if (holds(excluded_, algorithm)) return false;
  return only_.find(algorithm.collective) == only_.end() || holds(only_, algorithm);
}

Selector::Selector(JobShape job, std::string_view algorithms, int channels, size_t segment_bytes)
    : job_(std::move(job)),
      sample_(sample_of(job_)),
      filter_(algorithms),
      channels_(channels),
      segment_bytes_(segment_bytes) {}

bool Selector::possible(const Algorithm& algorithm, Circumstances circumstances) const noexcept {
  if (algorithm.placing == Placing::kByGroups && !sample_.placement.grouped()) return false;
  switch (algorithm.needs) {
    case Needs::kConnections:
      return true;
    case Needs::kWindow:
      return job_.has_window && circumstances.same_counts_known;
    case Needs::kReadable:
      return job_.has_window && circumstances.same_counts_known &&
             (circumstances.symmetric || job_.reach != Window::Reach::kNone);
    case Needs::kSymmetric:
      return job_.has_window && circumstances.same_counts_known && circumstances.symmetric;
  }
  return false;
}

std::vector<Plan> Selector::sample_plans(const Algorithm& algorithm) const {
  std::vector<Plan> plans;
  for (int rank = 0; rank < sample_.ranks; rank++) {
    plans.push_back(build_plan(algorithm, {rank, sample_.ranks, 0, false, &sample_.placement}));
  }
  return plans;
}

Choice Selector::best(const Algorithm& algorithm, size_t bytes, Circumstances circumstances) const {
  const std::vector<Plan> plans = sample_plans(algorithm);
  Choice best{&algorithm, 1, 0, -1};
  const auto consider = [&](int channels, size_t segment) {
    const double ns = simulate(
        plans, sample_.costs,
        {static_cast<double>(bytes), channels, static_cast<double>(segment),
         algorithm.needs == Needs::kReadable && !circumstances.symmetric && job_.reach == Window::Reach::kFetch});
    if (best.expected_ns < 0 || ns < best.expected_ns) best = {&algorithm, channels, segment, ns};
  };
  if (plans[0].needs_window()) {
    consider(1, segment_bytes_);
    return best;
  }
  // The best segment on one channel first, then whether more channels help with it.
  for (const size_t segment : kSegments) {
    consider(channels_ != 0 ? channels_ : 1, segment_bytes_ != 0 ? segment_bytes_ : segment);
    if (segment_bytes_ != 0 || bytes <= segment) break;  // larger segments would be the same
  }
  for (const int channels : kMoreChannels) {
    if (channels_ != 0 || bytes <= kSegments[0]) break;  // too small to be shared out
    consider(channels, best.segment_bytes);
  }
  return best;
}

uint32_t Selector::size_class(Collective collective, size_t bytes, Circumstances circumstances) noexcept {
  if (!circumstances.same_counts_known) bytes = kUnknownBytes;
  const auto power = static_cast<uint32_t>(std::bit_width(bytes));
  return (static_cast<uint32_t>(collective) << 16) | (power << 8) | (circumstances.symmetric ? 2U : 0U) |
         (circumstances.same_counts_known ? 1U : 0U);
}

std::vector<Choice> Selector::ranked(Collective collective, size_t bytes, Circumstances circumstances) const {
  if (!circumstances.same_counts_known) bytes = kUnknownBytes;
  const size_t representative = bytes == 0 ? 1 : std::bit_floor(bytes) + std::bit_floor(bytes) / 2;
  std::vector<Choice> choices;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective || !filter_.allows(algorithm)) continue;
    if (possible(algorithm, circumstances)) choices.push_back(best(algorithm, representative, circumstances));
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.expected_ns < b.expected_ns; });
  if (!choices.empty()) return choices;
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("no algorithm for {} is left: PEAL_ALGO allows none that can run here ({})", name_of(collective),
                  job_.has_window ? "this call's buffers are not in symmetric memory, or counts differ"
                                  : "no transport in use maps all ranks' memory"));
}

}  // namespace peal
