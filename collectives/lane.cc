#include "collectives/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace peal {
namespace {

constexpr size_t kLineBytes = 64;    // shares are cut at cache lines, so that no two lanes write one
constexpr size_t kMaxPending = 256;  // posted operations of a lane; more than any plan has in flight

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void grow(std::vector<std::byte>& memory, size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
}

}  // namespace

Lane::Lane(Endpoint& endpoint, int channel)
    : endpoint_(endpoint),
      channel_(channel),
      greetings_(static_cast<size_t>(endpoint.ranks())),
      pending_(kMaxPending) {}

// ---- What this lane's share of a chunk is ----

size_t Lane::lane_begin(size_t count) const noexcept {
  const size_t unit = std::max<size_t>(1, kLineBytes / element_);
  const size_t units = (count + unit - 1) / unit;
  return std::min(count, units * index_ / lanes_ * unit);
}

size_t Lane::elements_in_lane(size_t count) const noexcept {
  const size_t unit = std::max<size_t>(1, kLineBytes / element_);
  const size_t units = (count + unit - 1) / unit;
  return std::min(count, units * (index_ + 1) / lanes_ * unit) - lane_begin(count);
}

size_t Lane::share(size_t count) const noexcept {
  const size_t mine = elements_in_lane(count), before = segment_ * slice_;
  return mine > before ? std::min(slice_, mine - before) : 0;
}

// Of any chunk: a longer chunk may have less for this lane than a shorter one, since shares are cut at cache lines.
size_t Lane::largest_share() const noexcept {
  size_t largest = 0;
  for (int c = 0; c < input_chunks(*plan_); c++) {
    largest = std::max(largest, elements_in_lane(operation_->input_map.count(c)));
  }
  for (int c = 0; c < output_chunks(*plan_); c++) {
    largest = std::max(largest, elements_in_lane(operation_->output_map.count(c)));
  }
  return largest;
}

// A message's i-th piece: of one chunk, or all of its chunks at once where they lie back to back. (Messages of several
// chunks come from the caller's buffers alone: the builder sees to that.)
Lane::Piece Lane::message_piece(const Chunks& chunks, int i) const noexcept {
  if (!merge_ || chunks.count == 1) return piece(chunks, i);
  const Piece first = piece(chunks, 0), last = piece(chunks, chunks.count - 1);
  return {first.data, static_cast<size_t>(last.data - first.data) / element_ + last.count};
}

Lane::Piece Lane::piece(const Chunks& chunks, int i) const noexcept {
  if (chunks.space == Space::kInput || chunks.space == Space::kOutput) {
    const bool input = chunks.space == Space::kInput;
    const BlockMap& map = input ? operation_->input_map : operation_->output_map;
    // The input is never written: a plan that did would fail the checker.
    std::byte* base = input ? const_cast<std::byte*>(operation_->input) : operation_->output;
    const size_t count = map.count(chunks.first + i);
    const size_t at = map.offset(chunks.first + i) + lane_begin(count) + segment_ * slice_;
    return {base + at * element_, share(count)};
  }
  const size_t count = share(operation_->block_map().count(chunks.like + i));
  const size_t slot = static_cast<size_t>(chunks.first + i), turn = segment_ % kSegmentsInFlight;
  auto* memory = const_cast<std::byte*>(scratch_.data());
  return {memory + (turn * static_cast<size_t>(plan_->scratch_slots) + slot) * slice_bytes_, count};
}

// ---- Beginning ----

void Lane::begin(const Operation& operation, int index) {
  operation_ = &operation;
  plan_ = operation.plan;
  index_ = static_cast<size_t>(index);
  lanes_ = static_cast<size_t>(operation.channels);
  element_ = operation.element();
  segment_ = next_ = greeted_ = 0;
  next_piece_ = 0;
  entered_ = false;
  prepare_memory();
  const auto prepare_peer = [&](int peer) {
    Greeting& greeting = greetings_[static_cast<size_t>(peer)];
    if (greeting.connection == nullptr) greeting.connection = &endpoint_.connection(peer, channel_);
  };
  for (Greeting& greeting : greetings_) greeting.checked = false;
  std::for_each(plan_->send_peers.begin(), plan_->send_peers.end(), prepare_peer);
  std::for_each(plan_->recv_peers.begin(), plan_->recv_peers.end(), prepare_peer);
  stage_ = Stage::kGreet;
}

