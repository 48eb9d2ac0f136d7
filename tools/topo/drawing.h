// A machine as a picture.
#pragma once

#include <string>

#include "topology/machine.h"

namespace peal::topo {

// SVG, complete in itself: each kind of host with its boxes and links, its rings beside it, and what the colours mean.
std::string drawing_of(const Machine& machine);

}  // namespace peal::topo
