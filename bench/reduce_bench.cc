// Reduction kernels: bytes read and written per second, by type, operation, number of sources and instruction set (each
// that this processor has, beside the portable one). One core.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "base/reduce.h"
#include "base/reduce_table.h"

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

// A page-aligned buffer whose pages exist.
Buffer make_buffer(size_t bytes) {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(4096, bytes)));
  std::fill_n(buffer.get(), bytes, char{0});
  return buffer;
}

struct Case {
  const peal::ReduceTable* table;
  peal::DataType type;
  peal::ReduceOp op;
  size_t sources;
};

void fold(benchmark::State& state, const Case& one) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffer result = make_buffer(bytes);
  std::vector<Buffer> buffers;
  std::vector<const void*> sources;
  for (size_t s = 0; s < one.sources; s++) {
    buffers.push_back(make_buffer(bytes));
    sources.push_back(buffers.back().get());
  }
  const auto kernel = one.table->types[static_cast<size_t>(one.type)].fold[static_cast<size_t>(one.op)];
  for (auto _ : state) {
    kernel(result.get(), sources.data(), sources.size(), bytes / peal::size_of(one.type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>((one.sources + 1) * bytes));
}

void add(const Case& one) {
  const std::string name = fmt::format("{}/{}/{}/{}", name_of(one.type), name_of(one.op), one.sources, one.table->name);
  benchmark::RegisterBenchmark(name.c_str(), [one](benchmark::State& state) { fold(state, one); })
      ->Arg(64 << 10)
      ->Arg(16 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  for (const peal::DataType type : peal::all_data_types()) {
    for (const peal::ReduceOp op : {peal::ReduceOp::kSum, peal::ReduceOp::kMax}) {
      for (const size_t sources : {2, 4, 8}) {
        for (const peal::ReduceTable* table : peal::usable_reduce_tables()) add({table, type, op, sources});
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
