// Rings and trees over the GPUs of a machine: pure searches, exact where small. What is maximised, in this order:
// bandwidth with no link used above its count; few crossings of sockets, then of PCI bridges; then an answer that does
// not depend on how devices are numbered.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/path.h"

namespace peal {

struct Hop {
  int from = 0, to = 0;  // GPU numbers; across hosts see Ring::hosts
  PathKind kind = PathKind::kSelf;
  double bytes_per_ns = 0;  // this ring's share of the link
};

struct Ring {
  std::vector<int> order;         // GPU numbers in file order, each once; the last one's successor is the first
  std::vector<Hop> hops;          // hops[i] leads from order[i] to its successor
  int nic_in = -1, nic_out = -1;  // NIC numbers, where the host has NICs; data enters at order.front() and leaves at
                                  // order.back()
  double bytes_per_ns = 0;        // of the slowest hop
};

struct RingSet {
  std::vector<Ring> rings;
  double bytes_per_ns = 0;   // all rings together
  double bound = 0;          // what no set of rings could exceed, bytes/ns
  std::string bound_reason;  // "6 NVLinks of 25 GB/s at every GPU"
  std::vector<Warning> warnings;
  bool exact = true;  // false: a bounded heuristic
};

// Rings over `gpus` (numbers; empty: all GPUs of the host). One GPU: one ring without hops. None: no rings.
PEAL_API RingSet find_rings(const Host& host, std::vector<int> gpus = {});

// A binary tree, or two that share no inner node.
struct Tree {
  std::vector<int> parent;  // by position in `gpus`, -1: the root
  std::vector<Hop> hops;    // child to parent, of all but the root
  double bytes_per_ns = 0;
};
PEAL_API std::vector<Tree> find_trees(const Host& host, std::vector<int> gpus = {});

// The NIC that a GPU should use: the deepest common PCI ancestor, then the same NUMA node; active physical ones before
// all others; shared out evenly among equals. -1: the host has none. By GPU number, in NIC numbers.
PEAL_API std::vector<int> nearest_nics(const Host& host);

// Rings through all hosts: each enters and leaves each host by the same rail. rails[r] says which NIC number every host
// uses; rails are matched by place, not by number. rings[r].order lists (host, GPU number) pairs.
struct ClusterRing {
  std::vector<std::pair<int, int>> order;
  std::vector<int> nic_in, nic_out;  // by host
  double bytes_per_ns = 0;
};
struct ClusterRings {
  std::vector<ClusterRing> rings;
  double bytes_per_ns = 0;
  std::vector<Warning> warnings;
};
PEAL_API ClusterRings find_cluster_rings(const Machine& machine);

}  // namespace peal
