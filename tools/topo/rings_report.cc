#include "tools/topo/rings_report.h"

#include <fmt/format.h>

#include <map>

#include "tools/topo/tree_text.h"
#include "topology/read.h"
#include "topology/rings.h"

namespace peal::topo {
namespace {

using json = nlohmann::ordered_json;

std::string chain_text(const Ring& ring) {
  std::string text;
  for (size_t i = 0; i < ring.order.size(); i++) {
    text += fmt::format("{}", ring.order[i]);
    if (i < ring.hops.size()) text += fmt::format(" {} ", name_of(ring.hops[i].kind));
  }
  return ring.hops.empty() ? text : text + fmt::format("{}", ring.order.front());
}

// Rings that are the same but for their NICs stand in one line.
std::string rings_of(const Host& host) {
  const RingSet set = find_rings(host);
  if (set.rings.empty()) return "  no GPUs, so no rings of GPUs\n";
  std::vector<std::pair<std::string, int>> lines;
  for (const Ring& ring : set.rings) {
    std::string line = fmt::format("{}  {:.4g} GB/s", chain_text(ring), ring.bytes_per_ns);
    if (ring.nic_in >= 0) line += fmt::format("  in and out by NIC {}", ring.nic_in);
    if (!lines.empty() && lines.back().first == line) {
      lines.back().second++;
    } else {
      lines.emplace_back(line, 1);
    }
  }
  std::string text = fmt::format("  {} ring{}, together {:.4g} GB/s; at most {:.4g}: {}{}\n", set.rings.size(),
                                 set.rings.size() == 1 ? "" : "s", set.bytes_per_ns, set.bound, set.bound_reason,
                                 set.exact ? "" : " (found by a bounded search)");
  for (const auto& [line, times] : lines)
    text += fmt::format("    {}{}\n", line, times > 1 ? fmt::format("  ({} of these)", times) : "");
  return text;
}

std::string hosts_title(const Machine& machine, size_t first, size_t last) {
  const std::string& name = machine.hosts[first].name;
  if (first == last) return fmt::format("host{}\n", name.empty() ? "" : " " + name);
  return fmt::format("{} hosts alike, {} to {}\n", last - first + 1, name, machine.hosts[last].name);
}

std::string cluster_text(const Machine& machine) {
  const ClusterRings all = find_cluster_rings(machine);
  std::string text = fmt::format("through all {} hosts: {} ring{}, together {:.4g} GB/s\n", machine.hosts.size(),
                                 all.rings.size(), all.rings.size() == 1 ? "" : "s", all.bytes_per_ns);
  for (size_t i = 0; i < all.rings.size(); i++) {
    const ClusterRing& ring = all.rings[i];
    text += fmt::format("  rail {}: {:.4g} GB/s, by NIC", i, ring.bytes_per_ns);
    for (size_t host = 0; host < std::min<size_t>(ring.nic_in.size(), 8); host++)
      text += fmt::format(" {}", ring.nic_in[host]);
    text += ring.nic_in.size() > 8 ? " ... of hosts 0, 1, ...\n" : " of hosts 0, 1, ...\n";
  }
  for (const Warning& warning : all.warnings) text += "  " + to_string(warning) + "\n";
  return text;
}

json ring_json(const Ring& ring) {
  json hops = json::array();
  for (const Hop& hop : ring.hops) {
    hops.push_back(
        {{"from", hop.from}, {"to", hop.to}, {"kind", name_of(hop.kind)}, {"bytes_per_ns", hop.bytes_per_ns}});
  }
  return {{"order", ring.order},
          {"hops", hops},
          {"nic_in", ring.nic_in},
          {"nic_out", ring.nic_out},
          {"bytes_per_ns", ring.bytes_per_ns}};
}

json trees_json(const Host& host) {
  json trees = json::array();
  for (const Tree& tree : find_trees(host)) {
    json hops = json::array();
    for (const Hop& hop : tree.hops) hops.push_back({{"from", hop.from}, {"to", hop.to}, {"kind", name_of(hop.kind)}});
    trees.push_back(
        {{"gpus", tree.gpus}, {"parent", tree.parent}, {"hops", hops}, {"bytes_per_ns", tree.bytes_per_ns}});
  }
  return trees;
}

json cluster_json(const Machine& machine, json& warnings) {
  const ClusterRings all = find_cluster_rings(machine);
  json rings = json::array();
  for (const ClusterRing& ring : all.rings) {
    rings.push_back({{"order", ring.order},
                     {"nic_in", ring.nic_in},
                     {"nic_out", ring.nic_out},
                     {"bytes_per_ns", ring.bytes_per_ns}});
  }
  for (const Warning& warning : all.warnings) warnings.push_back(to_string(warning));
  return {{"rings", rings}, {"bytes_per_ns", all.bytes_per_ns}};
}

}  // namespace

std::string rings_text(const Machine& machine) {
  std::string text;
  for (const auto& [first, last] : runs_of_alike_hosts(machine)) {
    text += hosts_title(machine, first, last) + rings_of(machine.hosts[first]);
  }
  return machine.hosts.size() > 1 ? text + cluster_text(machine) : text;
}

std::string trees_text(const Machine& machine) {
  std::string text;
  for (const auto& [first, last] : runs_of_alike_hosts(machine)) {
    text += hosts_title(machine, first, last);
    const std::vector<Tree> trees = find_trees(machine.hosts[first]);
    if (trees.empty()) text += "  no GPUs, so no trees of GPUs\n";
    for (size_t t = 0; t < trees.size(); t++) {
      const Tree& tree = trees[t];
      text += fmt::format("  tree {}, {:.4g} GB/s:", t, tree.bytes_per_ns);
      for (size_t i = 0; i < tree.parent.size(); i++) {
        if (tree.parent[i] < 0) text += fmt::format(" root {}", tree.gpus[i]);
      }
      for (const Hop& hop : tree.hops) text += fmt::format(", {} {} {}", hop.from, name_of(hop.kind), hop.to);
      text += "\n";
    }
  }
  return text;
}

json report_json(const Machine& machine) {
  const RingSet set = find_rings(machine.hosts[0]);
  json rings = json::array(), warnings = json::array();
  for (const Ring& ring : set.rings) rings.push_back(ring_json(ring));
  for (const Warning& warning : machine.warnings) warnings.push_back(to_string(warning));
  for (const Warning& warning : set.warnings) warnings.push_back(to_string(warning));
  json all = {{"rings", rings},
              {"bound", set.bound},
              {"bound_reason", set.bound_reason},
              {"bytes_per_ns", set.bytes_per_ns},
              {"exact", set.exact},
              {"nearest_nics", nearest_nics(machine.hosts[0])},
              {"rails", ring_nics(machine.hosts[0])},
              {"trees", trees_json(machine.hosts[0])}};
  if (machine.hosts.size() > 1) all["cluster"] = cluster_json(machine, warnings);
  all["warnings"] = warnings;
  all["machine"] = json::parse(to_json(machine));
  return all;
}

}  // namespace peal::topo
