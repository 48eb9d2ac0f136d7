#include "base/reduce.h"

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

struct Simd {
  std::string_view name;
  const ReduceTable* table;
};

// The widest that processor and PEAL_SIMD allow. An unknown PEAL_SIMD is refused by Settings::from() when a
// communicator is made; here it counts as unset.
Simd choose_simd() {
  const Environment environment = process_environment();
  const auto wished = environment.find("PEAL_SIMD");
  const std::string_view limit = wished == environment.end() ? "" : std::string_view(wished->second);
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (avx512 && limit != "avx2" && limit != "portable") return {"avx512", &reduce_table_avx512()};
  if (avx2 && limit != "portable") return {"avx2", &reduce_table_avx2()};
#endif
  return {"portable", &reduce_table_portable()};
}

const Simd& simd() {
  static const Simd chosen = choose_simd();
  return chosen;
}

const TypeKernels& kernels(DataType type) { return simd().table->types[static_cast<size_t>(type)]; }

}  // namespace

std::span<const ReduceOp> all_reduce_ops() noexcept { return kOps; }
std::string_view name_of(ReduceOp op) noexcept { return kNames[static_cast<size_t>(op)]; }
std::string_view simd_in_use() noexcept { return simd().name; }

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
