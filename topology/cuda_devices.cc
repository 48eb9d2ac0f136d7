#include "topology/cuda_devices.h"

#include <algorithm>

#include "topology/defaults.h"

namespace peal {
namespace {

int object_at(const Host& host, const std::string& pci) {
  for (const int gpu : objects_of(host, ObjectKind::kGpu)) {
    if (host.objects[static_cast<size_t>(gpu)].pci == pci) return gpu;
  }
  return -1;
}

bool any_link_between(const Host& host, const std::vector<int>& gpus) {
  return std::any_of(host.links.begin(), host.links.end(), [&](const Link& link) {
    return std::find(gpus.begin(), gpus.end(), link.a) != gpus.end() ||
           std::find(gpus.begin(), gpus.end(), link.b) != gpus.end();
  });
}

}  // namespace

void merge_cuda_devices(Host& host, const std::vector<CudaDevice>& devices) {
  std::vector<int> gpus;
  for (const CudaDevice& device : devices) {
    int index = object_at(host, device.pci);
    if (index < 0) {
      index = static_cast<int>(host.objects.size());
      const auto number = static_cast<int>(objects_of(host, ObjectKind::kGpu).size());
      host.objects.push_back({.kind = ObjectKind::kGpu, .parent = 0, .number = number, .pci = device.pci});
    }
    Object& gpu = host.objects[static_cast<size_t>(index)];
    gpu.name = device.name;
    gpu.gpu.compute_capability = device.compute_capability;
    gpu.gpu.memory_bytes = device.memory_bytes;
    gpus.push_back(index);
  }
  if (any_link_between(host, gpus)) return;
  for (size_t a = 0; a < devices.size(); a++) {
    for (size_t b = a + 1; b < devices[a].peers.size(); b++) {
      const CudaPeer& peer = devices[a].peers[b];
      if (!peer.access || !peer.native_atomics) continue;
      const double width = nvlink_bytes_per_ns(devices[a].compute_capability);
      host.links.push_back({LinkKind::kNvlink, gpus[a], gpus[b], {1, {width, Source::kDefault}, {}}});
    }
  }
}

}  // namespace peal
