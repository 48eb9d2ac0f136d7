// How one rank hands memory to another: an authenticated Unix socket, dialed by the giver, that carries notes with a
// memfd each. Every pair of ranks that shares memory has one such link each way, so that both ends are alike and nobody
// has to agree on who dials. A link that breaks tells that the other side is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "transports/handshake.h"
#include "transports/shm_segment.h"
#include "transports/socket.h"
#include "transports/transport.h"

namespace peal {

// What the memory that comes with a note is for. Fixed layout: both ends are on one host, of one build.
struct ShmNote {
  enum Kind : uint32_t { kRing = 1, kWindow = 2 };
  uint32_t kind = 0;
  int32_t channel = 0;  // kRing
  uint64_t id = 0;      // kWindow
  uint64_t bytes = 0;   // of the segment
};

// Where a rank's ShmTransport listens: an abstract Unix name and the id that its handshake asks for.
struct ShmDoor {
  std::string socket_name;
  uint64_t id = 0;
};

// The dialing end. One thread; nothing blocks.
class ShmGiver {
 public:
  ShmGiver(ShmDoor door, const JobKey& key, int rank, int peer);

  // Queues the note and a duplicate of the segment's file; answers its ordinal: it is in the peer's hands, whatever
  // happens to this side, once given() is larger. Throws Error(kSystem) when out of files.
  uint64_t give(const ShmNote& note, const ShmSegment& segment);
  uint64_t given() const noexcept { return given_; }

  // Dials, proves, hands over, as far as that goes now, and finds out whether the peer is still there.
  void advance() noexcept;
  bool idle() const noexcept { return queue_.empty(); }
  bool broken() const noexcept { return !why_broken_.empty(); }
  const std::string& why_broken() const noexcept { return why_broken_; }  // continues "the peer ..."
  int fd() const noexcept { return socket_.open() ? socket_.fd() : handshake_ ? handshake_->fd() : -1; }

 private:
  struct Gift {
    ShmNote note;
    Socket file;
  };
  bool open_door() noexcept;
  void hand_over();
  void look_for_end() noexcept;

  ShmDoor door_;
  JobKey key_;
  int rank_;
  int peer_;
  std::optional<Handshake> handshake_;
  Socket socket_;  // open once the peer has proved itself
  std::deque<Gift> queue_;
  uint64_t given_ = 0;
  std::string why_broken_;
};

struct ShmArrival {
  ShmNote note;
  std::shared_ptr<ShmSegment> segment;
};

// The accepting end, of a peer that the listener has authenticated.
class ShmTaker {
 public:
  explicit ShmTaker(Socket socket) noexcept : socket_(std::move(socket)) {}

  // The next note and its memory, or nothing now. After broken() nothing comes any more.
  std::optional<ShmArrival> take() noexcept;
  bool broken() const noexcept { return !why_broken_.empty(); }
  const std::string& why_broken() const noexcept { return why_broken_; }
  int fd() const noexcept { return socket_.fd(); }

 private:
  Socket socket_;
  std::string why_broken_;
};

}  // namespace peal
