#include "topology/rdma_devices.h"

#include <algorithm>

namespace peal {

double rdma_bytes_per_ns(int active_width, int active_speed) {
  const auto lanes = [&]() -> double {
    switch (active_width) {
      case 1:
        return 1;
      case 2:
        return 4;
      case 4:
        return 8;
      case 8:
        return 12;
      case 16:
        return 2;
      default:
        return 0;
    }
  }();
  const auto gigabits = [&]() -> double {  // of a lane, after coding
    switch (active_speed) {
      case 1:  // SDR
        return 2.5 * 0.8;
      case 2:  // DDR
        return 5 * 0.8;
      case 4:  // QDR
        return 10 * 0.8;
      case 8:  // FDR10
        return 10.3125 * 64 / 66;
      case 16:  // FDR
        return 14.0625 * 64 / 66;
      case 32:  // EDR
        return 25.78125 * 64 / 66;
      case 64:  // HDR
        return 50;
      case 128:  // NDR
        return 100;
      case 256:  // XDR; not in a byte, but in libraries to come
        return 200;
      default:
        return 0;
    }
  }();
  return lanes * gigabits / 8;
}

namespace {

void fill(Object& nic, const RdmaPort& port) {
  nic.name = port.device;
  nic.nic.port = port.port;
  nic.nic.active = port.active;
  nic.nic.rdma = true;
  nic.nic.link_layer = port.link_layer;
  nic.nic.gid = port.gid;
  nic.nic.guid = port.guid;
  if (port.bytes_per_ns > 0) nic.wire.bandwidth = {port.bytes_per_ns, Source::kDerived};
}

}  // namespace

void merge_rdma_ports(Host& host, const std::vector<RdmaPort>& ports) {
  for (const RdmaPort& port : ports) {
    const auto at_address = [&](const Object& object) {
      return object.kind == ObjectKind::kNic && !port.pci.empty() && object.pci == port.pci;
    };
    const auto same = std::find_if(host.objects.begin(), host.objects.end(), [&](const Object& object) {
      return at_address(object) && (!object.nic.rdma || object.nic.port == port.port);
    });
    if (same != host.objects.end()) {
      fill(*same, port);
      continue;
    }
    const auto beside = std::find_if(host.objects.begin(), host.objects.end(), at_address);
    Object nic{.kind = ObjectKind::kNic, .parent = 0, .pci = port.pci};
    if (beside != host.objects.end()) nic = *beside;
    if (port.pci.empty()) nic.nic.role = NicRole::kSoftware;
    nic.number = static_cast<int>(objects_of(host, ObjectKind::kNic).size());
    fill(nic, port);
    host.objects.push_back(nic);
  }
}

}  // namespace peal
