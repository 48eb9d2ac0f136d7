#include "topology/measured.h"

#include <algorithm>
#include <string>
#include <vector>

namespace peal {
namespace {

Place place_of(const Machine& machine, int host, int object) {
  const Host& where = machine.hosts[static_cast<size_t>(host)];
  return place_on(where, std::to_string(host), where.objects[static_cast<size_t>(object)].cpus);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

MeasuredPath measured_path(const Machine& machine, std::string_view transport, Level level) {
  std::vector<double> latencies, bandwidths;
  for (const Measurement& one : machine.measurements) {
    if (one.transport != transport) continue;
    const Place from = place_of(machine, one.from_host, one.from), to = place_of(machine, one.to_host, one.to);
    if (separation(from, to) != level) continue;
    latencies.push_back(one.latency_ns);
    bandwidths.push_back(one.bytes_per_ns);
  }
  if (latencies.empty()) return {};
  return {static_cast<int>(latencies.size()), median(latencies), median(bandwidths)};
}

}  // namespace peal
