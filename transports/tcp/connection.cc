#include "transports/tcp/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "transports/tcp/transport.h"

namespace peal {
namespace {

// Long enough for 30 % loss: six tries are lost together once in 1,400 times; they take 200 ms, doubling: 12.6 s in
// all.
constexpr int64_t kSilenceMs = 10000;

}  // namespace

TcpConnection::TcpConnection(TcpTransport& transport, int rank, int peer, int channel, size_t sockets)
    : transport_(&transport), rank_(rank), peer_(peer), channel_(channel), streams_(sockets) {}

TcpConnection::~TcpConnection() {
  if (transport_) transport_->forget(*this);
  for (TcpStream& stream : streams_) stream.detach();
}

Post TcpConnection::post_send(const void* data, size_t bytes) noexcept {
  if (failure()) return Post::kFailed;
  if (sends_.full()) return Post::kAgain;
  sends_.post(data, bytes);
  judge();  // first: the kernel would still take bytes for a peer that has hung up
  push();
  judge();
  return failure() ? Post::kFailed : Post::kPosted;
}

Post TcpConnection::post_recv(void* data, size_t bytes) noexcept {
  if (failure()) return Post::kFailed;
  if (receives_.full()) return Post::kAgain;
  receives_.post(data, bytes);
  judge();
  return failure() ? Post::kFailed : Post::kPosted;
}

void TcpConnection::attach(size_t index, Socket socket, const std::string& address) noexcept {
  streams_[index].attach(std::move(socket));
  peer_address_ = address;
}

void TcpConnection::fail_unreached(ErrorCode code, const std::string& why) noexcept { fail_with(code, why); }

void TcpConnection::forget_transport() noexcept {
  transport_ = nullptr;
  if (!failure()) fail_with(ErrorCode::kPeerFailed, "this side's transport has been closed");
}

bool TcpConnection::progress(bool ask_first_socket) noexcept {
  if (failure()) return false;
  bool moved = false;
  if (!sends_.empty()) moved |= push();
  if (!receives_.empty()) moved |= pull(ask_first_socket);
  judge();
  return moved;
}

bool TcpConnection::push() noexcept {
  if (failure()) return false;
  bool moved = false;
  for (TcpStream& stream : streams_) {
    if (stream.may_send()) moved |= stream.send_from(sends_);
  }
  sends_done_ = sends_.done();
  return moved;
}

bool TcpConnection::pull(bool ask_first_socket) noexcept {
  bool moved = false;
  if (ask_first_socket) streams_.front().assume_readable();
  for (TcpStream& stream : streams_) {
    if (stream.may_receive()) moved |= stream.receive_into(receives_);
  }
  recvs_done_ = receives_.done();
  return moved;
}

// Whether a socket's end is this connection's. An end that nothing posted needs is none: the peer may have done its
// part and left.
void TcpConnection::judge() noexcept {
  bool has_live = false, has_ended = false, send_is_broken = false, all_hung_up = true;
  for (const TcpStream& stream : streams_) {
    if (!stream.attached()) continue;
    if (stream.end() > TcpStream::End::kClosed) return fail_by(stream);
    (stream.end() == TcpStream::End::kNone ? has_live : has_ended) = true;
    send_is_broken |= stream.send_broken();
    all_hung_up &= stream.peer_hung_up();
  }
  if (!has_live && !has_ended) return;  // not reached yet
  bool cannot_send = !sends_.empty() && (send_is_broken || all_hung_up);
  bool cannot_receive = !receives_.empty() && !has_live;
  if (!cannot_send && !cannot_receive) return;
  // What had arrived before the end still counts.
  while (!receives_.empty() && pull(false)) {
  }
  if (cannot_send || !receives_.empty()) fail_with(ErrorCode::kPeerFailed, "closed the connection or died");
}

void TcpConnection::fail_by(const TcpStream& stream) noexcept {
  if (stream.end() == TcpStream::End::kError) {
    fail_with(ErrorCode::kPeerFailed, fmt::format("lost: {}", std::strerror(stream.error_number())));
  } else if (stream.end() == TcpStream::End::kOtherSize) {
    const ChunkHeader& header = stream.last_header();
    fail_with(ErrorCode::kMismatch, fmt::format("message {} has {} bytes there and {} here", header.message,
                                                header.total, receives_.bytes_of(header.message)));
  } else {
    fail_with(ErrorCode::kPeerFailed, "broke the protocol");
  }
}

bool TcpConnection::may_move() const noexcept {
  if (failure()) return false;
  return std::ranges::any_of(streams_, [&](const TcpStream& stream) {
    return (!receives_.empty() && stream.may_continue(receives_)) || (stream.may_send() && !sends_.empty());
  });
}

void TcpConnection::check_host() noexcept {
  if (failure() || sends_.empty()) return;
  for (const TcpStream& stream : streams_) {
    if (stream.is_host_silent(kSilenceMs)) {
      fail_with(ErrorCode::kPeerFailed, fmt::format("its host has not answered for {} s", kSilenceMs / 1000));
      return;
    }
  }
}

void TcpConnection::fail_with(ErrorCode code, const std::string& why) noexcept {
  fail(Error(code,
             fmt::format("rank {}: tcp to rank {} at {}, channel {}: {} (after {} sends, {} receives)", rank_, peer_,
                         peer_address_, channel_, why, sends_done_, recvs_done_),
             {rank_, peer_, -1}));
  for (TcpStream& stream : streams_) stream.detach();
}

}  // namespace peal
