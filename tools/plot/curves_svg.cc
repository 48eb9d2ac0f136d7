#include "tools/plot/curves_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace peal::plot {
namespace {

constexpr double kWidth = 900, kHeight = 760, kLeft = 70, kRight = 190, kPanel = 290;
constexpr double kTops[] = {60, 430};
// Distinct for the colour-blind too (Okabe & Ito).
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000", "#f0e442"};

struct Axis {
  double low, high, from, to;
  bool logarithmic;
  double at(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
};

std::string x_label(AxisUnit unit, double value) {
  static constexpr const char* kPrefixes[] = {"", "K", "M", "G", "T"};
  size_t prefix = 0;
  for (; unit == AxisUnit::kBytes && value >= 1024 && prefix + 1 < std::size(kPrefixes); prefix++) value /= 1024;
  return fmt::format("{:g}{}", value, kPrefixes[prefix]);
}

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) all += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return all;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'{}>{}</text>\n", x, y, anchor, more, escaped(text));
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#ddd'/>\n", x1, y1, x2, y2);
}

std::string x_axis(const Axis& x, AxisUnit unit, double top) {
  std::string svg;
  const double octaves = std::log2(x.high / x.low);
  const double step = std::exp2(std::max(1.0, std::ceil(octaves / 9)));
  for (double size = std::exp2(std::ceil(std::log2(x.low))); size <= x.high * 1.001; size *= step) {
    svg += grid_line(x.at(size), top, x.at(size), top + kPanel);
    svg += text_at(x.at(size), top + kPanel + 18, "middle", x_label(unit, size));
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

std::string panel(const std::vector<Curve>& curves, const Axis& x, AxisUnit unit, const Axis& y, size_t which,
                  const std::string& title) {
  const double top = kTops[which];
  std::string svg =
      text_at(kLeft, top - 10, "start", title, " font-weight='bold'") + x_axis(x, unit, top) + value_axis(y);
  for (size_t c = 0; c < curves.size(); c++) {
    const char* color = kColors[c % std::size(kColors)];
    std::string path, dots;
    for (const Point& point : curves[c].points) {
      const double px = x.at(point.x), py = y.at(point.values[which]);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", px, py);
      // Browsers show the title under the pointer.
      dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='{}'><title>{}: {:.4g}</title></circle>\n", px,
                          py, color, x_label(unit, point.x), point.values[which]);
    }
    const char* dash = c % 2 == 1 ? " stroke-dasharray='6 3'" : "";
    svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'{}/>\n{}", path, color, dash, dots);
  }
  return svg;
}

Axis y_axis(const std::vector<Curve>& curves, size_t which, bool logarithmic) {
  double least = 1e300, most = 1e-9;
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      if (point.values[which] > 0) least = std::min(least, point.values[which]);
      most = std::max(most, point.values[which]);
    }
  }
  const double bottom = kTops[which] + kPanel, top = kTops[which];
  if (!logarithmic) return {0, most * 1.05, bottom, top, false};
  return {std::min(least, most / 2) / 1.3, most * 1.3, bottom, top, true};
}

}  // namespace

std::string curves_svg(const std::string& title, const std::array<Panel, 2>& panels, AxisUnit unit,
                       const std::vector<Curve>& curves) {
  double least = 1e300, most = 1;
  for (const Curve& curve : curves) {
    for (const Point& point : curve.points) {
      least = std::min(least, point.x);
      most = std::max(most, point.x);
    }
  }
  if (most <= least) least = most / 2;
  const Axis x{least, most, kLeft, kWidth - kRight, true};
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n",
      kWidth, kHeight);
  svg += text_at(kLeft, 24, "start", title, " font-size='16' font-weight='bold'");
  for (size_t which = 0; which < panels.size(); which++) {
    svg += panel(curves, x, unit, y_axis(curves, which, panels[which].logarithmic), which, panels[which].title);
  }
  for (size_t c = 0; c < curves.size(); c++) {
    const double y = kTops[0] + 10 + 18 * static_cast<double>(c);
    svg += fmt::format("<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='{}' stroke-width='2'{}/>\n", kWidth - kRight + 15,
                       y, kWidth - kRight + 40, y, kColors[c % std::size(kColors)],
                       c % 2 == 1 ? " stroke-dasharray='6 3'" : "");
    svg += text_at(kWidth - kRight + 46, y + 4, "start", curves[c].name);
  }
  return svg + "</svg>\n";
}

}  // namespace peal::plot
