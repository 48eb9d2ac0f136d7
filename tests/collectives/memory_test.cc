// Memory that collectives take: all of it before the first calls of a size are over, none per call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "tests/collectives/job.h"

namespace peal {
namespace {

using testing::run_job;

// From smaps_rollup: the counts of statm and status lag behind by some pages per core.
size_t resident_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string word;
  size_t kib = 0;
  while (rollup >> word && word != "Rss:") continue;
  rollup >> kib;
  return kib;
}

class Memory : public ::testing::TestWithParam<const char*> {};

// Over more calls than pass between two rounds of trials (planner.cc), which may not allocate either.
TEST_P(Memory, DoesNotGrowOverTenThousandCalls) {
  std::barrier both(2);
  run_job(2, {{"PEAL_TRANSPORT", GetParam()}}, [&](Communicator& c) {
    constexpr size_t kMost = 256 << 10;
    std::vector<float> send(kMost, 1), recv(kMost);
    const auto run = [&](int calls) {
      for (int i = 0; i < calls; i++) {
        for (const size_t count : {size_t{2}, size_t{1000}, size_t{20000}}) {
          c.all_reduce(send.data(), recv.data(), count, DataType::kFloat32);
        }
        c.all_gather(send.data(), recv.data(), 5000, DataType::kFloat32);
        c.broadcast(send.data(), recv.data(), 5000, DataType::kFloat32, i % 2);
        if (i % 100 == 0) c.all_reduce(send.data(), recv.data(), kMost, DataType::kFloat32);
      }
    };
    run(5000);
    // A page of code or stack may be touched late, once. What grows with the calls grows in every round.
    size_t least_growth = SIZE_MAX;
    for (int round = 0; round < 3; round++) {
      both.arrive_and_wait();
      const size_t before = resident_kib();
      both.arrive_and_wait();
      run(10000);
      both.arrive_and_wait();
      const size_t after = resident_kib();
      least_growth = std::min(least_growth, after > before ? after - before : 0);
    }
    EXPECT_EQ(least_growth, 0U) << "KiB in 10,000 rounds of calls";
    both.arrive_and_wait();
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Memory, ::testing::Values("inproc", "shm"));

}  // namespace
}  // namespace peal
