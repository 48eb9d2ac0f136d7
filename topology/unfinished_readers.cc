// TEMPORARY, never committed: whoever adds a reader deletes its line here (and this file with the last one).
#include "base/error.h"
#include "topology/read.h"

namespace peal {
static Machine missing() { throw Error(ErrorCode::kUnsupported, "reader not there yet"); }
Machine parse_nvidia_smi(std::string_view, std::string_view) { return missing(); }
Machine parse_synthetic(std::string_view, std::string_view) { return missing(); }
}  // namespace peal
