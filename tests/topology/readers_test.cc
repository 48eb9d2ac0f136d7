// Readers on small inputs of our own: what they make of them, what they warn of, what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "topology/cpu_list.h"
#include "topology/cuda_devices.h"
#include "topology/defaults.h"
#include "topology/path.h"
#include "topology/rdma_devices.h"
#include "topology/read.h"

namespace peal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

std::string warnings_of(const Machine& machine) {
  std::string all;
  for (const Warning& warning : machine.warnings) all += to_string(warning) + "\n";
  return all;
}

const Object& object(const Machine& machine, ObjectKind kind, size_t which) {
  const Host& host = machine.hosts[0];
  return host.objects[static_cast<size_t>(objects_of(host, kind).at(which))];
}

size_t count(const Machine& machine, ObjectKind kind) { return objects_of(machine.hosts[0], kind).size(); }

template <class Parse>
auto refuses(Parse parse, const std::string& text) {
  return [parse, text] { parse(text, "FILE"); };
}

// ---- Lists and masks of processors ----

TEST(CpuList, ReadsWhatItWrites) {
  EXPECT_EQ(to_cpu_list({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(parse_cpu_list("0-2,8,10-11"), (std::vector{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list(""), std::vector<int>());
  for (const char* wrong : {"1-", "-1", "3-1", "a", "1,", "1;2", "99999999", "0-65536"})
    EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

TEST(CpuMask, WordsTheHighestFirst) {
  EXPECT_EQ(parse_cpu_mask("0x00000003"), (std::vector{0, 1}));
  EXPECT_EQ(parse_cpu_mask("1,00000000,0x80000000"), (std::vector{31, 64}));
  EXPECT_EQ(parse_cpu_mask("0x1,,0x1"), (std::vector{0, 64}));
  for (const char* wrong : {"", "0xf...f", "0x1g", "0x1,", "123456789"}) EXPECT_FALSE(parse_cpu_mask(wrong)) << wrong;
}

// ---- Peal's own format ----

Machine random_machine(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto figure = [&] { return Figure{pick(3) == 0 ? 0.0 : 0.125 * pick(1000), static_cast<Source>(pick(4))}; };
  Machine machine;
  machine.source = "random";
  machine.network = {pick(3), figure(), figure()};
  machine.processor = {figure(), figure(), figure(), figure()};
  for (int h = 1 + pick(3); h > 0; h--) {
    Host host;
    host.name = "host " + std::to_string(pick(2));
    host.objects.push_back({.kind = ObjectKind::kHost, .cpus = {0, 1, 5}});
    int gpus = 0, nics = 0;
    for (int i = 1; i < 2 + pick(20); i++) {
      Object one{.kind = static_cast<ObjectKind>(1 + pick(9)), .parent = pick(i), .number = pick(5) - 1};
      if (one.kind == ObjectKind::kGpu) one.number = gpus++;
      if (one.kind == ObjectKind::kNic) one.number = nics++;
      one.name = pick(2) == 0 ? "" : "\"a\\n\xc3\xa4";
      one.line = pick(50);
      if (pick(2) == 0) one.cpus = {pick(4), 4 + pick(100)};
      one.bytes = random();
      one.cache_level = pick(4);
      one.memory = static_cast<MemoryRole>(pick(3));
      one.up = {pick(17), figure(), figure()};
      one.wire = {0, figure(), figure()};
      one.gpu = {pick(100), random(), pick(2) == 0};
      one.nic = {
          static_cast<NicRole>(pick(3)), 1 + pick(3), "Ethernet", "", "fe80", pick(2) == 0, pick(2) == 0, pick(2) == 0};
      host.objects.push_back(one);
    }
    for (int i = pick(5); i > 0; i--) {
      const int n = static_cast<int>(host.objects.size());
      host.links.push_back({static_cast<LinkKind>(pick(7)), pick(n), pick(n), {pick(19), figure(), figure()}, pick(9)});
    }
    machine.hosts.push_back(host);
    if (pick(2) == 0) machine.hosts.push_back(host);
  }
  if (pick(2) == 0) machine.measurements.push_back({"shm", 0, 0, 0, 0, 0.1 + pick(100), 2.5});
  return machine;
}

TEST(Json, IsReadAsItWasWritten) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; round++) {
    const Machine machine = random_machine(random);
    const Machine again = parse_json(to_json(machine), "FILE");
    ASSERT_EQ(again.hosts, machine.hosts);
    ASSERT_EQ(again.network, machine.network);
    ASSERT_EQ(again.processor, machine.processor);
    ASSERT_EQ(again.measurements, machine.measurements);
    ASSERT_EQ(again.source, machine.source);
    ASSERT_THAT(again.warnings, IsEmpty());
  }
}

TEST(Json, SaysWhereSomethingIsWrong) {
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT(refuses(parse_json, text), ThrowsMessage<Error>(HasSubstr(said))) << text;
  };
  const auto with = [](const std::string& objects) {
    return R"({"peal_machine": 1, "hosts": [{"objects": )" + objects + "}]}";
  };
  expect("{", "FILE: expected JSON");
  expect("{}", "the member \"peal_machine\"");
  expect(R"({"peal_machine": 2, "hosts": []})", "/peal_machine: expected a whole number from 1 to 1, found 2");
  expect(R"({"peal_machine": 1, "hosts": {}})", "/hosts: expected a list");
  expect(with("[]"), "/hosts/0/objects: expected the host itself");
  expect(with(R"([{"kind": "hots"}])"), "/hosts/0/objects/0/kind: expected one of host, package");
  expect(with(R"([{"kind": "host"}, {"kind": "core", "parent": 1}])"),
         "/hosts/0/objects/1: expected a parent from 0 to 0");
  expect(with(R"([{"kind": "host"}, {"kind": "core"}])"), "/hosts/0/objects/1: expected a parent");
  expect(with(R"([{"kind": "host", "cpus": "3-1"}])"), "/hosts/0/objects/0/cpus: expected processors");
  expect(with(R"([{"kind": "host", "bytes": -1}])"), "/hosts/0/objects/0/bytes: expected a whole number from 0");
  expect(with(R"([{"kind": "host", "up": {"bytes_per_ns": {"value": -2}}}])"),
         "/up/bytes_per_ns/value: expected a number from 0");
  expect(with(R"([{"kind": "host"}, {"kind": "gpu", "parent": 0, "number": 7}])"), "gpus numbered from 0 to 0");
  expect(R"({"peal_machine": 1, "hosts": [{"objects": [{"kind": "host"}], "links": [{"a": 0, "b": 9}]}]})",
         "/hosts/0/links/0: expected ends from 0 to 0");
  expect(
      R"({"peal_machine": 1, "hosts": [{"objects": [{"kind": "host"}]}], "measurements": [{"transport": "shm", "from_host": 3}]})",
      "/measurements/0: expected hosts and objects of this file");
  const Machine odd = parse_json(with(R"([{"kind": "host", "colour": "red"}])"), "FILE");
  EXPECT_THAT(warnings_of(odd), HasSubstr("/hosts/0/objects/0/colour is not known"));
}

// Every member there is, each in turn of another type: a list is none of them.
TEST(Json, EveryMemberIsChecked) {
  std::mt19937 random(2);
  Machine machine = random_machine(random);
  machine.measurements.push_back({"shm", 0, 0, 0, 0, 1, 2.5});
  const nlohmann::json right = nlohmann::json::parse(to_json(machine));
  const nlohmann::json paths = right.flatten();
  EXPECT_GT(paths.size(), 100U);
  for (const auto& [path, unused] : paths.items()) {
    nlohmann::json wrong = right;
    wrong[nlohmann::json::json_pointer(path)] = nlohmann::json::array();
    EXPECT_THAT(refuses(parse_json, wrong.dump()),
                ThrowsMessage<Error>(
                    AllOf(HasSubstr("FILE: " + path + ": expected "), HasSubstr(", found "), Not(HasSubstr("\n")))));
  }
}

TEST(Json, WhatWouldExhaustTheProgram) {
  const std::string deep = R"({"peal_machine": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  EXPECT_THAT(refuses(parse_json, deep), ThrowsMessage<Error>(HasSubstr("/peal_machine: expected a whole number")));
  try {
    parse_json("{\"" + std::string(1'000'000, 'a'), "FILE");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 1000U);
  }
  // 60,000 hosts of 60,000 objects in one megabyte and a half.
  std::string names = R"("")", objects = R"({"kind": "host"})";
  for (int i = 1; i < 60'000; i++) {
    names += R"(,"")";
    objects += R"(,{"kind":"core","parent":0})";
  }
  EXPECT_THAT(refuses(parse_json,
                      R"({"peal_machine": 1, "hosts": [{"names": [)" + names + R"(], "objects": [)" + objects + "]}]}"),
              ThrowsMessage<Error>(HasSubstr("/hosts: expected at most 4194304 objects and links of all hosts")));
}

// ---- hwloc ----

std::string hwloc(const std::string& objects, const std::string& more = "",
                  const std::string& version = " version=\"2.0\"") {
  return "<topology" + version +
         ">\n<object type=\"Machine\" cpuset=\"0x0000000f\" allowed_cpuset=\"0x00000007\" gp_index=\"1\">\n" + objects +
         "\n</object>\n" + more + "\n</topology>\n";
}

TEST(HwlocXml, MemoryOfVersionTwoHoldsWhatIsNearToIt) {
  const Machine machine =
      parse_hwloc_xml(hwloc("<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\"><object type=\"NUMANode\" "
                            "os_index=\"0\" cpuset=\"0x3\" local_memory=\"1024\"/>"
                            "<object type=\"L3Cache\" cpuset=\"0x3\" cache_size=\"64\"><object type=\"Core\" "
                            "os_index=\"0\" cpuset=\"0x1\"/>"
                            "<object type=\"Core\" os_index=\"1\" cpuset=\"0x2\"/></object></object>"
                            "<object type=\"Package\" os_index=\"1\" cpuset=\"0xc\"><object type=\"NUMANode\" "
                            "os_index=\"1\" cpuset=\"0xc\"/>"
                            "<object type=\"Core\" os_index=\"2\" cpuset=\"0x4\"/><object type=\"Core\" os_index=\"3\" "
                            "cpuset=\"0x8\"/></object>"),
                      "FILE");
  EXPECT_EQ(count(machine, ObjectKind::kCore), 3U) << "processor 3 is not allowed";
  const Host& host = machine.hosts[0];
  for (const int core : objects_of(host, ObjectKind::kCore)) EXPECT_GE(ancestor(host, core, ObjectKind::kNumaNode), 0);
  EXPECT_EQ(object(machine, ObjectKind::kNumaNode, 0).bytes, 1024U);
  EXPECT_EQ(host.objects[0].cpus, (std::vector{0, 1, 2}));
}

TEST(HwlocXml, VersionOne) {
  const Machine machine =
      parse_hwloc_xml(hwloc("<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" local_memory=\"7\"><object "
                            "type=\"Socket\" os_index=\"0\" cpuset=\"0x3\">"
                            "<object type=\"Cache\" depth=\"3\" cache_type=\"0\" cpuset=\"0x3\"><object type=\"Core\" "
                            "os_index=\"0\" cpuset=\"0x3\"/></object></object>"
                            "<object type=\"Bridge\" bridge_type=\"0-1\"><object type=\"PCIDev\" "
                            "pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:15f9]\"/></object></object>",
                            "", ""),
                      "FILE");
  EXPECT_EQ(count(machine, ObjectKind::kGpu), 1U);
  EXPECT_EQ(count(machine, ObjectKind::kCache), 1U);
  const Host& host = machine.hosts[0];
  EXPECT_GE(ancestor(host, objects_of(host, ObjectKind::kGpu)[0], ObjectKind::kNumaNode), 0);
}

TEST(HwlocXml, DevicesAreKnownForWhatTheyAre) {
  const Machine machine = parse_hwloc_xml(
      hwloc(
          "<object type=\"Bridge\" bridge_type=\"0-1\" bridge_pci=\"0000:[00-0c]\">\n"
          "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0300 [1a03:2000]\"/>\n"  // a board's display
          "<object type=\"PCIDev\" pci_busid=\"0000:02:00.0\" pci_type=\"0300 [10de:2204]\" pci_link_speed=\"31.5\"/>\n"
          "<object type=\"PCIDev\" pci_busid=\"0000:03:00.0\" pci_type=\"0207 [15b3:1017]\"><object type=\"OSDev\" "
          "osdev_type=\"3\" name=\"mlx5_0\">"
          "<info name=\"Port1State\" value=\"4\"/><info name=\"Port2State\" value=\"1\"/></object></object>\n"
          "<object type=\"PCIDev\" pci_busid=\"0000:03:00.1\" pci_type=\"0200 [15b3:1018]\"/>\n"
          "<object type=\"PCIDev\" pci_busid=\"0000:0d:00.0\" pci_type=\"0200 [8086:1521]\"><object type=\"OSDev\" "
          "osdev_type=\"2\" name=\"eth0\"/></object>\n"
          "</object><object type=\"OSDev\" osdev_type=\"2\" name=\"docker0\"/>"),
      "FILE");
  ASSERT_EQ(count(machine, ObjectKind::kGpu), 1U);
  EXPECT_DOUBLE_EQ(object(machine, ObjectKind::kGpu, 0).up.bandwidth.value, 31.5);
  ASSERT_EQ(count(machine, ObjectKind::kNic), 5U);
  EXPECT_TRUE(object(machine, ObjectKind::kNic, 0).nic.active);
  EXPECT_FALSE(object(machine, ObjectKind::kNic, 1).nic.active);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 1).nic.port, 2);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 2).nic.role, NicRole::kVirtualFunction);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 3).name, "eth0");
  EXPECT_EQ(object(machine, ObjectKind::kNic, 4).nic.role, NicRole::kSoftware);
  EXPECT_THAT(warnings_of(machine),
              HasSubstr("line 8: PCI device 0000:0d:00.0 is under the host bridge of the buses 0000:[00-0c]"));
}

