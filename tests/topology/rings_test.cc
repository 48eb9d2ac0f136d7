#include "topology/rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "tests/topology/renumbered.h"
#include "tests/topology/shared_machines.h"
#include "topology/cheapest_cycle.h"
#include "topology/cycle_packing.h"
#include "topology/read.h"

namespace peal {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

Host host_of(const std::string& description) { return parse_synthetic(description, "test").hosts[0]; }

// What must not depend on numbers.
struct Quality {
  size_t rings;
  double bytes_per_ns, bound;
  std::multiset<std::multiset<std::string_view>> hops;
  std::multiset<int> gpus_of_nics;
  bool operator==(const Quality&) const = default;
};

Quality quality_of(const Host& host) {
  const RingSet set = find_rings(host);
  Quality quality{set.rings.size(), set.bytes_per_ns, set.bound, {}, {}};
  for (const Ring& ring : set.rings) {
    std::multiset<std::string_view> kinds;
    for (const Hop& hop : ring.hops) kinds.insert(name_of(hop.kind));
    quality.hops.insert(kinds);
  }
  std::map<int, int> gpus;
  for (const int nic : nearest_nics(host)) gpus[nic]++;
  for (const auto& [nic, count] : gpus) quality.gpus_of_nics.insert(count);
  return quality;
}

void expect_stable(const Host& host, int rounds) {
  std::mt19937 random(11);
  const Quality quality = quality_of(host);
  for (int round = 0; round < rounds; round++) ASSERT_EQ(quality_of(renumbered(host, random)), quality) << round;
}

TEST(Rings, QualityDoesNotDependOnNumbers) {
  for (const char* machine : {"dgx-1v", "dgx-a100", "dgx-h100", "gpu:4 nvlink:6(mesh)", "gpu:8 nvlink:1(mesh)",
                              "gpu:5 nvlink:1(mesh)", "package:2 gpu:4", "package:2 switch:2 gpu:2 nic:1",
                              "package:2 numa:2 switch:1 gpu:2 nic:2", "package:4 gpu:3", "package:2 switch:4 gpu:2"}) {
    SCOPED_TRACE(machine);
    expect_stable(host_of(machine), 25);
  }
}

// Links between some pairs only, of several counts and speeds; NICs beside the switches that others hang on.
Host ragged_host(std::mt19937& random) {
  const auto one_of = [&](int first, int last) { return first + static_cast<int>(random() % (last - first + 1U)); };
  Host host =
      host_of("package:" + std::to_string(one_of(1, 2)) + " switch:2 gpu:" + std::to_string(one_of(1, 3)) + " nic:1");
  for (const int nic : objects_of(host, ObjectKind::kNic)) {
    int& parent = host.objects[static_cast<size_t>(nic)].parent;
    if (one_of(0, 1) == 1) parent = host.objects[static_cast<size_t>(parent)].parent;
  }
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu);
  const int sparse = one_of(0, 3);
  for (size_t a = 0; a < gpus.size(); a++) {
    for (size_t b = a + 1; b < gpus.size(); b++) {
      if (one_of(1, 3) <= sparse) continue;
      const int count = one_of(1, 3);
      const double each = 25.0 * one_of(1, 2);
      host.links.push_back({LinkKind::kNvlink, gpus[a], gpus[b], {count, {count * each, Source::kRead}, {}}, 0});
    }
  }
  return host;
}

TEST(Rings, QualityOfRaggedMachinesDoesNotDependOnNumbers) {
  std::mt19937 random(29);
  for (int machine = 0; machine < 60; machine++) {
    SCOPED_TRACE(machine);
    const Host host = ragged_host(random);
    expect_stable(host, 4);
    const RingSet set = find_rings(host);
    EXPECT_GT(set.bytes_per_ns, 0);
    EXPECT_LE(set.bytes_per_ns, set.bound * (1 + 1e-9));
  }
}

TEST(Rings, QualityOfRealMachinesDoesNotDependOnNumbers) {
  PEAL_NEEDS_SHARED_MACHINES();
  for (const char* kind : {"/nccl", "/hwloc"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + kind)) {
      SCOPED_TRACE(entry.path().filename());
      expect_stable(read_machine(entry.path()).hosts[0], 10);
    }
  }
}

