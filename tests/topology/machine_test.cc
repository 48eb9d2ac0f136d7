#include "topology/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/host.h"

namespace peal {
namespace {

TEST(Machine, IsCutToTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(discover_machine().cpus.size(), static_cast<size_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Machine machine = discover_machine();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_THAT(machine.cpus, ::testing::ElementsAre(first));
  EXPECT_EQ(machine.cores, 1);
}

TEST(Machine, SummaryCountsAndNamesTheSource) {
  Machine machine;
  machine.cpus = {0, 1, 2, 3};
  machine.cores = 2;
  machine.packages = 1;
  machine.numa_nodes = {{0, uint64_t{3} << 30, {0, 1, 2, 3}}};
  machine.last_level_caches = {{32 << 20, {0, 1, 2, 3}}};
  machine.source = "a test";
  EXPECT_EQ(summary(machine),
            "1 package, 2 cores (4 threads), 1 NUMA node of 3 GiB, 1 last-level cache of 32 MiB (from a test)");
}

}  // namespace
}  // namespace peal
