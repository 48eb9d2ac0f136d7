#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "topology/cuda_devices.h"

namespace peal {
namespace {

// The driver's library, opened rather than linked: a program that knows CUDA runs where no driver is. It stays open, as
// it can't be unloaded safely once initialised.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    usable_ = find(init, "cuInit") && find(count, "cuDeviceGetCount") && find(get, "cuDeviceGet") &&
              find(name, "cuDeviceGetName") && find(memory, "cuDeviceTotalMem_v2") &&
              find(attribute, "cuDeviceGetAttribute") && find(peer, "cuDeviceGetP2PAttribute") &&
              init(0) == CUDA_SUCCESS;
  }
  bool usable() const { return usable_; }

  decltype(&cuInit) init = nullptr;
  decltype(&cuDeviceGetCount) count = nullptr;
  decltype(&cuDeviceGet) get = nullptr;
  decltype(&cuDeviceGetName) name = nullptr;
  decltype(&cuDeviceTotalMem) memory = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuDeviceGetP2PAttribute) peer = nullptr;

 private:
  template <class Function>
  bool find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    return function != nullptr;
  }

  void* library_;
  bool usable_ = false;
};

int attribute_of(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return driver.attribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

int peer_attribute(const Driver& driver, CUdevice a, CUdevice b, CUdevice_P2PAttribute which) {
  int value = 0;
  return a != b && driver.peer(&value, which, a, b) == CUDA_SUCCESS ? value : 0;
}

CudaDevice describe(const Driver& driver, CUdevice device, int count) {
  CudaDevice described;
  std::array<char, 256> name{};
  if (driver.name(name.data(), static_cast<int>(name.size()) - 1, device) == CUDA_SUCCESS) described.name = name.data();
  described.pci = fmt::format("{:04x}:{:02x}:{:02x}.0", attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                              attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                              attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  described.compute_capability = 10 * attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                                 attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  size_t bytes = 0;
  if (driver.memory(&bytes, device) == CUDA_SUCCESS) described.memory_bytes = bytes;
  for (int other = 0; other < count; other++) {
    CUdevice peer = 0;
    CudaPeer facts;
    if (driver.get(&peer, other) == CUDA_SUCCESS) {
      facts.access = peer_attribute(driver, device, peer, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) != 0;
      facts.native_atomics = peer_attribute(driver, device, peer, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0;
      facts.performance_rank = peer_attribute(driver, device, peer, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
    }
    described.peers.push_back(facts);
  }
  return described;
}

}  // namespace

std::vector<CudaDevice> cuda_devices() {
  static const Driver driver;
  std::vector<CudaDevice> devices;
  int count = 0;
  if (!driver.usable() || driver.count(&count) != CUDA_SUCCESS) return devices;
  for (int i = 0; i < count; i++) {
    CUdevice device = 0;
    if (driver.get(&device, i) == CUDA_SUCCESS) devices.push_back(describe(driver, device, count));
  }
  return devices;
}

}  // namespace peal
