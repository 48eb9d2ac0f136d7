#include "collectives/pinning.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/host.h"
#include "topology/places.h"
#include "topology/read.h"

namespace peal {
namespace {

cpu_set_t affinity() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  return mask;
}

std::vector<int> cpus_of(const cpu_set_t& mask) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::string pin_to_own_cores(const Settings& settings, int rank,
                             const std::function<std::vector<std::string>(const std::string&)>& exchange) {
  cpu_set_t mask = affinity();
  const std::string here = host_id(settings) + '\n';
  const std::string mine = here + std::string(reinterpret_cast<const char*>(&mask), sizeof(mask));
  const std::vector<std::string> all = exchange(mine);  // by all, whether they want it or not: settings may differ
  if (settings.affinity == "none") return "not pinned: PEAL_AFFINITY=none";
  const auto on_host =
      std::count_if(all.begin(), all.end(), [&](const std::string& one) { return one.starts_with(here); });
  const auto parts = std::count(all.begin(), all.end(), mine);
  if (parts == 1) {
    return on_host > 1 ? "not pinned: its processors are its own" : "not pinned: the only rank of its host";
  }
  if (parts != on_host && settings.affinity != "pin") {
    return "not pinned: the launcher gave the ranks of this host different processors";
  }
  const auto before = std::count(all.begin(), all.begin() + rank, mine);
  const std::vector<int> within = cpus_of(mask);
  const std::vector<int> cpus =
      share_of_cpus(this_machine().hosts[0], within, static_cast<int>(before), static_cast<int>(parts));
  if (cpus == within) return fmt::format("not pinned: {} ranks on too few cores", parts);
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &mask);
  if (sched_setaffinity(0, sizeof(mask), &mask) != 0) return fmt::format("not pinned: {}", strerror(errno));
  return fmt::format("pinned to processors {}", fmt::join(cpus, ","));
}

}  // namespace peal
