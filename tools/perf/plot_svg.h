// A drawing of a sweep: bus bandwidth and time over size.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/measure.h"

namespace peal::perf {

// One curve per type, operation and place. Sizes and times on logarithmic axes.
std::string plot_svg(const std::string& title, const std::vector<Row>& rows);

}  // namespace peal::perf
