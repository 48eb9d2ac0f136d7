// Facts about the host and what of it this process may use.
#pragma once

#include <string>

#include "base/api.h"

namespace peal {

struct Settings;

// Ranks with equal ids can share memory: PEAL_HOSTID, else the kernel's boot id and this network namespace's inode (so
// two network namespaces count as two hosts, as two containers without a common network do).
PEAL_API std::string host_id(const Settings& settings);

// The host's name for messages.
PEAL_API std::string host_name();

// Cores that this process may keep busy: the affinity mask, cut to the cgroup's CPU quota (v1 or v2), at least 1.
PEAL_API int usable_cores();

}  // namespace peal
