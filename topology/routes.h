// Which links a message passes on its way through the machine, so that messages that meet on one can share it.
//
// Links are directed and belong to one host each: an object's wire to its parent (PCIe), a NIC's port, memory (a link
// for reading and one for writing), sockets, NVLink, xGMI and C2C between two objects (all of a pair together), and an
// object's NVLinks into the NVSwitches (all together: switches never limit). Hosts of one shape have the same links in
// the same order.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/api.h"
#include "topology/machine.h"
#include "topology/path.h"

namespace peal {

// Where a message begins or ends: a GPU or a core, or objects[0] for a rank that may be anywhere in its host.
struct Location {
  int host = 0;
  int object = 0;  // index in Host::objects
  bool operator==(const Location&) const = default;
};

struct Route {
  PathKind kind = PathKind::kSelf;
  double latency_ns = 0;
  double bytes_per_ns = 0;  // of the narrowest part of the way, one direction
  std::vector<int> links;   // numbers of Routes, in the order in which they are passed
};

class PEAL_API Routes {
 public:
  // Keeps a copy of the machine, for names.
  explicit Routes(Machine machine);

  // Inside a host as path() says; between hosts through each side's nearest NIC. A host without NICs has one port of
  // kNetworkBytesPerNs. Hosts are far apart by Machine::network's latency if known, else kNetworkLatencyNs.
  Route between(Location from, Location to) const;

  const Machine& machine() const noexcept { return machine_; }
  int links() const noexcept { return first_.back(); }
  int host_of(int link) const noexcept;
  int first_link(int host) const noexcept { return first_[static_cast<size_t>(host)]; }
  double bytes_per_ns(int link) const noexcept { return local(link).bytes_per_ns; }
  std::string name_of(int link) const;  // "host 3: GPU 2 to NVSwitch"

  // Do the two hosts have the same objects, links and figures? Names may differ.
  bool alike(int a, int b) const noexcept {
    return shape_of_[static_cast<size_t>(a)] == shape_of_[static_cast<size_t>(b)];
  }

 private:
  struct LocalLink {
    std::string name;
    double bytes_per_ns = 0;
  };
  // What hosts that are alike share. Link numbers here count from 0 in each host; -1: no such link.
  struct Shape {
    int host = 0;  // one of them
    std::vector<LocalLink> links;
    std::vector<int> up, down;                          // by object: its wire to and from its parent
    std::vector<int> memory_read, memory_write;         // by object: of a NUMA node
    std::vector<int> out, in;                           // by object: a NIC's port
    std::vector<int> to_switch, from_switch;            // by object: NVLinks into NVSwitches
    std::map<std::pair<int, int>, int> direct, socket;  // by objects
    std::vector<int> nic;                               // by object: the NIC that a rank there uses, or -1
    int network_out = -1, network_in = -1;
  };

  Shape shape_of(int host) const;
  const Host& host(int index) const noexcept { return machine_.hosts[static_cast<size_t>(index)]; }
  const Shape& shape(int host) const noexcept {
    return shapes_[static_cast<size_t>(shape_of_[static_cast<size_t>(host)])];
  }
  const LocalLink& local(int link) const noexcept;
  Route inside(int host, int from, int to) const;
  void climb(int host, int from, int to, Route& route) const;
  void leave(int host, int object, Route& route) const;
  void arrive(int host, int object, Route& route) const;

  Machine machine_;
  std::vector<Shape> shapes_;
  std::vector<int> shape_of_, first_;  // by host
};

}  // namespace peal
