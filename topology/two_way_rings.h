// The rings that trees are cut from.
#pragma once

#include <vector>

#include "topology/rings.h"

namespace peal {

// As find_rings, but over links each ring comes with one that runs the opposite way. There may be fewer of them: the
// complete graph of 8 GPUs has 7 rings, and 3 x 2 such.
RingSet find_two_way_rings(const Host& host, std::vector<int> gpus);

}  // namespace peal
