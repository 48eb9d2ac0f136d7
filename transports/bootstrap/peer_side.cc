#include "transports/bootstrap/peer_side.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transports/bootstrap/gathered.h"
#include "transports/bootstrap/root_address.h"

namespace peal {
namespace {

constexpr int64_t kTryMs = 5000;    // one address: longer than a lost SYN's second try (1 s) and third (3 s)
constexpr int64_t kGraceMs = 2000;  // rank 0's verdict at its deadline still has to travel

std::vector<SocketAddress> root_addresses(const RootAddress& root) {
  if (!root.unix_name.empty()) return {SocketAddress::unix_name(root.unix_name)};
  return SocketAddress::resolve(root.host, root.port);
}

void wait_for(int fd, short events, int64_t limit_ms) {
  pollfd waiting{fd, events, 0};
  ::poll(&waiting, 1, static_cast<int>(limit_ms));
}

Deadline earlier(Deadline one, int64_t limit_ms) { return Deadline::after_ms(std::min(one.left_ms(), limit_ms)); }

}  // namespace

PeerSide::PeerSide(const Launch& launch, Deadline deadline) : launch_(launch) {
  connect(deadline);
  send({MessageKind::kJoin, deadline.left_ms(), std::to_string(launch.size)}, deadline);
  receive(MessageKind::kStart, deadline);
}

// Tries until the deadline, 10 ms apart at first, since ranks that start together find each other at once, then slower.
void PeerSide::connect(Deadline deadline) {
  RootAddress root = parse_root(launch_.root);
  for (int64_t pause_ms = 10; !deadline.passed(); pause_ms = std::min<int64_t>(pause_ms * 2, 250)) {
    try {
      for (const SocketAddress& address : root_addresses(root)) {
        if (try_once(address, deadline)) return;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kSystem) throw;
      last_refusal_ = error.what();  // the resolver may learn the name later
    }
    if (queue_is_full_) pause_ms = 1;  // rank 0 is there: somebody else took the last place
    ::poll(nullptr, 0, static_cast<int>(std::min(pause_ms, deadline.left_ms())));
  }
  fail(ErrorCode::kTimeout, fmt::format("rank 0 never came to {} in time; the last try: {}", launch_.root,
                                        last_answer_.empty() ? last_refusal_ : last_answer_));
}

bool PeerSide::try_once(const SocketAddress& address, Deadline deadline) {
  int error = 0;
  Socket socket = dial(address, error);
  queue_is_full_ = error == EAGAIN;
  if (error) {
    last_refusal_ = fmt::format("{}: {}", address.text(), std::strerror(error));
    return false;
  }
  Hello hello{launch_.rank, 0, Purpose::kBootstrap, 0, 0, 0};
  auto handshake = Handshake::dial(std::move(socket), launch_.key, hello, 0);
  Deadline patience = earlier(deadline, kTryMs);
  while (handshake.advance() == Handshake::State::kTalking && !patience.passed()) {
    wait_for(handshake.fd(), handshake.wants_to_send() ? POLLOUT : POLLIN, patience.left_ms());
  }
  if (handshake.state() == Handshake::State::kDone) {
    socket_.emplace(handshake.take_socket(), address.text(), 2 * kMostGatheredBytes);
    return true;
  }
  bool silent = handshake.state() == Handshake::State::kTalking;
  bool refused = silent || handshake.failure() == Handshake::Failure::kRefused ||
                 handshake.failure() == Handshake::Failure::kClosed;
  (refused ? last_refusal_ : last_answer_) =
      fmt::format("{}: {}", address.text(), silent ? "no answer" : handshake.why());
  if (handshake.failure() == Handshake::Failure::kOtherBuild) {
    fail(ErrorCode::kMismatch, fmt::format("rank 0 at {} {}", address.text(), handshake.why()));
  }
  return false;
}

std::vector<std::string> PeerSide::all_gather(const std::string& mine, Deadline deadline) {
  check_gathered_bytes(mine, launch_.size);
  send({MessageKind::kGather, deadline.left_ms(), mine}, deadline);
  Message all = receive(MessageKind::kGathered, deadline);
  auto strings = unpack_gathered(all.body, launch_.size);
  if (!strings) fail(ErrorCode::kPeerFailed, fmt::format("rank 0 at {} broke the protocol", socket_->address()));
  return std::move(*strings);
}

void PeerSide::send(const Message& message, Deadline deadline) {
  std::string encoded = encode(message);
  socket_->start_sending(encoded);
  for (socket_->advance_sending(); !socket_->all_sent(); socket_->advance_sending()) {
    if (deadline.passed()) {
      socket_->give_up_sending();
      fail(ErrorCode::kTimeout, fmt::format("rank 0 at {} stopped reading", socket_->address()));
    }
    wait_for(socket_->fd(), POLLOUT, deadline.left_ms());
  }
}

Message PeerSide::receive(MessageKind expected, Deadline deadline) {
  Deadline patience = Deadline::after_ms(deadline.left_ms() + kGraceMs);
  while (true) {
    if (auto message = socket_->receive()) {
      if (message->kind == expected) return std::move(*message);
      if (message->kind == MessageKind::kFailure && !message->body.empty()) {
        fail(static_cast<ErrorCode>(message->body[0]), message->body.substr(1));
      }
      fail(ErrorCode::kPeerFailed, fmt::format("rank 0 at {} broke the protocol", socket_->address()));
    }
    if (socket_->closed()) {
      fail(ErrorCode::kPeerFailed,
           fmt::format("rank 0 at {} {} during start-up", socket_->address(), socket_->why_closed()));
    }
    if (patience.passed()) {
      fail(ErrorCode::kTimeout, fmt::format("rank 0 at {} gave no answer in time", socket_->address()));
    }
    wait_for(socket_->fd(), POLLIN, patience.left_ms());
  }
}

void PeerSide::fail(ErrorCode code, const std::string& what) const {
  throw Error(code, fmt::format("rank {}: {}", launch_.rank, what), {launch_.rank, -1, -1});
}

}  // namespace peal
