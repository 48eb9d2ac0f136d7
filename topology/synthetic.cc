// A machine in one line, as hwloc's synthetic descriptions are, and more: hosts, GPUs, NVLinks, NICs.
//
//   host:8 package:2 numa:1 l3:1 core:56 pu:2 switch:2 gpu:2 nic:1 nvlink:18
//
// host, package (pack, socket), die, group, numa, l3, l2, core and pu are inside each other in the order given, so many
// in each; what is left out is one. switch, gpu and nic are so many in each NUMA node (in each package where no numa is
// given): gpu and nic in each PCI switch if there are any. nvlink:K gives each GPU K links into an NVSwitch; (mesh) K
// to each other GPU of its host; (cube) the hybrid cube mesh of a DGX-1V, 8 GPUs. In parentheses:
//
//   numa:1(memory=64GB)  l3:1(size=32MB)  gpu:4(sm=90,memory=80GB,bus=63)  nic:4(speed=50,bus=63,rdma)
//   network(bandwidth=50,latency=2000)
//
// speed, bus and bandwidth in bytes per nanosecond (= GB/s), latency in nanoseconds. Whole machines have names: dgx-1v,
// dgx-a100, dgx-h100 stand for their descriptions without processors, e.g. "host:8 dgx-h100".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "topology/defaults.h"
#include "topology/read.h"
#include "topology/synthetic_tokens.h"

namespace peal {
namespace {

constexpr int64_t kMostHosts = 16384;
constexpr int64_t kMostOfAHost = 1 << 15;  // objects
constexpr int64_t kMostInAll = kMostOfAToken;

const std::map<std::string, std::string>& named_machines() {
  static const std::map<std::string, std::string> kMachines = {
      {"dgx-1v",
       "package:2 numa:1 switch:2 gpu:2(sm=70,memory=32GB,bus=15.75) nic:1(speed=12.5,bus=15.75,rdma) nvlink:6(cube)"},
      {"dgx-a100",
       "package:2 numa:4 switch:1 gpu:1(sm=80,memory=80GB,bus=31.5) nic:1(speed=25,bus=31.5,rdma) nvlink:12"},
      {"dgx-h100", "package:2 numa:1 switch:4 gpu:1(sm=90,memory=80GB,bus=63) nic:1(speed=50,bus=63,rdma) nvlink:18"},
  };
  return kMachines;
}

std::string canonical(const std::string& type) {
  static const std::map<std::string, std::string> kNames = {
      {"pack", "package"}, {"socket", "package"}, {"numanode", "numa"}, {"node", "numa"}, {"l3cache", "l3"},
      {"l2cache", "l2"},   {"l1cache", "l1"},     {"l1dcache", "l1"},   {"l1d", "l1"},    {"machine", "host"}};
  const auto known = kNames.find(type);
  return known == kNames.end() ? type : known->second;
}

class Builder {
 public:
  Builder(std::vector<Token> tokens, const Scanner& scanner) : scanner_(scanner) {
    for (Token& token : tokens) sort(token);
    if (numa_level_ < 0) numa_level_ = package_level_;
    check_size();
  }
  Machine build();

 private:
  void sort(Token& token);
  void check_size();
  double number(const Token& token, const char* key, double otherwise) const;
  uint64_t bytes(const Token& token, const char* key) const;
  int add(Object object) {
    host_.objects.push_back(std::move(object));
    return static_cast<int>(host_.objects.size()) - 1;
  }
  void add_level(size_t level, int parent, bool device_place);
  void add_devices(int parent);
  void add_device_pair(int parent);
  void add_links();
  void join(int a, int b, int count);

