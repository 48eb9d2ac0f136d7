// What CUDA says of GPUs, and where it goes in the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace peal {

struct CudaPeer {
  bool access = false;          // each may map the other's memory
  bool native_atomics = false;  // over the link between them: NVLink has them, PCIe does not
  int performance_rank = 0;  // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: 0 is the fastest kind of link of this machine
};

struct CudaDevice {
  std::string name, pci;  // "NVIDIA H200", "0000:0f:00.0"
  int compute_capability = 0;
  uint64_t memory_bytes = 0;
  std::vector<CudaPeer> peers;  // by device; its own entry means nothing
};

// In CUDA's order. None where there is no driver or no GPU; never fails, and loads nothing but the driver's library.
std::vector<CudaDevice> cuda_devices();

// Fills in the GPU at the device's PCI address, or adds one. Where no link between GPUs is known yet, pairs with native
// atomics are joined by NVLink: a default of one link, since CUDA says neither how many there are nor how fast.
void merge_cuda_devices(Host& host, const std::vector<CudaDevice>& devices);

}  // namespace peal
