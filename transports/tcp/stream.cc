#include "transports/tcp/stream.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peal {
namespace {

// Per call and socket, so that one connection can't keep the others waiting.
constexpr int kSendsPerCall = 8;
constexpr int kReadsPerCall = 16;

bool means_closed(int error) { return error == ECONNRESET || error == EPIPE; }

}  // namespace

void TcpStream::attach(Socket socket) noexcept {
  socket_ = std::move(socket);
  readable_ = writable_ = true;
}

// Closing with bytes unread makes the kernel drop what it has not sent yet: so the end of sending is announced first,
// and what little there is gets read. Whoever sends more than that learns by the reset that nobody reads.
void TcpStream::detach() noexcept {
  if (!attached()) return;
  ::shutdown(socket_.fd(), SHUT_WR);
  for (int i = 0; i < 4 && ::recv(socket_.fd(), stage_.data(), stage_.size(), MSG_DONTWAIT) > 0; ++i) {
  }
  socket_.close();
}

void TcpStream::notice(uint32_t events) noexcept {
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) readable_ = true;
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) writable_ = true;
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) hung_up_ = true;
}

bool TcpStream::send_from(SendQueue& queue) noexcept {
  bool moved = false;
  for (int i = 0; i < kSendsPerCall && may_send(); ++i) {
    if (!out_.under_way) {
      if (!queue.cut(out_.chunk)) break;
      out_.sent = 0;
      out_.under_way = true;
    }
    moved |= send_chunk(queue);
  }
  return moved;
}

bool TcpStream::send_chunk(SendQueue& queue) noexcept {
  constexpr size_t kHeaderBytes = sizeof(ChunkHeader);
  size_t header_sent = std::min(out_.sent, kHeaderBytes), data_sent = out_.sent - header_sent;
  iovec pieces[] = {{reinterpret_cast<char*>(&out_.chunk.header) + header_sent, kHeaderBytes - header_sent},
                    {const_cast<std::byte*>(out_.chunk.data) + data_sent, out_.chunk.header.bytes - data_sent}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = out_.chunk.header.bytes > 0 ? 2 : 1;
  ssize_t sent = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EAGAIN) writable_ = false;
    if (means_closed(errno)) {
      send_broken_ = hung_up_ = readable_ = true;
    } else if (errno != EAGAIN && errno != EINTR) {
      stop(End::kError, errno);
    }
    return false;
  }
  out_.sent += static_cast<size_t>(sent);
  if (out_.sent == kHeaderBytes + out_.chunk.header.bytes) {
    out_.under_way = false;
    queue.taken(out_.chunk.header);
  }
  return true;
}

bool TcpStream::receive_into(ReceiveQueue& queue) noexcept {
  bool moved = false;
  for (int reads = 0; reads < kReadsPerCall && is_live();) {
    bool has_header = has_staged_header();
    bool will_read = in_.under_way || !has_header;
    if (will_read && !readable_) break;
    Step step = in_.under_way ? read_chunk(queue) : has_header ? begin_chunk(queue) : read_more();
    if (step != Step::kMoved) break;
    moved = true;
    reads += will_read;
  }
  return moved;
}

// The rest of the chunk goes straight where it belongs, and what follows it into the stage by the same call.
TcpStream::Step TcpStream::read_chunk(ReceiveQueue& queue) noexcept {
  size_t left = in_.header.bytes - in_.got;
  iovec pieces[] = {{in_.to + in_.got, left}, {stage_.data(), stage_.size()}};
  ssize_t got = ::readv(socket_.fd(), pieces, 2);
  Step step = after_read(got, left + stage_.size());
  if (step != Step::kMoved) return step;
  size_t placed = std::min(static_cast<size_t>(got), left);
  stage_begin_ = 0;
  stage_end_ = static_cast<size_t>(got) - placed;
  take_bytes(queue, placed);
  return Step::kMoved;
}

TcpStream::Step TcpStream::read_more() noexcept {
  size_t have = stage_end_ - stage_begin_;
  std::memmove(stage_.data(), stage_.data() + stage_begin_, have);
  stage_begin_ = 0;
  stage_end_ = have;
  ssize_t got = ::recv(socket_.fd(), stage_.data() + have, stage_.size() - have, MSG_DONTWAIT);
  Step step = after_read(got, stage_.size() - have);
  if (step == Step::kMoved) stage_end_ += static_cast<size_t>(got);
  return step;
}

TcpStream::Step TcpStream::begin_chunk(ReceiveQueue& queue) noexcept {
  std::memcpy(&in_.header, stage_.data() + stage_begin_, sizeof in_.header);
  ReceiveQueue::Place place = queue.find(in_.header, in_.to);
  waits_for_post_ = place == ReceiveQueue::Place::kNotPosted;
  switch (place) {
    case ReceiveQueue::Place::kNotPosted:
      return Step::kWait;
    case ReceiveQueue::Place::kOtherSize:
      stop(End::kOtherSize, 0);
      return Step::kWait;
    case ReceiveQueue::Place::kBroken:
      stop(End::kBroken, 0);
      return Step::kWait;
    case ReceiveQueue::Place::kFound:
      break;
  }
  stage_begin_ += sizeof in_.header;
  in_.got = 0;
  in_.under_way = true;
  size_t staged = std::min<size_t>(stage_end_ - stage_begin_, in_.header.bytes);
  if (staged > 0) std::memcpy(in_.to, stage_.data() + stage_begin_, staged);
  stage_begin_ += staged;
  take_bytes(queue, staged);
  return Step::kMoved;
}

void TcpStream::take_bytes(ReceiveQueue& queue, size_t bytes) noexcept {
  in_.got += bytes;
  if (in_.got < in_.header.bytes) return;
  in_.under_way = false;
  queue.arrived(in_.header);
}

TcpStream::Step TcpStream::after_read(ssize_t got, size_t asked) noexcept {
  if (got > 0) {
    // The kernel had no more: without asking again, the next edge tells. An end that came along has no edge of its own.
    if (static_cast<size_t>(got) < asked && !hung_up_) readable_ = false;
    return Step::kMoved;
  }
  if (got < 0 && errno == EINTR) return Step::kWait;
  if (got < 0 && errno == EAGAIN) {
    readable_ = false;
    return Step::kWait;
  }
  stop(got == 0 || means_closed(errno) ? End::kClosed : End::kError, got == 0 ? 0 : errno);
  return Step::kWait;
}

void TcpStream::stop(End end, int error) noexcept {
  end_ = end;
  error_ = error;
}

bool TcpStream::is_host_silent(int64_t limit_ms) const noexcept {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (!is_live() || ::getsockopt(socket_.fd(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  // A closed window is answered by a living host however long it stays closed: then neither counter grows.
  return (info.tcpi_retransmits >= 2 || info.tcpi_probes >= 2) && info.tcpi_last_ack_recv >= limit_ms;
}

}  // namespace peal
