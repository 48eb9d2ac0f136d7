#include "trainer/metrics/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace peal::trainer {

ProgressLine::ProgressLine(bool enabled, uint64_t total_steps, double epochs)
    : enabled_(enabled), terminal_(isatty(STDERR_FILENO) == 1), total_steps_(total_steps), epochs_(epochs) {}

ProgressLine::~ProgressLine() {
  if (open_) std::fputc('\n', stderr);
}

std::string ProgressLine::text(const StepRecord& record, double now) const {
  const double rate = static_cast<double>(record.step - first_step_ + 1) / now;
  const double left = static_cast<double>(total_steps_ - record.step) / rate;
  std::string line = fmt::format(
      "epoch {:.2f}/{:g}  step {}/{}  loss {:.4f}  {:.0f} images/s  wait {:.1f} %  eta {:.0f} s", record.epoch, epochs_,
      record.step, total_steps_, loss_ / steps_, samples_ / seconds_, 100 * waited_ / seconds_, left);
  if (record.evaluation) {
    line += fmt::format("  test accuracy {:.2f} %  test loss {:.4f}", 100 * record.evaluation->accuracy(),
                        record.evaluation->loss);
  }
  return line;
}

void ProgressLine::update(const StepRecord& record) {
  if (!enabled_) return;
  const double now = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (first_step_ == 0) first_step_ = record.step;
  samples_ += record.samples;
  seconds_ += record.seconds;
  waited_ += record.wait_fraction * record.seconds;
  loss_ += record.loss;
  steps_ += 1;
  const double pause = terminal_ ? 0.2 : 2.0;
  if (!record.evaluation && now - shown_at_ < pause) return;
  if (record.evaluation || !terminal_) {
    say(text(record, now));
  } else {
    rewrite(text(record, now));
  }
  shown_at_ = now;
  samples_ = seconds_ = waited_ = loss_ = steps_ = 0;
}

void ProgressLine::say(const std::string& text) {
  if (!enabled_) return;
  fmt::print(stderr, "{}{}\n", open_ ? "\r\033[K" : "", text);
  open_ = false;
}

void ProgressLine::rewrite(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  open_ = true;
}

}  // namespace peal::trainer