TEST(HwlocXml, MatricesOfLinks) {
  const std::string gpus =
      "<object type=\"PCIDev\" gp_index=\"5\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:1]\"><object "
      "type=\"OSDev\" gp_index=\"6\" osdev_type=\"1\"/></object>"
      "<object type=\"PCIDev\" gp_index=\"7\" pci_busid=\"0000:02:00.0\" pci_type=\"0302 [10de:1]\"/>"
      "<object type=\"PCIDev\" gp_index=\"8\" pci_busid=\"0000:03:00.0\" pci_type=\"0302 [10de:1]\"/>";
  const auto matrix = [&](const std::string& name, const std::string& indexes, const std::string& values) {
    return parse_hwloc_xml(hwloc(gpus, "<distances2 name=\"" + name + "\"><indexes>" + indexes +
                                           "</indexes><u64values>" + values + "</u64values></distances2>"),
                           "FILE");
  };
  const Machine linked = matrix("NVLinkBandwidth", "6 7 8", "0 50000 0 50000 0 0 0 0 0");
  ASSERT_EQ(linked.hosts[0].links.size(), 1U);
  EXPECT_DOUBLE_EQ(linked.hosts[0].links[0].capacity.bandwidth.value, 50);
  EXPECT_THAT(warnings_of(matrix("NVLinkBandwidth", "6 7 8", "0 50000 0 20000 0 0 0 0 0")), HasSubstr("taken as 20"));
  EXPECT_THAT(warnings_of(matrix("NVLinkBandwidth", "6 99", "0 1 1 0")), HasSubstr("names 99, which is not there"));
  EXPECT_THAT(warnings_of(matrix("NVLinkBandwidth", "6 7", "0 1 1")), HasSubstr("2 objects and 3 values"));
  const Machine equal = matrix("XGMIBandwidth", "6 7 8", "0 9 9 9 0 9 9 9 0");
  EXPECT_THAT(equal.hosts[0].links, IsEmpty());
  EXPECT_THAT(warnings_of(equal), HasSubstr("says nothing"));
}

