#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "topology/rings.h"

namespace peal {
namespace {

// What one host offers each rail: its ring there and the NIC.
struct Offer {
  RingSet set;
  std::vector<int> rails;       // NIC numbers in the order of rails
  std::vector<size_t> ring_of;  // by rail: the ring that passes its NIC
};

// In the order of PCI addresses, which the slots of a board fix, then of ports and names.
std::vector<int> rails_of(const Host& host) {
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  std::vector<int> rails = ring_nics(host);
  std::sort(rails.begin(), rails.end(), [&](int a, int b) {
    const auto key = [&](int number) {
      const Object& nic = host.objects[static_cast<size_t>(nics[static_cast<size_t>(number)])];
      return std::tuple(nic.pci, nic.nic.port, nic.name, number);
    };
    return key(a) < key(b);
  });
  return rails;
}

Offer offer_of(const Host& host) {
  Offer offer;
  offer.set = find_rings(host);
  offer.rails = rails_of(host);
  for (const int nic : offer.rails) {
    const auto& rings = offer.set.rings;
    const auto own = std::find_if(rings.begin(), rings.end(), [&](const Ring& ring) { return ring.nic_in == nic; });
    offer.ring_of.push_back(own != rings.end() ? static_cast<size_t>(own - rings.begin())
                                               : offer.ring_of.size() % std::max<size_t>(1, rings.size()));
  }
  return offer;
}

double wire_of(const Host& host, int nic) {
  if (nic < 0) return 0;
  return host.objects[static_cast<size_t>(objects_of(host, ObjectKind::kNic)[static_cast<size_t>(nic)])]
      .wire.bandwidth.value;
}

// Hosts that are alike are searched once.
class Offers {
 public:
  explicit Offers(const Machine& machine) {
    for (const Host& host : machine.hosts) {
      const auto alike = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
        return shape.first->objects == host.objects && shape.first->links == host.links;
      });
      of_host_.push_back(static_cast<size_t>(alike - shapes_.begin()));
      if (alike == shapes_.end()) shapes_.emplace_back(&host, offer_of(host));
    }
  }
  const Offer& of(size_t host) const { return shapes_[of_host_[host]].second; }

 private:
  std::vector<std::pair<const Host*, Offer>> shapes_;
  std::vector<size_t> of_host_;
};

// A ring that begins at the GPU which is nearest to the NIC. Hosts that are entered by a NIC that none of their rings
// was searched for take the ring as it is.
ClusterRing ring_on(const Machine& machine, const Offers& offers, size_t rail, size_t rails) {
  ClusterRing ring;
  ring.bytes_per_ns = std::numeric_limits<double>::max();
  for (size_t host = 0; host < machine.hosts.size(); host++) {
    const Offer& offer = offers.of(host);
    const size_t own = offer.rails.empty() ? 0 : rail % offer.rails.size();
    const int nic = offer.rails.empty() ? -1 : offer.rails[own];
    ring.nic_in.push_back(nic);
    ring.nic_out.push_back(nic);
    if (offer.set.rings.empty()) continue;
    const Ring& inside = offer.set.rings[offer.rails.empty() ? rail % offer.set.rings.size() : offer.ring_of[own]];
    for (const int gpu : inside.order) ring.order.emplace_back(static_cast<int>(host), gpu);
    // Several rails of the job may share one of this host's.
    const double users =
        offer.rails.empty() ? 1 : static_cast<double>((rails + offer.rails.size() - 1) / offer.rails.size());
    if (inside.bytes_per_ns > 0) ring.bytes_per_ns = std::min(ring.bytes_per_ns, inside.bytes_per_ns);
    if (wire_of(machine.hosts[host], nic) > 0) {
      ring.bytes_per_ns = std::min(ring.bytes_per_ns, wire_of(machine.hosts[host], nic) / users);
    }
  }
  if (machine.network.bandwidth.known())
    ring.bytes_per_ns = std::min(ring.bytes_per_ns, machine.network.bandwidth.value);
  if (ring.bytes_per_ns == std::numeric_limits<double>::max()) ring.bytes_per_ns = 0;
  return ring;
}

}  // namespace

ClusterRings find_cluster_rings(const Machine& machine) {
  ClusterRings all;
  const Offers offers(machine);
  size_t most = 0, least = std::numeric_limits<size_t>::max();
  for (size_t host = 0; host < machine.hosts.size(); host++) {
    const size_t rails = offers.of(host).rails.size();
    most = std::max(most, rails);
    least = std::min(least, rails);
    if (rails == 0 && machine.hosts.size() > 1) {
      all.warnings.push_back({"host " + machine.hosts[host].name, 0, "has no NIC: rings enter it by an unknown one"});
    }
    if (offers.of(host).set.rings.empty()) {
      all.warnings.push_back({"host " + machine.hosts[host].name, 0, "has no GPU: rings pass it by"});
    }
  }
  if (most != least && least > 0) {
    all.warnings.push_back(
        {"the cluster", 0,
         fmt::format("has hosts of {} to {} NICs: {} rings, one for each that all have", least, most, least)});
  }
  const size_t rings = std::max<size_t>(1, least);
  for (size_t rail = 0; rail < rings; rail++) {
    all.rings.push_back(ring_on(machine, offers, rail, rings));
    all.bytes_per_ns += all.rings.back().bytes_per_ns;
  }
  return all;
}

}  // namespace peal
