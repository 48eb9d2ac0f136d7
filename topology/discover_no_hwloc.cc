#include "topology/discover_flat.h"
#include "topology/read.h"

namespace peal {

Machine discover_machine(Cut) { return discover_flat(); }

}  // namespace peal
