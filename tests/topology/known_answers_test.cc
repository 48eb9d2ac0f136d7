// Real machines with known answers (the folder's README says which and why).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "tests/topology/shared_machines.h"
#include "topology/read.h"
#include "topology/rings.h"

namespace peal {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int hops_of(const Ring& ring, PathKind kind) {
  return static_cast<int>(
      std::count_if(ring.hops.begin(), ring.hops.end(), [&](const Hop& hop) { return hop.kind == kind; }));
}

// Every ring passes every GPU once, hop by hop, and no directed link is used above its count.
void expect_legal(const Host& host, const RingSet& set) {
  std::map<std::pair<int, int>, int> used, counts;
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu);
  for (const Link& link : host.links) {
    if (host.objects[static_cast<size_t>(link.a)].kind != ObjectKind::kGpu ||
        host.objects[static_cast<size_t>(link.b)].kind != ObjectKind::kGpu) {
      continue;
    }
    const int a = host.objects[static_cast<size_t>(link.a)].number,
              b = host.objects[static_cast<size_t>(link.b)].number;
    counts[{a, b}] += std::max(1, link.capacity.count);
    counts[{b, a}] += std::max(1, link.capacity.count);
  }
  for (const Ring& ring : set.rings) {
    EXPECT_EQ(std::set<int>(ring.order.begin(), ring.order.end()).size(), gpus.size());
    ASSERT_EQ(ring.order.size(), gpus.size());
    for (size_t i = 0; i < ring.hops.size(); i++) {
      EXPECT_EQ(ring.hops[i].from, ring.order[i]);
      EXPECT_EQ(ring.hops[i].to, ring.order[(i + 1) % ring.order.size()]);
      if (!set.any_order && ring.hops[i].kind <= PathKind::kC2c) used[{ring.hops[i].from, ring.hops[i].to}]++;
    }
  }
  for (const auto& [pair, uses] : used) EXPECT_LE(uses, counts[pair]) << pair.first << " to " << pair.second;
}

struct Machines : ::testing::Test {
  Machine load(const std::string& file) {
    Machine machine = read_machine(shared_machines() + "/" + file);
    set = find_rings(machine.hosts[0]);
    expect_legal(machine.hosts[0], set);
    return machine;
  }
  RingSet set;
};

TEST_F(Machines, AllLoad) {
  PEAL_NEEDS_SHARED_MACHINES();
  int files = 0;
  for (const char* kind : {"/nccl", "/hwloc"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + kind)) {
      SCOPED_TRACE(entry.path().filename());
      const Machine machine = load(std::string(kind) + "/" + entry.path().filename().string());
      EXPECT_EQ(machine.hosts.size(), 1U);
      const Machine again = parse_json(to_json(machine), "json");
      EXPECT_EQ(again.hosts, machine.hosts);
      for (const Warning& warning : machine.warnings) EXPECT_GT(warning.line, 0) << to_string(warning);
      files++;
    }
  }
  EXPECT_GE(files, 25);
}

TEST_F(Machines, HybridCubeMeshesHaveSixRingsOfLinks) {
  PEAL_NEEDS_SHARED_MACHINES();
  for (const char* file : {"nccl/dgx1v.xml", "nccl/v100-hcm-alt.xml"}) {
    load(file);
    ASSERT_EQ(set.rings.size(), 6U) << file;
    for (const Ring& ring : set.rings) EXPECT_EQ(hops_of(ring, PathKind::kNvlink), 8);
    EXPECT_DOUBLE_EQ(set.bytes_per_ns, set.bound);
    EXPECT_TRUE(set.exact);
  }
}

TEST_F(Machines, FourGpusWithSixLinksEachHaveEighteenRings) {
  PEAL_NEEDS_SHARED_MACHINES();
  load("nccl/h100-4gpu-nv6.xml");
  EXPECT_EQ(set.rings.size(), 18U);
  std::set<std::vector<int>> orders;
  for (const Ring& ring : set.rings) orders.insert(ring.order);
  EXPECT_EQ(orders.size(), 6U);
}

