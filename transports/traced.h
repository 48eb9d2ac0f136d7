// A transport that wraps another, counts what crosses it per peer, and logs every post and completion at TRACE level.
#pragma once

#include <memory>
#include <vector>

#include "transports/wrapping.h"

namespace peal {

// What has completed, over all channels of a peer.
struct Traffic {
  uint64_t sends = 0;
  uint64_t recvs = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

class PEAL_API TracedTransport final : public WrappingTransport {
 public:
  TracedTransport(std::unique_ptr<Transport> inner, const TransportContext& context);

  // With the rank's peer so far, whether or not the connections still live. Throws std::out_of_range for no such rank.
  const Traffic& traffic(int peer) const { return traffic_.at(static_cast<size_t>(peer)); }

  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override;

 private:
  Log& log_;
  std::vector<Traffic> traffic_;  // by rank; never resized, since connections point into it
};

std::unique_ptr<Transport> wrap_traced(std::unique_ptr<Transport> inner, const TransportContext& context);

}  // namespace peal
