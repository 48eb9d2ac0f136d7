// Is there memory for a segment? Asked before reserving it: a reservation that outgrows the machine or the cgroup does
// not fail on Linux, it gets a process killed.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace peal {

// Throws no_memory() when `bytes` are more than the machine and this process's cgroup have left. Below 1 MiB it does
// not look (looking takes about 30 us). A guess all the same: others allocate too.
void require_memory(std::string_view transport, size_t bytes);

// Error(kSystem) with need, have and what to do.
Error no_memory(std::string_view transport, size_t bytes, int error_number);

}  // namespace peal
