#include "base/reduce_kernels.h"

namespace peal {

constexpr ReduceTable kTable = table("avx2");
const ReduceTable& reduce_table_avx2() { return kTable; }

}  // namespace peal
