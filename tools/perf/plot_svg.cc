#include "tools/perf/plot_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace peal::perf {
namespace {

constexpr double kWidth = 900, kHeight = 760, kLeft = 70, kRight = 190, kPanel = 290;
constexpr double kTops[] = {60, 430};
// Distinct for the colour-blind too (Okabe & Ito).
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000", "#f0e442"};

struct Point {
  double size, busbw, us;
};
struct Curve {
  std::string name;
  std::vector<Point> points;
};

std::vector<Curve> curves_of(const std::vector<Row>& rows) {
  std::vector<Curve> curves;
  const auto add = [&](const Row& row, const char* place, const Timing& timing) {
    const std::string name = fmt::format("{} {}{}", name_of(row.shape.type), name_of(row.shape.op), place);
    auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.name == name; });
    if (found == curves.end()) found = curves.insert(curves.end(), {name, {}});
    if (row.shape.bytes > 0) {
      found->points.push_back({static_cast<double>(row.shape.bytes), timing.busbw, timing.us});
    }
  };
  for (const Row& row : rows) {
    add(row, "", row.out_of_place);
    if (row.in_place) add(row, ", in place", *row.in_place);
  }
  return curves;
}

struct Axis {
  double low, high, from, to;
  bool logarithmic;
  double at(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
};

std::string size_label(double bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); unit++) bytes /= 1024;
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'{}>{}</text>\n", x, y, anchor, more, text);
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#ddd'/>\n", x1, y1, x2, y2);
}

std::string size_axis(const Axis& x, double top) {
  std::string svg;
  const double octaves = std::log2(x.high / x.low);
  const double step = std::exp2(std::max(1.0, std::ceil(octaves / 9)));
  for (double size = std::exp2(std::ceil(std::log2(x.low))); size <= x.high * 1.001; size *= step) {
    svg += grid_line(x.at(size), top, x.at(size), top + kPanel);
    svg += text_at(x.at(size), top + kPanel + 18, "middle", size_label(size));
  }
  return svg;
}

std::string value_axis(const Axis& y) {
  std::string svg;
  const auto line = [&](double value) {
    svg += grid_line(kLeft, y.at(value), kWidth - kRight, y.at(value));
    svg += text_at(kLeft - 8, y.at(value) + 4, "end", fmt::format("{:g}", value));
  };
  if (y.logarithmic) {
    for (double value = std::pow(10, std::ceil(std::log10(y.low))); value <= y.high; value *= 10) line(value);
    return svg;
  }
  const double rough = y.high / 6, magnitude = std::pow(10, std::floor(std::log10(rough)));
  const double step = magnitude * (rough / magnitude < 2 ? 2 : rough / magnitude < 5 ? 5 : 10);
  for (double value = 0; value <= y.high; value += step) line(value);
  return svg;
}

template <class Value>
std::string panel(const std::vector<Curve>& curves, const Axis& x, const Axis& y, double top, const std::string& title,
                  Value value) {
  std::string svg = text_at(kLeft, top - 10, "start", title, " font-weight='bold'") + size_axis(x, top) + value_axis(y);
  for (size_t c = 0; c < curves.size(); c++) {
    const char* color = kColors[c % std::size(kColors)];
    std::string path, dots;
    for (const Point& point : curves[c].points) {
      const double px = x.at(point.size), py = y.at(value(point));
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", px, py);
      dots +=
          fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='{}'><title>{}: {:.4g}</title></circle>\n", px, py,
                      color, size_label(point.size), value(point));  // browsers show the title under the pointer
    }
    const char* dash = c % 2 == 1 ? " stroke-dasharray='6 3'" : "";
    svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'{}/>\n{}", path, color, dash, dots);
  }
  return svg;
}

}  // namespace

std::string plot_svg(const std::string& title, const std::vector<Row>& rows) {
  const std::vector<Curve> curves = curves_of(rows);
  double least = 1e300, most = 1, fastest = 1e300, slowest = 1, bandwidth = 1e-3;
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      least = std::min(least, point.size);
      most = std::max(most, point.size);
      fastest = std::min(fastest, point.us);
      slowest = std::max(slowest, point.us);
      bandwidth = std::max(bandwidth, point.busbw);
    }
  }
  if (most <= least) least = most / 2;
  const Axis x{least, most, kLeft, kWidth - kRight, true};
  const Axis busbw{0, bandwidth * 1.05, kTops[0] + kPanel, kTops[0], false};
  const Axis time{std::min(fastest, slowest / 2) / 1.3, slowest * 1.3, kTops[1] + kPanel, kTops[1], true};

  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n",
      kWidth, kHeight);
  const int ranks = rows.empty() ? 0 : rows[0].shape.ranks;
  const std::string transport = rows.empty() ? "" : rows[0].transport;
  svg += text_at(kLeft, 24, "start", fmt::format("{}, {} ranks, {}", title, ranks, transport),
                 " font-size='16' font-weight='bold'");
  svg += panel(curves, x, busbw, kTops[0], "bus bandwidth (GB/s) over size (bytes)",
               [](const Point& p) { return p.busbw; });
  svg += panel(curves, x, time, kTops[1], "time (us) over size (bytes)", [](const Point& p) { return p.us; });
  for (size_t c = 0; c < curves.size(); c++) {
    const double y = kTops[0] + 10 + 18 * static_cast<double>(c);
    svg += fmt::format("<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='{}' stroke-width='2'{}/>\n", kWidth - kRight + 15,
                       y, kWidth - kRight + 40, y, kColors[c % std::size(kColors)],
                       c % 2 == 1 ? " stroke-dasharray='6 3'" : "");
    svg += text_at(kWidth - kRight + 46, y + 4, "start", curves[c].name);
  }
  return svg + "</svg>\n";
}

}  // namespace peal::perf
