// Transport over UCX (UCP endpoints): whatever wires UCX finds between two machines. In the build only where UCX is.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/transport.h"

namespace peal {

std::optional<std::string> ucx_why_not(const TransportContext& context);
std::unique_ptr<Transport> create_ucx(const TransportContext& context);  // throws Error(kSystem) with UCX's reason

}  // namespace peal
