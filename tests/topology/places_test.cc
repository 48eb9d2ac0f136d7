#include "topology/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "topology/measured.h"
#include "topology/reconcile.h"

namespace peal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Two packages of two cores of two processors each: 0,1 2,3 | 4,5 6,7, and two GPUs and NICs.
Host two_sockets() {
  Host host;
  host.name = "box";
  host.objects = {{.kind = ObjectKind::kHost, .line = 1, .cpus = {0, 1, 2, 3, 4, 5, 6, 7}}};
  for (int package = 0; package < 2; package++) {
    const int first = 4 * package, index = static_cast<int>(host.objects.size());
    host.objects.push_back(
        {.kind = ObjectKind::kPackage, .parent = 0, .cpus = {first, first + 1, first + 2, first + 3}});
    for (const int core : {first, first + 2}) {
      host.objects.push_back({.kind = ObjectKind::kCore, .parent = index, .cpus = {core, core + 1}});
    }
    host.objects.push_back({.kind = ObjectKind::kGpu,
                            .parent = index,
                            .number = package,
                            .line = 10 + package,
                            .pci = package == 0 ? "0000:01:00.0" : "0000:81:00.0"});
    host.objects.push_back({.kind = ObjectKind::kNic,
                            .parent = index,
                            .number = package,
                            .name = package == 0 ? "eth0" : "eth1",
                            .line = 20 + package});
  }
  return host;
}

Place at(std::string host, int package = -1, int numa = -1, int cache = -1, int core = -1) {
  return {.host = std::move(host), .package = package, .numa = numa, .cache = cache, .core = core};
}

TEST(Place, IsTheOneObjectThatHoldsAllProcessors) {
  const Host host = two_sockets();
  const Place pinned = place_on(host, "h", std::vector{6, 7});
  EXPECT_EQ(pinned.package, 1);
  EXPECT_EQ(pinned.core, 3);
  const Place socket = place_on(host, "h", std::vector{0, 3});
  EXPECT_EQ(socket.package, 0);
  EXPECT_EQ(socket.core, -1);
  EXPECT_EQ(place_on(host, "h", std::vector{0, 7}).package, -1);
  EXPECT_EQ(pinned.nic, 1);
  EXPECT_EQ(to_string(pinned), "package 1, core 3, NIC 1");
  EXPECT_EQ(place_on(host, "h", std::vector{6, 7}, 0).nic, 0) << "the GPU's";
  EXPECT_EQ(place_on(host, "h", {}).package, -1);
  EXPECT_EQ(to_string(Place{}), "anywhere");
}

TEST(Place, SeparationIsTheOutermostKnownDifference) {
  EXPECT_EQ(separation(at("a", 0), at("b", 0)), Level::kHost);
  EXPECT_EQ(separation(at("a", 0, 0, 0), at("a", 1, 1, 1)), Level::kPackage);
  EXPECT_EQ(separation(at("a", 0, 0, 0), at("a", 0, 1, 1)), Level::kNuma);
  EXPECT_EQ(separation(at("a", 0, 0, 0), at("a", 0, 0, 1)), Level::kCache);
  EXPECT_EQ(separation(at("a", 0, 0, 0, 0), at("a", 0, 0, 0, 1)), Level::kNone);
  EXPECT_EQ(separation(at("a", -1, 0), at("a", 1, 0)), Level::kNone);
}