void Lane::prepare_memory() {
  const size_t unit = std::max<size_t>(1, kLineBytes / element_), chunks = static_cast<size_t>(plan_->chunks);
  const size_t largest = largest_share();
  slice_ = operation_->segment_bytes == 0 ? largest
                                          : std::max(unit, operation_->segment_bytes / chunks / element_ / unit * unit);
  slice_ = std::max<size_t>(1, std::min(slice_, largest));
  slice_bytes_ = round_up(slice_ * element_, kLineBytes);
  segments_ = (largest + slice_ - 1) / slice_;
  merge_ = segments_ <= 1 && lanes_ == 1 && operation_->input_map.dense() && operation_->output_map.dense();

  const size_t message = merge_ ? round_up(chunks * slice_bytes_, kLineBytes) : slice_bytes_;
  const bool premultiplies = operation_->op == ReduceOp::kPremulSum;
  const bool stages = premultiplies || std::any_of(plan_->steps.begin(), plan_->steps.end(),
                                                   [](const Step& step) { return step.kind == StepKind::kRecvReduce; });
  staging_bytes_ = message;
  if (stages) grow(staging_, kStagingSlots * message);
  if (premultiplies) grow(scaled_, message);
  grow(scratch_, kSegmentsInFlight * static_cast<size_t>(plan_->scratch_slots) * slice_bytes_);
}

// ---- Running ----

bool Lane::advance() noexcept {
  if (failure_) return false;
  bool moved = false;
  if (stage_ == Stage::kGreet) moved = greet();
  moved |= drain();
  if (stage_ == Stage::kSteps) moved |= run_steps();
  if (stage_ == Stage::kDrain) {
    moved |= drain();
    if (pending_count_ == 0) finish();
  }
  return moved;
}

// Tells every peer what this rank is doing, before any step: so that a receive need not wait for the peer to come to
// its send, only for it to have begun.
bool Lane::greet() noexcept {
  const auto& to = plan_->send_peers;
  const auto& from = plan_->recv_peers;
  if (greeted_ == 0) words_ = operation_->fingerprint.words();
  const size_t before = greeted_;
  for (; greeted_ < to.size() + from.size(); greeted_++) {
    const bool sends = greeted_ < to.size();
    const int peer = sends ? to[greeted_] : from[greeted_ - to.size()];
    Greeting& greeting = greetings_[static_cast<size_t>(peer)];
    Connection& connection = *greeting.connection;
    const Post answer = sends ? connection.post_send(words_.data(), sizeof(words_))
                              : connection.post_recv(greeting.theirs.data(), sizeof(greeting.theirs));
    if (!posted(answer, connection)) return greeted_ > before;
    if (sends) {
      greeting.sent = ++greeting.sends;
    } else {
      greeting.received = ++greeting.recvs;
    }
  }
  stage_ = Stage::kSteps;
  return true;
}

bool Lane::check_greeting(int peer) noexcept {
  Greeting& greeting = greetings_[static_cast<size_t>(peer)];
  if (greeting.checked) return true;
  if (greeting.connection->recvs_done() < greeting.received) return false;
  greeting.checked = true;
  if (greeting.theirs == words_) return true;
  fail(mismatch(plan_->rank, peer, words_, greeting.theirs));
  return false;
}

bool Lane::may_enter_segment() const noexcept {
  return segment_ < kSegmentsInFlight || completed((segment_ - 1) * plan_->steps.size());
}

bool Lane::run_steps() noexcept {
  const auto& steps = plan_->steps;
  bool moved = false;
  while (segment_ < segments_) {
    if (!entered_) {
      if (!may_enter_segment()) return moved;
      entered_ = true;
    }
    for (; next_ < steps.size(); next_++, next_piece_ = 0, moved = true) {
      const Step& step = steps[next_];
      if (step.after >= 0 && !completed(segment_ * steps.size() + static_cast<size_t>(step.after) + 1)) {
        drain();
        if (!completed(segment_ * steps.size() + static_cast<size_t>(step.after) + 1)) return moved;
      }
      if (!issue(step)) return moved;
    }
    segment_++;
    next_ = 0;
    entered_ = false;
    moved = true;
  }
  stage_ = Stage::kDrain;
  return true;
}

// Everything was issued and completed here: the call is over once the peers have the greetings.
void Lane::finish() noexcept {
  for (const int peer : plan_->send_peers) {
    const Greeting& greeting = greetings_[static_cast<size_t>(peer)];
    if (greeting.connection->sends_done() < greeting.sent) return;
  }
  for (const int peer : plan_->recv_peers) {
    if (!check_greeting(peer)) return;  // also when there was nothing to receive
  }
  stage_ = Stage::kDone;
}

void Lane::look() noexcept {
  if (failure_ || stage_ == Stage::kDone) return;
  const auto look_at = [&](int peer) {
    const Greeting& greeting = greetings_[static_cast<size_t>(peer)];
    const Connection& connection = *greeting.connection;
    const bool owes = connection.sends_done() < greeting.sends || connection.recvs_done() < greeting.recvs;
    if (owes && connection.failure() != nullptr) fail(*connection.failure());
  };
  std::for_each(plan_->send_peers.begin(), plan_->send_peers.end(), look_at);
  std::for_each(plan_->recv_peers.begin(), plan_->recv_peers.end(), look_at);
}

// Is everything before `serial` complete? (serial = segment * steps + step)
bool Lane::completed(uint64_t serial) const noexcept {
  return pending_count_ == 0 || pending_[pending_head_].serial >= serial;
}

