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

// "2 NUMA nodes of 64 GiB", after the first of them.
std::string sized(const Host& host, const std::vector<int>& objects, const char* what) {
  return fmt::format(", {} of {}", plural(objects.size(), what),
                     size(host.objects[static_cast<size_t>(objects[0])].bytes));
}

std::string summary(const Host& host) {
  const std::vector<int> packages = objects_of(host, ObjectKind::kPackage);
  const std::string processor = packages.empty() ? "" : host.objects[static_cast<size_t>(packages[0])].name;
  std::string text = processor.empty() ? "" : processor + ": ";
  if (!packages.empty()) text += plural(packages.size(), "package") + ", ";
  const size_t cores = objects_of(host, ObjectKind::kCore).size(), threads = host.objects[0].cpus.size();
  text += plural(cores, "core");
  if (threads != cores) text += fmt::format(" ({})", plural(threads, "thread"));
  std::vector<int> memory = objects_of(host, ObjectKind::kNumaNode);
  std::erase_if(memory, [&](int node) { return host.objects[static_cast<size_t>(node)].memory != MemoryRole::kCpu; });
  if (!memory.empty()) text += sized(host, memory, "NUMA node");
  const std::vector<int> caches = last_level_caches(host);
  if (!caches.empty()) text += sized(host, caches, "last-level cache");
  const size_t gpus = objects_of(host, ObjectKind::kGpu).size(), nics = objects_of(host, ObjectKind::kNic).size();
  if (gpus > 0) text += ", " + plural(gpus, "GPU");
  if (nics > 0) text += ", " + plural(nics, "NIC");
  return text;
}

}  // namespace

std::string summary(const Machine& machine) {
  const std::string hosts = machine.hosts.size() > 1 ? fmt::format("{} hosts, the first: ", machine.hosts.size()) : "";
  return hosts + summary(machine.hosts.at(0)) + " (from " + machine.source + ")";
}

}  // namespace peal
