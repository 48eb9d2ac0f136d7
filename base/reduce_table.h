// The kernels of one instruction set, as a table of plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/data_type.h"

namespace peal {

// count may be 0; n >= 2; alignment and overlap as reduce() (reduce.h) has them.
struct TypeKernels {
  // sum, prod, min, max
  void (*fold[4])(void* dst, const void* const* sources, size_t n, size_t count);
  void (*scale)(void* dst, const void* src, double factor, size_t count);
  void (*divide)(void* dst, const void* src, int64_t divisor, size_t count);
};

struct ReduceTable {
  const char* name;  // as PEAL_SIMD has it
  TypeKernels types[kDataTypes];
};

const ReduceTable& reduce_table_portable();
const ReduceTable& reduce_table_avx2();
const ReduceTable& reduce_table_avx512();

// Those that this processor can run, widest first; never empty.
std::vector<const ReduceTable*> usable_reduce_tables();

// The widest usable one that is not wider than `limit` (a table's name; "" or any other word: no limit).
const ReduceTable& widest_reduce_table(std::string_view limit);

}  // namespace peal
