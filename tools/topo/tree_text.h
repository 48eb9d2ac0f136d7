// A machine as text, for people.
#pragma once

#include <string>

#include "topology/machine.h"

namespace peal::topo {

// Host by host, equal ones once: the tree with sizes and bandwidths (what is a default is marked), then how GPUs and
// NICs reach each other.
std::string tree_text(const Machine& machine);

// "64 GiB", "31.5 GB/s", "31.5 GB/s (default)".
std::string bytes_text(uint64_t bytes);
std::string figure_text(const Figure& bytes_per_ns);

// What stands in the picture and in the tree for one object: "L3 cache, 32 MiB".
std::string title_of(const Object& object);

// Runs of hosts that are alike but for their names: first and last index.
std::vector<std::pair<size_t, size_t>> runs_of_alike_hosts(const Machine& machine);

}  // namespace peal::topo
