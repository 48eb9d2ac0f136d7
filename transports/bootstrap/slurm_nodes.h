// The compressed node lists of Slurm: "node[01-04,07],login".
#pragma once

#include <string>
#include <string_view>

namespace peal {

// "node01" of the above. Throws Error(kInvalidArgument) for a list that has no first name.
std::string first_slurm_node(std::string_view list);

}  // namespace peal
