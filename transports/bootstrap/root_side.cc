#include "transports/bootstrap/root_side.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>

#include "transports/bootstrap/gathered.h"
#include "transports/bootstrap/root_address.h"

namespace peal {
namespace {

constexpr int64_t kFarewellMs = 1000;  // what telling of a failure may take

// A host's own name often resolves to 127.0.1.1, where no other host could come: only a numeric address is bound.
Socket listen_at_root(const std::string& text) {
  RootAddress root = parse_root(text);
  if (!root.unix_name.empty()) return listen_at(SocketAddress::unix_name(root.unix_name));
  auto numeric = SocketAddress::numeric(root.host, root.port);
  if (!numeric.empty()) return listen_at(numeric.front());
  return listen_in_range(AF_UNSPEC, fmt::format("{0}-{0}", root.port));
}

void flush(MessageSocket& socket, std::vector<pollfd>& waiting) {
  socket.advance_sending();
  if (!socket.all_sent()) waiting.push_back({socket.fd(), POLLOUT, 0});
}

}  // namespace

RootSide::RootSide(const Launch& launch, Deadline deadline)
    : launch_(launch), members_(static_cast<size_t>(launch.size)) {
  if (launch.size == 1) return;
  Hello hello{0, 0, Purpose::kBootstrap, 0, 0, 0};
  Listener listener(listen_at_root(launch.root), launch.key, hello);
  meet(listener, deadline);
  send_to_all(encode({MessageKind::kStart, 0, ""}), deadline);
}

void RootSide::meet(Listener& listener, Deadline deadline) {
  auto all_here = [&] {
    return std::all_of(members_.begin() + 1, members_.end(),
                       [](const auto& member) { return member && member->joined; });
  };
  while (!all_here()) {
    wait_for_traffic(&listener, std::min<int64_t>(deadline.left_ms(), 500));
    while (auto guest = listener.poll()) take(std::move(*guest));
    for (int rank = 1; rank < launch_.size; ++rank) {
      if (auto& member = members_[static_cast<size_t>(rank)]) read_join(*member, rank, deadline);
    }
    if (deadline.passed() && !all_here()) fail_missing(listener);
  }
}

void RootSide::take(Guest guest) {
  int rank = guest.hello.rank;
  if (!guest.mismatch.empty()) {
    fail(ErrorCode::kMismatch, fmt::format("rank {} at {} {}", rank, guest.address, guest.mismatch), rank);
  }
  bool in_range = rank >= 0 && rank < launch_.size;
  bool taken = rank == 0 || (in_range && members_[static_cast<size_t>(rank)]);
  MessageSocket socket(std::move(guest.socket), guest.address, kMostGatheredBytes / members_.size());
  if (in_range && !taken) {
    members_[static_cast<size_t>(rank)].emplace(Member{std::move(socket), false, {}});
    return;
  }
  turned_away_.push_back(std::move(socket));
  if (taken) {
    std::string first = rank == 0 ? "the one that listens" : members_[static_cast<size_t>(rank)]->socket.address();
    fail(ErrorCode::kMismatch,
         fmt::format("two processes say that they are rank {}: {} and {}", rank, first, guest.address), rank);
  }
  fail(ErrorCode::kMismatch, fmt::format("the process at {} says that it is rank {}, but rank 0 was told of {} ranks",
                                         guest.address, rank, launch_.size));
}

void RootSide::read_join(Member& member, int rank, Deadline& deadline) {
  if (member.joined) return;
  auto message = member.socket.receive();
  if (!message && !member.socket.closed()) return;
  if (!message || message->kind != MessageKind::kJoin) {
    fail(ErrorCode::kPeerFailed,
         fmt::format("rank {} at {} {} during start-up", rank, member.socket.address(),
                     message ? "broke the protocol" : member.socket.why_closed()),
         rank);
  }
  int size = 0;
  std::from_chars(message->body.data(), message->body.data() + message->body.size(), size);
  if (size != launch_.size) {
    fail(ErrorCode::kMismatch,
         fmt::format("rank 0 was told of {} ranks, rank {} at {} of {}", launch_.size, rank, member.socket.address(),
                     size),
         rank);
  }
  member.joined = true;
  // The first deadline of all holds for all, so that all fail together with one message.
  if (message->left_ms < deadline.left_ms()) deadline = Deadline::after_ms(message->left_ms);
}

std::vector<std::string> RootSide::all_gather(const std::string& mine, Deadline deadline) {
  check_gathered_bytes(mine, launch_.size);
  auto is_missing = [](const Member& member) { return !member.gathered; };
  for (auto& member : members_) {
    if (member) member->gathered.reset();
  }
  for (std::string missing; !(missing = ranks_where(is_missing)).empty();) {
    if (deadline.passed()) {
      fail(ErrorCode::kTimeout, fmt::format("start-up's exchange: nothing came from {} in time", missing));
    }
    wait_for_traffic(nullptr, deadline.left_ms());
    for (int rank = 1; rank < launch_.size; ++rank) {
      read_gathered(*members_[static_cast<size_t>(rank)], rank, deadline);
    }
  }
  std::vector<std::string> all{mine};
  for (size_t rank = 1; rank < members_.size(); ++rank) all.push_back(std::move(*members_[rank]->gathered));
  send_to_all(encode({MessageKind::kGathered, 0, pack_gathered(all)}), deadline);
  return all;
}

void RootSide::read_gathered(Member& member, int rank, Deadline& deadline) {
  if (member.gathered) return;
  auto message = member.socket.receive();
  if (!message && !member.socket.closed()) return;
  if (!message || message->kind != MessageKind::kGather) {
    fail(ErrorCode::kPeerFailed,
         fmt::format("rank {} at {} {} during start-up's exchange", rank, member.socket.address(),
                     message ? "broke the protocol" : member.socket.why_closed()),
         rank);
  }
  member.gathered = std::move(message->body);
  if (message->left_ms < deadline.left_ms()) deadline = Deadline::after_ms(message->left_ms);
}

// A rank that is gone or doesn't read until the deadline doesn't keep the others from getting theirs.
void RootSide::send_to_all(const std::string& encoded, Deadline deadline) {
  for (auto& member : members_) {
    if (member && member->socket.all_sent() && !member->socket.closed()) member->socket.start_sending(encoded);
  }
  for (auto& socket : turned_away_) socket.start_sending(encoded);
  for (std::vector<pollfd> waiting;; waiting.clear()) {
    for (auto& member : members_) {
      if (member) flush(member->socket, waiting);
    }
    for (auto& socket : turned_away_) flush(socket, waiting);
    if (waiting.empty() || deadline.passed()) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(deadline.left_ms()));
  }
  for (auto& member : members_) {
    if (member) member->socket.give_up_sending();
  }
}

