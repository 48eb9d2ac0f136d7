#include "collectives/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace peal {
namespace {

using Reach = RosterEntry::Reach;

const Reach* find(const RosterEntry& entry, std::string_view transport) {
  const auto found = std::find_if(entry.reaches.begin(), entry.reaches.end(),
                                  [&](const Reach& reach) { return reach.transport == transport; });
  return found == entry.reaches.end() ? nullptr : &*found;
}

}  // namespace

Endpoint::Endpoint(int rank, Roster roster, std::vector<std::unique_ptr<Transport>> transports)
    : rank_(rank), roster_(std::move(roster)), transports_(std::move(transports)) {
  served_.resize(static_cast<size_t>(ranks()));
  connections_.resize(static_cast<size_t>(ranks()));
  for (int peer = 0; peer < ranks(); peer++) {
    if (peer != rank_) served_[static_cast<size_t>(peer)] = choose(peer);
  }
}

Endpoint::~Endpoint() = default;

// The first transport in the lower rank's order that both have and that says it reaches: the same answer on both sides.
Endpoint::Served Endpoint::choose(int peer) const {
  const RosterEntry& mine = roster_.at(rank_);
  const RosterEntry& theirs = roster_.at(peer);
  const RosterEntry& lower = rank_ < peer ? mine : theirs;
  std::vector<std::string> tried;
  for (const Reach& reach : lower.reaches) {
    const Reach* a = find(mine, reach.transport);
    const Reach* b = find(theirs, reach.transport);
    tried.push_back(reach.transport + (a && b ? " (does not reach)" : " (one side lacks it)"));
    if (a == nullptr || b == nullptr) continue;
    Transport* transport = transports_[static_cast<size_t>(a - mine.reaches.data())].get();
    if (transport->reaches(a->address, b->address)) return {transport, reach.transport, reach.properties};
  }
  throw Error(ErrorCode::kUnsupported,
              fmt::format("no transport between rank {} on {} and rank {} on {}: {}", rank_, mine.host_name, peer,
                          theirs.host_name, fmt::join(tried, ", ")),
              {rank_, peer, -1});
}

Connection& Endpoint::connection(int peer, int channel) {
  auto& channels = connections_[static_cast<size_t>(peer)];
  if (channels.size() <= static_cast<size_t>(channel)) channels.resize(static_cast<size_t>(channel) + 1);
  auto& connection = channels[static_cast<size_t>(channel)];
  if (!connection) {
    const Served& served = transport_of(peer);
    connection = served.transport->connect({peer, find(roster_.at(peer), served.label)->address}, channel);
    use(served.transport);
  }
  return *connection;
}

void Endpoint::use(Transport* transport) {
  if (std::find(in_use_.begin(), in_use_.end(), transport) == in_use_.end()) in_use_.push_back(transport);
}

std::unique_ptr<Window> Endpoint::open_window(size_t bytes, Deadline deadline) {
  const RosterEntry& first = roster_.at(0);
  for (const Reach& reach : first.reaches) {
    if (!reach.properties.maps_peer_memory) continue;
    const Reach* mine = find(roster_.at(rank_), reach.transport);
    if (mine == nullptr) continue;
    Transport* transport = transports_[static_cast<size_t>(mine - roster_.at(rank_).reaches.data())].get();
    std::vector<PeerAddress> members;
    for (int rank = 0; rank < ranks(); rank++) {
      const Reach* theirs = find(roster_.at(rank), reach.transport);
      if (theirs == nullptr || !transport->reaches(reach.address, theirs->address)) break;
      members.push_back({rank, theirs->address});
    }
    if (static_cast<int>(members.size()) < ranks()) continue;
    use(transport);
    return transport->open_window(members, rank_, windows_opened_++, bytes, deadline);
  }
  return nullptr;
}

void Endpoint::progress() noexcept {
  for (Transport* transport : in_use_) transport->progress();
}

void Endpoint::wait(int timeout_us) noexcept {
  // Only one transport can be slept on; with several, or with memory that peers write without a word, short sleeps.
  if (in_use_.empty()) return;
  in_use_.front()->wait(in_use_.size() == 1 ? timeout_us : std::min(timeout_us, 50));
}

}  // namespace peal
