// Curves in two panels over a common axis, as SVG.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace peal::plot {

struct Point {
  double x = 0;
  std::array<double, 2> values{};  // of the two panels
};

struct Curve {
  std::string name;
  std::vector<Point> points;  // ascending in x
};

struct Panel {
  std::string title;  // with the unit
  bool logarithmic = false;
};

enum class AxisUnit { kBytes, kCount };

// `x` is logarithmic. Curves tell themselves apart by colour and dash, and by name on the right.
std::string curves_svg(const std::string& title, const std::array<Panel, 2>& panels, AxisUnit unit,
                       const std::vector<Curve>& curves);

}  // namespace peal::plot