TEST_F(Machines, SwitchedOnesHaveARingForEachNic) {
  PEAL_NEEDS_SHARED_MACHINES();
  const std::map<std::string, size_t> expected = {{"nccl/azure-ndv4+gpu.xml", 8},
                                                  {"nccl/azure-ndv5+gpu.xml", 8},
                                                  {"nccl/aws-p4d+gpu.xml", 4},
                                                  {"nccl/oci-H100-topology.xml", 16},
                                                  {"nccl/oci-b4.8+gpu.xml", 8}};
  for (const auto& [file, rings] : expected) {
    SCOPED_TRACE(file);
    const Machine machine = load(file);
    const Host& host = machine.hosts[0];
    ASSERT_EQ(set.rings.size(), rings);
    std::set<int> nics;
    for (const Ring& ring : set.rings) {
      EXPECT_EQ(hops_of(ring, PathKind::kNvlink), 8);
      EXPECT_EQ(ring.nic_in, ring.nic_out);
      nics.insert(ring.nic_in);
      const int nic = objects_of(host, ObjectKind::kNic)[static_cast<size_t>(ring.nic_in)];
      const auto near = [&](int gpu) {
        return depth(host, common_ancestor(host, objects_of(host, ObjectKind::kGpu)[static_cast<size_t>(gpu)], nic));
      };
      for (int gpu = 0; gpu < 8; gpu++) EXPECT_LE(near(gpu), near(ring.order.front()));
    }
    EXPECT_EQ(nics.size(), rings);
  }
}

TEST_F(Machines, TwoSocketsAreCrossedTwice) {
  PEAL_NEEDS_SHARED_MACHINES();
  for (const char* file : {"nccl/l40s-8.xml", "nccl/panlichen-8x3090-topo.xml", "hwloc/mpibind-g4dnmetal.xml"}) {
    load(file);
    ASSERT_EQ(set.rings.size(), 1U) << file;
    EXPECT_EQ(hops_of(set.rings[0], PathKind::kSys), 2) << file;
  }
}

TEST_F(Machines, SummitHasFourLinksAndTwoCrossings) {
  PEAL_NEEDS_SHARED_MACHINES();
  load("nccl/summit.xml");
  ASSERT_FALSE(set.rings.empty());
  for (const Ring& ring : set.rings) {
    EXPECT_EQ(hops_of(ring, PathKind::kNvlink), 4);
    EXPECT_EQ(hops_of(ring, PathKind::kSys), 2);
  }
}

TEST_F(Machines, Power8LinksPairsAndPackages) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/hwloc-power8gpudistances.xml");
  const Host& host = machine.hosts[0];
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu);
  ASSERT_EQ(gpus.size(), 4U);
  for (const auto& [a, b, linked] : {std::tuple(0, 1, true), {2, 3, true}, {0, 2, false}, {1, 3, false}}) {
    const Path way = path(host, gpus[static_cast<size_t>(a)], gpus[static_cast<size_t>(b)]);
    EXPECT_EQ(way.kind, linked ? PathKind::kNvlink : PathKind::kSys) << a << b;
    if (linked) {
      EXPECT_DOUBLE_EQ(way.bytes_per_ns, 40);
    }
  }
  int to_packages = 0;
  for (const Link& link : host.links) {
    if (host.objects[static_cast<size_t>(std::min(link.a, link.b))].kind != ObjectKind::kPackage) continue;
    to_packages++;
    EXPECT_DOUBLE_EQ(link.capacity.bandwidth.value, 40);
    EXPECT_EQ(ancestor(host, std::max(link.a, link.b), ObjectKind::kPackage), std::min(link.a, link.b));
  }
  EXPECT_EQ(to_packages, 4);
}

TEST_F(Machines, PascalKeepsToItsSocket) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/mpibind-cts1-pascal.xml");
  const Host& host = machine.hosts[0];
  EXPECT_EQ(objects_of(host, ObjectKind::kGpu).size(), 2U);  // the board's own display is none
  ASSERT_EQ(set.rings.size(), 1U);
  EXPECT_EQ(hops_of(set.rings[0], PathKind::kSys), 0);
  const std::vector<int> nics = nearest_nics(host);
  EXPECT_THAT(nics, Each(nics[0]));
  EXPECT_EQ(host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kNic)[static_cast<size_t>(nics[0])])].name,
            "mlx5_0");
}

