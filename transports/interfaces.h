// The addresses of this machine that other hosts may reach it at, and PEAL_SOCKET_IFNAME's choice among them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/api.h"

namespace peal {

struct InterfaceAddress {
  std::string interface;  // eth0
  std::array<uint8_t, 16> ip{};
  uint8_t ip_size = 4;      // 4 or 16
  uint8_t prefix_bits = 0;  // of its subnet
  bool is_loopback = false;
  bool is_tunnel = false;  // point-to-point, as tunnels are

  std::span<const uint8_t> bytes() const noexcept { return {ip.data(), ip_size}; }
};

// All addresses of interfaces that are up, without IPv6 link-local ones (they mean nothing without their interface).
// Throws Error(kSystem).
PEAL_API std::vector<InterfaceAddress> interface_addresses();

// Those to be published. `names` as PEAL_SOCKET_IFNAME: prefixes "eth,ib", exact names "=eth0,ib0", exclusions
// "^docker,lo". `family` as PEAL_SOCKET_FAMILY. Without `names`: no tunnels, bridges, container links or self-assigned
// 169.254 addresses, unless there is nothing else beside loopback. Loopback stays in, last: for ranks of one host.
// Throws Error(kInvalidArgument) naming the interfaces there are when none is left, and for another family.
PEAL_API std::vector<InterfaceAddress> choose_addresses(const std::vector<InterfaceAddress>& all,
                                                        const std::string& names, const std::string& family);

// AF_INET, AF_INET6 or AF_UNSPEC.
PEAL_API int parse_family(const std::string& family);

}  // namespace peal
