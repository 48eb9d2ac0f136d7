#include "transports/interfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "base/error.h"

namespace peal {
namespace {

// Bridges, container links and tunnels by the names that their makers give them.
constexpr std::string_view kVirtual[] = {"docker", "br-", "veth",    "virbr", "vnet",   "tun",      "tap",
                                         "wg",     "cni", "flannel", "cali",  "podman", "tailscale"};

std::span<const uint8_t> ip_of(const sockaddr* address) {
  if (address && address->sa_family == AF_INET) {
    return {reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr), 4};
  }
  if (address && address->sa_family == AF_INET6) {
    return {reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr), 16};
  }
  return {};
}

bool is_ipv6_link_local(std::span<const uint8_t> ip) {
  return ip.size() == 16 && ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}
bool is_self_assigned(const InterfaceAddress& one) { return one.ip_size == 4 && one.ip[0] == 169 && one.ip[1] == 254; }

bool is_second_choice(const InterfaceAddress& one) {
  bool is_virtual = std::ranges::any_of(kVirtual, [&](auto prefix) { return one.interface.starts_with(prefix); });
  return is_virtual || one.is_tunnel || is_self_assigned(one);
}

struct NameFilter {
  explicit NameFilter(std::string_view text) {
    exact = text.starts_with('=');
    exclude = text.starts_with('^');
    if (exact || exclude) text.remove_prefix(1);
    while (!text.empty()) {
      size_t comma = std::min(text.find(','), text.size());
      if (comma > 0) words.push_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  }
  bool passes(std::string_view name) const {
    auto matches = [&](std::string_view word) { return exact ? name == word : name.starts_with(word); };
    return std::ranges::any_of(words, matches) != exclude;
  }
  bool exact, exclude;
  std::vector<std::string_view> words;
};

void throw_none_left(const std::vector<InterfaceAddress>& all, const std::string& names, const std::string& family) {
  std::set<std::string> present;
  for (const auto& one : all) present.insert(one.interface);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("no network interface matches PEAL_SOCKET_IFNAME=\"{}\" with PEAL_SOCKET_FAMILY=\"{}\"; up are: {}",
                  names, family, fmt::join(present, ", ")));
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("listing network interfaces", errno);
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    auto ip = ip_of(entry->ifa_addr);
    if (ip.empty() || !(entry->ifa_flags & IFF_UP) || is_ipv6_link_local(ip)) continue;
    InterfaceAddress one;
    one.interface = entry->ifa_name;
    std::copy(ip.begin(), ip.end(), one.ip.begin());
    one.ip_size = static_cast<uint8_t>(ip.size());
    for (uint8_t byte : ip_of(entry->ifa_netmask)) one.prefix_bits += static_cast<uint8_t>(std::popcount(byte));
    one.is_loopback = entry->ifa_flags & IFF_LOOPBACK;
    one.is_tunnel = (entry->ifa_flags & IFF_POINTOPOINT) && !one.is_loopback;
    all.push_back(one);
  }
  return all;
}

std::vector<InterfaceAddress> choose_addresses(const std::vector<InterfaceAddress>& all, const std::string& names,
                                               const std::string& family) {
  int wanted = parse_family(family);
  NameFilter filter(names);
  auto passes = [&](const InterfaceAddress& one) {
    bool is_of_family = wanted == AF_UNSPEC || (wanted == AF_INET) == (one.ip_size == 4);
    return is_of_family && (names.empty() || filter.passes(one.interface));
  };
  std::vector<InterfaceAddress> chosen;
  for (bool loopback : {false, true}) {
    for (const auto& one : all) {
      if (one.is_loopback == loopback && passes(one)) chosen.push_back(one);
    }
  }
  auto is_first_choice = [](const InterfaceAddress& one) { return !one.is_loopback && !is_second_choice(one); };
  if (names.empty() && std::ranges::any_of(chosen, is_first_choice)) {
    std::erase_if(chosen, [](const InterfaceAddress& one) { return !one.is_loopback && is_second_choice(one); });
  }
  if (chosen.empty()) throw_none_left(all, names, family);
  return chosen;
}

int parse_family(const std::string& family) {
  if (family.empty()) return AF_UNSPEC;
  if (family == "AF_INET") return AF_INET;
  if (family == "AF_INET6") return AF_INET6;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("PEAL_SOCKET_FAMILY is \"{}\": expected AF_INET, AF_INET6 or nothing", family));
}

}  // namespace peal
