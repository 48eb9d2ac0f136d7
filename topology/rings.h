// Rings and trees over the GPUs of a machine: pure searches, exact where small. What is maximised, in this order:
// bandwidth with no link used above its count; few crossings of sockets, then of PCI bridges; then an answer whose
// quality does not depend on how devices are numbered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/machine.h"
#include "topology/path.h"

namespace peal {

struct Hop {
  int from = 0, to = 0;  // GPU numbers
  PathKind kind = PathKind::kSelf;
  double bytes_per_ns = 0;  // this ring's share of the way
};

struct Ring {
  std::vector<int> order;  // GPU numbers in file order, each once; the last one's successor is the first
  std::vector<Hop> hops;   // hops[i] leads from order[i] to its successor
  // NIC numbers, -1 where the host has none. Data of other hosts enters at order.front() and, once around, leaves by
  // the same NIC: from order.back() where that is as near to it, else over the last hop and order.front().
  int nic_in = -1, nic_out = -1;
  double bytes_per_ns = 0;  // of the slowest hop
};

struct RingSet {
  std::vector<Ring> rings;
  double bytes_per_ns = 0;   // all rings together
  double bound = 0;          // what no set of rings could exceed, bytes/ns
  std::string bound_reason;  // "6 NVLinks, together 150 GB/s, at GPU 0"
  std::vector<Warning> warnings;
  bool exact = true;       // false: a bounded heuristic
  bool any_order = false;  // through a switch: every order of the GPUs is as good
};

// Rings over `gpus` (numbers; empty: all GPUs of the host). One GPU: one ring without hops. None: no rings. Throws
// Error(kInvalidArgument) for a number that is none or comes twice.
//
// Over NVLink or xGMI alone, a link each, as many as there can be; through an NVSwitch, where every order is as good,
// one for each NIC; otherwise the one ring that crosses the fewest sockets and bridges, since a second one would pass
// the same PCI links.
PEAL_API RingSet find_rings(const Host& host, std::vector<int> gpus = {});

// A binary tree, or two that share no inner node.
struct Tree {
  std::vector<int> gpus;    // GPU numbers; positions below are in this list
  std::vector<int> parent;  // by position, -1: the root
  std::vector<Hop> hops;    // child to parent, of all but the root, in the order of positions
  double bytes_per_ns = 0;  // of the slowest hop
};

// Two trees where GPUs hang on a switch (each GPU inner node of one of them at most), else one for each two rings that
// run opposite ways, as a tree uses its links both ways: the ring without its slowest hop, rooted in its middle.
PEAL_API std::vector<Tree> find_trees(const Host& host, std::vector<int> gpus = {});

// The NIC that a GPU should use, by GPU number, in NIC numbers: the deepest common ancestor (a PCI bridge, then the
// NUMA node); physical active NICs on the PCI bus before other physical ones, virtual functions and software, in this
// order; shared out evenly among equals. -1: the host has none.
PEAL_API std::vector<int> nearest_nics(const Host& host);

// The same for one object of any kind: a core, a NUMA node, a GPU by itself.
PEAL_API int nearest_nic(const Host& host, int object);

// NICs fit for rings: the best kind that the host has, as above. In number order.
PEAL_API std::vector<int> ring_nics(const Host& host);

// Rings through all hosts: each enters and leaves every host by the same rail. A rail is the k-th NIC of a host in the
// order of PCI addresses, whatever numbers the host gives its devices.
struct ClusterRing {
  std::vector<std::pair<int, int>> order;  // (host, GPU number), host by host
  std::vector<int> nic_in, nic_out;        // by host
  double bytes_per_ns = 0;
};
struct ClusterRings {
  std::vector<ClusterRing> rings;
  double bytes_per_ns = 0;
  std::vector<Warning> warnings;
};
PEAL_API ClusterRings find_cluster_rings(const Machine& machine);

}  // namespace peal
