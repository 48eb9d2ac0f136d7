// What the *_perf programs are asked to do: nccl-tests' flags, and some of our own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/data_type.h"
#include "base/reduce.h"

namespace peal::perf {

enum class Average { kRank0 = 0, kMean = 1, kMin = 2, kMax = 3 };

struct Options {
  size_t min_bytes = 32 << 20, max_bytes = 32 << 20;
  size_t step_bytes = 1 << 20;
  double step_factor = 0;  // > 1 wins over step_bytes
  int iterations = 20;
  int warmup = 1;
  int aggregated = 1;  // operations per iteration, waited for together
  int cycles = 1;      // 0: for ever
  int checks = 1;      // checked iterations; 0: none
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  std::vector<DataType> types = {DataType::kFloat32};
  int root = 0;  // -1: all
  int threads = 1;
  Average average = Average::kMean;
  int timeout_s = 0;  // 0: none
  bool blocking = false;
  bool cpu_time = false, timestamps = false, per_iteration = false, memory = false;
  int local_register = 0;  // 2: symmetric memory
  size_t unalign = 0;      // bytes
  double min_busbw = 0;    // GB/s; less on average is exit code 7

  int ranks = 0;  // > 0: start them here
  bool isolated = false, fresh = false;
  bool json = false, csv = false;
  std::string output_file, plot_file;

  std::vector<size_t> sizes() const;
};

inline constexpr int kInvalidUsage = 6;

// Parses; on --help, --version or an error prints and sets *exit_code (0 or kInvalidUsage), and returns false.
bool parse_options(int argc, char** argv, const std::string& program, Options* options, int* exit_code);

}  // namespace peal::perf
