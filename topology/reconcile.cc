#include "topology/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace peal {
namespace {

bool is_device(const Object& object) { return object.kind == ObjectKind::kGpu || object.kind == ObjectKind::kNic; }

bool same_device(const Object& a, const Object& b) {
  if (a.kind != b.kind) return false;
  if (!a.pci.empty() && !b.pci.empty())
    return a.pci == b.pci && (a.kind == ObjectKind::kGpu || a.nic.port == b.nic.port);
  if (a.kind == ObjectKind::kNic) return !a.name.empty() && a.name == b.name;
  return a.number == b.number;
}

// Without the objects that are not to be kept. What hung on one of them hangs on its parent.
void keep(Machine& machine, int index, const std::vector<bool>& kept) {
  Host& host = machine.hosts[static_cast<size_t>(index)];
  std::vector<int> place(host.objects.size(), -1);  // new index, or that of the nearest ancestor which stays
  std::vector<Object> objects;
  std::array<int, 2> numbers{};  // of GPUs, of NICs
  for (size_t i = 0; i < host.objects.size(); i++) {
    Object& object = host.objects[i];
    if (object.parent >= 0) object.parent = place[static_cast<size_t>(object.parent)];
    place[i] = kept[i] ? static_cast<int>(objects.size()) : object.parent;
    if (!kept[i]) continue;
    if (is_device(object)) object.number = numbers[object.kind == ObjectKind::kGpu ? 0 : 1]++;
    objects.push_back(std::move(object));
  }
  std::erase_if(host.links, [&](const Link& link) {
    return !kept[static_cast<size_t>(link.a)] || !kept[static_cast<size_t>(link.b)];
  });
  for (Link& link : host.links) {
    link.a = place[static_cast<size_t>(link.a)];
    link.b = place[static_cast<size_t>(link.b)];
  }
  for (Measurement& one : machine.measurements) {
    if (one.from_host == index) one.from = place[static_cast<size_t>(one.from)];
    if (one.to_host == index) one.to = place[static_cast<size_t>(one.to)];
  }
  host.objects = std::move(objects);
}

}  // namespace

int host_named(const Machine& machine, std::string_view name) noexcept {
  const auto found =
      std::find_if(machine.hosts.begin(), machine.hosts.end(), [&](const Host& host) { return host.name == name; });
  return found == machine.hosts.end() ? 0 : static_cast<int>(found - machine.hosts.begin());
}

void keep_what_is_here(Machine& file, int index, const Host& here) {
  Host& host = file.hosts[static_cast<size_t>(index)];
  std::vector<bool> kept(host.objects.size(), true);
  for (size_t i = 0; i < host.objects.size(); i++) {
    const Object& object = host.objects[i];
    if (!is_device(object)) continue;
    kept[i] = std::any_of(here.objects.begin(), here.objects.end(),
                          [&](const Object& real) { return same_device(object, real); });
    if (!kept[i]) file.warnings.push_back({label(object), object.line, "is not on this machine: left out"});
  }
  if (std::find(kept.begin(), kept.end(), false) != kept.end()) keep(file, index, kept);
  const std::vector<int>&described = host.objects[0].cpus, &real = here.objects[0].cpus;
  const bool any = std::any_of(real.begin(), real.end(),
                               [&](int cpu) { return std::binary_search(described.begin(), described.end(), cpu); });
  if (!any && !described.empty()) {
    file.warnings.push_back(
        {"host " + host.name, host.objects[0].line,
         fmt::format("has {} processors, but none of the {} of this machine", described.size(), real.size())});
  }
}

}  // namespace peal