TEST_F(Machines, TheFabricOfG4dnIsOnTheSecondSocket) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/mpibind-g4dnmetal.xml");
  const Host& host = machine.hosts[0];
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu), nics = objects_of(host, ObjectKind::kNic);
  ASSERT_EQ(gpus.size(), 8U);
  ASSERT_EQ(nics.size(), 2U);
  const int second = ancestor(host, nics[0], ObjectKind::kPackage);
  EXPECT_EQ(ancestor(host, nics[1], ObjectKind::kPackage), second);
  for (const int gpu : gpus) {
    const bool crosses = ancestor(host, gpu, ObjectKind::kPackage) != second;
    EXPECT_EQ(path(host, gpu, nics[0]).kind == PathKind::kSys, crosses);
  }
}

TEST_F(Machines, GpuMemoryIsNoPlaceForRanks) {
  PEAL_NEEDS_SHARED_MACHINES();
  for (const char* file : {"hwloc/mpibind-coral-lassen.xml", "hwloc/hwloc-nvidiagpunumanodes.from-linux-tar.xml"}) {
    const Machine machine = load(file);
    int with_cores = 0;
    for (const int node : objects_of(machine.hosts[0], ObjectKind::kNumaNode)) {
      const Object& object = machine.hosts[0].objects[static_cast<size_t>(node)];
      EXPECT_EQ(object.memory == MemoryRole::kCpu, !object.cpus.empty());
      with_cores += object.memory == MemoryRole::kCpu ? 1 : 0;
    }
    EXPECT_EQ(with_cores, 2) << file;
  }
}

TEST_F(Machines, VersionOneNamesGpusByPciAlone) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/mpibind-coral-ea-hwloc1.xml");
  EXPECT_EQ(objects_of(machine.hosts[0], ObjectKind::kGpu).size(), 4U);
  EXPECT_EQ(objects_of(machine.hosts[0], ObjectKind::kCore).size(), 20U);
  EXPECT_EQ(machine.hosts[0].objects[0].cpus.size(), 160U);
}

TEST_F(Machines, SelfLinksAreRefused) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("nccl/azure-ncv4-topo.xml");
  ASSERT_EQ(machine.warnings.size(), 4U);
  EXPECT_EQ(machine.warnings[0].line, 5);
  EXPECT_THAT(to_string(machine.warnings[0]), HasSubstr("GPU 0 (0001:00:00.0) is linked to itself"));
  ASSERT_EQ(set.rings.size(), 1U);
  for (const Hop& hop : set.rings[0].hops) EXPECT_GE(hop.kind, PathKind::kPix);
}

TEST_F(Machines, VirtualFunctionsAreNoRails) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/hwloc-16intel64-manyVFs.xml");
  const Host& host = machine.hosts[0];
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  EXPECT_EQ(nics.size(), 18U);
  for (const int number : ring_nics(host)) {
    const Object& nic = host.objects[static_cast<size_t>(nics[static_cast<size_t>(number)])];
    EXPECT_EQ(nic.nic.role, NicRole::kPhysical);
    EXPECT_FALSE(nic.name.empty()) << nic.pci;
  }
}

TEST_F(Machines, ConflictsAreNamed) {
  PEAL_NEEDS_SHARED_MACHINES();
  const Machine machine = load("hwloc/hwloc-32em64t-2n8c2t-pci-wholeio.xml");
  ASSERT_FALSE(machine.warnings.empty());
  EXPECT_THAT(to_string(machine.warnings[0]), HasSubstr("line 263: PCI device 0000:04:00.0"));
}

TEST_F(Machines, XgmiRings) {
  PEAL_NEEDS_SHARED_MACHINES();
  load("nccl/topo_8p6l_4nic.xml");
  EXPECT_EQ(set.rings.size(), 6U);
  for (const Ring& ring : set.rings) EXPECT_EQ(hops_of(ring, PathKind::kXgmi), 8);
  load("nccl/topo_4p_940.xml");  // the complete graph of 4 nodes has no 3 directed cycles without a common arc
  EXPECT_EQ(set.rings.size(), 2U);
  EXPECT_TRUE(set.exact);
}

}  // namespace
}  // namespace peal
