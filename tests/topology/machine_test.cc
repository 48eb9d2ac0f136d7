#include "topology/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "topology/read.h"

namespace peal {
namespace {

TEST(Machine, IsCutToTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(discover_machine().hosts[0].objects[0].cpus.size(), static_cast<size_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Machine machine = discover_machine();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_THAT(machine.hosts[0].objects[0].cpus, ::testing::ElementsAre(first));
  EXPECT_EQ(objects_of(machine.hosts[0], ObjectKind::kCore).size(), 1U);
}

TEST(Machine, SummaryCountsAndNamesTheSource) {
  Host host;
  host.objects = {{.kind = ObjectKind::kHost, .cpus = {0, 1, 2, 3}},
                  {.kind = ObjectKind::kPackage, .parent = 0},
                  {.kind = ObjectKind::kNumaNode, .parent = 1, .bytes = uint64_t{3} << 30},
                  {.kind = ObjectKind::kCache, .parent = 2, .bytes = 32 << 20, .cache_level = 3},
                  {.kind = ObjectKind::kCore, .parent = 3, .cpus = {0, 1}},
                  {.kind = ObjectKind::kCore, .parent = 3, .cpus = {2, 3}}};
  EXPECT_EQ(summary(Machine{.hosts = {host}, .source = "a test"}),
            "1 package, 2 cores (4 threads), 1 NUMA node of 3 GiB, 1 last-level cache of 32 MiB (from a test)");
}

}  // namespace
}  // namespace peal
