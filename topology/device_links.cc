#include "topology/device_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace peal {
namespace {

const Object& at(const Host& host, int object) { return host.objects[static_cast<size_t>(object)]; }

void add_up(Capacity& sum, const Capacity& more) {
  sum.count += more.count;
  sum.bandwidth = {sum.bandwidth.value + more.bandwidth.value, more.bandwidth.source};
  sum.latency = more.latency;
}

}  // namespace

void DeviceLinks::add(LinkKind kind, int from, int to, Capacity capacity, int line) {
  told_.push_back({kind, from, to, capacity, line});
}

void DeviceLinks::drop_self_links(const Host& host, std::vector<Warning>& warnings) {
  std::erase_if(told_, [&](const Told& one) {
    if (one.from != one.to) return false;
    warnings.push_back(
        {label(at(host, one.from)), one.line,
         fmt::format("is linked to itself by {} {} links: left out", one.capacity.count, name_of(one.kind))});
    return true;
  });
}

// NVLinks from every device to every other, all alike.
bool DeviceLinks::is_even_mesh() const {
  std::set<int> devices;
  std::set<std::pair<int, int>> pairs;
  for (const Told& one : told_) {
    if (one.kind != LinkKind::kNvlink || !(one.capacity == told_[0].capacity)) return false;
    devices.insert({one.from, one.to});
    pairs.insert({one.from, one.to});
  }
  return pairs.size() == told_.size() && pairs.size() == devices.size() * (devices.size() - 1);
}

void DeviceLinks::turn_into_switch(Host& host) {
  std::map<int, Told> first;  // by device: any of its links stands for all
  for (const Told& one : told_) first.emplace(one.from, one);
  host.objects.push_back({.kind = ObjectKind::kNvSwitch, .parent = 0, .number = 0, .line = told_[0].line});
  told_.clear();
  for (auto& [device, one] : first) {
    one.to = static_cast<int>(host.objects.size()) - 1;
    told_.push_back(one);
  }
}

void DeviceLinks::drop_impossible(const Host& host, const std::vector<int>& devices, std::vector<Warning>& warnings) {
  for (const int device : devices) {
    int64_t links = 0;
    int line = 0;
    for (const Told& one : told_) {
      if (one.from != device) continue;
      links += one.capacity.count;
      line = one.line;
    }
    warnings.push_back(
        {label(at(host, device)), line,
         fmt::format("has {} links, more than the {} that any device has: all left out", links, kMostLinksOfADevice)});
  }
  std::erase_if(told_, [&](const Told& one) {
    return std::find(devices.begin(), devices.end(), one.from) != devices.end() ||
           std::find(devices.begin(), devices.end(), one.to) != devices.end();
  });
}

void DeviceLinks::join_ends(Host& host, std::vector<Warning>& warnings) const {
  struct Ends {
    Capacity there, back;
    int line_there = 0, line_back = 0;
    bool is_there = false, is_back = false;
  };
  std::map<std::tuple<LinkKind, int, int>, Ends> pairs;
  for (const Told& one : told_) {
    const bool forth = one.from < one.to;
    Ends& ends = pairs[{one.kind, std::min(one.from, one.to), std::max(one.from, one.to)}];
    add_up(forth ? ends.there : ends.back, one.capacity);
    (forth ? ends.line_there : ends.line_back) = one.line;
    (forth ? ends.is_there : ends.is_back) = true;
  }
  for (const auto& [pair, ends] : pairs) {
    const auto& [kind, a, b] = pair;
    const double there = ends.there.bandwidth.value, back = ends.back.bandwidth.value;
    if (ends.is_there && ends.is_back && there != back) {
      warnings.push_back({label(at(host, a)), ends.line_there,
                          fmt::format("is linked to {} by {:g} GB/s, but the other way by {:g}: taken as {:g}",
                                      label(at(host, b)), there, back, std::min(there, back))});
    }
    const bool take_back = !ends.is_there || (ends.is_back && back < there);
    host.links.push_back(
        {kind, a, b, take_back ? ends.back : ends.there, take_back ? ends.line_back : ends.line_there});
  }
}

void DeviceLinks::settle(Host& host, std::vector<Warning>& warnings, bool switches_show_as_meshes) {
  drop_self_links(host, warnings);
  std::map<int, int> links;  // by device; a count is kept small, so that sums can't overflow
  for (const Told& one : told_) {
    links[one.from] += std::clamp(one.capacity.count, 0, kMostLinksOfADevice + 1);
  }
  std::vector<int> impossible;
  for (const auto& [device, count] : links) {
    if (count > kMostLinksOfADevice) impossible.push_back(device);
  }
  if (!impossible.empty() && is_even_mesh() && told_[0].capacity.count <= kMostLinksOfADevice) {
    if (!switches_show_as_meshes) {
      warnings.push_back({label(at(host, impossible[0])), told_[0].line,
                          fmt::format("and all others have {} links to each other, more than a device has: taken as an "
                                      "NVSwitch",
                                      told_[0].capacity.count)});
    }
    turn_into_switch(host);
  } else if (!impossible.empty()) {
    drop_impossible(host, impossible, warnings);
  }
  join_ends(host, warnings);
}

}  // namespace peal
