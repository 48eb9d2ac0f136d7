// All that a ShmTransport knows of one other rank: the links both ways, its connections, and memory that came early.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "transports/ring_connection.h"
#include "transports/shm_link.h"

namespace peal {

class ShmConnection;

class ShmPeer {
 public:
  ShmPeer() = default;
  ~ShmPeer();
  ShmPeer(const ShmPeer&) = delete;
  ShmPeer& operator=(const ShmPeer&) = delete;

  // Says where the peer is; before the first add() or give(). Later calls change nothing.
  void meet(const ShmDoor& door, const JobKey& key, int rank, int peer);
  void accept(Socket socket) noexcept;  // the peer has dialed us; a second time is ignored

  // Hands memory to the peer, as ShmGiver::give().
  uint64_t give(const ShmNote& note, const ShmSegment& segment) { return giver_->give(note, segment); }
  bool all_given() const noexcept { return giver_->idle(); }

  // Creates this side's ring, hands it to the peer, and takes the peer's if that is here. Throws Error(kSystem).
  void add(ShmConnection& connection, size_t capacity);
  void remove(ShmConnection& connection) noexcept;

  // Memory that the peer showed for window `id`, oldest first; null when none is here.
  std::shared_ptr<ShmSegment> take_window(uint64_t id, uint64_t bytes) noexcept;

  // Two halves of one look at the links: what the first finds broken broke before the second reads what had been sent.
  void advance_giver() noexcept;
  void advance_taker() noexcept;

  bool lost() const noexcept { return !how_lost_.empty(); }
  const std::string& how_lost() const noexcept { return how_lost_; }
  bool settled() const noexcept;  // nothing is under way: looking seldom is enough
  int giver_fd() const noexcept { return giver_ ? giver_->fd() : -1; }
  int taker_fd() const noexcept { return taker_ ? taker_->fd() : -1; }

 private:
  void route(ShmArrival arrival) noexcept;
  void attach_peers_ring(ShmConnection& connection, std::shared_ptr<ShmSegment> segment) noexcept;
  void lose(const std::string& how) noexcept;

  std::optional<ShmGiver> giver_;
  std::optional<ShmTaker> taker_;
  std::string how_lost_;
  std::map<int, ShmConnection*> connections_;  // by channel
  std::map<int, std::shared_ptr<ShmSegment>> early_rings_;
  std::set<int> closed_;  // channels that this side closed before the peer's ring came
  std::map<uint64_t, std::deque<std::shared_ptr<ShmSegment>>> windows_;
};

class ShmConnection final : public RingConnection {
 public:
  ShmConnection(RingConnections& owner, Who who) : RingConnection(owner, who), channel_(who.channel) {}
  ~ShmConnection() override;

 private:
  friend class ShmPeer;
  int channel_;
  ShmPeer* peer_ = nullptr;
  // The outgoing ring, attached once it is in the peer's hands: what is sent then arrives even if this side goes.
  RingWriter my_ring_;
  std::shared_ptr<ShmSegment> my_segment_;  // null once attached
  uint64_t ordinal_ = 0;
  bool has_peers_ring_ = false;
};

}  // namespace peal