bool Lane::drain() noexcept {
  bool moved = false;
  while (pending_count_ > 0) {
    Pending& front = pending_[pending_head_];
    const uint64_t done = front.is_send ? front.connection->sends_done() : front.connection->recvs_done();
    if (done < front.target) break;
    if (front.reduce_into != nullptr) {
      const void* sources[] = {front.reduce_into, front.arrived};
      reduce(operation_->type, operation_->op, front.reduce_into, sources, front.count);
    }
    if (front.staged) staged_--;
    pending_head_ = (pending_head_ + 1) % kMaxPending;
    pending_count_--;
    moved = true;
  }
  return moved;
}

// ---- Steps ----

bool Lane::issue(const Step& step) noexcept {
  switch (step.kind) {
    case StepKind::kSend:
      return issue_send(step);
    case StepKind::kRecv:
    case StepKind::kRecvReduce:
      return issue_recv(step);
    case StepKind::kCopy:
      copy(step);
      return true;
    case StepKind::kReduce:
      reduce_local(step);
      return true;
    default:
      fail(Error(ErrorCode::kInternal, fmt::format("a plan of messages with '{}'", to_string(step))));
      return false;
  }
}

bool Lane::posted(Post answer, Connection& connection) noexcept {
  if (answer == Post::kFailed) {
    const Error* error = connection.failure();
    fail(error != nullptr ? *error : Error(ErrorCode::kPeerFailed, "a connection failed without saying why"));
  }
  return answer == Post::kPosted;
}

void Lane::remember(Pending pending) noexcept {
  pending.serial = segment_ * plan_->steps.size() + next_;
  pending_[(pending_head_ + pending_count_) % kMaxPending] = pending;
  pending_count_++;
}

std::byte* Lane::staging_slot() noexcept {
  return staged_ < kStagingSlots ? staging_.data() + staging_next_ * staging_bytes_ : nullptr;
}

void Lane::take_staging_slot() noexcept {
  staged_++;
  staging_next_ = (staging_next_ + 1) % kStagingSlots;
}

bool Lane::issue_send(const Step& step) noexcept {
  Greeting& greeting = greetings_[static_cast<size_t>(step.peer)];
  const bool scales = operation_->multiplies_on_reading(step.src);
  for (; next_piece_ < pieces(step.src); next_piece_++) {
    const Piece source = message_piece(step.src, next_piece_);
    if (source.count == 0) continue;  // both ends know
    if (pending_count_ == kMaxPending) return false;
    const void* data = source.data;
    if (scales) {
      std::byte* slot = staging_slot();
      if (slot == nullptr) return false;
      scale(operation_->type, slot, source.data, operation_->factor, source.count);
      data = slot;
    }
    const Post answer = greeting.connection->post_send(data, source.count * element_);
    if (!posted(answer, *greeting.connection)) return false;
    if (scales) take_staging_slot();
    remember({greeting.connection, ++greeting.sends, 0, true, scales, nullptr, nullptr, 0});
  }
  return true;
}

bool Lane::issue_recv(const Step& step) noexcept {
  if (!check_greeting(step.peer)) return false;
  Greeting& greeting = greetings_[static_cast<size_t>(step.peer)];
  const bool reduces = step.kind == StepKind::kRecvReduce;
  for (; next_piece_ < pieces(step.dst); next_piece_++) {
    const Piece target = message_piece(step.dst, next_piece_);
    if (target.count == 0) continue;
    if (pending_count_ == kMaxPending) return false;
    std::byte* data = reduces ? staging_slot() : target.data;
    if (data == nullptr) return false;
    const Post answer = greeting.connection->post_recv(data, target.count * element_);
    if (!posted(answer, *greeting.connection)) return false;
    if (reduces) take_staging_slot();
    remember({greeting.connection, ++greeting.recvs, 0, false, reduces, reduces ? target.data : nullptr, data,
              target.count});
  }
  return true;
}

void Lane::copy(const Step& step) noexcept {
  const bool scales = operation_->multiplies_on_reading(step.src);
  for (int i = 0; i < step.src.count; i++) {
    const Piece source = piece(step.src, i), target = piece(step.dst, i);
    if (scales) {
      scale(operation_->type, target.data, source.data, operation_->factor, source.count);
    } else if (source.count > 0) {
      std::memcpy(target.data, source.data, source.count * element_);
    }
  }
}

const void* Lane::scaled(const Chunks& chunks, const Piece& source) noexcept {
  if (!operation_->multiplies_on_reading(chunks)) return source.data;
  scale(operation_->type, scaled_.data(), source.data, operation_->factor, source.count);
  return scaled_.data();
}

void Lane::reduce_local(const Step& step) noexcept {
  for (int i = 0; i < step.src.count; i++) {
    const Piece target = piece(step.dst, i);
    const void* sources[] = {target.data, scaled(step.src, piece(step.src, i))};
    reduce(operation_->type, operation_->op, target.data, sources, target.count);
  }
}

}  // namespace peal
