// Where everything of a host lies in its picture: boxes nested as the machine is.
#pragma once

#include <string>
#include <vector>

#include "topology/machine.h"

namespace peal::topo {

struct Box {
  int object = 0;  // index in Host::objects
  double x = 0, y = 0, width = 0, height = 0;
  double center_x() const { return x + width / 2; }
  double center_y() const { return y + height / 2; }
};

struct Layout {
  std::vector<Box> boxes;  // parents before children; NVSwitches together are one box, the last
  double width = 0, height = 0;
};

// Boxes of `most_width` at most, where what is in them allows; children never leave their parents, siblings never
// overlap.
Layout lay_out(const Host& host, double most_width);

}  // namespace peal::topo
