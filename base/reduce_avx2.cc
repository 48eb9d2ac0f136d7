#include "base/reduce_kernels.h"

namespace peal {

const ReduceTable& reduce_table_avx2() { return kTable; }

}  // namespace peal
