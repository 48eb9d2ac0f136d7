// PEAL_ROOT's three forms.
#pragma once

#include <cstdint>
#include <string>

namespace peal {

struct RootAddress {
  std::string unix_name;  // unix:NAME
  std::string host;       // host:port or [ipv6]:port
  uint16_t port = 0;
};

// Throws Error(kInvalidArgument) naming the text and the three forms.
RootAddress parse_root(const std::string& text);

}  // namespace peal
