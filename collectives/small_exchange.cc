#include "collectives/small_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace peal {
namespace {

bool one_block_in(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kGather;
}

bool whole(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce;
}

// Which call, and all of its arguments that ranks must agree on. Exact for up to 510 ranks (roots beyond wrap); the
// number of the call wraps after 2^31, by when a line that was not written since would have to hold that very call's
// arguments.
uint64_t tag_of(const Fingerprint& call) {
  constexpr int kCountBits = 13, kTypeBits = 4, kOpBits = 3, kCollectiveBits = 4, kRootBits = 9;
  uint64_t tag = call.sequence + 1;
  tag = (tag << kCountBits) | (call.count & ((1 << kCountBits) - 1));
  tag = (tag << kTypeBits) | static_cast<uint64_t>(call.type);
  tag = (tag << kOpBits) | static_cast<uint64_t>(call.op);
  tag = (tag << kCollectiveBits) | static_cast<uint64_t>(call.collective);
  return (tag << kRootBits) | (static_cast<uint64_t>(call.root + 1) & ((1 << kRootBits) - 1));
}

}  // namespace

SmallExchange::SmallExchange(GroupWindow& group) : group_(group) {
  if (group.window == nullptr) return;
  ranks_ = group.window->members();
  turns_.resize(static_cast<size_t>(ranks_));
  arrived_.resize(static_cast<size_t>(ranks_) * kMostBytes);
  scaled_.resize(kMostBytes);
  sources_.resize(static_cast<size_t>(ranks_));
}

size_t SmallExchange::contribution(Collective collective, int ranks, size_t count, size_t element) noexcept {
  if (collective == Collective::kBarrier) return 0;
  return count * element * (whole(collective) || one_block_in(collective) ? 1 : static_cast<size_t>(ranks));
}

SmallExchange::Line* SmallExchange::area(int member) const noexcept {
  return reinterpret_cast<Line*>(group_.window->data(member) + turn_ % kTurns * kAreaBytes);
}

bool SmallExchange::puts() const noexcept {
  switch (collective_) {
    case Collective::kBroadcast:
    case Collective::kScatter:
      return group_.rank == operation_->fingerprint.root;
    case Collective::kReduce:
    case Collective::kGather:
      return group_.rank != operation_->fingerprint.root;
    default:
      return true;
  }
}

bool SmallExchange::takes_from(int member) const noexcept {
  const int root = operation_->fingerprint.root;
  switch (collective_) {
    case Collective::kBroadcast:
    case Collective::kScatter:
      return member == root;
    case Collective::kReduce:
    case Collective::kGather:
      return group_.rank == root;
    default:
      return true;
  }
}

void SmallExchange::begin(const Operation& operation, bool declares) noexcept {
  operation_ = &operation;
  const Fingerprint& call = operation.fingerprint;
  collective_ = call.collective;
  tag_ = tag_of(call);
  block_ = collective_ == Collective::kBarrier ? 0 : call.count * operation.element();
  block_offset_ = whole(collective_) || one_block_in(collective_) ? 0 : block_ * static_cast<size_t>(group_.rank);
  put_done_ = false;
  member_ = 0;
  taken_ = 0;
  own_ = operation.input;
  if (operation.op == ReduceOp::kPremulSum && reduces(collective_)) {
    const size_t bytes = contribution(collective_, ranks_, call.count, operation.element());
    scale(operation.type, scaled_.data(), own_, operation.factor, bytes / operation.element());
    own_ = scaled_.data();
  }
  if (declares) group_.declare(call.words());
}

// The area was last used kTurns calls ago: has everybody finished that? What came from a member since tells, so the
// members' own lines are looked at only where calls don't come from everybody (a root's broadcasts in a row).
bool SmallExchange::may_reuse() noexcept {
  for (int member = 0; member < ranks_; member++) {
    uint64_t& known = turns_[static_cast<size_t>(member)];
    if (member == group_.rank || known + kTurns > turn_) continue;
    known = group_.line(member, WindowLines::kSmallFinished).counter.load(std::memory_order_acquire);
    if (known + kTurns <= turn_) return false;
  }
  return true;
}

void SmallExchange::put(const std::byte* data, size_t bytes) noexcept {
  Line* line = area(group_.rank);
  for (; bytes > kPayload; bytes -= kPayload, data += kPayload, line++) {
    std::memcpy(line->payload, data, kPayload);
    line->tag.store(tag_, std::memory_order_release);
  }
  if (bytes > 0) std::memcpy(line->payload, data, bytes);
  line->tag.store(tag_, std::memory_order_release);
}

const SmallExchange::Line& SmallExchange::next_line() const noexcept {
  return area(member_)[(block_offset_ + taken_) / kPayload];
}

// The awaited member's block out of its lines, as far as they have come; true when all have. What lies in one line
// stays there: it is read where it is.
bool SmallExchange::take() noexcept {
  const auto member = static_cast<size_t>(member_);
  do {
    const Line& line = next_line();
    if (line.tag.load(std::memory_order_acquire) != tag_) return false;
    const size_t within = (block_offset_ + taken_) % kPayload, bytes = std::min(kPayload - within, block_ - taken_);
    if (bytes == block_) {
      sources_[member] = line.payload + within;
      break;
    }
    std::byte* to = arrived_.data() + member * kMostBytes;
    std::memcpy(to + taken_, line.payload + within, bytes);
    taken_ += bytes;
    sources_[member] = to;
  } while (taken_ < block_);
  turns_[member] = turn_;  // it puts call after call: all before this one it has finished
  return true;
}

bool SmallExchange::advance() noexcept {
  if (!put_done_) {
    if (!may_reuse()) return false;
    if (puts()) put(own_, contribution(collective_, ranks_, operation_->fingerprint.count, operation_->element()));
    put_done_ = true;
  }
  for (; member_ < ranks_; member_++, taken_ = 0) {
    if (member_ != group_.rank && takes_from(member_) && !take()) return false;
  }
  write_output();
  turn_++;
  group_.line(group_.rank, WindowLines::kSmallFinished).counter.store(turn_, std::memory_order_release);
  return true;
}

void SmallExchange::write_output() noexcept {
  if (block_ == 0) return;  // a barrier
  sources_[static_cast<size_t>(group_.rank)] = own_ + block_offset_;
  std::byte* output = operation_->output;
  if (reduces(collective_)) {
    if (!takes_from(group_.rank)) return;
    const size_t count = operation_->fingerprint.count;
    reduce(operation_->type, operation_->op, output, sources_, count);
    if (operation_->op == ReduceOp::kAvg) divide(operation_->type, output, output, ranks_, count);
    return;
  }
  const bool blocks = one_block_in(collective_) || collective_ == Collective::kAllToAll;
  for (int member = 0; member < ranks_; member++) {
    if (!takes_from(member)) continue;
    std::byte* to = output + (blocks ? static_cast<size_t>(member) * block_ : 0);
    const void* from = sources_[static_cast<size_t>(member)];
    if (to != from) std::memcpy(to, from, block_);
  }
}

bool SmallExchange::needs(int member) const noexcept {
  if (!put_done_) return turns_[static_cast<size_t>(member)] + kTurns <= turn_;
  return member == member_ && next_line().tag.load(std::memory_order_acquire) != tag_;
}

std::string SmallExchange::waiting_for() const {
  if (put_done_) return fmt::format("rank {}'s contribution", member_);
  return "all ranks to have read an earlier contribution";
}

}  // namespace peal
