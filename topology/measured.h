// What `peal-topo --measure` found out, summed up by how far two places are apart.
#pragma once

#include <string_view>

#include "topology/machine.h"
#include "topology/places.h"

namespace peal {

struct MeasuredPath {
  int pairs = 0;  // that were measured; 0: nothing is known
  double latency_ns = 0;
  double bytes_per_ns = 0;
};

// Medians over the measured pairs of places that `level` separates (and no outer one), by one transport.
PEAL_API MeasuredPath measured_path(const Machine& machine, std::string_view transport, Level level);

}  // namespace peal
