// An order of things that does not depend on their numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace peal {

// An order of the nodes that depends on `color(a, b)` alone and not on how nodes are numbered, as far as repeated
// refinement of colors can tell them apart (nodes that it can't are alike in all machines known to us).
std::vector<int> canonical_order(int nodes, const std::function<int64_t(int, int)>& color);

}  // namespace peal
