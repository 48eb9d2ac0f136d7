// The rings of a host as a picture: its GPUs in a circle, each ring a closed line through them; then each ring in
// words.
#pragma once

#include <string>

#include "topology/rings.h"

namespace peal::topo {

inline constexpr double kRingsPanelWidth = 440;

double rings_panel_height(const RingSet& rings);

// SVG elements from (0, 0). There must be a ring.
std::string rings_panel(const RingSet& rings);

}  // namespace peal::topo
