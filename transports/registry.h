// The list of transports, and PEAL_TRANSPORT's words.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transports/transport.h"

namespace peal {

struct TransportEntry {
  std::string_view name;
  std::string_view summary;  // one line for peal-info
  bool by_default;           // taken when PEAL_TRANSPORT names none
  // Why it can't be used here, in words, or nothing when it can. Touches no network.
  std::optional<std::string> (*why_not)(const TransportContext& context);
  std::unique_ptr<Transport> (*create)(const TransportContext& context);  // throws Error
};

// All transports of this build in default order of preference.
std::span<const TransportEntry> transport_entries() noexcept;

// What PEAL_TRANSPORT asks for, ready to be used, in order of preference.
struct TransportChoice {
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::string> not_taken;  // "ucx: not asked for", "shm: /dev/shm ...", for INFO and peal-info
};

// Parses `list` ("shm,tcp", "^ucx", "traced:tcp", "" for the default) and creates the transports. Throws
// Error(kInvalidArgument) for an unknown word, listing the valid ones and the nearest; Error(kUnsupported) when nothing
// that was asked for is usable, with each one's reason.
TransportChoice create_transports(std::string_view list, const TransportContext& context);

}  // namespace peal
