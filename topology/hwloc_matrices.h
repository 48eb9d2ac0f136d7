// The matrices of hwloc's XML that say how fast GPUs are joined.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "topology/machine.h"
#include "topology/xml.h"

namespace peal {

// Adds the links of <distances2> and <distances2hetero> elements named NVLinkBandwidth and XGMIBandwidth to the host.
// `by_gp_index`: the host's objects by hwloc's numbers.
void read_link_matrices(const xml::Element& topology, const std::map<int64_t, int>& by_gp_index, Host& host,
                        std::vector<Warning>& warnings);

}  // namespace peal
