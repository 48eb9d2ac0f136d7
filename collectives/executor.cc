#include "collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>

namespace peal {
namespace {

constexpr size_t kMostGaps = 64;  // moved-out operations at the queue's front, before it is closed up

// Applies `each` to every chunk of the caller's result.
template <class Each>
void for_results(const Operation& operation, Each each) {
  const Plan& plan = *operation.plan;
  if (plan.collective == Collective::kReduce && plan.rank != plan.root) return;
  for (int chunk = 0; chunk < output_chunks(plan); chunk++) {
    const size_t count = operation.output_map.count(chunk);
    if (count > 0) each(operation.output + operation.output_map.offset(chunk) * operation.element(), count);
  }
}

}  // namespace

Executor::Executor(Endpoint& endpoint, Window* window, WorkTable& works, int first_channel)
    : endpoint_(endpoint), window_{window, 0}, works_(works), first_channel_(first_channel) {}

Operation& Executor::prepare() {
  if (spare_.empty()) spare_.push_back(std::make_unique<Operation>());
  return *spare_.back();
}

void Executor::submit() {
  if (first_ > 0 && (first_ == queue_.size() || first_ == kMostGaps)) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  queue_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

bool Executor::start(Operation& operation) noexcept {
  try {
    while (lanes_.size() < static_cast<size_t>(operation.channels)) {
      lanes_.push_back(std::make_unique<Lane>(endpoint_, window_, first_channel_ + static_cast<int>(lanes_.size())));
    }
    for (int i = 0; i < operation.channels; i++) lanes_[static_cast<size_t>(i)]->begin(operation, i);
  } catch (const Error& error) {
    fail(error);
    return false;
  } catch (const std::bad_alloc&) {
    fail(Error(ErrorCode::kSystem, "out of memory for a collective's scratch buffers"));
    return false;
  }
  if (operation.op == ReduceOp::kPremulSum && operation.plan->in_place) {
    for_results(operation,
                [&](std::byte* data, size_t count) { scale(operation.type, data, data, operation.factor, count); });
  }
  return true;
}

void Executor::finish(Operation& operation) noexcept {
  if (operation.op == ReduceOp::kAvg) {
    for_results(operation, [&](std::byte* data, size_t count) {
      divide(operation.type, data, data, operation.plan->ranks, count);
    });
  }
  works_.complete(operation.slot);
  spare_.push_back(std::move(queue_[first_]));
  first_++;
  running_ = false;
}

bool Executor::advance() noexcept {
  if (failure_ || idle()) return false;
  Operation& operation = *queue_[first_];
  if (!running_) {
    if (!start(operation)) return false;
    running_ = true;
  }
  bool moved = false, done = true;
  for (int i = 0; i < operation.channels; i++) {
    Lane& lane = *lanes_[static_cast<size_t>(i)];
    if (lane.done()) continue;
    moved |= lane.advance();
    done = done && lane.done();
    if (lane.failure() != nullptr) {
      fail(*lane.failure());
      return false;
    }
  }
  if (done) finish(operation);
  return moved || done;
}

void Executor::look() noexcept {
  for (const auto& lane : lanes_) {
    lane->look();
    if (lane->failure() != nullptr) fail(*lane->failure());
  }
}

std::string Executor::waiting_for() const {
  if (idle()) return "nothing";
  const Operation& operation = *queue_[first_];
  std::string text = to_string(operation.fingerprint);
  for (const auto& lane : lanes_) {
    if (lane->done()) continue;
    const auto& steps = operation.plan->steps;
    const auto step = static_cast<size_t>(lane->step());
    return fmt::format(
        "{} ({}): segment {}, {}", text, operation.plan->algorithm, lane->segment(),
        step < steps.size() ? fmt::format("step {}: {}", step, to_string(steps[step])) : std::string("its last steps"));
  }
  return text;
}

}  // namespace peal
