// A point in time by which something must have happened. One deadline is passed all the way down.
#pragma once

#include <chrono>
#include <cstdint>

namespace peal {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after_ms(int64_t ms) { return Deadline(Clock::now() + std::chrono::milliseconds(ms)); }
  bool passed() const { return Clock::now() >= at_; }
  int64_t left_ms() const {  // never negative
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return left > 0 ? left : 0;
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace peal
