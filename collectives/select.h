// Which algorithm, how many channels, which segments: what simulate() says is fastest among what is possible and
// allowed. Every rank computes it from the same exchanged facts and gets the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"
#include "collectives/algorithms/catalog.h"
#include "collectives/simulate.h"
#include "transports/transport.h"

namespace peal {

// What is known of a job, equal on all ranks.
struct JobShape {
  int ranks = 1;
  MachineCosts costs;
  bool has_window = false;                     // all ranks map each other's memory
  Window::Reach reach = Window::Reach::kNone;  // of their other memory, by all
  Placement placement{};                       // empty: rank order, one group
};

// Of one call, equal on all ranks.
struct Circumstances {
  bool symmetric = false;         // its buffers lie in symmetric memory
  bool same_counts_known = true;  // every rank knows all counts: false for gather_v, scatter_v and all_to_all_v, whose
                                  // choice must not depend on bytes
};

// What a plan over mapped memory writes past the caches (base/streaming_copy.h).
enum class Streaming : uint8_t { kNever, kResults, kAll };

PEAL_API std::string_view name_of(Streaming streaming) noexcept;
// PEAL_STREAMING; nothing for "auto".
std::optional<Streaming> parse_streaming(std::string_view word) noexcept;

struct Choice {
  const Algorithm* algorithm = nullptr;
  int channels = 1;
  size_t segment_bytes = 0;  // 0: one segment, or as the window's size says
  double expected_ns = 0;
  Streaming streaming = Streaming::kNever;
};

// "two_shot in 256 KiB, results past the caches"
std::string to_string(const Choice& choice);

// Which algorithms PEAL_ALGO allows: "all_reduce:ring,halving_doubling;broadcast:^direct".
class PEAL_API AlgorithmFilter {
 public:
  // Throws Error(kInvalidArgument) for an unknown collective or algorithm, listing the valid ones and the nearest.
  explicit AlgorithmFilter(std::string_view text);
  bool allows(const Algorithm& algorithm) const noexcept;

 private:
  std::map<Collective, std::vector<const Algorithm*>> only_, excluded_;
};

class PEAL_API Selector {
 public:
  // `channels` and `segment_bytes` force those when not 0.
  Selector(JobShape job, std::string_view algorithms, int channels, size_t segment_bytes);

  // All that can run for `bytes` (of the larger buffer), fastest first, each at its best channels and segments. Throws
  // Error(kUnsupported) when PEAL_ALGO leaves none. The same for all sizes of a size class.
  std::vector<Choice> ranked(Collective collective, size_t bytes, Circumstances circumstances = {}) const;
  // Powers of two, by collective and circumstances: what is decided alike for them.
  static uint32_t size_class(Collective collective, size_t bytes, Circumstances circumstances) noexcept;

  bool allows(const Algorithm& algorithm) const noexcept { return filter_.allows(algorithm); }
  const JobShape& job() const noexcept { return job_; }

 private:
  bool possible(const Algorithm& algorithm, Circumstances circumstances) const noexcept;
  std::vector<Plan> sample_plans(const Algorithm& algorithm) const;
  Choice best(const Algorithm& algorithm, size_t bytes, Circumstances circumstances) const;

  JobShape job_;
  JobShape sample_;  // what is simulated: the job, or its first ranks along the ring
  AlgorithmFilter filter_;
  int channels_;
  size_t segment_bytes_;
};

}  // namespace peal