TEST(HwlocXml, ProcessorsThatNoneMayUseAndSizesBeyondAll) {
  const Machine none = parse_hwloc_xml(
      "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x1\" allowed_cpuset=\"0x2\" "
      "online_cpuset=\"0x4\"><object type=\"Core\" cpuset=\"0x4\"/></object></topology>",
      "FILE");
  EXPECT_THAT(none.hosts[0].objects[0].cpus, IsEmpty());
  EXPECT_EQ(count(none, ObjectKind::kCore), 0U);
  const Machine large = parse_hwloc_xml(
      hwloc("<object type=\"NUMANode\" cpuset=\"0x1\" local_memory=\"9223372036854775807\"/>"
            "<object type=\"PCIDev\" pci_type=\"0302 [10de:1]\"><object type=\"OSDev\" osdev_type=\"1\"><info "
            "name=\"CUDAGlobalMemorySize\" value=\"18014398509481983\"/></object></object>"),
      "FILE");
  EXPECT_EQ(parse_json(to_json(large), "FILE").hosts, large.hosts);
}

TEST(HwlocXml, WarningsNameTheObjectAndTheLine) {
  const Machine machine =
      parse_hwloc_xml(hwloc("<object type=\"Package\" cpuset=\"0xg\"/>\n"
                            "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:1]\"/>\n"
                            "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:1]\"/>"),
                      "FILE");
  EXPECT_EQ(warnings_of(machine),
            "line 3: Package has the cpuset '0xg', which is no mask: left out\n"
            "line 5: PCI device 0000:01:00.0 is also on line 4: taken as two\n");
}

