#include "tools/topo/rings_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "tools/topo/svg_text.h"

namespace peal::topo {
namespace {

constexpr double kCircle = 130, kLine = 18;
constexpr size_t kMostLines = 18;
// Distinct for the colour-blind too (Okabe & Ito).
constexpr std::array<const char*, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#555555", "#b8a800"};

size_t lines_of(const RingSet& set) { return std::min(set.rings.size(), kMostLines); }

std::string words_of(const Ring& ring) {
  std::string text;
  for (const int gpu : ring.order) text += fmt::format("{} ", gpu);
  text += fmt::format("\u00b7 {:.4g} GB/s", ring.bytes_per_ns);
  std::map<PathKind, int> kinds;
  for (const Hop& hop : ring.hops) kinds[hop.kind]++;
  for (const auto& [kind, count] : kinds) text += fmt::format(", {} {}", count, name_of(kind));
  return ring.nic_in < 0 ? text : text + fmt::format(", NIC {}", ring.nic_in);
}

}  // namespace

double rings_panel_height(const RingSet& set) {
  const size_t lines = lines_of(set) + (set.rings.size() > lines_of(set) ? 1 : 0);
  return 2 * kCircle + 126 + kLine * static_cast<double>(lines);
}

std::string rings_panel(const RingSet& set) {
  std::vector<int> gpus = set.rings[0].order;
  std::sort(gpus.begin(), gpus.end());
  std::string svg = text_at(0, 14,
                            fmt::format("{} ring{}, together {:.4g} GB/s of at most {:.4g}", set.rings.size(),
                                        set.rings.size() == 1 ? "" : "s", set.bytes_per_ns, set.bound),
                            "font-weight='bold'");
  const size_t half = set.bound_reason.find("; ");
  svg += text_at(0, 29, set.bound_reason.substr(0, half), "class='small'");
  if (half != std::string::npos) svg += text_at(0, 41, set.bound_reason.substr(half + 2), "class='small'");
  const double cx = kRingsPanelWidth / 2, cy = kCircle + 76;
  const auto point = [&](int gpu, double radius) {
    const auto place = static_cast<double>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
    const double angle = 2 * std::numbers::pi * place / static_cast<double>(gpus.size()) - std::numbers::pi / 2;
    return std::pair(cx + radius * std::cos(angle), cy + radius * std::sin(angle));
  };
  for (size_t i = 0; i < set.rings.size() && i < kColors.size(); i++) {
    std::string way;
    for (const int gpu : set.rings[i].order) {
      // Each ring a little further inside, so that rings over the same hop lie beside each other.
      const auto [x, y] = point(gpu, kCircle - 5 * static_cast<double>(i));
      way += fmt::format("{}{:.1f} {:.1f}", way.empty() ? "M" : "L", x, y);
    }
    svg += fmt::format("<path d='{}Z' fill='none' stroke='{}' stroke-width='2' stroke-linejoin='round'/>\n", way,
                       kColors[i]);
  }
  for (const int gpu : gpus) {
    const auto [x, y] = point(gpu, kCircle + 14);
    svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='14' fill='#d8efdc' stroke='#2e7d46'/>\n", x, y);
    svg += text_at(x, y + 4, std::to_string(gpu), "text-anchor='middle' font-weight='bold'");
  }
  double y = cy + kCircle + 52;
  for (size_t i = 0; i < lines_of(set); i++, y += kLine) {
    const Ring& ring = set.rings[i];
    svg += fmt::format("<rect x='0' y='{:.1f}' width='12' height='12' fill='{}'/>\n", y - 10,
                       i < kColors.size() ? kColors[i] : "#cccccc");
    svg += text_at(18, y, fitting(words_of(ring), kRingsPanelWidth - 18, 11), "class='ring'");
  }
  if (set.rings.size() > lines_of(set))
    svg += text_at(18, y, fmt::format("and {} more", set.rings.size() - lines_of(set)), "class='ring'");
  return svg;
}

}  // namespace peal::topo
