// Reduction kernels: bytes read and written per second, by type, operation and number of sources. One core.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/reduce.h"

namespace {

void fold(benchmark::State& state, peal::DataType type, peal::ReduceOp op, size_t sources) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const size_t count = bytes / peal::size_of(type);
  std::vector<std::vector<char>> buffers(sources, std::vector<char>(bytes));
  std::vector<char> result(bytes);
  std::vector<const void*> pointers;
  for (const auto& buffer : buffers) pointers.push_back(buffer.data());
  for (auto _ : state) {
    peal::reduce(type, op, result.data(), pointers, count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>((sources + 1) * bytes));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::AddCustomContext("simd", std::string(peal::simd_in_use()));
  for (const peal::DataType type : peal::all_data_types()) {
    for (const peal::ReduceOp op : {peal::ReduceOp::kSum, peal::ReduceOp::kMax}) {
      for (const size_t sources : {2, 4, 8}) {
        const std::string name = std::string("reduce/") + std::string(name_of(type)) + "/" +
                                 std::string(name_of(op)) + "/" + std::to_string(sources);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { fold(state, type, op, sources); })
            ->Arg(64 << 10)
            ->Arg(16 << 20);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