// Only those whose word is still awaited are watched: the others' next message would end every poll at once.
void RootSide::wait_for_traffic(const Listener* listener, int64_t limit_ms) {
  std::vector<pollfd> waiting;
  if (listener) waiting.push_back({listener->poll_fd(), POLLIN, 0});
  for (const auto& member : members_) {
    bool awaited = member && (listener ? !member->joined : !member->gathered);
    if (awaited) waiting.push_back({member->socket.fd(), POLLIN, 0});
  }
  ::poll(waiting.data(), waiting.size(), static_cast<int>(limit_ms));
}

// "rank 2" or "ranks 1, 3, 4", at most 32 of them; empty for none.
template <typename Predicate>
std::string RootSide::ranks_where(Predicate predicate) const {
  std::string list;
  int count = 0;
  for (size_t rank = 1; rank < members_.size(); ++rank) {
    if (members_[rank] && !predicate(*members_[rank])) continue;
    if (++count <= 32) list += fmt::format("{}{}", count > 1 ? ", " : "", rank);
  }
  if (count > 32) list += fmt::format(" and {} more", count - 32);
  return count ? fmt::format("{} {}", count == 1 ? "rank" : "ranks", list) : "";
}

void RootSide::fail(ErrorCode code, const std::string& what, int peer) {
  std::string told(1, static_cast<char>(code));
  send_to_all(encode({MessageKind::kFailure, 0, told + what}), Deadline::after_ms(kFarewellMs));
  throw Error(code, fmt::format("rank 0: {}", what), {0, peer, -1});
}

void RootSide::fail_missing(const Listener& listener) {
  std::string missing = ranks_where([](const Member& member) { return !member.joined; });
  std::string strangers;
  if (listener.strangers_dropped() > 0) {
    strangers = fmt::format("; {} connections were turned away, the last one: {}", listener.strangers_dropped(),
                            listener.last_dropped());
  }
  fail(ErrorCode::kTimeout,
       fmt::format("of {} ranks, {} never came to {} in time{}", launch_.size, missing, launch_.root, strangers));
}

}  // namespace peal
