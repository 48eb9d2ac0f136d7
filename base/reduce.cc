#include "base/reduce.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/reduce_table.h"
#include "base/settings.h"

namespace peal {
namespace {

constexpr std::array<std::string_view, kReduceOps> kNames = {"sum", "prod", "min", "max", "avg", "mulsum"};
constexpr std::array<ReduceOp, kReduceOps> kOps = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                                   ReduceOp::kMax, ReduceOp::kAvg,  ReduceOp::kPremulSum};

// PEAL_SIMD from the environment or the conf file. Settings that can't be right are refused where a communicator is
// made; reducing alone goes on without them.
std::string simd_setting() {
  try {
    return Settings::from(process_environment()).simd;
  } catch (const Error&) {
    return "";
  }
}

#if defined(__x86_64__)
// clang 14's __builtin_cpu_supports doesn't know "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

const ReduceTable& table_in_use() {
  static const ReduceTable& table = widest_reduce_table(simd_setting());
  return table;
}

const TypeKernels& kernels(DataType type) { return table_in_use().types[static_cast<size_t>(type)]; }

}  // namespace

std::vector<const ReduceTable*> usable_reduce_tables() {
  std::vector<const ReduceTable*> tables;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (avx512) tables.push_back(&reduce_table_avx512());
  if (avx2) tables.push_back(&reduce_table_avx2());
#endif
  tables.push_back(&reduce_table_portable());
  return tables;
}

const ReduceTable& widest_reduce_table(std::string_view limit) {
  const std::vector<const ReduceTable*> tables = usable_reduce_tables();
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const auto* table) { return table->name == limit; });
  if (found != tables.end()) return **found;
  return limit == "avx2" ? reduce_table_portable() : *tables.front();  // a limit that this processor doesn't reach
}

std::span<const ReduceOp> all_reduce_ops() noexcept { return kOps; }
std::string_view name_of(ReduceOp op) noexcept { return kNames[static_cast<size_t>(op)]; }
std::string_view simd_in_use() noexcept { return table_in_use().name; }

ReduceOp parse_reduce_op(std::string_view word) {
  const auto found = std::find(kNames.begin(), kNames.end(), word);
  if (found == kNames.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("unknown reduction '{}'; valid: {}", word, fmt::join(kNames, " ")));
  }
  return kOps[static_cast<size_t>(found - kNames.begin())];
}

void reduce(DataType type, ReduceOp op, void* dst, std::span<const void* const> sources, size_t count) noexcept {
  if (count == 0) return;
  if (sources.size() == 1) {
    std::memmove(dst, sources[0], count * size_of(type));
    return;
  }
  const size_t kernel = op == ReduceOp::kAvg || op == ReduceOp::kPremulSum ? 0 : static_cast<size_t>(op);
  kernels(type).fold[kernel](dst, sources.data(), sources.size(), count);
}

void scale(DataType type, void* dst, const void* src, double factor, size_t count) noexcept {
  if (count > 0) kernels(type).scale(dst, src, factor, count);
}

void divide(DataType type, void* dst, const void* src, int64_t divisor, size_t count) noexcept {
  if (count > 0) kernels(type).divide(dst, src, divisor, count);
}

}  // namespace peal
