// The machine as plain data: hosts, each a tree of objects from packages down to cores, GPUs and NICs, and the links
// that no tree holds (NVLink, sockets among themselves). Nothing downstream can tell whether it came from this machine,
// a file or a line of text. Units: bytes, bytes per nanosecond (= GB/s, 1e9), nanoseconds. Functions on it are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"

namespace peal {

// How a figure is known, worst first.
enum class Source : uint8_t {
  kDefault,   // a typical one for this kind of thing (topology/defaults.h)
  kDerived,   // worked out from others: width x speed, count x generation
  kRead,      // the machine or the file says so
  kMeasured,  // `peal-topo --measure` saw it
};
PEAL_API std::string_view name_of(Source source) noexcept;  // "default", "derived", "read", "measured"

struct Figure {
  double value = 0;  // 0: unknown
  Source source = Source::kDefault;
  bool known() const noexcept { return value > 0; }
  bool operator==(const Figure&) const = default;
};

enum class LinkKind : uint8_t { kMemory, kPcie, kSocket, kNvlink, kXgmi, kC2c, kNetwork };
PEAL_API std::string_view name_of(LinkKind kind) noexcept;  // "memory", "pcie", ...

// What one side can push to the other.
struct Capacity {
  int count = 0;     // lanes of PCIe, links of NVLink; 0: unknown
  Figure bandwidth;  // all `count` together, one direction, bytes/ns
  Figure latency;    // ns
  bool operator==(const Capacity&) const = default;
};

enum class ObjectKind : uint8_t {
  kHost,        // objects[0] of every host
  kPackage,     // a socket
  kNumaNode,    // memory, and what is near to it
  kCache,       // last-level and other caches shared by several cores
  kCore,        // a physical core
  kHostBridge,  // PCI root complex
  kPciBridge,   // PCI switch, switch port or bridge
  kGpu,
  kNic,  // one port of a network device
  kNvSwitch,
};
PEAL_API std::string_view name_of(ObjectKind kind) noexcept;  // "host", "package", "numa", ...

enum class MemoryRole : uint8_t { kCpu, kGpu, kOther };                   // of a NUMA node; kOther: HBM, CXL, NVM
enum class NicRole : uint8_t { kPhysical, kVirtualFunction, kSoftware };  // kSoftware: veth, bridge, docker, tunnel, lo
PEAL_API std::string_view name_of(MemoryRole role) noexcept;
PEAL_API std::string_view name_of(NicRole role) noexcept;

struct GpuFacts {
  int compute_capability = 0;  // 80 = sm_80 (NVIDIA), gfx number where AMD; 0: unknown
  uint64_t memory_bytes = 0;
  bool direct = false;  // NICs may read and write its memory
  bool operator==(const GpuFacts&) const = default;
};

struct NicFacts {
  NicRole role = NicRole::kPhysical;
  int port = 1;
  std::string link_layer;  // "InfiniBand", "Ethernet", "" unknown
  std::string guid;        // of the device: ports of one card share it
  std::string gid;
  bool active = true;
  bool rdma = false;
  bool direct = false;  // may read and write GPU memory
  bool operator==(const NicFacts&) const = default;
};

// Members that don't belong to `kind` keep their defaults.
struct Object {
  ObjectKind kind = ObjectKind::kHost;
  int parent = -1;        // index in Host::objects, always smaller than its own; -1: the host itself
  int number = -1;        // packages, NUMA nodes, cores: the system's; GPUs and NICs: their order in the file, from 0
  std::string name;       // for people: "mlx5_0", "Tesla V100", a package's processor; may be empty
  int line = 0;           // in the file it was read from; 0: no file
  std::vector<int> cpus;  // kHost to kCore: logical processors inside that may be used, ascending
  uint64_t bytes = 0;     // kNumaNode: memory; kCache: size
  int cache_level = 0;    // kCache
  MemoryRole memory = MemoryRole::kCpu;
  std::string pci;  // kHostBridge to kNic: "0000:0f:00.0", lower case; empty: not a PCI device
  Capacity up;      // the link to the parent: PCIe for devices, memory for NUMA nodes; a NIC's wire is `wire`
  Capacity wire;    // kNic: the port to the network
  GpuFacts gpu;
  NicFacts nic;
  bool operator==(const Object&) const = default;
};

// Between two objects of one host that may lie anywhere in its tree. Both directions have this capacity.
struct Link {
  LinkKind kind = LinkKind::kNvlink;
  int a = -1, b = -1;  // indices in Host::objects
  Capacity capacity;
  int line = 0;
  bool operator==(const Link&) const = default;
};

struct Host {
  std::string name;
  std::vector<Object> objects;  // parents before children
  std::vector<Link> links;
  bool operator==(const Host&) const = default;
};

// What a core does to bytes in memory, and how long others wait to see it. All unknown until measured.
struct Processor {
  Figure copy;            // bytes/ns, from memory to memory
  Figure reduce;          // bytes/ns of result, for each source
  Figure step;            // ns, to begin one step of a plan
  Figure mapped_latency;  // ns, from a publish in mapped memory to its sight by another core
  bool operator==(const Processor&) const = default;
};

// What messages between two places took, end to end through one transport, one direction.
struct Measurement {
  std::string transport;  // "shm", "tcp"
  int from_host = 0, to_host = 0;
  int from = 0, to = 0;     // indices in their host's objects: a core, or 0 where a rank was free to move
  double latency_ns = 0;    // of 8 bytes
  double bytes_per_ns = 0;  // of large messages
  bool operator==(const Measurement&) const = default;
};

// Something that can't be true, and what was done about it.
struct Warning {
  std::string object;  // "GPU 0 (0001:00:00.0)"
  int line = 0;        // in the file; 0: none
  std::string text;    // "is linked to itself by 12 NVLinks: link ignored"
};

struct Machine {
  std::vector<Host> hosts;  // at least one
  Capacity network;         // between hosts, beyond their NICs; bandwidth 0: never the limit
  Processor processor;
  std::vector<Measurement> measurements;
  std::string source;  // "this machine (hwloc)", "file dgx1v.xml (NCCL XML)"
  std::vector<Warning> warnings;
};

// What people call it: "GPU 0 (0001:00:00.0)", "NIC 1 (eth0)", "NUMA node 0".
PEAL_API std::string label(const Object& object);

PEAL_API std::string to_string(const Warning& warning);  // "line 6: GPU 0 (0001:00:00.0) is linked to itself ..."

// Indices of all objects of a kind, in number order (GPUs, NICs) or in the order of the tree.
PEAL_API std::vector<int> objects_of(const Host& host, ObjectKind kind);

// The nearest ancestor of `object` (itself included) of a kind, or -1.
PEAL_API int ancestor(const Host& host, int object, ObjectKind kind);

// The deepest object that both lie in, themselves included.
PEAL_API int common_ancestor(const Host& host, int a, int b);

// Steps from the object up to the host.
PEAL_API int depth(const Host& host, int object);

// Last-level caches: the highest level that the host has. Empty when unknown.
PEAL_API std::vector<int> last_level_caches(const Host& host);

// One or a few lines for people: "1 package, 2 cores, 1 NUMA node of 23.4 GiB, 1 last-level cache of 260 MiB".
PEAL_API std::string summary(const Machine& machine);

}  // namespace peal
