// Where rings meet the network.
#pragma once

#include <cstddef>

#include "topology/rings.h"

namespace peal {

// The same ring, beginning at its `front`-th GPU.
void rotate_to(Ring& ring, size_t front);

// Gives every ring the NIC that it enters and leaves by, and turns it so that it begins at the GPU next to that: NICs
// that no other ring uses first, then the nearest. Where the order is free, a GPU as near to the NIC becomes the last.
void attach_nics(const Host& host, RingSet& set);

}  // namespace peal