TEST(HwlocXml, WhatCantBeRead) {
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT(refuses(parse_hwloc_xml, text),
                ThrowsMessage<Error>(AllOf(HasSubstr("FILE"), HasSubstr(said), Not(HasSubstr("\n")))))
        << text;
  };
  expect(hwloc("", "", " version=\"3.0\""), "line 1: expected hwloc XML of version 1 or 2, found 3.0");
  expect("", "expected XML");
  expect("hello", "expected XML");
  expect("<topology><object type=\"Machine\">", "expected XML");
  expect("<topology/>", "expected <object type=\"Machine\">");
  expect("<system/>", "expected <topology>");
  expect("<!DOCTYPE topology [\n<!ENTITY a \"aaaa\">]><topology/>", "line 2: expected XML without entities");
  std::string deep = "<topology>";
  for (int i = 0; i < 5000; i++) deep += "<object>";
  expect(deep, "nested too deep");
}

// ---- NCCL ----

std::string nccl(const std::string& first, const std::string& second = "") {
  return "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"3\">\n" + first +
         "</cpu>\n<cpu numaid=\"1\" affinity=\"c\">\n" + second + "</cpu>\n</system>\n";
}

std::string gpu(int bus, const std::string& links, int sm = 80) {
  return "<pci busid=\"0000:0" + std::to_string(bus) +
         ":00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu sm=\"" + std::to_string(sm) +
         "\">" + links + "</gpu></pci>\n";
}

