#include "tools/perf/plot_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/plot/curves_svg.h"

namespace peal::perf {

std::string plot_svg(const std::string& title, const std::vector<Row>& rows) {
  std::vector<plot::Curve> curves;
  const auto add = [&](const Row& row, const char* place, const Timing& timing) {
    const std::string name = fmt::format("{} {}{}", name_of(row.shape.type), name_of(row.shape.op), place);
    auto found = std::find_if(curves.begin(), curves.end(), [&](const auto& curve) { return curve.name == name; });
    if (found == curves.end()) found = curves.insert(curves.end(), {name, {}});
    if (row.shape.bytes > 0) {
      found->points.push_back({static_cast<double>(row.shape.bytes), {timing.busbw, timing.us}});
    }
  };
  for (const Row& row : rows) {
    add(row, "", row.out_of_place);
    if (row.in_place) add(row, ", in place", *row.in_place);
  }
  const int ranks = rows.empty() ? 0 : rows[0].shape.ranks;
  const std::string transport = rows.empty() ? "" : rows[0].transport;
  return plot::curves_svg(fmt::format("{}, {} ranks, {}", title, ranks, transport),
                          {{{"bus bandwidth (GB/s) over size (bytes)", false}, {"time (us) over size (bytes)", true}}},
                          plot::AxisUnit::kBytes, curves);
}

}  // namespace peal::perf
