// One rank's way to all others: the transports it has, which one serves each peer, and the connections made so far.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/log.h"
#include "collectives/roster.h"
#include "transports/registry.h"
#include "transports/transport.h"

namespace peal {

class Endpoint {
 public:
  // `roster` is equal on all ranks; `transports` are this rank's own, in the order in which its roster entry lists
  // them.
  Endpoint(int rank, Roster roster, std::vector<std::unique_ptr<Transport>> transports);
  ~Endpoint();

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return roster_.ranks(); }
  const Roster& roster() const noexcept { return roster_; }

  // Made when first used. Throws Error for what is wrong on this side.
  Connection& connection(int peer, int channel);
  const std::string& transport_name(int peer) const { return transport_of(peer).label; }
  const TransportProperties& properties(int peer) const { return transport_of(peer).properties; }

  // Memory that all ranks map, or nullptr when no transport maps all of them. Collective; blocks until the deadline.
  std::unique_ptr<Window> open_window(size_t bytes, Deadline deadline);

  void progress() noexcept;
  void wait(int timeout_us) noexcept;

 private:
  struct Served {
    Transport* transport = nullptr;
    std::string label;
    TransportProperties properties;
  };
  Served choose(int peer) const;
  const Served& transport_of(int peer) const { return served_[static_cast<size_t>(peer)]; }
  void use(Transport* transport);

  int rank_;
  Roster roster_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> in_use_;  // those that serve a peer or a window
  std::vector<Served> served_;      // by peer
  // connections_[peer][channel]
  std::vector<std::vector<std::unique_ptr<Connection>>> connections_;
  uint64_t windows_opened_ = 0;
};

}  // namespace peal
