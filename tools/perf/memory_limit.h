// Whether buffers fit into the machine, asked before they are made: Linux grants what it does not have and kills later.
#pragma once

#include <cstddef>

namespace peal::perf {

// Throws Error(kInvalidArgument) with need, have and what to do when `ranks` times `bytes` are more than the machine
// has available.
void require_memory_for(size_t bytes, int ranks);

}  // namespace peal::perf
