// How two devices of a host reach each other, in the words that nvidia-smi and NCCL use.
#pragma once

#include <string_view>

#include "topology/machine.h"

namespace peal {

enum class PathKind : uint8_t {  // nearest first
  kSelf,
  kNvlink,  // directly, or through an NVSwitch
  kXgmi,
  kC2c,
  kPix,   // one PCI bridge or switch
  kPxb,   // several PCI bridges, no host bridge
  kPhb,   // a host bridge
  kNode,  // host bridges of one NUMA node
  kSys,   // NUMA nodes or sockets
  kNet,   // hosts
};
PEAL_API std::string_view name_of(PathKind kind) noexcept;  // "SELF", "NVLINK", ... as in the JSON of peal-topo

struct Path {
  PathKind kind = PathKind::kSelf;
  double bytes_per_ns = 0;  // of the narrowest link on the way, one direction
  double latency_ns = 0;
};

// By the fastest of direct links, an NVSwitch that both hang on, and the tree. `from` and `to`: indices in
// host.objects, of GPUs, NICs, cores or NUMA nodes.
PEAL_API Path path(const Host& host, int from, int to);

// Over the tree alone: through PCI bridges and sockets, as if there were no NVLink.
PEAL_API Path tree_path(const Host& host, int from, int to);

}  // namespace peal
