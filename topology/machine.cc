#include "topology/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace peal {
namespace {

template <class Enum, size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "?";
}

}  // namespace

std::string_view name_of(Source source) noexcept {
  return pick(std::array<std::string_view, 4>{"default", "derived", "read", "measured"}, source);
}

std::string_view name_of(LinkKind kind) noexcept {
  return pick(std::array<std::string_view, 7>{"memory", "pcie", "socket", "nvlink", "xgmi", "c2c", "network"}, kind);
}

std::string_view name_of(ObjectKind kind) noexcept {
  return pick(std::array<std::string_view, 10>{"host", "package", "numa", "cache", "core", "host_bridge", "pci_bridge",
                                               "gpu", "nic", "nvswitch"},
              kind);
}

std::string_view name_of(MemoryRole role) noexcept {
  return pick(std::array<std::string_view, 3>{"cpu", "gpu", "other"}, role);
}

std::string_view name_of(NicRole role) noexcept {
  return pick(std::array<std::string_view, 3>{"physical", "virtual_function", "software"}, role);
}

std::string label(const Object& object) {
  constexpr std::array<std::string_view, 10> kWords = {"host",        "package",    "NUMA node", "cache", "core",
                                                       "host bridge", "PCI bridge", "GPU",       "NIC",   "NVSwitch"};
  std::string text(pick(kWords, object.kind));
  if (object.number >= 0) text += fmt::format(" {}", object.number);
  const std::string& which = object.pci.empty() ? object.name : object.pci;
  return which.empty() ? text : text + " (" + which + ")";
}

std::string to_string(const Warning& warning) {
  const std::string where = warning.line > 0 ? fmt::format("line {}: ", warning.line) : "";
  return where + warning.object + " " + warning.text;
}

std::vector<int> objects_of(const Host& host, ObjectKind kind) {
  std::vector<int> found;
  for (size_t i = 0; i < host.objects.size(); i++) {
    if (host.objects[i].kind == kind) found.push_back(static_cast<int>(i));
  }
  if (kind == ObjectKind::kGpu || kind == ObjectKind::kNic) {
    std::stable_sort(found.begin(), found.end(), [&](int a, int b) {
      return host.objects[static_cast<size_t>(a)].number < host.objects[static_cast<size_t>(b)].number;
    });
  }
  return found;
}

int ancestor(const Host& host, int object, ObjectKind kind) {
  while (object >= 0 && host.objects[static_cast<size_t>(object)].kind != kind) {
    object = host.objects[static_cast<size_t>(object)].parent;
  }
  return object;
}

int common_ancestor(const Host& host, int a, int b) {
  // Parents have smaller indices.
  while (a != b) (a > b ? a : b) = host.objects[static_cast<size_t>(a > b ? a : b)].parent;
  return a;
}

int depth(const Host& host, int object) {
  int steps = 0;
  for (; object > 0; object = host.objects[static_cast<size_t>(object)].parent) steps++;
  return steps;
}

std::vector<int> last_level_caches(const Host& host) {
  std::vector<int> caches = objects_of(host, ObjectKind::kCache);
  const auto level = [&](int cache) { return host.objects[static_cast<size_t>(cache)].cache_level; };
  int highest = 0;
  for (const int cache : caches) highest = std::max(highest, level(cache));
  std::erase_if(caches, [&](int cache) { return level(cache) < highest; });
  return caches;
}

}  // namespace peal