TEST(Rings, LinksOfEveryGpuAreUsedUp) {
  const RingSet cube = find_rings(host_of("dgx-1v"));
  EXPECT_EQ(cube.rings.size(), 6U);
  EXPECT_DOUBLE_EQ(cube.bytes_per_ns, cube.bound);
  EXPECT_THAT(cube.bound_reason, HasSubstr("6 links of 25 GB/s"));
  // A complete graph of 8 has an odd number of links at each GPU: 7 directed rings, more than 2 x 3 undirected ones.
  const RingSet mesh = find_rings(host_of("gpu:8 nvlink:1(mesh)"));
  EXPECT_GE(mesh.rings.size(), 6U);
  EXPECT_EQ(find_rings(host_of("gpu:2 nvlink:12(mesh)")).rings.size(), 12U);
}

TEST(Rings, WithoutLinksEachSocketAndSwitchIsEnteredOnce) {
  const RingSet set = find_rings(host_of("package:2 switch:2 gpu:2"));
  ASSERT_EQ(set.rings.size(), 1U);
  std::map<PathKind, int> kinds;
  for (const Hop& hop : set.rings[0].hops) kinds[hop.kind]++;
  EXPECT_EQ(kinds[PathKind::kSys], 2);
  EXPECT_EQ(kinds[PathKind::kPhb], 2);
  EXPECT_EQ(kinds[PathKind::kPix], 4);
  EXPECT_DOUBLE_EQ(set.bytes_per_ns, set.bound);
}

TEST(Rings, EveryRingEntersByANicOfItsOwn) {
  const RingSet set = find_rings(host_of("dgx-h100"));
  std::set<int> nics, fronts;
  for (const Ring& ring : set.rings) {
    nics.insert(ring.nic_in);
    fronts.insert(ring.order.front());
    EXPECT_EQ(ring.nic_in, ring.nic_out);
  }
  EXPECT_EQ(nics.size(), 8U);
  EXPECT_EQ(fronts.size(), 8U);
}

TEST(Rings, NoneAndOneAndSome) {
  EXPECT_THAT(find_rings(host_of("core:4")).rings, IsEmpty());
  const RingSet one = find_rings(host_of("gpu:1"));
  ASSERT_EQ(one.rings.size(), 1U);
  EXPECT_THAT(one.rings[0].hops, IsEmpty());
  const RingSet some = find_rings(host_of("dgx-1v"), {4, 6, 7});
  ASSERT_FALSE(some.rings.empty());
  EXPECT_THAT(std::set<int>(some.rings[0].order.begin(), some.rings[0].order.end()), ElementsAre(4, 6, 7));
  EXPECT_THAT(
      [] {
        find_rings(host_of("gpu:2"), {0, 2});
      },
      ThrowsMessage<Error>(HasSubstr("GPU 2: expected GPUs 0 to 1")));
  EXPECT_THAT([] { find_rings(host_of("gpu:2"), {1, 1}); }, ThrowsMessage<Error>(HasSubstr("each once")));
}

