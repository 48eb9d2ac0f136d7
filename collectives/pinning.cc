#include "collectives/pinning.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/host.h"
#include "topology/places.h"
#include "topology/read.h"

namespace peal {
namespace {

std::string affinity_text() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  return std::string(reinterpret_cast<const char*>(&mask), sizeof(mask));
}

}  // namespace

std::string pin_to_own_cores(const Settings& settings, int rank,
                             const std::function<std::vector<std::string>(const std::string&)>& exchange) {
  const std::string here = host_id(settings) + '\n', mine = here + affinity_text();
  std::vector<std::string> local = exchange(mine);  // by all, whether they ask or not: ranks' settings may differ
  if (settings.affinity != "pin") return "";
  const auto before = std::count_if(local.begin(), local.begin() + rank,
                                    [&](const std::string& other) { return other.starts_with(here); });
  std::erase_if(local, [&](const std::string& other) { return !other.starts_with(here); });
  if (std::any_of(local.begin(), local.end(), [&](const std::string& other) { return other != mine; })) {
    return "not pinned: the launcher gave the ranks of this host different cores";
  }
  const Machine machine = discover_machine();
  const size_t cores = objects_of(machine.hosts[0], ObjectKind::kCore).size();
  if (local.size() > cores) return fmt::format("not pinned: {} ranks on {} cores", local.size(), cores);
  const std::vector<int> cpus =
      share_of_cpus(machine.hosts[0], static_cast<int>(before), static_cast<int>(local.size()));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &mask);
  if (sched_setaffinity(0, sizeof(mask), &mask) != 0) return fmt::format("not pinned: {}", strerror(errno));
  return fmt::format("pinned to processors {}", fmt::join(cpus, ","));
}

}  // namespace peal
