#include "topology/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topology/defaults.h"
#include "topology/read.h"

namespace peal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Location gpu(const Routes& routes, int host, size_t number) {
  return {host, objects_of(routes.machine().hosts[static_cast<size_t>(host)], ObjectKind::kGpu)[number]};
}

std::set<int> shared(const Route& a, const Route& b) {
  std::set<int> both;
  for (const int link : a.links) {
    if (std::find(b.links.begin(), b.links.end(), link) != b.links.end()) both.insert(link);
  }
  return both;
}

TEST(Routes, MessagesFromOneGpuMeetOnItsLinkIntoTheSwitch) {
  const Routes routes(parse_synthetic("dgx-h100", "test"));
  const Route to_one = routes.between(gpu(routes, 0, 0), gpu(routes, 0, 1)),
              to_two = routes.between(gpu(routes, 0, 0), gpu(routes, 0, 2));
  EXPECT_EQ(to_one.kind, PathKind::kNvlink);
  EXPECT_DOUBLE_EQ(to_one.bytes_per_ns, 450);
  ASSERT_EQ(shared(to_one, to_two).size(), 1U);
  EXPECT_EQ(routes.name_of(*shared(to_one, to_two).begin()), "GPU 0 to NVSwitch");
  EXPECT_THAT(shared(to_one, routes.between(gpu(routes, 0, 1), gpu(routes, 0, 0))), IsEmpty()) << "the other way";
}

TEST(Routes, AcrossHostsThroughTheNicsNextToTheGpus) {
  const Routes routes(parse_synthetic("host:2 dgx-h100", "test"));
  const Route route = routes.between(gpu(routes, 0, 3), gpu(routes, 1, 5));
  EXPECT_EQ(route.kind, PathKind::kNet);
  EXPECT_DOUBLE_EQ(route.bytes_per_ns, 50);
  EXPECT_GE(route.latency_ns, kNetworkLatencyNs);
  std::string names;
  for (const int link : route.links) names += routes.name_of(link) + "\n";
  EXPECT_THAT(names, HasSubstr("host 0: NIC 3 out"));
  EXPECT_THAT(names, HasSubstr("host 1: NIC 5 in"));
  EXPECT_TRUE(routes.alike(0, 1));
}

TEST(Routes, SocketsAreCrossedOverOneLinkEachWay) {
  const Routes routes(parse_synthetic("package:2 numa:1 switch:1 gpu:2", "test"));
  const Route first = routes.between(gpu(routes, 0, 0), gpu(routes, 0, 2)),
              second = routes.between(gpu(routes, 0, 1), gpu(routes, 0, 3));
  EXPECT_EQ(first.kind, PathKind::kSys);
  ASSERT_EQ(shared(first, second).size(), 1U);
  EXPECT_DOUBLE_EQ(routes.bytes_per_ns(*shared(first, second).begin()), kSocketBytesPerNs);
  EXPECT_THAT(shared(first, routes.between(gpu(routes, 0, 2), gpu(routes, 0, 0))), IsEmpty());
}

TEST(Routes, WithoutNicsAHostHasOnePort) {
  const Routes routes(parse_synthetic("host:2 package:1 core:2", "test"));
  const std::vector<int> cores = objects_of(routes.machine().hosts[0], ObjectKind::kCore);
  const Route route = routes.between({0, cores[0]}, {1, cores[1]});
  EXPECT_DOUBLE_EQ(route.bytes_per_ns, kNetworkBytesPerNs);
  EXPECT_EQ(shared(route, routes.between({0, cores[1]}, {1, cores[0]})).size(), route.links.size());
}

}  // namespace
}  // namespace peal
