// A transport that wraps another and misbehaves as PEAL_FAULT says: for tests of whoever stands on top.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "transports/transport.h"

namespace peal {

struct Faults {
  double again = 0;                                            // probability that a post answers kAgain
  double stall = 0;                                            // probability that a progress() does nothing
  int64_t delay_us = 0;                                        // a completion shows between once and twice this late
  uint64_t fail_after = std::numeric_limits<uint64_t>::max();  // bytes posted on a connection before it breaks
  uint64_t seed = 1;                                           // each rank adds its number
};

// "again=0.1,stall=0.5,delay=20,fail_after=1048576,seed=7"; "" is no fault. Throws Error(kInvalidArgument) naming the
// word and what is legal.
Faults parse_faults(std::string_view text);

// Reads PEAL_FAULT. Breaking a connection closes the wrapped one, so that the peer sees it too.
std::unique_ptr<Transport> wrap_faulty(std::unique_ptr<Transport> inner, const TransportContext& context);

}  // namespace peal
