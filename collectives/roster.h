// Who is in the communicator: every rank's place and its transports' addresses, exchanged once, equal on all ranks.
// What follows from it (which transport serves a pair) every rank computes alike; nobody decides alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/places.h"
#include "transports/transport.h"

namespace peal {

struct RosterEntry {
  struct Reach {
    std::string transport;  // registry name, with its wrapper
    std::string address;
    TransportProperties properties;
  };
  std::string host_id, host_name;
  int64_t pid = 0;
  int32_t usable_cores = 1;        // base/host.h: affinity and CPU quota
  std::vector<uint64_t> affinity;  // bit per CPU
  Place place;
  std::string ring_order;      // PEAL_RING_ORDER
  std::vector<Reach> reaches;  // in this rank's order of preference

  // This process on `machine`, without reaches.
  static RosterEntry here(const Settings& settings, const Machine& machine);
  std::string encode() const;
  static RosterEntry decode(std::string_view bytes);  // throws Error(kPeerFailed) for what is no entry
};

class Roster {
 public:
  explicit Roster(std::vector<RosterEntry> entries) : entries_(std::move(entries)) {}
  int ranks() const noexcept { return static_cast<int>(entries_.size()); }
  const RosterEntry& at(int rank) const { return entries_[static_cast<size_t>(rank)]; }

  int local_ranks(int rank) const;  // on the host of `rank`, itself included
  // Ranks on this rank's host per core that they may use together: more than 1 means that waiting ranks must give way.
  double ranks_per_core(int rank) const;
  double most_ranks_per_core() const;  // over all hosts

  std::vector<Place> places() const;  // by rank

  // The order of rings and the groups of near ranks. Throws Error(kInvalidArgument), on all ranks alike, for a
  // PEAL_RING_ORDER that is no order of the ranks or not the same on all of them.
  Placement placement() const;

 private:
  std::vector<RosterEntry> entries_;
};

}  // namespace peal
