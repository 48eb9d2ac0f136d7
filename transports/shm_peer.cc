#include "transports/shm_peer.h"

#include <fmt/format.h>

#include <bit>
#include <new>

namespace peal {
namespace {

bool holds_a_ring(const ShmSegment& segment) noexcept {
  return segment.bytes() > RingControl::bytes_for(0) &&
         std::has_single_bit(segment.bytes() - RingControl::bytes_for(0));
}

RingReader reader_over(const ShmSegment& segment) noexcept {
  auto* control = std::launder(reinterpret_cast<RingControl*>(segment.data()));
  return {control, segment.bytes() - RingControl::bytes_for(0)};
}

}  // namespace

ShmConnection::~ShmConnection() {
  if (peer_) peer_->remove(*this);
}

ShmPeer::~ShmPeer() {
  for (auto& [channel, connection] : connections_) connection->peer_ = nullptr;
}

void ShmPeer::meet(const ShmDoor& door, const JobKey& key, int rank, int peer) {
  if (!giver_) giver_.emplace(door, key, rank, peer);
}

void ShmPeer::accept(Socket socket) noexcept {
  if (!taker_) taker_.emplace(std::move(socket));
}

void ShmPeer::add(ShmConnection& connection, size_t capacity) {
  auto segment = std::make_shared<ShmSegment>(ShmSegment::create(RingControl::bytes_for(capacity)));
  connection.my_ring_ = RingWriter(new (segment->data()) RingControl, capacity);
  ShmNote note{ShmNote::kRing, connection.channel_, 0, segment->bytes()};
  connection.ordinal_ = give(note, *segment);
  segment->close_fd();
  connection.my_segment_ = std::move(segment);
  connection.peer_ = this;
  connections_[connection.channel_] = &connection;
  if (auto early = early_rings_.extract(connection.channel_)) {
    attach_peers_ring(connection, std::move(early.mapped()));
  }
  if (lost()) connection.peer_died(how_lost_);
}

void ShmPeer::remove(ShmConnection& connection) noexcept {
  connection.my_ring_.leave();  // the peer may hold the ring already, or get it later
  if (!connection.has_peers_ring_) closed_.insert(connection.channel_);
  connections_.erase(connection.channel_);
}

std::shared_ptr<ShmSegment> ShmPeer::take_window(uint64_t id, uint64_t bytes) noexcept {
  auto found = windows_.find(id);
  if (found == windows_.end() || found->second.front()->bytes() != bytes) return nullptr;
  std::shared_ptr<ShmSegment> segment = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) windows_.erase(found);
  return segment;
}

void ShmPeer::advance_giver() noexcept {
  if (lost() || !giver_) return;
  giver_->advance();
  for (auto& [channel, connection] : connections_) {
    if (!connection->my_segment_ || giver_->given() <= connection->ordinal_) continue;
    connection->attach_out(connection->my_ring_, std::move(connection->my_segment_));
  }
}

void ShmPeer::advance_taker() noexcept {
  if (lost()) return;
  if (taker_) {
    while (auto arrival = taker_->take()) route(std::move(*arrival));
    if (taker_->broken()) return lose(taker_->why_broken());
  }
  if (giver_ && giver_->broken()) lose(giver_->why_broken());
}

void ShmPeer::route(ShmArrival arrival) noexcept {
  if (arrival.note.kind == ShmNote::kWindow) {
    windows_[arrival.note.id].push_back(std::move(arrival.segment));
    return;
  }
  if (arrival.note.kind != ShmNote::kRing || !holds_a_ring(*arrival.segment)) {
    return lose(fmt::format("handed over what can't be used: a note of kind {}, {} bytes", arrival.note.kind,
                            arrival.note.bytes));
  }
  int channel = arrival.note.channel;
  if (closed_.contains(channel)) return reader_over(*arrival.segment).leave();
  auto found = connections_.find(channel);
  if (found == connections_.end()) {
    early_rings_[channel] = std::move(arrival.segment);
    return;
  }
  attach_peers_ring(*found->second, std::move(arrival.segment));
}

void ShmPeer::attach_peers_ring(ShmConnection& connection, std::shared_ptr<ShmSegment> segment) noexcept {
  RingReader reader = reader_over(*segment);
  connection.attach_in(reader, std::move(segment));
  connection.has_peers_ring_ = true;
}

void ShmPeer::lose(const std::string& how) noexcept {
  how_lost_ = how;
  for (auto& [channel, connection] : connections_) connection->peer_died(how);
}

bool ShmPeer::settled() const noexcept {
  if (lost()) return true;
  if (giver_ && !giver_->idle()) return false;
  for (const auto& [channel, connection] : connections_) {
    if (!connection->has_peers_ring_) return false;
  }
  return true;
}

}  // namespace peal