std::string nvlink(int bus, int links, const char* kind = "0x030200") {
  return "<nvlink target=\"0000:0" + std::to_string(bus) + ":00.0\" count=\"" + std::to_string(links) + "\" tclass=\"" +
         kind + "\"/>";
}

TEST(NcclXml, BridgesGpusPortsAndSwitches) {
  const Machine machine = parse_nccl_xml(
      nccl("<pci busid=\"0000:0a:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" +
               gpu(1, nvlink(9, 4, "0x068000"), 90) +
               "<pci busid=\"0000:0b:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"8\"><nic><net "
               "name=\"m0\" port=\"1\" speed=\"200000\"/>"
               "<net name=\"m1\" port=\"2\" speed=\"200000\"/></nic></pci></pci>",
           gpu(2, nvlink(9, 4, "0x068000"), 90) + "<nic><net name=\"eth0\" speed=\"10000\"/></nic>"),
      "FILE");
  EXPECT_THAT(machine.warnings, IsEmpty());
  EXPECT_EQ(count(machine, ObjectKind::kNvSwitch), 1U);
  const Host& host = machine.hosts[0];
  const std::vector<int> gpus = objects_of(host, ObjectKind::kGpu), nics = objects_of(host, ObjectKind::kNic);
  EXPECT_EQ(path(host, gpus[0], gpus[1]).kind, PathKind::kNvlink);
  EXPECT_DOUBLE_EQ(path(host, gpus[0], gpus[1]).bytes_per_ns, 100);
  EXPECT_EQ(path(host, gpus[0], nics[0]).kind, PathKind::kPix);
  EXPECT_EQ(path(host, gpus[1], nics[0]).kind, PathKind::kSys);
  ASSERT_EQ(nics.size(), 3U);
  EXPECT_DOUBLE_EQ(object(machine, ObjectKind::kNic, 1).wire.bandwidth.value, 25);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 1).nic.port, 2);
  EXPECT_DOUBLE_EQ(object(machine, ObjectKind::kNic, 0).up.bandwidth.value, pcie_bytes_per_ns(16, 8));
  EXPECT_EQ(object(machine, ObjectKind::kNic, 2).nic.role, NicRole::kSoftware);
}

TEST(NcclXml, LiesAreNamedAndLeftOut) {
  const Machine self = parse_nccl_xml(nccl(gpu(1, nvlink(1, 12)), gpu(2, "")), "FILE");
  EXPECT_THAT(warnings_of(self), HasSubstr("line 3: GPU 0 (0000:01:00.0) is linked to itself by 12 nvlink links"));
  EXPECT_THAT(self.hosts[0].links, IsEmpty());
  const Machine unequal = parse_nccl_xml(nccl(gpu(1, nvlink(2, 4)), gpu(2, nvlink(1, 2))), "FILE");
  EXPECT_THAT(warnings_of(unequal), HasSubstr("100 GB/s, but the other way by 50: taken as 50"));
  const Machine one_end = parse_nccl_xml(nccl(gpu(1, nvlink(2, 4)), gpu(2, "")), "FILE");
  ASSERT_EQ(one_end.hosts[0].links.size(), 1U);
  const Machine nowhere = parse_nccl_xml(nccl(gpu(1, nvlink(7, 4)), gpu(2, "")), "FILE");
  EXPECT_THAT(warnings_of(nowhere), HasSubstr("is linked to 0000:07:00.0, which is not there"));
  const Machine many = parse_nccl_xml(nccl(gpu(1, nvlink(2, 126)), gpu(2, nvlink(1, 1))), "FILE");
  EXPECT_THAT(warnings_of(many), HasSubstr("GPU 0 (0000:01:00.0) has 126 links, more than the 36"));
  EXPECT_THAT(many.hosts[0].links, IsEmpty());
  const Machine mesh = parse_nccl_xml(nccl(gpu(1, nvlink(2, 18) + nvlink(3, 18) + nvlink(4, 18)) +
                                               gpu(2, nvlink(1, 18) + nvlink(3, 18) + nvlink(4, 18)),
                                           gpu(3, nvlink(1, 18) + nvlink(2, 18) + nvlink(4, 18)) +
                                               gpu(4, nvlink(1, 18) + nvlink(2, 18) + nvlink(3, 18))),
                                      "FILE");
  EXPECT_THAT(warnings_of(mesh), HasSubstr("taken as an NVSwitch"));
  EXPECT_EQ(count(mesh, ObjectKind::kNvSwitch), 1U);
  const Machine twice = parse_nccl_xml(nccl(gpu(1, ""), gpu(1, "")), "FILE");
  EXPECT_THAT(warnings_of(twice), HasSubstr("a second time"));
  EXPECT_EQ(count(twice, ObjectKind::kGpu), 1U);
}

