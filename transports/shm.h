// Transport between processes of one host: rings and windows in memfds that are handed over Unix sockets. Nothing has a
// name in the file system, so nothing is left whatever dies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/transport.h"

namespace peal {

std::optional<std::string> shm_why_not(const TransportContext& context);
std::unique_ptr<Transport> create_shm(const TransportContext& context);  // throws Error

}  // namespace peal
