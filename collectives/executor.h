// Runs a communicator's collectives, one after the other in the order of the calls, each on as many lanes as it was
// given.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/endpoint.h"
#include "collectives/lane.h"
#include "collectives/mapped_lane.h"
#include "collectives/operation.h"
#include "collectives/planner.h"
#include "collectives/small_exchange.h"
#include "collectives/work_table.h"

namespace peal {

class Executor {
 public:
  // Lane i uses connections on channel first_channel + i. `window` may be null: then there are no small operations.
  Executor(Endpoint& endpoint, Window* window, WorkTable& works, int first_channel, Planner& planner);

  // An operation to fill in (reused ones keep their memory), then to be handed to submit().
  Operation& prepare();
  void submit();
  // The same for a small operation, when idle(): begins it, polls up to `spins` times and then, giving way in between,
  // up to `yields` times. True when it is done, and was never queued; nothing on this way allocates or looks at a
  // clock.
  bool submit_small(int spins, int yields);
  // Polls like that for the operation under way, if it is a small one.
  void hurry_small(int spins, int yields) noexcept;

  // Moves what can move; true when anything did.
  bool advance() noexcept;
  void look() noexcept;  // Lane::look() on every lane
  bool idle() const noexcept { return first_ == queue_.size(); }

  // What is under way or queued with a buffer that begins in [begin, end), in words; or "".
  std::string user_of(const std::byte* begin, const std::byte* end) const;

  const Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }
  // What is being waited for, in words: "step 3 (recv ...) of segment 0, all_reduce number 7, ...".
  std::string waiting_for() const;

 private:
  bool poll_small(int spins, int yields) noexcept;
  bool start(Operation& operation) noexcept;
  void start_planned(Operation& operation);
  bool agree(Operation& operation) noexcept;
  bool advance(Operation& operation, bool* done) noexcept;
  void finish(Operation& operation) noexcept;
  void look_at_group() noexcept;
  void fail(const Error& error) noexcept {
    if (!failure_) failure_.emplace(error);
  }

  Endpoint& endpoint_;
  GroupWindow window_;
  WorkTable& works_;
  int first_channel_;
  Planner& planner_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  MappedLane mapped_;
  SmallExchange small_;
  // Waiting and running operations are queue_[first_ ..]; done ones go to spare_.
  std::vector<std::unique_ptr<Operation>> queue_, spare_;
  size_t first_ = 0;
  bool running_ = false;
  std::optional<std::chrono::steady_clock::time_point> measured_from_;  // the running one
  bool agreeing_ = false;                                               // about how to run the next one
  Operation agreement_;
  std::vector<double> agreed_;
  std::optional<Error> failure_;
};

}  // namespace peal