  const Scanner& scanner_;
  std::vector<Token> levels_;  // of processors, outermost first
  int numa_level_ = -1, package_level_ = -1;
  int64_t hosts_ = 1;
  Token switch_, gpu_, nic_, nvlink_, network_;
  bool has_switch_ = false, has_gpu_ = false, has_nic_ = false, has_nvlink_ = false, has_network_ = false;
  Host host_;
  std::map<std::string, int> numbers_;  // next one of each type
  int next_cpu_ = 0;
};

void Builder::sort(Token& token) {
  token.type = canonical(token.type);
  const auto take = [&](Token& into, bool& has) {
    if (has) scanner_.fail(token.position, token.type + " once");
    into = token;
    has = true;
  };
  static const std::map<std::string, std::vector<std::string>> kAttributes = {{"numa", {"memory", "indexes"}},
                                                                              {"l3", {"size", "indexes"}},
                                                                              {"l2", {"size", "indexes"}},
                                                                              {"l1", {"size"}},
                                                                              {"gpu", {"sm", "memory", "bus"}},
                                                                              {"nic", {"speed", "bus", "rdma"}},
                                                                              {"nvlink", {"mesh", "cube", "switch"}},
                                                                              {"network", {"bandwidth", "latency"}}};
  const auto known = kAttributes.find(token.type);
  for (const auto& [key, value] : token.attributes) {
    const bool right =
        known != kAttributes.end() && std::find(known->second.begin(), known->second.end(), key) != known->second.end();
    if (!right) scanner_.fail(token.position, fmt::format("no attribute {} of {}", key, token.type));
  }
  if (token.type == "host") {
    if (!levels_.empty() || token.count > kMostHosts)
      scanner_.fail(token.position, fmt::format("at most {} hosts, first of all", kMostHosts));
    hosts_ = token.count;
  } else if (token.type == "switch") {
    take(switch_, has_switch_);
  } else if (token.type == "gpu") {
    take(gpu_, has_gpu_);
  } else if (token.type == "nic") {
    take(nic_, has_nic_);
  } else if (token.type == "nvlink") {
    take(nvlink_, has_nvlink_);
  } else if (token.type == "network") {
    take(network_, has_network_);
  } else if (token.type == "package" || token.type == "die" || token.type == "group" || token.type == "numa" ||
             token.type == "l3" || token.type == "l2" || token.type == "l1" || token.type == "core" ||
             token.type == "pu") {
    if (token.type == "package") package_level_ = static_cast<int>(levels_.size());
    if (token.type == "numa") numa_level_ = static_cast<int>(levels_.size());
    levels_.push_back(token);
  } else {
    scanner_.fail(token.position,
                  "host, package, die, group, numa, l3, l2, core, pu, switch, gpu, nic, nvlink, network, dgx-1v, "
                  "dgx-a100 or dgx-h100");
  }
}

// Before anything is made of it.
void Builder::check_size() {
  int64_t objects = 1, inside = 1, places = 1;
  for (size_t i = 0; i < levels_.size(); i++) {
    inside *= levels_[i].count;
    if (static_cast<int>(i) == numa_level_) places = inside;
    objects += inside;
    if (objects > kMostOfAHost)
      scanner_.fail(levels_[i].position, fmt::format("at most {} objects of a host", kMostOfAHost));
  }
  const int64_t switches = has_switch_ ? switch_.count : 1;
  const int64_t devices = (has_gpu_ ? gpu_.count : 0) + (has_nic_ ? nic_.count : 0);
  for (const int64_t part : {switches, devices}) {
    if (part > kMostOfAHost) scanner_.fail(1, fmt::format("at most {} objects of a host", kMostOfAHost));
  }
  objects += places * (1 + switches * (1 + devices));
  if (objects > kMostOfAHost) scanner_.fail(1, fmt::format("at most {} objects of a host", kMostOfAHost));
  if (objects * hosts_ > kMostInAll) scanner_.fail(1, fmt::format("at most {} objects of all hosts", kMostInAll));
  const int64_t gpus = places * switches * (has_gpu_ ? gpu_.count : 0);
  if (has_nvlink_ && nvlink_.attributes.count("mesh") > 0 && gpus > 64)
    scanner_.fail(nvlink_.position, "at most 64 GPUs in a mesh");
  if (has_nvlink_ && nvlink_.attributes.count("cube") > 0 && gpus != 8)
    scanner_.fail(nvlink_.position, fmt::format("8 GPUs for a cube, not {}", gpus));
  if (has_nvlink_ && (nvlink_.count > 36 || gpus < 2))
    scanner_.fail(nvlink_.position, "at most 36 NVLinks of each GPU, and 2 GPUs or more");
}

double Builder::number(const Token& token, const char* key, double otherwise) const {
  const auto found = token.attributes.find(key);
  if (found == token.attributes.end()) return otherwise;
  double value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [next, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || next != end || !(value > 0 && value < 1e9)) {
    scanner_.fail(token.position, fmt::format("a number above 0 for {}", key));
  }
  return value;
}

// "64GB" and "64G" are 2^36 bytes, as in hwloc.
uint64_t Builder::bytes(const Token& token, const char* key) const {
  const auto found = token.attributes.find(key);
  if (found == token.attributes.end()) return 0;
  std::string text = found->second;
  if (text.size() > 2 && text.ends_with("b") && std::isdigit(static_cast<unsigned char>(text[text.size() - 2])) == 0)
    text.pop_back();
  try {
    return parse_bytes(text);
  } catch (const Error&) {
    scanner_.fail(token.position, fmt::format("bytes such as 64GB for {}", key));
  }
}

void Builder::add_devices(int parent) {
  const int bridge = has_gpu_ || has_nic_ ? add({.kind = ObjectKind::kHostBridge, .parent = parent}) : parent;
  for (int64_t i = 0; i < (has_switch_ ? switch_.count : 1); i++) {
    const int place = has_switch_ ? add({.kind = ObjectKind::kPciBridge, .parent = bridge}) : bridge;
    add_device_pair(place);
  }
}

// What hangs on one switch, or on the host bridge.
void Builder::add_device_pair(int parent) {
  for (int64_t i = 0; has_gpu_ && i < gpu_.count; i++) {
    Object gpu{.kind = ObjectKind::kGpu, .parent = parent, .number = numbers_["gpu"]++};
    gpu.gpu.compute_capability = static_cast<int>(number(gpu_, "sm", 0));
    gpu.gpu.memory_bytes = bytes(gpu_, "memory");
    gpu.up.bandwidth = {number(gpu_, "bus", kPcieBytesPerNs),
                        gpu_.attributes.count("bus") > 0 ? Source::kRead : Source::kDefault};
    add(gpu);
  }
  for (int64_t i = 0; has_nic_ && i < nic_.count; i++) {
    Object nic{.kind = ObjectKind::kNic, .parent = parent, .number = numbers_["nic"]++};
    nic.name = fmt::format("nic{}", nic.number);
    nic.nic.rdma = nic_.attributes.count("rdma") > 0;
    nic.up.bandwidth = {number(nic_, "bus", kPcieBytesPerNs),
                        nic_.attributes.count("bus") > 0 ? Source::kRead : Source::kDefault};
    nic.wire.bandwidth = {number(nic_, "speed", kNetworkBytesPerNs),
                          nic_.attributes.count("speed") > 0 ? Source::kRead : Source::kDefault};
    add(nic);
  }
}

// All objects of a level in `parent`, each with what is in it. Depth: the number of levels.
void Builder::add_level(size_t level, int parent, bool device_place) {
  if (device_place) add_devices(parent);
  if (level == levels_.size()) return;
  const Token& token = levels_[level];
  static const std::map<std::string, ObjectKind> kKinds = {{"package", ObjectKind::kPackage},
                                                           {"numa", ObjectKind::kNumaNode},
                                                           {"l3", ObjectKind::kCache},
                                                           {"l2", ObjectKind::kCache},
                                                           {"core", ObjectKind::kCore}};
  const auto kind = kKinds.find(token.type);
  for (int64_t i = 0; i < token.count; i++) {
    const int first_cpu = next_cpu_;
    if (token.type == "pu") {
      next_cpu_++;
      continue;
    }
    int index = parent;
    if (kind != kKinds.end()) {
      Object object{.kind = kind->second, .parent = parent, .number = numbers_[token.type]++};
      object.bytes = bytes(token, token.type == "numa" ? "memory" : "size");
      if (kind->second == ObjectKind::kCache) object.cache_level = token.type[1] - '0';
      index = add(object);
    }
    const bool last = level + 1 == levels_.size();
    add_level(level + 1, index, static_cast<int>(level) == numa_level_);
    if (last && token.type == "core") next_cpu_++;  // one processor where no pu says otherwise
    for (int cpu = first_cpu; cpu < next_cpu_ && index != parent; cpu++) {
      host_.objects[static_cast<size_t>(index)].cpus.push_back(cpu);
    }
  }
}

void Builder::join(int a, int b, int count) {
  const double width = count * nvlink_bytes_per_ns(static_cast<int>(number(gpu_, "sm", 0)));
  host_.links.push_back({LinkKind::kNvlink, a, b, {count, {width, Source::kDerived}, {}}});
}

void Builder::add_links() {
  const std::vector<int> gpus = objects_of(host_, ObjectKind::kGpu);
  const auto count = static_cast<int>(nvlink_.count);
  if (nvlink_.attributes.count("cube") > 0) {
    // NVIDIA's DGX-1 with V100: two quads, each GPU with its twin in the other one; 6 links each.
    constexpr int kCube[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}, {0, 4, 2}, {1, 5, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    for (const auto& [a, b, links] : kCube) join(gpus[static_cast<size_t>(a)], gpus[static_cast<size_t>(b)], links);
  } else if (nvlink_.attributes.count("mesh") > 0) {
    for (size_t a = 0; a < gpus.size(); a++) {
      for (size_t b = a + 1; b < gpus.size(); b++) join(gpus[a], gpus[b], count);
    }
  } else {
    const int nvswitch = add({.kind = ObjectKind::kNvSwitch, .parent = 0, .number = 0});
    for (const int gpu : gpus) join(gpu, nvswitch, count);
  }
}

Machine Builder::build() {
  add({.kind = ObjectKind::kHost});
  add_level(0, 0, numa_level_ < 0);
  for (int cpu = 0; cpu < next_cpu_; cpu++) host_.objects[0].cpus.push_back(cpu);
  if (has_nvlink_) add_links();
  Machine machine;
  if (has_network_) {
    machine.network.bandwidth = {number(network_, "bandwidth", 0), Source::kRead};
    machine.network.latency = {number(network_, "latency", kNetworkLatencyNs), Source::kRead};
  }
  for (int64_t i = 0; i < hosts_; i++) {
    host_.name = fmt::format("host{}", i);
    machine.hosts.push_back(host_);
  }
  return machine;
}

// Whole machines by name become their descriptions.
std::string expanded(std::string_view text) {
  std::string all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    std::string word(text.substr(begin, end - begin));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto named = named_machines().find(word);
    all += named == named_machines().end() ? std::string(text.substr(begin, end - begin)) : named->second;
    if (end < text.size()) all += ' ';
    begin = end + 1;
  }
  return all;
}

}  // namespace

Machine parse_synthetic(std::string_view text, std::string_view name) {
  if (text.size() > 4096) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected a description of at most 4096 characters, found {}", name, text.size()));
  }
  const std::string whole = expanded(text);
  Scanner scanner(whole, name);
  Machine machine = Builder(scanner.tokens(), scanner).build();
  machine.source = fmt::format("synthetic: {}", text);
  return machine;
}

}  // namespace peal
