// Typical figures for links whose bandwidth nobody says, bytes/ns in one direction, and latencies in ns.
#pragma once

#include "base/api.h"

namespace peal {

// PCIe: lanes x transfers/s x coding (8b/10b up to 5 GT/s, 128b/130b from 8 GT/s) / 8. PCI Express Base 5.0, 4.2.
constexpr double pcie_bytes_per_ns(double gigatransfers, int lanes) {
  return gigatransfers * lanes * (gigatransfers < 8 ? 0.8 : 128.0 / 130.0) / 8;
}

// One NVLink, one direction, by compute capability: NVLink 1 (P100) 20, 2 to 4 (V100, A100, H100) 25, 5 (B200) 50 GB/s;
// NVIDIA's architecture white papers.
constexpr double nvlink_bytes_per_ns(int compute_capability) {
  if (compute_capability >= 100) return 50;
  if (compute_capability >= 70 || compute_capability == 0) return 25;
  return 20;
}

// One xGMI (Infinity Fabric) link between GPUs, one direction: MI50 to MI200 46 to 50, MI300 64 GB/s; AMD's data
// sheets. `gfx`: 906, 908, 910 (90a), 940, 942, ... 0: unknown.
constexpr double xgmi_bytes_per_ns(int gfx) { return gfx >= 940 ? 64 : 46; }

inline constexpr double kC2cBytesPerNs = 450;       // NVLink-C2C of Grace Hopper, one direction
inline constexpr double kPcieBytesPerNs = 15.75;    // gen 3 x16
inline constexpr double kSocketBytesPerNs = 20;     // UPI, xGMI between sockets; a narrow one
inline constexpr double kMemoryBytesPerNs = 100;    // of a NUMA node
inline constexpr double kNetworkBytesPerNs = 1.25;  // 10 GbE

inline constexpr double kNvlinkLatencyNs = 700;
inline constexpr double kPcieHopLatencyNs = 150;  // each bridge
inline constexpr double kSocketLatencyNs = 120;
inline constexpr double kMemoryLatencyNs = 90;
inline constexpr double kNetworkLatencyNs = 1500;  // RDMA through one switch

}  // namespace peal
