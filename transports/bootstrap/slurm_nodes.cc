#include "transports/bootstrap/slurm_nodes.h"

#include <fmt/format.h>

#include "base/error.h"

namespace peal {

std::string first_slurm_node(std::string_view list) {
  std::string node;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      node += list[at];
      continue;
    }
    // Of a bracket only its first number counts; what follows the bracket belongs to the name again.
    size_t end = list.find_first_of("-,]", at + 1), close = list.find(']', at);
    if (end == std::string_view::npos || close == std::string_view::npos) break;
    node += list.substr(at + 1, end - at - 1);
    at = close;
  }
  if (node.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Slurm's node list is \"{}\": expected names like node[01-04,07]", list));
  }
  return node;
}

}  // namespace peal
