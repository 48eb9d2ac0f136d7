// What a rank does while nothing moves: spin, then yield, then sleep. The one place that knows.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "collectives/endpoint.h"

namespace peal {

// For loops that poll memory: lets the other thread of a core run, and costs less when the loop ends.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Idle {
 public:
  // `spins`: polls before the first yield; 0 with more ranks than cores, where spinning costs the others a whole tick
  // (4 ms). `endpoint`: whose transports to sleep on; null: sleep on nothing, by the clock.
  Idle(Endpoint* endpoint, int spins) : endpoint_(endpoint), spins_(spins) {}

  void moved() noexcept { polls_ = 0; }

  // After a poll in which nothing moved.
  void pause() noexcept {
    polls_++;
    if (polls_ <= spins_) {
      relax();
    } else if (polls_ <= spins_ + kYields) {
      sched_yield();
    } else {
      // 20 us at first, doubling up to 1 ms: an idle rank uses next to no CPU, one that waits shortly loses little.
      const int doublings = std::min((polls_ - spins_ - kYields) / 16, 6);
      const int timeout_us = std::min(20 << doublings, 1000);
      if (endpoint_ != nullptr) {
        endpoint_->wait(timeout_us);
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
      }
    }
  }
  // True every so often: when to look at clocks, abort flags and failed peers.
  bool time_to_look() const noexcept { return polls_ % 256 == 255; }

 private:
  static constexpr int kYields = 500;  // about 1 ms, at 2 us each with several ranks on a core

  Endpoint* endpoint_;
  int spins_;
  int polls_ = 0;
};

}  // namespace peal
