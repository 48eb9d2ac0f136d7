#include "collectives/mapped_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/streaming_copy.h"

namespace peal {
namespace {

constexpr size_t kLineBytes = 64;
constexpr uint64_t kMostStages = 8;  // of a plan: published counters advance by this much a segment
// Words of a published line behind the call's own four.
constexpr size_t kBufferWords = 4, kFinishedWord = 6, kFactorWord = 7;

// Reduced and written at once, so that a block is still in the L1 cache (32 KiB and more) when it leaves.
constexpr size_t kBlockBytes = 16 << 10;
// Fetched by one system call, which costs 0.5 us and 0.1 us a page here: 256 KiB came at 14 to 19 GB/s, 16 KiB at 10.
// All peers' blocks together should stay in L2.
constexpr size_t kFetchBytes = 256 << 10;
// All chunks of one segment together, by default. Through slots: they stay in L2 with those of other ranks of the core
// (16 MiB on 2 ranks: 1.75 ms with 64 KiB, 2.4 with 32 KiB, 1.9 with 512 KiB; on 4 ranks of 2 cores 4.5, 5.0 and 6.1).
// Of the callers' buffers: so that a call returns to its caller now and then.
constexpr size_t kSlotSegment = 64 << 10;
constexpr size_t kBufferSegment = 2 << 20;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void grow(std::vector<std::byte>& memory, size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
}

bool is_buffer(const Chunks& chunks) { return chunks.space == Space::kInput || chunks.space == Space::kOutput; }

}  // namespace

MappedLane::MappedLane(GroupWindow& group) : group_(group) {
  if (group.window == nullptr) return;
  peers_.resize(static_cast<size_t>(group.window->members()));
  sources_.resize(peers_.size());
}

// ---- Where bytes are ----

size_t MappedLane::largest_chunk() const noexcept {
  size_t largest = 0;
  for (int c = 0; c < input_chunks(*plan_); c++) largest = std::max(largest, operation_->input_map.count(c));
  for (int c = 0; c < output_chunks(*plan_); c++) largest = std::max(largest, operation_->output_map.count(c));
  return largest;
}

void MappedLane::choose_slices() {
  const size_t largest = largest_chunk(), unit = std::max<size_t>(1, kLineBytes / element_);
  size_t bytes = operation_->segment_bytes;
  if (bytes == 0) bytes = plan_->shared_slots > 0 ? kSlotSegment : kBufferSegment;
  bytes /= static_cast<size_t>(plan_->chunks);
  if (plan_->shared_slots > 0) {
    const size_t slots = static_cast<size_t>(plan_->shared_slots) * kWindowTurns;
    bytes = std::min(bytes, group_.slot_bytes() / slots / kLineBytes * kLineBytes);
  }
  slice_ = std::max<size_t>(1, std::min(std::max(bytes / element_ / unit * unit, unit), largest));
  slice_bytes_ = round_up(slice_ * element_, kLineBytes);
  segments_ = (largest + slice_ - 1) / slice_;
}

size_t MappedLane::share(size_t count) const noexcept {
  const size_t before = cursor_.segment() * slice_;
  return count > before ? std::min(slice_, count - before) : 0;
}

// This segment's share of one of this rank's chunks.
MappedLane::Piece MappedLane::piece(const Chunks& chunks, int i) const noexcept {
  const size_t segment = cursor_.segment();
  if (is_buffer(chunks)) {
    const bool input = chunks.space == Space::kInput;
    const BlockMap& map = input ? operation_->input_map : operation_->output_map;
    // The input is never written: a plan that did would fail the checker.
    std::byte* base = input ? const_cast<std::byte*>(operation_->input) : operation_->output;
    const int chunk = chunks.first + i;
    return {base + (map.offset(chunk) + segment * slice_) * element_, share(map.count(chunk))};
  }
  const size_t count = share(operation_->block_map().count(chunks.like + i));
  const auto slot = static_cast<size_t>(chunks.first + i);
  if (chunks.space == Space::kScratch) {
    return {scratch_.empty() ? nullptr
                             : const_cast<std::byte*>(scratch_.data()) + segment % kWindowTurns * scratch_turn_ +
                                   slot * slice_bytes_,
            count};
  }
  return {mapped(plan_->rank, chunks, i), count};
}

// Where a peer's chunk is, as the peer says: an address, or an offset into its symmetric memory.
uint64_t MappedLane::remote(int peer, const Chunks& chunks, int i) const noexcept {
  const bool input = chunks.space == Space::kInput;
  const BlockMap& map = input ? operation_->input_map : operation_->output_map;
  const size_t elements = map.offset(chunks.first + i) + cursor_.segment() * slice_;
  return peers_[static_cast<size_t>(peer)].buffers[input ? 0 : 1] + elements * element_;
}

// The same as this rank may use it: not for what is_fetched().
std::byte* MappedLane::mapped(int peer, const Chunks& chunks, int i) const noexcept {
  if (is_buffer(chunks)) {
    const uint64_t there = remote(peer, chunks, i);
    const auto bases = operation_->symmetric.of(chunks.space);
    return bases.empty() ? reinterpret_cast<std::byte*>(there) : bases[static_cast<size_t>(peer)] + there;  // NOLINT
  }
  const size_t turn = (epoch_ + cursor_.segment()) % kWindowTurns;
  const size_t turn_bytes = group_.slot_bytes() / kWindowTurns / kLineBytes * kLineBytes;
  return group_.slots(peer) + turn * turn_bytes + static_cast<size_t>(chunks.first + i) * slice_bytes_;
}

bool MappedLane::is_fetched(const Chunks& chunks) const noexcept {
  return is_buffer(chunks) && !operation_->symmetric.used() && group_.window->reach() == Window::Reach::kFetch;
}

// ---- Running ----

void MappedLane::begin(const Operation& operation) {
  operation_ = &operation;
  plan_ = operation.plan;
  element_ = operation.element();
  epoch_ = group_.epoch;
  choose_slices();
  cursor_.begin(phase_ends(*plan_), segments_);
  scratch_turn_ = static_cast<size_t>(plan_->scratch_slots) * slice_bytes_;
  grow(scratch_, kWindowTurns * scratch_turn_);
  const bool fetches = plan_->shared_slots == 0 && !operation.symmetric.used();
  if (fetches || operation.op == ReduceOp::kPremulSum) grow(blocks_, peers_.size() * block_bytes());
  for (Peer& peer : peers_) peer.checked = false;
  done_ = false;
}

bool MappedLane::advance() noexcept {
  bool moved = false;
  while (!failure_ && !done_) {
    if (cursor_.done()) {
      // The caller gets its buffers back when nobody reads or writes them any more.
      if (plan_->exposes_user_memory && !finished_by_all(epoch_ + segments_)) return moved;
      group_.epoch += segments_;
      done_ = true;
      return true;
    }
    if (cursor_.at_begin_of_segment() && !may_enter_segment()) return moved;
    while (!cursor_.at_end_of_phase()) {
      if (!issue(plan_->steps[cursor_.step()])) return moved;
      cursor_.next_step();
      moved = true;
    }
    if (cursor_.at_end_of_segment()) {
      if (operation_->streaming != Streaming::kNever) streaming_fence();
      auto& finished = group_.line(plan_->rank, WindowLines::kFinished).counter;
      finished.store(epoch_ + cursor_.segment() + 1, std::memory_order_release);
    }
    cursor_.next_phase();
    moved = true;
  }
  return moved;
}

bool MappedLane::may_enter_segment() noexcept {
  const uint64_t number = epoch_ + cursor_.segment();
  return number < kWindowTurns || finished_by_all(number - kWindowTurns + 1);
}

bool MappedLane::finished_by_all(uint64_t segments) noexcept {
  for (int member = 0; member < plan_->ranks; member++) {
    uint64_t& known = peers_[static_cast<size_t>(member)].finished;
    if (member == plan_->rank || known >= segments) continue;
    known = group_.line(member, WindowLines::kFinished).counter.load(std::memory_order_acquire);
    if (known < segments) return false;
  }
  return true;
}

void MappedLane::look() noexcept {
  if (failure_ || done_) return;
  const int gone = group_.window->failed_member();
  if (gone < 0) return;
  const auto& finished = group_.line(gone, WindowLines::kFinished).counter;
  if (finished.load(std::memory_order_acquire) >= epoch_ + segments_) return;
  fail(Error(ErrorCode::kPeerFailed, fmt::format("rank {} died or left", gone), {plan_->rank, gone, -1}));
}

// ---- Steps ----

bool MappedLane::issue(const Step& step) noexcept {
  switch (step.kind) {
    case StepKind::kCopy:
      copy(step.dst, step.src);
      return true;
    case StepKind::kPublish:
      publish(step);
      return true;
    case StepKind::kRead:
      return published(step.peer, step.stage) && read(step);
    case StepKind::kReadReduce:
      return read_reduce(step);
    case StepKind::kWrite:
      if (!published(step.peer, step.stage)) return false;
      write(step);
      return true;
    case StepKind::kTake:
      if (!published(step.peer, step.stage)) return false;
      copy(step.dst, step.src);
      return true;
    default:
      fail(Error(ErrorCode::kInternal, fmt::format("a plan over mapped memory with '{}'", to_string(step))));
      return false;
  }
}

void MappedLane::copy(const Chunks& dst, const Chunks& src) noexcept {
  const bool scales = operation_->multiplies_on_reading(src);
  for (int i = 0; i < src.count; i++) {
    const Piece source = piece(src, i), target = piece(dst, i);
    if (source.count == 0) continue;
    if (scales) {
      scale(operation_->type, target.data, source.data, operation_->factor, source.count);
    } else {
      const size_t bytes = source.count * element_;
      if (dst.space == Space::kShared) {
        copy_to_peers(target.data, source.data, bytes, src.space != Space::kInput);
      } else {
        std::memcpy(target.data, source.data, bytes);
      }
    }
  }
}

// What others will read.
void MappedLane::copy_to_peers(std::byte* to, const std::byte* from, size_t bytes, bool results) const noexcept {
  const Streaming streaming = operation_->streaming;
  if (streaming == Streaming::kAll || (streaming == Streaming::kResults && results)) {
    streaming_copy(to, from, bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

void MappedLane::publish(const Step& step) noexcept {
  if (operation_->streaming != Streaming::kNever) streaming_fence();
  const uint64_t number = epoch_ + cursor_.segment();
  Window::Line& line = group_.line(plan_->rank, WindowLines::kPublished + number % kWindowTurns);
  if (step.stage == 0) {
    const auto call = operation_->fingerprint.words();
    for (size_t i = 0; i < call.size(); i++) line.words[i].store(call[i], std::memory_order_relaxed);
    const SymmetricView& view = operation_->symmetric;
    const auto place = [&](const std::byte* buffer, std::span<std::byte* const> bases) {
      const auto address = reinterpret_cast<uint64_t>(buffer);
      return bases.empty() ? address : address - reinterpret_cast<uint64_t>(bases[static_cast<size_t>(plan_->rank)]);
    };
    line.words[kBufferWords].store(place(operation_->input, view.input), std::memory_order_relaxed);
    line.words[kBufferWords + 1].store(place(operation_->output, view.output), std::memory_order_relaxed);
    line.words[kFactorWord].store(std::bit_cast<uint64_t>(factor_of_own()), std::memory_order_relaxed);
  }
  const auto& finished = group_.line(plan_->rank, WindowLines::kFinished).counter;
  line.words[kFinishedWord].store(finished.load(std::memory_order_relaxed), std::memory_order_release);
  line.counter.store(number * kMostStages + static_cast<uint64_t>(step.stage) + 1, std::memory_order_release);
}

// An all-reduce in place has multiplied its buffer before the plan began (executor.cc).
double MappedLane::factor_of_own() const noexcept {
  return plan_->in_place && plan_->collective == Collective::kAllReduce ? 1 : operation_->factor;
}

bool MappedLane::published(int rank, int stage) noexcept {
  const uint64_t number = epoch_ + cursor_.segment();
  const Window::Line& line = group_.line(rank, WindowLines::kPublished + number % kWindowTurns);
  if (line.counter.load(std::memory_order_acquire) < number * kMostStages + static_cast<uint64_t>(stage) + 1) {
    return false;
  }
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.finished = std::max(peer.finished, line.words[kFinishedWord].load(std::memory_order_acquire));
  if (peer.checked) return true;
  std::array<uint64_t, 4> theirs{};
  for (size_t i = 0; i < theirs.size(); i++) theirs[i] = line.words[i].load(std::memory_order_relaxed);
  for (size_t i = 0; i < 2; i++) peer.buffers[i] = line.words[kBufferWords + i].load(std::memory_order_relaxed);
  peer.factor = std::bit_cast<double>(line.words[kFactorWord].load(std::memory_order_relaxed));
  peer.checked = true;
  const auto mine = operation_->fingerprint.words();
  if (theirs == mine) return true;
  fail(mismatch(plan_->rank, rank, mine, theirs));
  return false;
}

bool MappedLane::read(const Step& step) noexcept {
  for (int i = 0; i < step.dst.count; i++) {
    const Piece target = piece(step.dst, i);
    if (target.count == 0) continue;
    if (!is_fetched(step.src)) {
      std::memcpy(target.data, mapped(step.peer, step.src, i), target.count * element_);
    } else if (!fetch(step.peer, remote(step.peer, step.src, i), target.data, target.count * element_)) {
      return false;
    }
  }
  return true;
}

// With the writes that follow and carry the result on: one pass, block by block.
bool MappedLane::read_reduce(const Step& step) noexcept {
  for (int peer = 0; peer < plan_->ranks; peer++) {
    if (peer != plan_->rank && !published(peer, step.stage)) return false;
  }
  const size_t first = cursor_.step() + 1;
  size_t end = first;
  const auto carries_on = [&](const Step& next) {
    return next.kind == StepKind::kWrite && next.src == step.dst && next.stage <= step.stage;
  };
  while (end < plan_->steps.size() && carries_on(plan_->steps[end])) end++;
  const std::span<const Step> writes(plan_->steps.data() + first, end - first);
  for (int i = 0; i < step.dst.count; i++) {
    if (!reduce_piece(step, writes, i)) return false;
  }
  for (size_t i = first; i < end; i++) cursor_.next_step();
  return true;
}

bool MappedLane::reduce_piece(const Step& step, std::span<const Step> writes, int i) noexcept {
  const size_t total = piece(step.dst, i).count;
  size_t block = total;
  if (!writes.empty()) block = kBlockBytes / element_;
  if (is_fetched(step.src) || operation_->op == ReduceOp::kPremulSum) block = block_bytes() / element_;
  std::byte* target = piece(step.dst, i).data;
  for (size_t at = 0; at < total; at += block) {
    const size_t count = std::min(block, total - at);
    if (!gather_sources(step, i, at, count)) return false;
    reduce(operation_->type, operation_->op, target + at * element_, sources_, count);
    for (const Step& write : writes) {
      copy_to_peers(mapped(write.peer, write.dst, i) + at * element_, target + at * element_, count * element_, true);
    }
  }
  return true;
}

size_t MappedLane::block_bytes() const noexcept { return std::max(kBlockBytes, kFetchBytes / peers_.size()); }

// Where each rank's elements [at, at + count) of the step's i-th piece are, fetched and multiplied if need be.
bool MappedLane::gather_sources(const Step& step, int i, size_t at, size_t count) noexcept {
  const bool fetches = is_fetched(step.src);
  for (int rank = 0; rank < plan_->ranks; rank++) {
    const bool own = rank == plan_->rank;
    const void*& source = sources_[static_cast<size_t>(rank)];
    std::byte* block = blocks_.data() + static_cast<size_t>(rank) * block_bytes();
    if (own) {
      source = piece(step.own, i).data + at * element_;
    } else if (!fetches) {
      source = mapped(rank, step.src, i) + at * element_;
    } else {
      if (!fetch(rank, remote(rank, step.src, i) + at * element_, block, count * element_)) return false;
      source = block;
    }
    if (!multiplies(step, own)) continue;
    scale(operation_->type, block, source, own ? operation_->factor : peers_[static_cast<size_t>(rank)].factor, count);
    source = block;
  }
  return true;
}

// What lies in slots was multiplied when it was copied there.
bool MappedLane::multiplies(const Step& step, bool own) const noexcept {
  if (operation_->op != ReduceOp::kPremulSum) return false;
  return own ? operation_->multiplies_on_reading(step.own) : is_buffer(step.src);
}

bool MappedLane::fetch(int peer, uint64_t from, void* to, size_t bytes) noexcept {
  if (group_.window->fetch(peer, from, to, bytes)) return true;
  fail(Error(ErrorCode::kPeerFailed, fmt::format("rank {}'s buffer can't be read: it died, or freed it", peer),
             {plan_->rank, peer, -1}));
  return false;
}

void MappedLane::write(const Step& step) noexcept {
  for (int i = 0; i < step.src.count; i++) {
    const Piece source = piece(step.src, i);
    if (source.count > 0) copy_to_peers(mapped(step.peer, step.dst, i), source.data, source.count * element_, true);
  }
}

}  // namespace peal
