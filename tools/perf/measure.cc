#include "tools/perf/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace peal::perf {
namespace {

using Clock = std::chrono::steady_clock;

// Together larger than the caches of most processors (this project's machine shares 260 MiB of L3 with its neighbours).
constexpr size_t kFreshBytes = 512 << 20;
constexpr size_t kMostFresh = 1024;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double thread_cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// alltoallv's largest share is half as much again.
size_t buffer_bytes(const Options& options) {
  return options.max_bytes + options.max_bytes / 2 + options.unalign + 4096;
}

size_t pairs_of_buffers(const Options& options) {
  return options.fresh ? std::clamp<size_t>(kFreshBytes / (2 * buffer_bytes(options)), 2, kMostFresh) : 1;
}

}  // namespace

size_t Measurement::bytes_needed(const Options& options) {
  return pairs_of_buffers(options) * 2 * buffer_bytes(options);
}

Measurement::Measurement(Communicator& communicator, const CollectiveCase& what, const Options& options)
    : communicator_(communicator), case_(what), options_(options) {
  const size_t bytes = buffer_bytes(options), pairs = pairs_of_buffers(options);
  for (size_t i = 0; i < pairs; i++) {
    std::byte* send = allocate(bytes);
    pool_.push_back({send, allocate(bytes)});
  }
  works_.resize(static_cast<size_t>(options.aggregated));
}

std::byte* Measurement::allocate(size_t bytes) {
  Memory& memory = memory_.emplace_back();
  if (options_.local_register == 2) {
    memory.symmetric = communicator_.allocate(bytes);
    memory.data = static_cast<std::byte*>(memory.symmetric.data());
  } else {
    memory.ordinary.resize(bytes + 64);  // touched here, so that no page fault is measured
    const auto address = reinterpret_cast<uintptr_t>(memory.ordinary.data());
    memory.data = memory.ordinary.data() + (64 - address % 64) % 64;
  }
  return memory.data + options_.unalign;
}

Measurement::Pair Measurement::buffers(const Shape& shape, bool in_place, size_t turn) const {
  const Pair& pair = pool_[turn % pool_.size()];
  if (!in_place) return pair;
  const std::ptrdiff_t offset = case_.in_place_offset(shape) * static_cast<std::ptrdiff_t>(size_of(shape.type));
  return offset >= 0 ? Pair{pair.recv + offset, pair.recv} : Pair{pair.recv, pair.recv - offset};
}

void Measurement::run_once(const Shape& shape, const Pair& pair) {
  if (options_.aggregated == 1) {
    case_.start(communicator_, shape, pair.send, pair.recv).wait();
    return;
  }
  for (Work& work : works_) {
    work = case_.start(communicator_, shape, pair.send, pair.recv);
    if (options_.blocking) work.wait();
  }
  for (Work& work : works_) work.wait();
}

// What is to be sent, and garbage where a result must come.
void Measurement::fill(const Shape& shape, const Pattern& pattern, bool in_place) {
  const Pair pair = buffers(shape, in_place, 0);
  const size_t element = size_of(shape.type);
  const Blocks sent = case_.sent(shape), received = case_.received(shape);
  if (!in_place) std::memset(pair.recv, 0x5a, received.elements * element);
  for (size_t b = 0; b < sent.counts.size(); b++) {
    pattern.input(shape.rank, b).fill(pair.send + sent.displacements[b] * element, sent.counts[b]);
  }
}

// Collective: elements that differ from the exact result, on all ranks.
uint64_t Measurement::count_wrong(const Shape& shape, const Pattern& pattern, bool in_place) {
  const Pair pair = buffers(shape, in_place, 0);
  const Blocks received = case_.received(shape);
  uint64_t wrong = 0, all = 0;
  for (size_t b = 0; b < received.counts.size(); b++) {
    wrong += case_.expected(shape, pattern, b)
                 .count_wrong(pair.recv + received.displacements[b] * size_of(shape.type), received.counts[b],
                              pattern.tolerance_ulps());
  }
  communicator_.all_reduce(&wrong, &all, 1, DataType::kUint64);
  return all;
}

