// Measures and checks one line of the table on one rank.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/communicator.h"
#include "tools/perf/collective_case.h"
#include "tools/perf/options.h"

namespace peal::perf {

struct Timing {
  std::string algorithm;          // or "" where none is chosen
  double us = 0;                  // per operation, combined over ranks by -a
  double algbw = 0, busbw = 0;    // GB/s (1e9 bytes)
  std::optional<uint64_t> wrong;  // elements on all ranks; none: not checked
  double cpu_us = 0;              // of this rank's thread, per operation
  // Of this rank's iterations, where they were timed one by one.
  std::optional<double> least_us, median_us, p99_us, largest_us;
};

struct Row {
  Shape shape;
  std::string transport;
  size_t touched_bytes = 0;  // of all ranks' buffers, over all iterations
  Timing out_of_place;
  std::optional<Timing> in_place;
};

class Measurement {
 public:
  Measurement(Communicator& communicator, const CollectiveCase& what, const Options& options);

  // Bytes that each rank's measurement allocates.
  static size_t bytes_needed(const Options& options);

  // Collective: all ranks measure the same line.
  Row measure(DataType type, ReduceOp op, int root, size_t bytes);

 private:
  struct Pair {
    std::byte* send;
    std::byte* recv;
  };
  struct Memory {
    std::vector<std::byte> ordinary;
    SymmetricMemory symmetric;
    std::byte* data = nullptr;
  };

  std::byte* allocate(size_t bytes);
  Timing measure_place(const Shape& shape, bool in_place);
  void time(const Shape& shape, bool in_place, Timing* timing);
  void fill(const Shape& shape, const Pattern& pattern, bool in_place);
  uint64_t count_wrong(const Shape& shape, const Pattern& pattern, bool in_place);
  Pair buffers(const Shape& shape, bool in_place, size_t turn) const;
  void run_once(const Shape& shape, const Pair& pair);
  double timed_us(const Shape& shape, bool in_place, std::vector<double>* each_us);
  double combined(double mine);

  Communicator& communicator_;
  const CollectiveCase& case_;
  const Options& options_;
  std::vector<Memory> memory_;
  std::vector<Pair> pool_;
  std::vector<Work> works_;
};

}  // namespace peal::perf
