#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <filesystem>
#include <memory>

#include "topology/rdma_devices.h"

namespace peal {
namespace {

std::string in_groups(const uint8_t* bytes, int count) {
  std::string text;
  for (int i = 0; i < count; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i > 0 ? ":" : "", bytes[i], bytes[i + 1]);
  }
  return text;
}

std::string guid_text(uint64_t big_endian) {
  const auto bytes = std::bit_cast<std::array<uint8_t, 8>>(big_endian);
  return in_groups(bytes.data(), 8);
}

std::string pci_of(ibv_device* device) {
  std::error_code error;
  const auto folder = std::filesystem::canonical(fmt::format("{}/device", device->ibdev_path), error);
  const std::string name = error ? "" : folder.filename().string();
  const bool is_address = name.size() == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
  return is_address ? name : "";
}

void add_ports(ibv_device* device, std::vector<RdmaPort>& ports) {
  const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(ibv_open_device(device), ibv_close_device);
  if (!context) return;
  ibv_device_attr facts{};
  if (ibv_query_device(context.get(), &facts) != 0) return;
  for (int number = 1; number <= facts.phys_port_cnt; number++) {
    ibv_port_attr attributes{};
    if (ibv_query_port(context.get(), static_cast<uint8_t>(number), &attributes) != 0) continue;
    RdmaPort port{.device = ibv_get_device_name(device), .port = number};
    port.active = attributes.state == IBV_PORT_ACTIVE;
    port.link_layer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    port.bytes_per_ns = rdma_bytes_per_ns(attributes.active_width, attributes.active_speed);
    ibv_gid gid{};
    if (ibv_query_gid(context.get(), static_cast<uint8_t>(number), 0, &gid) == 0) port.gid = in_groups(gid.raw, 16);
    port.guid = guid_text(ibv_get_device_guid(device));
    port.pci = pci_of(device);
    ports.push_back(port);
  }
}

}  // namespace

std::vector<RdmaPort> rdma_ports() {
  std::vector<RdmaPort> ports;
  std::error_code error;
  // Without this folder the kernel has no RDMA, and the library says so on standard error.
  if (!std::filesystem::exists("/sys/class/infiniband", error)) return ports;
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> devices(ibv_get_device_list(&count), ibv_free_device_list);
  for (int i = 0; devices && i < count; i++) add_ports(devices.get()[i], ports);
  return ports;
}

}  // namespace peal