double Measurement::timed_us(const Shape& shape, bool in_place, std::vector<double>* each_us) {
  double sum = 0;
  size_t turn = 0;
  communicator_.barrier();
  const auto start = Clock::now();
  for (int i = 0; i < options_.iterations; i++) {
    const Pair pair = buffers(shape, in_place, turn++);
    if (options_.isolated) communicator_.barrier();
    if (each_us == nullptr) {
      run_once(shape, pair);
      continue;
    }
    const auto begin = Clock::now();
    run_once(shape, pair);
    each_us->push_back(us_since(begin) / options_.aggregated);
    sum += each_us->back();
  }
  if (options_.isolated) return sum / options_.iterations;
  return us_since(start) / options_.iterations / options_.aggregated;
}

double Measurement::combined(double mine) {
  std::vector<double> all(static_cast<size_t>(communicator_.size()));
  communicator_.all_gather(&mine, all.data(), 1, DataType::kFloat64);
  double sum = 0;
  for (const double us : all) sum += us;
  switch (options_.average) {
    case Average::kRank0:
      return all[0];
    case Average::kMean:
      return sum / static_cast<double>(all.size());
    case Average::kMin:
      return *std::min_element(all.begin(), all.end());
    case Average::kMax:
      return *std::max_element(all.begin(), all.end());
  }
  return sum;
}

void Measurement::time(const Shape& shape, bool in_place, Timing* timing) {
  const bool one_by_one = options_.isolated || options_.per_iteration || options_.json || !options_.output_file.empty();
  std::vector<double> each;
  const double cpu = thread_cpu_us();
  timing->us = combined(timed_us(shape, in_place, one_by_one ? &each : nullptr));
  timing->cpu_us = (thread_cpu_us() - cpu) / options_.iterations / options_.aggregated;
  timing->algbw = static_cast<double>(shape.bytes) / timing->us / 1e3;
  timing->busbw = timing->algbw * case_.bus_factor(shape.ranks);
  if (each.empty()) return;
  std::sort(each.begin(), each.end());
  timing->least_us = each.front();
  timing->median_us = each[each.size() / 2];
  timing->p99_us = each[std::min(each.size() - 1, each.size() * 99 / 100)];
  timing->largest_us = each.back();
}

Timing Measurement::measure_place(const Shape& shape, bool in_place) {
  Timing timing;
  const Pattern pattern(shape.type, shape.op, case_.reduces(), shape.ranks);
  const bool checked = options_.checks > 0 && case_.has_sizes();
  if (checked) timing.wrong = 0;
  for (int i = 0; i < options_.checks && checked; i++) {
    fill(shape, pattern, in_place);
    case_.start(communicator_, shape, buffers(shape, in_place, 0).send, buffers(shape, in_place, 0).recv).wait();
    *timing.wrong += count_wrong(shape, pattern, in_place);
  }
  // Timed iterations must give the right result too; in place they go on from each other's.
  if (checked && !in_place) fill(shape, pattern, in_place);
  if (!case_.collective().empty()) {
    const bool symmetric = options_.local_register == 2;
    const int trials = communicator_.calls_to_settle(case_.collective(), shape.bytes, symmetric);
    for (int i = 0; i < trials; i++) run_once(shape, buffers(shape, in_place, static_cast<size_t>(i)));
    timing.algorithm = communicator_.algorithm_for(case_.collective(), shape.bytes, symmetric);
  }
  for (int i = 0; i < options_.warmup; i++) run_once(shape, buffers(shape, in_place, static_cast<size_t>(i)));
  time(shape, in_place, &timing);
  if (checked && !in_place) *timing.wrong += count_wrong(shape, pattern, in_place);
  return timing;
}

Row Measurement::measure(DataType type, ReduceOp op, int root, size_t bytes) {
  Row row;
  row.shape = {type, op, root, communicator_.size(), communicator_.rank(), 0, 0};
  case_.fit(row.shape, bytes);
  const size_t own_bytes = (case_.sent(row.shape).elements + case_.received(row.shape).elements) * size_of(type);
  row.touched_bytes = own_bytes * static_cast<size_t>(communicator_.size()) * pool_.size();
  row.transport = communicator_.transports_in_use();
  row.out_of_place = measure_place(row.shape, false);
  if (case_.has_in_place()) row.in_place = measure_place(row.shape, true);
  return row;
}

}  // namespace peal::perf
