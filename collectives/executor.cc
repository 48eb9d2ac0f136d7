#include "collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/idle.h"

namespace peal {
namespace {

constexpr int kAgreementRoot = 510;  // no call's root: see small_exchange.cc's tags
constexpr size_t kMostGaps = 64;     // moved-out operations at the queue's front, before it is closed up

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

Executor::Executor(Endpoint& endpoint, Window* window, WorkTable& works, int first_channel, Planner& planner)
    : endpoint_(endpoint),
      window_{window, endpoint.rank(), 0},
      works_(works),
      first_channel_(first_channel),
      planner_(planner),
      mapped_(window_),
      small_(window_) {}

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

bool Executor::submit_small(int spins, int yields) {
  small_.begin(*spare_.back());
  if (poll_small(spins, yields)) return true;
  submit();
  running_ = true;
  return false;
}

void Executor::hurry_small(int spins, int yields) noexcept {
  if (failure_ || idle() || agreeing_ || !queue_[first_]->small) return;
  Operation& operation = *queue_[first_];
  if (!running_) small_.begin(operation);
  running_ = true;
  if (poll_small(spins, yields)) finish(operation);
}

bool Executor::poll_small(int spins, int yields) noexcept {
  for (int i = 0; i <= spins; i++) {
    if (small_.advance()) return true;
    relax();
  }
  for (int i = 0; i < yields; i++) {
    sched_yield();
    if (small_.advance()) return true;
  }
  return false;
}

// The ranks tell each other what trials took, all in the same small all-reduce before the same operation. False: not
// over yet.
bool Executor::agree(Operation& operation) noexcept {
  if (!agreeing_) {
    const auto mine = planner_.to_agree(operation);
    if (mine.empty()) return true;
    agreed_.assign(mine.begin(), mine.end());
    agreement_.input = reinterpret_cast<const std::byte*>(agreed_.data());
    agreement_.output = reinterpret_cast<std::byte*>(agreed_.data());
    agreement_.type = DataType::kFloat64;
    agreement_.op = ReduceOp::kMax;
    Fingerprint& call = agreement_.fingerprint;
    call.sequence = operation.fingerprint.sequence;
    call.count = agreed_.size();
    call.collective = Collective::kAllReduce;
    call.type = DataType::kFloat64;
    call.op = ReduceOp::kMax;
    call.root = kAgreementRoot;
    small_.begin(agreement_, false);
    agreeing_ = true;
  }
  if (!small_.advance()) return false;
  agreeing_ = false;
  planner_.agree(operation, agreed_);
  return true;
}

bool Executor::start(Operation& operation) noexcept {
  try {
    if (operation.small) {
      small_.begin(operation);
    } else if (agree(operation)) {
      start_planned(operation);
    } else {
      return false;
    }
    return true;
  } catch (const Error& error) {
    fail(error);
  } catch (const std::bad_alloc&) {
    fail(Error(ErrorCode::kSystem, "out of memory for a collective's scratch buffers"));
  }
  return false;
}

void Executor::start_planned(Operation& operation) {
  measured_from_.reset();
  if (planner_.plan(operation)) measured_from_ = std::chrono::steady_clock::now();
  if (window_.window != nullptr) window_.declare(operation.fingerprint.words());
  if (operation.plan->needs_window()) {
    mapped_.begin(operation);
  } else {
    while (lanes_.size() < static_cast<size_t>(operation.channels)) {
      lanes_.push_back(std::make_unique<Lane>(endpoint_, first_channel_ + static_cast<int>(lanes_.size())));
    }
    for (int i = 0; i < operation.channels; i++) lanes_[static_cast<size_t>(i)]->begin(operation, i);
  }
  if (operation.op == ReduceOp::kPremulSum && operation.plan->in_place) {
    for_results(operation,
                [&](std::byte* data, size_t count) { scale(operation.type, data, data, operation.factor, count); });
  }
}

void Executor::finish(Operation& operation) noexcept {
  if (measured_from_ && !operation.small) {
    const auto elapsed = std::chrono::steady_clock::now() - *measured_from_;
    planner_.took(operation, std::chrono::duration<double, std::nano>(elapsed).count());
  }
  if (operation.op == ReduceOp::kAvg && !operation.small) {
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
  bool done = false;
  const bool moved = advance(operation, &done);
  if (done) finish(operation);
  return moved || done;
}

bool Executor::advance(Operation& operation, bool* done) noexcept {
  if (operation.small) return *done = small_.advance();
  if (operation.plan->needs_window()) {
    const bool moved = mapped_.advance();
    if (mapped_.failure() != nullptr) fail(*mapped_.failure());
    *done = mapped_.done();
    return moved;
  }
  bool moved = false;
  *done = true;
  for (int i = 0; i < operation.channels; i++) {
    Lane& lane = *lanes_[static_cast<size_t>(i)];
    if (lane.done()) continue;
    moved |= lane.advance();
    *done = *done && lane.done();
    if (lane.failure() != nullptr) {
      fail(*lane.failure());
      *done = false;
      return false;
    }
  }
  return moved;
}

void Executor::look() noexcept {
  look_at_group();
  mapped_.look();
  if (mapped_.failure() != nullptr) fail(*mapped_.failure());
  for (const auto& lane : lanes_) {
    lane->look();
    if (lane->failure() != nullptr) fail(*lane->failure());
  }
}

// While something waits: for a member that calls something else, and for one that is gone (lanes look for those that
// they need; a small operation needs all).
void Executor::look_at_group() noexcept {
  if (window_.window == nullptr || failure_ || idle() || !(running_ || agreeing_)) return;
  const Operation& operation = *queue_[first_];
  const auto words = operation.fingerprint.words();
  if (const int peer = window_.rank_at_odds(words); peer >= 0) {
    fail(mismatch(window_.rank, peer, words, *window_.declared(peer)));
  } else if (const int gone = window_.window->failed_member(); gone >= 0 && (operation.small || agreeing_)) {
    if (small_.needs(gone)) {
      fail(Error(ErrorCode::kPeerFailed, fmt::format("rank {} died or left", gone), {window_.rank, gone, -1}));
    }
  }
}

std::string Executor::user_of(const std::byte* begin, const std::byte* end) const {
  for (size_t i = first_; i < queue_.size(); i++) {
    for (const std::byte* buffer : {queue_[i]->input, static_cast<const std::byte*>(queue_[i]->output)}) {
      if (buffer >= begin && buffer < end) return to_string(queue_[i]->fingerprint);
    }
  }
  return "";
}

std::string Executor::waiting_for() const {
  if (idle()) return "nothing";
  const Operation& operation = *queue_[first_];
  std::string text = to_string(operation.fingerprint);
  if (agreeing_) return fmt::format("what ranks say of earlier calls, before {}: {}", text, small_.waiting_for());
  if (operation.small) return fmt::format("{} ({})", text, small_.waiting_for());
  if (!running_) return text;
  const auto place = [&](int segment, int step) {
    const auto& steps = operation.plan->steps;
    return fmt::format("{} ({}): segment {}, {}", text, operation.plan->algorithm, segment,
                       static_cast<size_t>(step) < steps.size()
                           ? fmt::format("step {}: {}", step, to_string(steps[static_cast<size_t>(step)]))
                           : std::string("its last steps"));
  };
  if (operation.plan->needs_window()) return place(mapped_.segment(), mapped_.step());
  for (const auto& lane : lanes_) {
    if (!lane->done()) return place(lane->segment(), lane->step());
  }
  return text;
}

}  // namespace peal
