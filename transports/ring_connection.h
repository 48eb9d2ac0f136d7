// A Connection over two byte rings: what inproc and shm share. The bytes travel without headers, since both sides agree
// on sizes by contract; so a zero-byte receive completes as soon as those before it have, whatever the peer does.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "transports/ring.h"
#include "transports/transport.h"

namespace peal {

// PEAL_BUFFSIZE; throws Error(kInvalidArgument) unless it is a power of two in [4 KiB, 1 GiB].
size_t ring_capacity_from(const Settings& settings);

// The operations of one direction that have not completed, first in first out.
template <typename Pointer>
class PostedQueue {
 public:
  static constexpr uint32_t kCapacity = 64;  // a power of two
  struct Operation {
    Pointer next;  // first byte that has not moved
    size_t left;   // bytes that have not moved
  };

  bool empty() const noexcept { return begin_ == end_; }
  bool full() const noexcept { return end_ - begin_ == kCapacity; }
  Operation& front() noexcept { return operations_[begin_ % kCapacity]; }
  void push(Pointer data, size_t bytes) noexcept { operations_[end_++ % kCapacity] = {data, bytes}; }
  void pop() noexcept { ++begin_; }

 private:
  std::array<Operation, kCapacity> operations_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

class RingConnection;

// The live connections of one transport, so that it can drive them. Whichever dies first tells the other.
class RingConnections {
 public:
  RingConnections() = default;
  ~RingConnections();  // leaves every connection: the peers see it as closed
  RingConnections(const RingConnections&) = delete;
  RingConnections& operator=(const RingConnections&) = delete;

  void advance() noexcept;

 private:
  friend class RingConnection;
  std::vector<RingConnection*> live_;
};

class RingConnection : public Connection {
 public:
  struct Who {
    std::string_view transport;  // a literal
    int rank = -1;               // this side
    int peer = -1;
    int channel = 0;
  };

  RingConnection(RingConnections& owner, Who who);
  ~RingConnection() override;

  // Give the connection its rings; until then posts only queue. `memory` keeps a ring where it is.
  void attach_out(RingWriter out, std::shared_ptr<void> memory) noexcept;
  void attach_in(RingReader in, std::shared_ptr<void> memory) noexcept;

  // The peer is known to be lost; `how` says it in words. What it had written is still delivered; then what needs it
  // fails.
  void peer_died(std::string how) noexcept;

  Post post_send(const void* data, size_t bytes) noexcept override;
  Post post_recv(void* data, size_t bytes) noexcept override;
  void advance() noexcept;

 private:
  friend class RingConnections;
  void push() noexcept;
  void pull() noexcept;
  void leave() noexcept;
  void lose_peer(std::string_view direction, size_t left) noexcept;

  RingConnections* owner_;
  Who who_;
  bool peer_died_ = false;
  std::string how_it_died_;
  RingWriter out_;  // false: not attached
  RingReader in_;
  PostedQueue<const std::byte*> sends_;
  PostedQueue<std::byte*> recvs_;
  std::shared_ptr<void> out_memory_;
  std::shared_ptr<void> in_memory_;
};

}  // namespace peal
