#include "base/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/cgroup.h"
#include "base/settings.h"

namespace peal {
namespace {

TEST(Host, UsableCoresFollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(Host, IdComesFromTheSettingOrTheKernel) {
  Settings settings;
  EXPECT_GT(host_id(settings).size(), 30U);
  EXPECT_EQ(host_id(settings), host_id(settings));
  settings.host_id = "mine";
  EXPECT_EQ(host_id(settings), "mine");
}

// A made-up file system, below a root of its own.
class Cgroups : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/peal-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int cores() const { return cgroup_cores(root_); }

 private:
  std::string root_;
};

TEST_F(Cgroups, NoLimitWithoutFiles) { EXPECT_EQ(cores(), INT_MAX); }

TEST_F(Cgroups, Version2TakesTheLeastOfAllLevelsAndRoundsUp) {
  write("/proc/self/cgroup", "0::/jobs/mine\n");
  write("/sys/fs/cgroup/jobs/cpu.max", "350000 100000\n");
  write("/sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 4);
  write("/sys/fs/cgroup/jobs/mine/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
  write("/sys/fs/cgroup/jobs/mine/cpu.max", "1000 100000\n");
  EXPECT_EQ(cores(), 1) << "never none";
}

TEST_F(Cgroups, Version2InAContainerStandsAtTheRoot) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3);
}

TEST_F(Cgroups, Version1ReadsItsCpuHierarchy) {
  write("/proc/self/cgroup", "7:memory:/elsewhere\n4:cpu,cpuacct:/mine\n1:name=systemd:/mine\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), INT_MAX);
  write("/sys/fs/cgroup/cpu/mine/cpu.cfs_quota_us", "150000\n");
  write("/sys/fs/cgroup/cpu/mine/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(cores(), 3);
}

TEST_F(Cgroups, NonsenseIsNoLimit) {
  write("/proc/self/cgroup", "nonsense\n::\n0::/x\n");
  write("/sys/fs/cgroup/x/cpu.max", "lots\n");
  write("/sys/fs/cgroup/cpu.max", "-5 0\n");
  EXPECT_EQ(cores(), INT_MAX);
}

}  // namespace
}  // namespace peal