TEST(NcclXml, NumbersBeyondAll) {
  const Machine links = parse_nccl_xml(
      nccl(gpu(1, nvlink(2, 999'999'999) + nvlink(2, 999'999'999) + nvlink(2, 999'999'999)), gpu(2, "")), "FILE");
  EXPECT_THAT(warnings_of(links), HasSubstr("GPU 0 (0000:01:00.0) has 2999999997 links, more than the 36"));
  EXPECT_THAT(links.hosts[0].links, IsEmpty());
  const Machine gfx = parse_nccl_xml(
      nccl("<pci busid=\"a\"><gpu gcn=\"gfx942\"/></pci><pci busid=\"b\"><gpu gcn=\"gfx3000000000\"/></pci>"
           "<pci busid=\"c\"><gpu gcn=\"gfx\"/></pci>"),
      "FILE");
  EXPECT_EQ(object(gfx, ObjectKind::kGpu, 0).gpu.compute_capability, 942);
  EXPECT_EQ(object(gfx, ObjectKind::kGpu, 1).gpu.compute_capability, 0);
  EXPECT_EQ(object(gfx, ObjectKind::kGpu, 2).gpu.compute_capability, 0);
  std::string hosts;
  for (int i = 0; i < 5000; i++) hosts += "<cpu host_hash=\"" + std::to_string(i) + "\"/>";
  EXPECT_THAT(refuses(parse_nccl_xml, "<system>" + hosts + "</system>"),
              ThrowsMessage<Error>(HasSubstr("line 1: expected at most 4096 hosts")));
  const Machine odd = parse_nccl_xml(
      "<system>\n<cpu numaid=\"3\" affinity=\"xyz\">\n<nic><net name=\"e\" speed=\"-5\"/></nic></cpu></system>",
      "FILE");
  EXPECT_EQ(warnings_of(odd),
            "line 2: NUMA node 3 has the affinity 'xyz', which is no mask: left out\n"
            "line 3: NIC 0 (e) has a speed of -5 Mb/s: left out\n");
}

TEST(NcclXml, HostsByTheirHash) {
  const Machine machine = parse_nccl_xml(
      "<system><cpu host_hash=\"0x1\" numaid=\"0\"/><cpu host_hash=\"0x2\" numaid=\"0\"/></system>", "FILE");
  EXPECT_EQ(machine.hosts.size(), 2U);
  EXPECT_THAT(refuses(parse_nccl_xml, "<system/>"), ThrowsMessage<Error>(HasSubstr("expected <cpu>")));
}

// ---- nvidia-smi ----

TEST(NvidiaSmi, ATableGivesItsOwnWordsBack) {
  const Machine machine = parse_nvidia_smi(
      "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\r\n"
      "GPU0\t X \tNV4\tPXB\tSYS\tPIX\t0-3\t0\r\nGPU1\tNV4\t X \tPXB\tSYS\tPIX\t0-3\t0\r\nGPU2\tPXB\tPXB\t X "
      "\tSYS\tPXB\t0-3\t0\r\n"
      "GPU3\tSYS\tSYS\tSYS\t X \tSYS\t4-7\t1\r\nNIC0\tPIX\tPIX\tPXB\tSYS\t X \r\n\r\nNIC Legend:\r\n\r\n  NIC0: "
      "mlx5_0\r\n",
      "FILE");
  EXPECT_THAT(machine.warnings, IsEmpty()) << warnings_of(machine);
  EXPECT_EQ(count(machine, ObjectKind::kGpu), 4U);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 0).name, "mlx5_0");
  EXPECT_EQ(count(machine, ObjectKind::kNumaNode), 2U);
}

TEST(NvidiaSmi, ManyLinksEverywhereAreASwitch) {
  std::string table = "\tGPU0\tGPU1\tGPU2\tGPU3\n";
  for (int i = 0; i < 4; i++) {
    table += "GPU" + std::to_string(i);
    for (int j = 0; j < 4; j++) table += i == j ? "\tX" : "\tNV18";
    table += "\n";
  }
  const Machine machine = parse_nvidia_smi(table, "FILE");
  EXPECT_THAT(machine.warnings, IsEmpty());
  EXPECT_EQ(count(machine, ObjectKind::kNvSwitch), 1U);
}

TEST(NvidiaSmi, ContradictionsAndWhatCantBeRead) {
  EXPECT_THAT(warnings_of(parse_nvidia_smi("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tSYS\tX\n", "FILE")),
              HasSubstr("line 2: GPU0 reaches GPU1 by PIX, which reaches it by SYS"));
  EXPECT_THAT(warnings_of(parse_nvidia_smi(
                  "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\nGPU2\tSYS\tPIX\tX\n", "FILE")),
              HasSubstr("GPU0 reaches GPU2 by SYS, but by the rest of the table PIX"));
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT(refuses(parse_nvidia_smi, text), ThrowsMessage<Error>(HasSubstr(said))) << text;
  };
  expect("nothing", "expected a line that begins with GPU0");
  expect("\tGPU0\tGPU1\nGPU0\tX\tPIX\n", "expected the row of GPU1, found the end");
  expect("\tGPU0\nGPU7\tX\n", "line 2: expected the row of GPU0, found GPU7");
  expect("\tGPU0\tGPU1\nGPU0\tX\tBLA\nGPU1\tSYS\tX\n", "found 'BLA'");
  expect("\tGPU0\nGPU0\tPIX\n", "expected X between GPU0 and itself");
}

