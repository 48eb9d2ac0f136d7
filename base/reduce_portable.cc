#include "base/reduce_kernels.h"

namespace peal {

constexpr ReduceTable kTable = table("portable");
const ReduceTable& reduce_table_portable() { return kTable; }

}  // namespace peal
