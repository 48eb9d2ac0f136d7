#include "base/reduce_kernels.h"

namespace peal {

constexpr ReduceTable kTable = table("avx512");
const ReduceTable& reduce_table_avx512() { return kTable; }

}  // namespace peal
