// Transport between ranks that are threads of one process: rings and windows in ordinary memory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/transport.h"

namespace peal {

std::optional<std::string> inproc_why_not(const TransportContext& context);  // always usable
std::unique_ptr<Transport> create_inproc(const TransportContext& context);   // throws Error for a bad PEAL_BUFFSIZE

}  // namespace peal
