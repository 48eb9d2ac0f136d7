// Transport between any two hosts that TCP connects, IPv4 or IPv6: PEAL_NSOCKS sockets per connection, made when first
// used, authenticated both ways. The one that is always there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/transport.h"

namespace peal {

std::optional<std::string> tcp_why_not(const TransportContext& context);
// Throws Error(kInvalidArgument) for PEAL_SOCKET_IFNAME, PEAL_SOCKET_FAMILY, PEAL_PORT_RANGE or PEAL_NSOCKS that can't
// be, Error(kSystem) naming the range when no port of it is free.
std::unique_ptr<Transport> create_tcp(const TransportContext& context);

}  // namespace peal