// ---- Synthetic ----

TEST(Synthetic, LevelsAreInsideEachOther) {
  const Machine machine = parse_synthetic(
      "host:2 package:2 numa:2(memory=1GB) l3:1(size=4MB) core:2 pu:2 switch:1 gpu:2(sm=90) nic:1(speed=50,rdma)",
      "FILE");
  ASSERT_EQ(machine.hosts.size(), 2U);
  EXPECT_EQ(count(machine, ObjectKind::kCore), 8U);
  EXPECT_EQ(machine.hosts[0].objects[0].cpus.size(), 16U);
  EXPECT_EQ(object(machine, ObjectKind::kCore, 3).cpus, (std::vector{6, 7}));
  EXPECT_EQ(object(machine, ObjectKind::kNumaNode, 0).bytes, uint64_t{1} << 30);
  EXPECT_EQ(count(machine, ObjectKind::kGpu), 8U);
  EXPECT_EQ(count(machine, ObjectKind::kNic), 4U);
  EXPECT_EQ(object(machine, ObjectKind::kGpu, 0).gpu.compute_capability, 90);
  EXPECT_TRUE(object(machine, ObjectKind::kNic, 0).nic.rdma);
  EXPECT_EQ(
      parse_synthetic("Package:2 [NUMANode(memory=2GB)] L2Cache:1 Core:2 PU:1", "FILE").hosts[0].objects[0].cpus.size(),
      4U);
}

TEST(Synthetic, WholeMachinesByName) {
  for (const auto& [name, links] : {std::pair("dgx-1v", 16U), {"DGX-A100", 8U}, {"dgx-h100", 8U}}) {
    SCOPED_TRACE(name);
    const Machine machine = parse_synthetic(std::string("host:2 ") + name, "FILE");
    EXPECT_EQ(machine.hosts.size(), 2U);
    EXPECT_EQ(count(machine, ObjectKind::kGpu), 8U);
    EXPECT_EQ(machine.hosts[0].links.size(), links);
    EXPECT_EQ(parse_json(to_json(machine), "FILE").hosts, machine.hosts);
  }
  EXPECT_EQ(parse_synthetic("network(bandwidth=50,latency=2000) core:1", "FILE").network,
            (Capacity{0, {50, Source::kRead}, {2000, Source::kRead}}));
  EXPECT_EQ(parse_json(to_json(parse_synthetic("numa:1(memory=7000000T)", "FILE")), "FILE").hosts.size(), 1U);
}

TEST(Synthetic, SaysWhatIsWrongAndWhere) {
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT(refuses(parse_synthetic, text), ThrowsMessage<Error>(HasSubstr(said))) << text;
  };
  expect("", "a description");
  expect("package:2 corn:4", "position 11: expected host, package");
  expect("core:0", "a number from 1");
  expect("core:x", "a number from 1");
  expect("core:4(memory=3)", "no attribute memory of core");
  expect("numa:1(memory=much)", "bytes such as 64GB");
  expect("gpu:4(sm=90", "a closing )");
  expect("gpu:4 gpu:2", "gpu once");
  expect("package:9999 core:9999", "at most 32768 objects");
  expect("host:16384 core:4096", "at most 2097152 objects of all hosts");
  expect("core:4 host:2", "first of all");
  expect("gpu:4 nvlink:2(cube)", "8 GPUs for a cube, not 4");
  expect("core:2 nvlink:2", "2 GPUs or more");
  expect(std::string(5000, 'a'), "at most 4096 characters");
}

// ---- Any file ----

