// The order in which a plan over mapped memory runs on several segments. A phase is a run of steps that waits for peers
// at its beginning only; in round t a rank runs phase 0 on segment t, phase 1 on segment t - 1, and so on, so that
// peers have a whole round to publish what a phase needs: a rank waits for slower ranks, not for hand-overs.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/plan.h"

namespace peal {

// Where each phase ends: the number of the step behind its last one. A plan of messages is one phase.
std::vector<size_t> phase_ends(const Plan& plan);

// What is to be issued next.
class PhaseCursor {
 public:
  void begin(std::vector<size_t> ends, size_t segments) {
    ends_ = std::move(ends);
    begin(segments);
  }
  void begin(size_t segments) noexcept {
    segments_ = segments;
    round_ = phase_ = step_ = 0;
    settle();
  }

  bool done() const noexcept { return segments_ == 0 || round_ >= segments_ + ends_.size() - 1; }
  size_t segment() const noexcept { return round_ - phase_; }
  size_t step() const noexcept { return step_; }
  bool at_begin_of_segment() const noexcept { return phase_ == 0 && step_ == 0; }
  bool at_end_of_phase() const noexcept { return step_ == ends_[phase_]; }
  bool at_end_of_segment() const noexcept { return step_ == ends_.back(); }

  void next_step() noexcept { step_++; }  // not at the end of a phase
  void next_phase() noexcept {            // at the end of one
    phase_++;
    settle();
  }

 private:
  // To the next phase that has a segment in this round, or in a later one.
  void settle() noexcept {
    for (; !done(); round_++, phase_ = 0) {
      if (round_ >= segments_ && phase_ < round_ - segments_ + 1) phase_ = round_ - segments_ + 1;
      if (phase_ < ends_.size() && phase_ <= round_) break;
    }
    step_ = phase_ == 0 || done() ? 0 : ends_[phase_ - 1];
  }

  std::vector<size_t> ends_;
  size_t segments_ = 0;
  size_t round_ = 0, phase_ = 0, step_ = 0;
};

}  // namespace peal
