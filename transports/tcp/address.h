// What a tcp transport publishes of itself, and in which order a peer should try it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transports/interfaces.h"
#include "transports/socket.h"

namespace peal {

struct TcpAddress {
  uint64_t id = 0;  // random; a dialer names it, so that nobody answers at an address that was given out twice
  uint16_t port = 0;
  uint8_t sockets = 1;  // per connection; two peers use the smaller number
  std::string host_id;
  std::vector<InterfaceAddress> interfaces;  // without names

  static constexpr size_t kMostInterfaces = 64;

  std::string encode() const;  // at most 4 KiB
  static std::optional<TcpAddress> decode(std::string_view bytes);
};

// Where `from` may try to find `to`, best first: loopback on one host, then subnets that both are on, then the rest.
std::vector<SocketAddress> places_to_try(const TcpAddress& from, const TcpAddress& to);

// Symmetric: on one host, or with a family of addresses in common.
bool may_reach(const TcpAddress& one, const TcpAddress& other);

}  // namespace peal