TEST(ReadMachine, TellsFormatsByTheirContents) {
  EXPECT_EQ(parse_machine("\xef\xbb\xbf{\"peal_machine\": 1, \"hosts\": [{\"objects\": [{\"kind\": \"host\"}]}]}", "F")
                .hosts.size(),
            1U);
  EXPECT_THAT(parse_machine("<!-- <system> -->\n<topology><object type=\"Machine\"/></topology>", "F").source,
              HasSubstr("hwloc"));
  EXPECT_THAT(parse_machine("<?xml version=\"1.0\"?><system><cpu/></system>", "F").source, HasSubstr("NCCL"));
  EXPECT_THAT(parse_machine("\tGPU0\nGPU0\tX\n", "F").source, HasSubstr("nvidia-smi"));
  EXPECT_THAT(parse_machine("core:2\n", "F").source, HasSubstr("synthetic"));
  for (const char* wrong : {"", "\x01\x02", "<html></html>", "hello world"})
    EXPECT_THROW(parse_machine(wrong, "F"), Error) << wrong;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "readers_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for this test");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(ReadMachine, FilesAlone) {
  const Folder folder;
  const auto expect = [](const std::string& path, const std::string& said) {
    EXPECT_THAT([&] { read_machine(path); }, ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(said))));
  };
  expect(folder.path(), "expected a file, found a folder or device");
  expect(folder / "missing", "can't be opened");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect(folder / "fifo", "expected a file, found a folder or device");  // and does not wait for a writer
  expect("/dev/zero", "expected a file, found a folder or device");
  std::ofstream(folder / "large") << "core:2\n";
  std::filesystem::resize_file(folder / "large", kLargestMachineFile + 1);
  expect(folder / "large", "expected at most 64 MiB, found more");
  std::ofstream(folder / "odd") << "\x7f"
                                << "ELF\x02\x01";
  expect(folder / "odd", "found '\\x7fELF\\x02\\x01'");
  std::ofstream(folder / "empty");
  expect(folder / "empty", "found ''");
  std::ofstream(folder / "good") << "core:2\n";
  EXPECT_EQ(count(read_machine(folder / "good"), ObjectKind::kCore), 2U);
  std::filesystem::create_symlink("good", folder / "link");
  EXPECT_EQ(count(read_machine(folder / "link"), ObjectKind::kCore), 2U);
}

TEST(ReadMachine, AnUnreadableFileIsAWarning) {
  const Machine machine = machine_or_file("/no/such/file");
  EXPECT_FALSE(machine.hosts[0].objects[0].cpus.empty());
  EXPECT_THAT(warnings_of(machine), AllOf(HasSubstr("PEAL_TOPO_FILE is not used"), HasSubstr("/no/such/file")));
}

// ---- What libraries say of devices ----

TEST(Rdma, WidthTimesSpeed) {
  EXPECT_NEAR(rdma_bytes_per_ns(2, 4), 4 * 10 * 0.8 / 8, 1e-12);             // 4x QDR: 32 Gbit/s
  EXPECT_NEAR(rdma_bytes_per_ns(2, 32), 4 * 25.78125 * 64 / 66 / 8, 1e-12);  // 4x EDR: 100 Gbit/s
  EXPECT_NEAR(rdma_bytes_per_ns(2, 128), 50, 1e-12);                         // 4x NDR: 400 Gbit/s
  EXPECT_EQ(rdma_bytes_per_ns(3, 4), 0);
}

TEST(Rdma, PortsGoWhereTheirCardIs) {
  Machine machine = parse_synthetic("package:2 nic:1", "FILE");
  Host& host = machine.hosts[0];
  host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kNic)[1])].pci = "0000:81:00.0";
  merge_rdma_ports(host, {{"mlx5_0", 1, true, "InfiniBand", 25, "fe80", "ec0d", "0000:81:00.0"},
                          {"mlx5_0", 2, false, "InfiniBand", 25, "fe81", "ec0d", "0000:81:00.0"},
                          {"rxe0", 1, true, "Ethernet", 0, "", "", ""}});
  ASSERT_EQ(count(machine, ObjectKind::kNic), 4U);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 1).name, "mlx5_0");
  EXPECT_DOUBLE_EQ(object(machine, ObjectKind::kNic, 1).wire.bandwidth.value, 25);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 2).parent, object(machine, ObjectKind::kNic, 1).parent);
  EXPECT_FALSE(object(machine, ObjectKind::kNic, 2).nic.active);
  EXPECT_EQ(object(machine, ObjectKind::kNic, 3).nic.role, NicRole::kSoftware);
}

TEST(Cuda, FactsAndLinks) {
  Machine machine = parse_synthetic("package:1 gpu:2", "FILE");
  Host& host = machine.hosts[0];
  host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kGpu)[0])].pci = "0000:01:00.0";
  const CudaPeer near{true, true, 0}, none{};
  merge_cuda_devices(
      host, {{"H200", "0000:01:00.0", 90, 1000, {none, near}}, {"H200", "0000:02:00.0", 90, 1000, {near, none}}});
  ASSERT_EQ(count(machine, ObjectKind::kGpu), 3U);
  EXPECT_EQ(object(machine, ObjectKind::kGpu, 0).gpu.compute_capability, 90);
  EXPECT_EQ(object(machine, ObjectKind::kGpu, 2).pci, "0000:02:00.0");
  ASSERT_EQ(host.links.size(), 1U);
  EXPECT_EQ(host.links[0].capacity.bandwidth.source, Source::kDefault);
}

}  // namespace
}  // namespace peal
