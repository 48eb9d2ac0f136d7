// Says how each operation is run, at the moment when it starts. Where several algorithms over mapped memory promise
// about the same, the first calls of a size class try each of them, all ranks the same one at the same call; then the
// ranks exchange what each took and settle on the one whose slowest rank was fastest. Now and then they try again: the
// distance of cores, and what neighbours leave of the memory, change while a program runs.
//
// All that are tried fold in rank order, so that results keep their bits whichever is taken.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "collectives/operation.h"
#include "collectives/select.h"

namespace peal {

class Planner {
 public:
  // `tries`: false: what the model says first is taken.
  Planner(int rank, JobShape job, std::string_view algorithms, int channels, size_t segment_bytes, bool tries,
          std::optional<Streaming> streaming, Log& log);

  const Selector& selector() const noexcept { return selector_; }

  // What a call like this would take now. Throws Error(kUnsupported) when PEAL_ALGO leaves nothing.
  const Choice& choice(Collective collective, size_t bytes, Circumstances circumstances = {});
  // Calls like this until the ranks have settled on one, 0: they have.
  int calls_to_settle(Collective collective, size_t bytes, Circumstances circumstances = {});

  // ---- For the executor, operation by operation in the order of the calls, equal on all ranks ----
  // Not empty: this rank's times, to be exchanged before the operation can be planned, each for the worst of any rank.
  std::span<const double> to_agree(const Operation& operation);
  void agree(const Operation& operation, std::span<const double> worst);
  // Fills in plan, channels, segments and the lengths of chunks. True: took() wants to know how long it takes.
  bool plan(Operation& operation);
  void took(const Operation& operation, double ns) noexcept;

 private:
  static constexpr uint32_t kTrialsEach = 5;  // the median counts: the first pays for warming up, others for neighbours

  struct SizeClass {
    std::vector<Choice> candidates;
    std::vector<std::array<double, kTrialsEach>> ns;  // by candidate: what this round's trials took
    std::vector<double> median_ns;                    // of them
    size_t chosen = 0;
    uint32_t calls = 0;  // since the round of trials began
    uint32_t trials() const noexcept;
    bool trying() const noexcept { return calls < trials(); }
    size_t current() const noexcept { return trying() ? calls % candidates.size() : chosen; }
  };

  SizeClass& size_class(Collective collective, size_t bytes, Circumstances circumstances);
  SizeClass& size_class(const Operation& operation) {
    return size_class(operation.collective, operation.bytes, operation.circumstances);
  }
  const Plan& cached_plan(const Algorithm& algorithm, int root, bool in_place);

  int rank_;
  Selector selector_;
  bool tries_;
  std::optional<Streaming> streaming_;  // forced
  Log& log_;
  std::map<uint32_t, SizeClass> classes_;
  std::map<uint64_t, std::unique_ptr<Plan>> plans_;
  size_t tried_now_ = 0;  // the candidate that the operation under way measures
};

}  // namespace peal
