// Sends and receives between two ranks. A message is a header (what it is, and all of a message of a few bytes) and its
// bytes in segments, which flow while later ones, and later messages, are already posted: what pipeline parallelism
// runs on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/data_type.h"
#include "base/error.h"
#include "collectives/endpoint.h"
#include "collectives/work_table.h"

namespace peal {

class PointToPoint {
 public:
  PointToPoint(Endpoint& endpoint, WorkTable& works, int channel);

  // Queue a message; may throw (out of files for a new connection). Zero counts still meet their other end.
  void send(const void* data, size_t count, DataType type, int peer, uint32_t slot);
  void recv(void* data, size_t count, DataType type, int peer, uint32_t slot);

  bool advance() noexcept;
  void look() noexcept;  // for peers that died or left while messages with them are queued
  bool idle() const noexcept { return active_.empty(); }
  const Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }
  std::string waiting_for() const;
  // The message queued with a buffer that begins in [begin, end), in words; or "".
  std::string user_of(const std::byte* begin, const std::byte* end) const;

 private:
  struct Header {
    static constexpr size_t kInline = 24;  // with the rest 40 bytes, which a ring passes on in one cache line

    uint64_t count = 0;
    uint64_t type = 0;
    std::array<std::byte, kInline> bytes{};  // of a message that has no more

    bool same_kind(const Header& other) const noexcept { return count == other.count && type == other.type; }
  };
  struct Message {
    std::byte* data;  // not written when sending
    size_t bytes;
    Header header;  // what this rank says; when receiving, overwritten by what the peer says
    Header expected;
    uint32_t slot;
    size_t posted = 0;  // bytes
    bool header_posted = false;
    bool header_arrived = false;
    uint64_t header_target = 0;
    uint64_t last_target = 0;
    bool is_inline() const { return bytes <= Header::kInline; }
  };
  struct Peer {
    int rank = -1;
    Connection* connection = nullptr;           // null: this rank itself
    std::deque<Message> sends, recvs;           // stable addresses while queued
    size_t sends_posted = 0, recvs_posted = 0;  // messages at the front that are wholly posted
    uint64_t send_operations = 0, recv_operations = 0;
  };

  Peer& peer(int rank);
  void queue(std::deque<Message>& queue, Peer& peer, void* data, size_t count, DataType type, uint32_t slot);
  bool advance(Peer& peer) noexcept;
  bool post_sends(Peer& peer) noexcept;
  bool post_recvs(Peer& peer) noexcept;
  bool header_matches(Peer& peer, Message& message) noexcept;
  bool retire(std::deque<Message>& queue, size_t& wholly_posted, uint64_t done) noexcept;
  bool meet_self(Peer& peer) noexcept;
  bool posted(Post answer, const Peer& peer) noexcept;
  void fail(Error error) noexcept {
    if (!failure_) failure_.emplace(std::move(error));
  }

  Endpoint& endpoint_;
  WorkTable& works_;
  int channel_;
  std::vector<Peer> peers_;
  std::vector<Peer*> active_;  // peers with messages queued
  std::optional<Error> failure_;
};

}  // namespace peal
