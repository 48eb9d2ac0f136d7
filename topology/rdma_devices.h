// What libibverbs says of RDMA devices, and where it goes in the machine.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.h"

namespace peal {

struct RdmaPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  bool active = false;
  std::string link_layer;   // "InfiniBand", "Ethernet"
  double bytes_per_ns = 0;  // width x speed after coding, one direction; 0: unknown
  std::string gid, guid;    // as hwloc writes them: "fe80:0000:..."
  std::string pci;          // "0000:0c:00.0"; empty: made by software
};

// Bytes/ns of a port by the encodings of width and speed in ibv_port_attr (InfiniBand Architecture
// Specification 1.5, 14.2.5.6: SDR to QDR lose 2 of 10 bits to coding, later ones 2 of 66). 0 for an encoding that is
// none.
double rdma_bytes_per_ns(int active_width, int active_speed);

// All ports of all devices; none where there is no libibverbs, or no device. Never fails.
std::vector<RdmaPort> rdma_ports();

// Fills in the NIC at the port's PCI address, or adds one: beside other ports of its card, or as one of software.
void merge_rdma_ports(Host& host, const std::vector<RdmaPort>& ports);

}  // namespace peal
