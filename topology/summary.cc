#include <fmt/format.h>

#include "topology/machine.h"

namespace peal {
namespace {

std::string plural(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string size(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? fmt::format("{:.4g} MiB", mebibytes) : fmt::format("{:.4g} GiB", mebibytes / 1024);
}

}  // namespace

std::string summary(const Machine& machine) {
  std::string text = machine.processor.empty() ? "" : machine.processor + ": ";
  if (machine.packages > 0) text += plural(static_cast<size_t>(machine.packages), "package") + ", ";
  text += plural(static_cast<size_t>(machine.cores), "core");
  if (machine.cpus.size() != static_cast<size_t>(machine.cores)) {
    text += fmt::format(" ({})", plural(machine.cpus.size(), "thread"));
  }
  if (!machine.numa_nodes.empty()) {
    text += fmt::format(", {} of {}", plural(machine.numa_nodes.size(), "NUMA node"),
                        size(machine.numa_nodes[0].memory_bytes));
  }
  if (!machine.last_level_caches.empty()) {
    text += fmt::format(", {} of {}", plural(machine.last_level_caches.size(), "last-level cache"),
                        size(machine.last_level_caches[0].bytes));
  }
  return text + " (from " + machine.source + ")";
}

}  // namespace peal