TEST(Nics, DeepestCommonAncestorSharedOutEvenly) {
  EXPECT_THAT(nearest_nics(host_of("package:2 switch:2 gpu:2 nic:1")), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(nearest_nics(host_of("package:2 gpu:2 nic:2")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(nearest_nics(host_of("gpu:3")), ElementsAre(-1, -1, -1));
}

// GPU 0 lies beside both switches and may use either NIC; GPU 1 is next to NIC 0. Whoever comes first, each has its
// own.
TEST(Nics, WhoeverHasAChoiceLeavesTheNearestToOthers) {
  Host host = host_of("package:1 switch:2 gpu:1 nic:1");
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu), nics = objects_of(host, ObjectKind::kNic);
  std::swap(host.objects[static_cast<size_t>(nics[0])].number, host.objects[static_cast<size_t>(nics[1])].number);
  host.objects[static_cast<size_t>(gpus[0])].parent = ancestor(host, gpus[0], ObjectKind::kPackage);
  ASSERT_EQ(common_ancestor(host, gpus[0], nics[0]), common_ancestor(host, gpus[0], nics[1]));
  EXPECT_THAT(nearest_nics(host), ElementsAre(1, 0));
}

TEST(Nics, SoftwareAndVirtualFunctionsOnlyWhereThereIsNothingElse) {
  Host host = host_of("package:2 gpu:1 nic:1");
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  Object& first = host.objects[static_cast<size_t>(nics[0])];
  first.nic.role = NicRole::kSoftware;
  EXPECT_THAT(nearest_nics(host), Each(1));
  first.nic.role = NicRole::kVirtualFunction;
  EXPECT_THAT(nearest_nics(host), Each(1));
  first.nic.role = NicRole::kPhysical;
  first.nic.active = false;
  EXPECT_THAT(nearest_nics(host), Each(1));
  host.objects[static_cast<size_t>(nics[1])].nic.role = NicRole::kSoftware;
  EXPECT_THAT(nearest_nics(host), Each(0));
}

void expect_tree(const Tree& tree) {
  const size_t n = tree.gpus.size();
  ASSERT_EQ(tree.parent.size(), n);
  std::vector<int> children(n);
  int roots = 0;
  for (size_t i = 0; i < n; i++) {
    if (tree.parent[i] < 0) {
      roots++;
      continue;
    }
    children[static_cast<size_t>(tree.parent[i])]++;
    size_t steps = 0;
    for (int at = static_cast<int>(i); at >= 0; at = tree.parent[static_cast<size_t>(at)]) ASSERT_LE(++steps, n);
  }
  EXPECT_EQ(roots, 1);
  EXPECT_THAT(children, Each(::testing::Le(2)));
  EXPECT_EQ(tree.hops.size(), n - 1);
}

TEST(Trees, AreBinaryWithFewCrossings) {
  for (int gpus = 1; gpus <= 16; gpus++) {
    SCOPED_TRACE(gpus);
    for (const char* links : {"", " nvlink:2", " nvlink:1(mesh)"}) {
      if (gpus < 2 && *links != '\0') continue;
      for (const Tree& tree : find_trees(host_of("gpu:" + std::to_string(gpus) + links))) expect_tree(tree);
    }
  }
  const std::vector<Tree> sockets = find_trees(host_of("package:2 gpu:4"));
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_EQ(std::count_if(sockets[0].hops.begin(), sockets[0].hops.end(),
                          [](const Hop& hop) { return hop.kind == PathKind::kSys; }),
            1);
}

TEST(Trees, TwoOverASwitchShareNoInnerNode) {
  for (const char* machine : {"dgx-h100", "gpu:6 nvlink:4", "gpu:16 nvlink:6"}) {
    const std::vector<Tree> trees = find_trees(host_of(machine));
    ASSERT_EQ(trees.size(), 2U);
    std::set<int> inner[2];
    for (int t = 0; t < 2; t++) {
      for (const int parent : trees[static_cast<size_t>(t)].parent) {
        if (parent >= 0) inner[t].insert(trees[static_cast<size_t>(t)].gpus[static_cast<size_t>(parent)]);
      }
    }
    for (const int gpu : inner[0]) EXPECT_EQ(inner[1].count(gpu), 0U) << machine << " " << gpu;
  }
}

// Trees use their hops both ways, so an odd ring is none.
TEST(Trees, UseNoLinkBeyondItsWidth) {
  const std::map<std::string, size_t> expected = {{"gpu:8 nvlink:1(mesh)", 3}, {"gpu:4 nvlink:1(mesh)", 1},
                                                  {"gpu:5 nvlink:1(mesh)", 2}, {"gpu:4 nvlink:6(mesh)", 9},
                                                  {"gpu:2 nvlink:4(mesh)", 4}, {"dgx-1v", 3}};
  for (const auto& [machine, count] : expected) {
    SCOPED_TRACE(machine);
    const Host host = host_of(machine);
    const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu);
    std::map<std::pair<int, int>, double> used;
    const std::vector<Tree> trees = find_trees(host);
    EXPECT_EQ(trees.size(), count);
    for (const Tree& tree : trees) {
      for (const Hop& hop : tree.hops) used[std::minmax(hop.from, hop.to)] += tree.bytes_per_ns;
    }
    for (const auto& [pair, bytes_per_ns] : used) {
      const int a = gpus[static_cast<size_t>(pair.first)], b = gpus[static_cast<size_t>(pair.second)];
      EXPECT_LE(bytes_per_ns, path(host, a, b).bytes_per_ns * (1 + 1e-9)) << pair.first << " and " << pair.second;
    }
  }
}

TEST(Trees, ACubeHasThree) {
  const std::vector<Tree> trees = find_trees(host_of("dgx-1v"));
  EXPECT_EQ(trees.size(), 3U);
  for (const Tree& tree : trees) {
    expect_tree(tree);
    for (const Hop& hop : tree.hops) EXPECT_EQ(hop.kind, PathKind::kNvlink);
  }
}

TEST(ClusterRings, RailsAreMatchedByPlaceNotByNumber) {
  Machine machine = parse_synthetic("host:3 dgx-h100", "test");
  std::mt19937 random(3);
  for (size_t i = 0; i < machine.hosts.size(); i++) {
    for (const int nic : objects_of(machine.hosts[i], ObjectKind::kNic)) {
      Object& object = machine.hosts[i].objects[static_cast<size_t>(nic)];
      object.pci = "0000:" + std::to_string(10 + object.number) + ":00.0";
    }
    if (i > 0) machine.hosts[i] = renumbered(machine.hosts[i], random);
  }
  const ClusterRings rings = find_cluster_rings(machine);
  ASSERT_EQ(rings.rings.size(), 8U);
  for (const ClusterRing& ring : rings.rings) {
    EXPECT_EQ(ring.order.size(), 24U);
    std::set<std::string> places;
    for (size_t host = 0; host < 3; host++) {
      EXPECT_EQ(ring.nic_in[host], ring.nic_out[host]);
      const std::vector<int> nics = objects_of(machine.hosts[host], ObjectKind::kNic);
      places.insert(machine.hosts[host].objects[static_cast<size_t>(nics[static_cast<size_t>(ring.nic_in[host])])].pci);
    }
    EXPECT_EQ(places.size(), 1U) << "one rail through all hosts";
    EXPECT_DOUBLE_EQ(ring.bytes_per_ns, 50);
  }
}

TEST(ClusterRings, UnevenHosts) {
  Machine machine = parse_synthetic("host:2 package:2 gpu:4 nic:2(speed=25)", "test");
  machine.hosts[1] = host_of("package:1 gpu:3 nic:1(speed=25)");
  machine.hosts.push_back(host_of("package:1 gpu:2"));
  machine.hosts.push_back(host_of("core:2"));
  const ClusterRings rings = find_cluster_rings(machine);
  ASSERT_EQ(rings.rings.size(), 1U);
  EXPECT_EQ(rings.rings[0].order.size(), 8U + 3 + 2);
  EXPECT_EQ(rings.rings[0].nic_in[2], -1);
  std::string all;
  for (const Warning& warning : rings.warnings) all += to_string(warning) + "\n";
  EXPECT_THAT(all, HasSubstr("has no NIC"));
  EXPECT_THAT(all, HasSubstr("has no GPU"));
}

LinkGraph random_graph(std::mt19937& random, int nodes, int most_links) {
  LinkGraph graph{nodes, std::vector<int>(static_cast<size_t>(nodes * nodes))};
  for (int a = 0; a < nodes; a++) {
    for (int b = a + 1; b < nodes; b++) {
      graph.links(a, b) = graph.links(b, a) = static_cast<int>(random() % (static_cast<unsigned>(most_links) + 1));
    }
  }
  return graph;
}

// By trying everything: the most directed cycles through all nodes.
int most_cycles(const LinkGraph& graph) {
  const auto nodes = static_cast<size_t>(graph.nodes);
  LinkGraph rest = graph;
  const auto fits = [&](const Cycle& cycle) {
    for (size_t i = 0; i < nodes; i++) {
      if (rest.links(cycle[i], cycle[(i + 1) % nodes]) == 0) return false;
    }
    return true;
  };
  const auto use = [&](const Cycle& cycle, int change) {
    for (size_t i = 0; i < nodes; i++) rest.links(cycle[i], cycle[(i + 1) % nodes]) += change;
  };
  Cycle cycle(nodes);
  std::iota(cycle.begin(), cycle.end(), 0);
  std::vector<Cycle> all;
  do {
    if (fits(cycle)) all.push_back(cycle);
  } while (std::next_permutation(cycle.begin() + 1, cycle.end()));
  int most = 0;
  const std::function<void(size_t, int)> choose = [&](size_t first, int chosen) {
    most = std::max(most, chosen);
    for (size_t i = first; i < all.size(); i++) {
      if (!fits(all[i])) continue;
      use(all[i], -1);
      choose(i, chosen + 1);
      use(all[i], 1);
    }
  };
  choose(0, 0);
  return most;
}

TEST(RingSearch, ExactMeansThatNoMoreExist) {
  std::mt19937 random(77);
  for (const auto& [nodes, most_links, rounds] : {std::tuple(3, 3, 30), {4, 2, 60}, {5, 1, 60}, {5, 2, 20}}) {
    for (int round = 0; round < rounds; round++) {
      const LinkGraph graph = random_graph(random, nodes, most_links);
      const Packing packing = pack_cycles(graph);
      EXPECT_TRUE(packing.exact) << "so few are no trouble";
      EXPECT_EQ(static_cast<int>(packing.cycles.size()), most_cycles(graph)) << nodes << " nodes, round " << round;
    }
  }
}

TEST(RingSearch, PackingsAreLegal) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; round++) {
    const LinkGraph graph = random_graph(random, 3 + static_cast<int>(random() % 8), 2);
    for (const bool two_way : {false, true}) {
      const Packing packing = pack_cycles(graph, two_way);
      LinkGraph rest = graph;
      std::map<std::pair<int, int>, int> balance;  // what goes there and does not come back
      for (const Cycle& cycle : packing.cycles) {
        EXPECT_EQ(std::set<int>(cycle.begin(), cycle.end()).size(), static_cast<size_t>(graph.nodes));
        for (size_t i = 0; i < cycle.size(); i++) {
          const int a = cycle[i], b = cycle[(i + 1) % cycle.size()];
          EXPECT_GE(--rest.links(a, b), 0);
          balance[std::minmax(a, b)] += a < b ? 1 : -1;
        }
      }
      for (const auto& [pair, left] : balance) EXPECT_TRUE(!two_way || left == 0) << pair.first << " " << pair.second;
    }
  }
}

