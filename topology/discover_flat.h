// This machine without hwloc.
#pragma once

#include "topology/machine.h"

namespace peal {

// The processors that this process may use, a core each. Never fails.
Machine discover_flat();

}  // namespace peal