TEST(Placement, HostsAreGroupsInTheOrderOfTheirLowestRanks) {
  const Placement placement = place_ranks(std::vector{at("b"), at("a"), at("b"), at("b")});
  EXPECT_THAT(placement.ring, ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(to_string(placement), "0 2 3 | 1, by host");
}

TEST(Placement, InsideAHostTheOutermostLevelThatTellsRanksApart) {
  EXPECT_EQ(to_string(place_ranks(std::vector{at("a", 0, 0, 0), at("a", 1, 1, 2), at("a", 0, 0, 1)})),
            "0 2 | 1, by package");
  EXPECT_EQ(to_string(place_ranks(std::vector{at("a", 0, 0), at("a", 0, 1), at("a", 0, 0)})), "0 2 | 1, by NUMA node");
  EXPECT_EQ(to_string(place_ranks(std::vector{at("a", 0, 0, 1), at("a", 0, 0, 0)})), "1 | 0, by last-level cache");
  EXPECT_EQ(to_string(place_ranks(std::vector{at("a", 0), at("a", -1), at("a", 1)})), "1 0 2");
}

// The ring enters every host, package, NUMA node and cache once, wherever ranks are.
TEST(Placement, CrossesEachBoundaryOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    std::vector<Place> places;
    for (int rank = 0; rank < 24; rank++) {
      const int cache = static_cast<int>(random() % 8);
      places.push_back(at(std::string(1, static_cast<char>('a' + random() % 3)), cache / 4, cache / 2, cache));
    }
    const Placement placement = place_ranks(places);
    std::vector<int> sorted = placement.ring;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(places.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(sorted, all);
    const auto entries = [&](auto what) {  // how often a new value begins along the ring, against how many there are
      std::vector<std::string> seen;
      for (const int rank : placement.ring) {
        const std::string value = what(places[static_cast<size_t>(rank)]);
        if (seen.empty() || seen.back() != value) seen.push_back(value);
      }
      const size_t begun = seen.size();
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      EXPECT_EQ(begun, seen.size());
    };
    entries([](const Place& place) { return place.host; });
    entries([](const Place& place) { return place.host + std::to_string(place.package); });
    entries([](const Place& place) { return place.host + std::to_string(place.numa); });
    entries([](const Place& place) { return place.host + std::to_string(place.cache); });
  }
}

TEST(Placement, TheUsersRingKeepsTheGroups) {
  const Placement placement = with_ring(place_ranks(std::vector{at("a"), at("b"), at("a"), at("b")}), "3,2,1,0");
  EXPECT_THAT(placement.ring, ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(to_string(placement), "3 1 | 2 0, by host");
  for (const char* wrong : {"0,1,2", "0,1,2,2", "0,1,2,4", "0,1,2,-1", "one", "99999999999,1,2,3"}) {
    EXPECT_THAT([&] { with_ring(flat_placement(4), wrong); }, ThrowsMessage<Error>(HasSubstr("PEAL_RING_ORDER")))
        << wrong;
  }
}

TEST(Placement, ThePartAtTheRingsBeginning) {
  const Placement whole = place_ranks(std::vector{at("b"), at("a"), at("b"), at("a")});  // ring 0 2 1 3
  const Placement part = first_of_ring(whole, 3);
  EXPECT_THAT(part.ring, ElementsAre(0, 1, 2));
  EXPECT_THAT(part.groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(ShareOfCpus, WholeCoresOfNeighbours) {
  const Host host = two_sockets();
  EXPECT_THAT(share_of_cpus(host, 0, 2), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(share_of_cpus(host, 2, 4), ElementsAre(4, 5));
  EXPECT_THAT(share_of_cpus(host, 1, 3), ElementsAre(2, 3));
  EXPECT_EQ(share_of_cpus(host, 0, 5).size(), 8U);
}

TEST(Reconcile, DevicesThatAreNotHereAreLeftOut) {
  Machine file{.hosts = {two_sockets()}};
  file.hosts[0].links = {{.a = 4, .b = 9, .capacity = {.count = 2}}, {.a = 2, .b = 7}};
  file.measurements = {{.transport = "shm", .from = 2, .to = 8}};
  Host here = two_sockets();
  std::erase_if(here.objects,
                [](const Object& object) { return object.pci == "0000:01:00.0" || object.name == "eth1"; });
  keep_what_is_here(file, 0, here);
  const Host& host = file.hosts[0];
  ASSERT_EQ(objects_of(host, ObjectKind::kGpu).size(), 1U);
  const Object& gpu = host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kGpu)[0])];
  EXPECT_EQ(gpu.pci, "0000:81:00.0");
  EXPECT_EQ(gpu.number, 0);
  EXPECT_EQ(host.objects[static_cast<size_t>(gpu.parent)].kind, ObjectKind::kPackage);
  EXPECT_EQ(host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kNic)[0])].name, "eth0");
  ASSERT_EQ(host.links.size(), 1U);  // the one between cores
  EXPECT_EQ(host.objects[static_cast<size_t>(host.links[0].b)].kind, ObjectKind::kCore);
  EXPECT_EQ(host.objects[static_cast<size_t>(file.measurements[0].to)].cpus, (std::vector{6, 7}));
  ASSERT_EQ(file.warnings.size(), 2U);
  EXPECT_THAT(to_string(file.warnings[0]), HasSubstr("GPU 0 (0000:01:00.0)"));
  EXPECT_EQ(file.warnings[0].line, 10);
  EXPECT_THAT(to_string(file.warnings[1]), HasSubstr("NIC 1 (eth1)"));
}

TEST(Reconcile, WarnsWhereNoProcessorIsShared) {
  Machine file{.hosts = {two_sockets()}};
  Host here = two_sockets();
  here.objects[0].cpus = {64, 65};
  keep_what_is_here(file, 0, here);
  ASSERT_EQ(file.warnings.size(), 1U);
  EXPECT_THAT(to_string(file.warnings[0]), HasSubstr("none of the 2 of this machine"));
}

TEST(Reconcile, TheHostOfAName) {
  const Machine machine{.hosts = {Host{.name = "a"}, Host{.name = "b"}}};
  EXPECT_EQ(host_named(machine, "b"), 1);
  EXPECT_EQ(host_named(machine, "c"), 0);
}

TEST(Measured, MediansOfThePairsThatALevelSeparates) {
  Machine machine{.hosts = {two_sockets()}};
  machine.measurements = {{"shm", 0, 0, 2, 3, 100, 10},
                          {"shm", 0, 0, 3, 2, 300, 12},
                          {"shm", 0, 0, 7, 8, 200, 14},
                          {"shm", 0, 0, 2, 7, 500, 5},
                          {"tcp", 0, 0, 2, 3, 9000, 1}};
  const MeasuredPath near = measured_path(machine, "shm", Level::kNone);
  EXPECT_EQ(near.pairs, 3);
  EXPECT_EQ(near.latency_ns, 200);
  EXPECT_EQ(near.bytes_per_ns, 12);
  EXPECT_EQ(measured_path(machine, "shm", Level::kPackage).latency_ns, 500);
  EXPECT_EQ(measured_path(machine, "tcp", Level::kPackage).pairs, 0);
}

}  // namespace
}  // namespace peal
