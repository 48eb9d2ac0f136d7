// File descriptors through a connected Unix socket (SCM_RIGHTS), for transports that share memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/api.h"
#include "transports/socket.h"

namespace peal {

inline constexpr size_t kMostFilesPassed = 8;

enum class Passed { kAll, kAgain, kClosed };

// Sends `bytes` (1 to 4096 of them) and the files with them, all or nothing. Does not block. The files stay open here.
// kClosed: the peer is gone. Throws Error(kSystem) for anything else that the system refuses.
PEAL_API Passed send_files(const Socket& to, std::span<const std::byte> bytes, std::span<const int> files);

// Receives exactly what one send_files() sent: fills `bytes`, whose size must be the sender's, and sets `files` (close
// on exec). Does not block. Throws Error(kPeerFailed) when sizes differ, Error(kSystem) when out of files.
PEAL_API Passed receive_files(const Socket& from, std::span<std::byte> bytes, std::vector<Socket>& files);

}  // namespace peal
