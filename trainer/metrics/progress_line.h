// What a person watches while training runs: on a terminal one line that is rewritten, elsewhere a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "trainer/metrics/json_log.h"

namespace peal::trainer {

class ProgressLine {
 public:
  // Writes to stderr; nothing at all unless `enabled` (one rank of a job is).
  ProgressLine(bool enabled, uint64_t total_steps, double epochs);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // After every step: "epoch 1.3/10  step 305/2344  loss 0.4312  52310 images/s  wait 4 %  eta 9 s", at most five times
  // a second on a terminal and every two seconds elsewhere; figures are means since the line before. A record with an
  // evaluation always gets a line of its own, with test accuracy and loss.
  void update(const StepRecord& record);

  // A whole line, apart from the one that is being rewritten.
  void say(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  std::string text(const StepRecord& record, double now) const;
  void rewrite(const std::string& text);

  bool enabled_;
  bool terminal_;
  bool open_ = false;  // a rewritable line stands on the terminal
  uint64_t total_steps_;
  double epochs_;
  Clock::time_point begin_ = Clock::now();
  double shown_at_ = 0;  // seconds since begin_
  uint64_t first_step_ = 0;
  double samples_ = 0, seconds_ = 0, waited_ = 0, loss_ = 0, steps_ = 0;  // since the line before
};

}  // namespace peal::trainer
