#include "transports/shm_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

#include "transports/pass_files.h"

namespace peal {

ShmGiver::ShmGiver(ShmDoor door, const JobKey& key, int rank, int peer)
    : door_(std::move(door)), key_(key), rank_(rank), peer_(peer) {}

uint64_t ShmGiver::give(const ShmNote& note, const ShmSegment& segment) {
  Socket file(::fcntl(segment.fd(), F_DUPFD_CLOEXEC, 0));
  if (!file.open()) throw system_error("shm: duplicating a memfd", errno);
  queue_.push_back({note, std::move(file)});
  return given_ + queue_.size() - 1;
}

void ShmGiver::advance() noexcept {
  if (broken()) return;
  if (!socket_.open() && !open_door()) return;
  try {
    hand_over();
  } catch (const Error& error) {
    why_broken_ = fmt::format("can't be given memory: {}", error.what());
  }
  if (!broken()) look_for_end();
}

// A peer drops a dialer that takes too long (its Listener's patience): then it is dialed anew. Only when nobody listens
// any more is it gone: addresses are published after listening has begun.
bool ShmGiver::open_door() noexcept {
  if (!handshake_) {
    int error = 0;
    Socket socket = dial(SocketAddress::unix_name(door_.socket_name), error);
    if (!socket.open()) {
      if (error == ECONNREFUSED) why_broken_ = "is gone: nobody listens at its address";
      return false;
    }
    Hello hello{rank_, -1, Purpose::kShm, 0, 0, door_.id};
    handshake_.emplace(Handshake::dial(std::move(socket), key_, hello, peer_));
  }
  switch (handshake_->advance()) {
    case Handshake::State::kTalking:
      return false;
    case Handshake::State::kDone:
      socket_ = handshake_->take_socket();
      handshake_.reset();
      return true;
    case Handshake::State::kFailed:
      break;
  }
  bool may_retry = handshake_->failure() == Handshake::Failure::kClosed;
  if (handshake_->failure() == Handshake::Failure::kRefused) {
    why_broken_ = "is gone: nobody listens at its address";
  } else if (!may_retry) {
    why_broken_ = fmt::format("failed the handshake: {}", handshake_->why());
  }
  handshake_.reset();
  return false;
}

void ShmGiver::hand_over() {
  while (!queue_.empty()) {
    const Gift& gift = queue_.front();
    int file = gift.file.fd();
    switch (send_files(socket_, std::as_bytes(std::span(&gift.note, 1)), std::span(&file, 1))) {
      case Passed::kAgain:
        return;
      case Passed::kClosed:
        why_broken_ = "died";
        return;
      case Passed::kAll:
        queue_.pop_front();
        ++given_;
    }
  }
}

// The taking end never writes, so whatever can be read here is the end.
void ShmGiver::look_for_end() noexcept {
  char byte;
  ssize_t got = ::recv(socket_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) why_broken_ = "died";
}

std::optional<ShmArrival> ShmTaker::take() noexcept {
  if (broken()) return std::nullopt;
  try {
    ShmArrival arrival;
    std::vector<Socket> files;
    switch (receive_files(socket_, std::as_writable_bytes(std::span(&arrival.note, 1)), files)) {
      case Passed::kAgain:
        return std::nullopt;
      case Passed::kClosed:
        why_broken_ = "died";
        return std::nullopt;
      case Passed::kAll:
        break;
    }
    if (files.size() != 1) throw Error(ErrorCode::kPeerFailed, fmt::format("a note with {} files", files.size()));
    arrival.segment = std::make_shared<ShmSegment>(ShmSegment::adopt(files[0].release(), arrival.note.bytes));
    arrival.segment->close_fd();
    return arrival;
  } catch (const Error& error) {
    why_broken_ = fmt::format("handed over what can't be used: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace peal
