#include "base/reduce_kernels.h"

namespace peal {

const ReduceTable& reduce_table_portable() { return kTable; }

}  // namespace peal
