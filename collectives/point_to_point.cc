#include "collectives/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace peal {
namespace {

// Long enough to hide a segment's fixed cost (some microseconds on tcp), short enough to flow.
constexpr size_t kSegmentBytes = 1 << 20;

}  // namespace

PointToPoint::PointToPoint(Endpoint& endpoint, WorkTable& works, int channel)
    : endpoint_(endpoint), works_(works), channel_(channel), peers_(static_cast<size_t>(endpoint.ranks())) {}

PointToPoint::Peer& PointToPoint::peer(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (peer.rank < 0) {
    if (rank != endpoint_.rank()) peer.connection = &endpoint_.connection(rank, channel_);
    peer.rank = rank;
  }
  return peer;
}

void PointToPoint::queue(std::deque<Message>& queue, Peer& peer, void* data, size_t count, DataType type,
                         uint32_t slot) {
  Message message{};
  message.data = static_cast<std::byte*>(data);
  message.bytes = count * size_of(type);
  message.header.count = message.expected.count = count;
  message.header.type = message.expected.type = static_cast<uint64_t>(type);
  message.slot = slot;
  queue.push_back(message);
  if (std::find(active_.begin(), active_.end(), &peer) == active_.end()) active_.push_back(&peer);
}

void PointToPoint::send(const void* data, size_t count, DataType type, int rank, uint32_t slot) {
  Peer& to = peer(rank);
  queue(to.sends, to, const_cast<void*>(data), count, type, slot);
  Message& message = to.sends.back();
  if (message.is_inline() && message.bytes > 0) std::memcpy(message.header.bytes.data(), data, message.bytes);
}

void PointToPoint::recv(void* data, size_t count, DataType type, int rank, uint32_t slot) {
  Peer& from = peer(rank);
  queue(from.recvs, from, data, count, type, slot);
}

bool PointToPoint::advance() noexcept {
  bool moved = false;
  for (size_t i = 0; i < active_.size() && !failure_;) {
    Peer& peer = *active_[i];
    moved |= peer.connection == nullptr ? meet_self(peer) : advance(peer);
    if (peer.sends.empty() && peer.recvs.empty()) {
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      i++;
    }
  }
  return moved;
}

bool PointToPoint::advance(Peer& peer) noexcept {
  const bool sends_posted = post_sends(peer), recvs_posted = post_recvs(peer);
  const bool sent = retire(peer.sends, peer.sends_posted, peer.connection->sends_done());
  const bool received = retire(peer.recvs, peer.recvs_posted, peer.connection->recvs_done());
  return sends_posted || recvs_posted || sent || received;
}

bool PointToPoint::posted(Post answer, const Peer& peer) noexcept {
  if (answer == Post::kFailed) {
    const Error* error = peer.connection->failure();
    fail(error != nullptr ? *error : Error(ErrorCode::kPeerFailed, "a connection failed without saying why"));
  }
  return answer == Post::kPosted;
}

bool PointToPoint::post_sends(Peer& peer) noexcept {
  bool moved = false;
  for (; peer.sends_posted < peer.sends.size(); peer.sends_posted++) {
    Message& message = peer.sends[peer.sends_posted];
    if (!message.header_posted) {
      if (!posted(peer.connection->post_send(&message.header, sizeof(Header)), peer)) return moved;
      message.header_posted = moved = true;
      message.last_target = ++peer.send_operations;
    }
    while (!message.is_inline() && message.posted < message.bytes) {
      const size_t bytes = std::min(kSegmentBytes, message.bytes - message.posted);
      if (!posted(peer.connection->post_send(message.data + message.posted, bytes), peer)) return moved;
      message.posted += bytes;
      message.last_target = ++peer.send_operations;
      moved = true;
    }
  }
  return moved;
}

bool PointToPoint::post_recvs(Peer& peer) noexcept {
  bool moved = false;
  for (; peer.recvs_posted < peer.recvs.size(); peer.recvs_posted++) {
    Message& message = peer.recvs[peer.recvs_posted];
    if (!message.header_posted) {
      if (!posted(peer.connection->post_recv(&message.header, sizeof(Header)), peer)) return moved;
      message.header_posted = moved = true;
      message.header_target = message.last_target = ++peer.recv_operations;
    }
    if (peer.connection->recvs_done() < message.header_target) return moved;
    if (!header_matches(peer, message)) return moved;
    if (message.is_inline() && message.bytes > 0) {
      std::memcpy(message.data, message.header.bytes.data(), message.bytes);
    }
    while (!message.is_inline() && message.posted < message.bytes) {
      const size_t bytes = std::min(kSegmentBytes, message.bytes - message.posted);
      if (!posted(peer.connection->post_recv(message.data + message.posted, bytes), peer)) return moved;
      message.posted += bytes;
      message.last_target = ++peer.recv_operations;
      moved = true;
    }
  }
  return moved;
}

// Nothing of the receive buffer is written before both ends agree.
bool PointToPoint::header_matches(Peer& peer, Message& message) noexcept {
  if (message.header.same_kind(message.expected)) return true;
  const auto describe = [](const Header& header) {
    const bool known = header.type < static_cast<uint64_t>(kDataTypes);
    return fmt::format("{} x {}", header.count, known ? name_of(static_cast<DataType>(header.type)) : "unknown type");
  };
  fail(Error(ErrorCode::kMismatch,
             fmt::format("rank {} receives {} from rank {}, which sends {}", endpoint_.rank(),
                         describe(message.expected), peer.rank, describe(message.header)),
             {endpoint_.rank(), peer.rank, -1}));
  return false;
}

bool PointToPoint::retire(std::deque<Message>& queue, size_t& wholly_posted, uint64_t done) noexcept {
  bool moved = false;
  while (wholly_posted > 0 && queue.front().last_target <= done) {
    works_.complete(queue.front().slot);
    queue.pop_front();
    wholly_posted--;
    moved = true;
  }
  return moved;
}

bool PointToPoint::meet_self(Peer& peer) noexcept {
  bool moved = false;
  while (!peer.sends.empty() && !peer.recvs.empty()) {
    const Message& send = peer.sends.front();
    Message& recv = peer.recvs.front();
    recv.header = send.header;
    if (!header_matches(peer, recv)) return moved;
    if (send.bytes > 0) std::memmove(recv.data, send.data, send.bytes);
    works_.complete(send.slot);
    works_.complete(recv.slot);
    peer.sends.pop_front();
    peer.recvs.pop_front();
    moved = true;
  }
  return moved;
}

void PointToPoint::look() noexcept {
  for (const Peer* peer : active_) {
    if (peer->connection != nullptr && peer->connection->failure() != nullptr) fail(*peer->connection->failure());
  }
}

namespace {

std::string describe(bool is_send, size_t bytes, int peer) {
  return fmt::format("{} of {} bytes {} rank {}", is_send ? "send" : "receive", bytes, is_send ? "to" : "from", peer);
}

}  // namespace

std::string PointToPoint::waiting_for() const {
  if (active_.empty()) return "nothing";
  const Peer& peer = *active_.front();
  const bool is_send = peer.recvs.empty();
  return describe(is_send, (is_send ? peer.sends : peer.recvs).front().bytes, peer.rank);
}

std::string PointToPoint::user_of(const std::byte* begin, const std::byte* end) const {
  for (const Peer* peer : active_) {
    for (const auto* queue : {&peer->sends, &peer->recvs}) {
      for (const Message& message : *queue) {
        if (message.data >= begin && message.data < end)
          return describe(queue == &peer->sends, message.bytes, peer->rank);
      }
    }
  }
  return "";
}

}  // namespace peal