TEST(RingSearch, CheapestCycleIsTheBestOfAll) {
  std::mt19937 random(9);
  for (int nodes = 3; nodes <= 7; nodes++) {
    for (int round = 0; round < 20; round++) {
      std::vector<int64_t> costs(static_cast<size_t>(nodes * nodes));
      for (int a = 0; a < nodes; a++) {
        for (int b = 0; b < a; b++) {
          costs[static_cast<size_t>(a * nodes + b)] = costs[static_cast<size_t>(b * nodes + a)] =
              static_cast<int64_t>(random() % 50);
        }
      }
      const auto cost = [&](int a, int b) { return costs[static_cast<size_t>(a * nodes + b)]; };
      const auto sum = [&](const Cycle& cycle) {
        int64_t all = 0;
        for (size_t i = 0; i < cycle.size(); i++) all += cost(cycle[i], cycle[(i + 1) % cycle.size()]);
        return all;
      };
      Cycle start(static_cast<size_t>(nodes));
      std::iota(start.begin(), start.end(), 0);
      bool exact = false;
      const int64_t found = sum(cheapest_cycle(nodes, cost, start, &exact));
      EXPECT_TRUE(exact);
      int64_t best = sum(start);
      for (Cycle any = start; std::next_permutation(any.begin() + 1, any.end());) best = std::min(best, sum(any));
      EXPECT_EQ(found, best);
    }
  }
}

}  // namespace
}  // namespace peal
