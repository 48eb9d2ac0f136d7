// Rings and trees as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "topology/machine.h"

namespace peal::topo {

std::string rings_text(const Machine& machine);
std::string trees_text(const Machine& machine);

// Everything: "rings", "bound", "nearest_nics" and "rails" (NICs fit for rings) of the first host, its "trees",
// "cluster" where there are several hosts, "warnings", and the "machine" in the form of PEAL_TOPO_FILE.
nlohmann::ordered_json report_json(const Machine& machine);

}  // namespace peal::topo
