#include "transports/ring_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace peal {
namespace {

// A large message is copied in pieces of this size, each published at once, so that the reader copies out one piece
// while the writer copies in the next.
constexpr size_t kPiece = 16 * 1024;

}  // namespace

size_t ring_capacity_from(const Settings& settings) {
  constexpr uint64_t kLeast = 4096, kMost = 1u << 30;
  uint64_t bytes = settings.buffer_size;
  if (!std::has_single_bit(bytes) || bytes < kLeast || bytes > kMost) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("PEAL_BUFFSIZE is {}: expected a power of two from {} to {}", bytes, kLeast, kMost));
  }
  return bytes;
}

RingConnections::~RingConnections() {
  for (RingConnection* connection : live_) {
    connection->leave();
    connection->peer_died("can't be reached: this rank's transport is closed");
    connection->owner_ = nullptr;
  }
}

void RingConnections::advance() noexcept {
  for (RingConnection* connection : live_) connection->advance();
}

RingConnection::RingConnection(RingConnections& owner, Who who) : owner_(&owner), who_(who) {
  owner.live_.push_back(this);
}

RingConnection::~RingConnection() {
  leave();
  if (owner_) std::erase(owner_->live_, this);
}

void RingConnection::attach_out(RingWriter out, std::shared_ptr<void> memory) noexcept {
  out_ = out;
  out_memory_ = std::move(memory);
}

void RingConnection::attach_in(RingReader in, std::shared_ptr<void> memory) noexcept {
  in_ = in;
  in_memory_ = std::move(memory);
}

void RingConnection::peer_died(std::string how) noexcept {
  if (peer_died_) return;
  peer_died_ = true;
  how_it_died_ = std::move(how);
}

Post RingConnection::post_send(const void* data, size_t bytes) noexcept {
  if (failure()) return Post::kFailed;
  if (sends_.full()) return Post::kAgain;
  sends_.push(static_cast<const std::byte*>(data), bytes);
  push();
  return failure() ? Post::kFailed : Post::kPosted;
}

Post RingConnection::post_recv(void* data, size_t bytes) noexcept {
  if (failure()) return Post::kFailed;
  if (recvs_.full()) return Post::kAgain;
  recvs_.push(static_cast<std::byte*>(data), bytes);
  pull();
  return failure() ? Post::kFailed : Post::kPosted;
}

void RingConnection::advance() noexcept {
  if (failure()) return;
  if (!recvs_.empty()) pull();  // first: what a dead peer left behind is delivered before sending to it fails
  if (!sends_.empty()) push();
}

void RingConnection::push() noexcept {
  if (peer_died_ || (out_ && out_.reader_left())) return lose_peer("send", sends_.front().left);
  if (!out_) return;
  size_t budget = out_.capacity();  // one ring's worth per call, so that no connection starves the others
  while (!sends_.empty()) {
    auto& operation = sends_.front();
    while (operation.left > 0) {
      size_t moved = out_.write(operation.next, std::min({operation.left, kPiece, budget}));
      if (moved == 0) return;
      operation.next += moved;
      operation.left -= moved;
      budget -= moved;
    }
    sends_.pop();
    ++sends_done_;
  }
}

void RingConnection::pull() noexcept {
  if (!in_) {
    if (peer_died_) lose_peer("receive", recvs_.front().left);
    return;
  }
  size_t budget = in_.capacity();
  while (!recvs_.empty()) {
    auto& operation = recvs_.front();
    while (operation.left > 0) {
      bool last_look = peer_died_ || in_.writer_left();  // before reading: what it wrote before leaving counts
      size_t moved = in_.read(operation.next, std::min({operation.left, kPiece, budget}));
      if (moved == 0) {
        if (last_look && budget > 0) lose_peer("receive", operation.left);
        return;
      }
      operation.next += moved;
      operation.left -= moved;
      budget -= moved;
    }
    recvs_.pop();
    ++recvs_done_;
  }
}

void RingConnection::leave() noexcept {
  if (out_) out_.leave();
  if (in_) in_.leave();
}

void RingConnection::lose_peer(std::string_view direction, size_t left) noexcept {
  fail(
      Error(ErrorCode::kPeerFailed,
            fmt::format("rank {} lost rank {} over {}, channel {}: the peer {} with {} sent and {} received here; {} "
                        "bytes of the next {} did not move",
                        who_.rank, who_.peer, who_.transport, who_.channel,
                        peer_died_ ? how_it_died_ : "closed the connection", sends_done_, recvs_done_, left, direction),
            ErrorSite{who_.rank, who_.peer, -1}));
}

}  // namespace peal
