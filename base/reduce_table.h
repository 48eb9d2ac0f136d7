// The kernels of one instruction set, as a table of plain functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/data_type.h"

namespace peal {

struct TypeKernels {
  // sum, prod, min, max
  void (*fold[4])(void* dst, const void* const* sources, size_t n, size_t count);
  void (*scale)(void* dst, const void* src, double factor, size_t count);
  void (*divide)(void* dst, const void* src, int64_t divisor, size_t count);
};

struct ReduceTable {
  TypeKernels types[kDataTypes];
};

const ReduceTable& reduce_table_portable();
const ReduceTable& reduce_table_avx2();
const ReduceTable& reduce_table_avx512();

}  // namespace peal
