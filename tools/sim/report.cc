#include "tools/sim/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/plot/curves_svg.h"

namespace peal::sim {
namespace {

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); unit++) bytes /= 1024;
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

nlohmann::json json_of(const std::vector<Repeated>& path) {
  nlohmann::json all = nlohmann::json::array();
  for (const Repeated& block : path) {
    nlohmann::json stretches = nlohmann::json::array();
    for (const Stretch& stretch : block.stretches) {
      stretches.push_back({{"messages", stretch.messages},
                           {"kind", name_of(stretch.kind)},
                           {"from", stretch.from},
                           {"to", stretch.to},
                           {"narrowest", stretch.narrowest},
                           {"latency_ns", stretch.latency_ns},
                           {"transfer_ns", stretch.transfer_ns},
                           {"queue_ns", stretch.queue_ns},
                           {"core_ns", stretch.core_ns}});
    }
    all.push_back({{"times", block.times}, {"stretches", stretches}});
  }
  return all;
}

}  // namespace

void print_header() {
  fmt::print("# {:<21} {:>7} {:>7} {:>13} {:>9} {:>9}  {:<42} {}\n", "algorithm", "ranks", "size", "time", "algbw",
             "busbw", "critical path", "busiest link");
  fmt::print("# {:<21} {:>7} {:>7} {:>13} {:>9} {:>9}  {:<42}\n", "", "", "(B)", "(us)", "(GB/s)", "(GB/s)",
             "messages: latency, transfer, queue, core");
}

void print_row(const Row& row) {
  const CriticalPath& path = row.result.critical;
  const double all = std::max(1e-9, path.latency_ns + path.transfer_ns + path.queue_ns + path.core_ns);
  const auto share = [&](double ns) { return fmt::format("{:.0f}%", 100 * ns / all); };
  fmt::print("  {:<21} {:>7} {:>7} {:>13.2f} {:>9.3f} {:>9.3f}  {:<42} {} ({:.0f}%)\n", row.algorithm, row.ranks,
             size_text(row.bytes), row.result.ns / 1e3, row.algbw, row.busbw,
             fmt::format("{}: {}, {}, {}, {}", path.messages, share(path.latency_ns), share(path.transfer_ns),
                         share(path.queue_ns), share(path.core_ns)),
             row.busiest.empty() ? "none" : row.busiest, 100 * row.busiest_share);
  if (!row.path.empty()) fmt::print("{}", to_string(row.path));
}

nlohmann::json json_of(const Row& row) {
  const CriticalPath& path = row.result.critical;
  nlohmann::json row_json = {{"algorithm", row.algorithm},
                             {"ranks", row.ranks},
                             {"simulated_ranks", row.simulated_ranks},
                             {"size", row.bytes},
                             {"segment_bytes", row.segment_bytes},
                             {"time_us", row.result.ns / 1e3},
                             {"algbw", row.algbw},
                             {"busbw", row.busbw},
                             {"busiest_link", row.busiest},
                             {"busiest_share", row.busiest_share},
                             {"critical_path",
                              {{"messages", path.messages},
                               {"latency_ns", path.latency_ns},
                               {"transfer_ns", path.transfer_ns},
                               {"queue_ns", path.queue_ns},
                               {"core_ns", path.core_ns}}}};
  if (!row.path.empty()) row_json["path"] = json_of(row.path);
  return row_json;
}

std::string curves_of(const std::string& title, bool over_ranks, const std::vector<Row>& rows) {
  std::vector<plot::Curve> curves;
  for (const Row& row : rows) {
    const bool several_sizes =
        std::any_of(rows.begin(), rows.end(), [&](const Row& other) { return other.bytes != row.bytes; });
    const std::string name =
        over_ranks && several_sizes ? fmt::format("{}, {}B", row.algorithm, size_text(row.bytes)) : row.algorithm;
    auto found = std::find_if(curves.begin(), curves.end(), [&](const auto& curve) { return curve.name == name; });
    if (found == curves.end()) found = curves.insert(curves.end(), {name, {}});
    found->points.push_back({over_ranks ? row.ranks : row.bytes, {row.busbw, row.result.ns / 1e3}});
  }
  const char* over = over_ranks ? "ranks" : "size (bytes)";
  return plot::curves_svg(
      title,
      {{{fmt::format("bus bandwidth (GB/s) over {}", over), true}, {fmt::format("time (us) over {}", over), true}}},
      over_ranks ? plot::AxisUnit::kCount : plot::AxisUnit::kBytes, curves);
}

}  // namespace peal::sim
