#include "tools/topo/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/topo/layout.h"
#include "tools/topo/rings_panel.h"
#include "tools/topo/svg_text.h"
#include "tools/topo/tree_text.h"
#include "topology/path.h"
#include "topology/rings.h"

namespace peal::topo {
namespace {

constexpr double kMargin = 24, kMostWidth = 1060;

struct Look {
  const char *fill, *stroke;
};

Look look_of(const Object& object) {
  switch (object.kind) {
    case ObjectKind::kHost:
      return {"#ffffff", "#444444"};
    case ObjectKind::kPackage:
      return {"#f3f3f3", "#777777"};
    case ObjectKind::kNumaNode:
      return {"#e7eef6", "#7a94b0"};
    case ObjectKind::kCache:
      return {"#fbf3da", "#bfa95e"};
    case ObjectKind::kCore:
      return {"#ffffff", "#999999"};
    case ObjectKind::kHostBridge:
      return {"#f9f9f9", "#aaaaaa"};
    case ObjectKind::kPciBridge:
      return {"#efefef", "#999999"};
    case ObjectKind::kGpu:
      return {"#d8efdc", "#2e7d46"};
    case ObjectKind::kNic:
      return object.nic.role == NicRole::kPhysical && object.nic.active ? Look{"#fde2cf", "#b4622a"}
                                                                        : Look{"#f4f1ee", "#b9aca2"};
    case ObjectKind::kNvSwitch:
      return {"#c5e3cb", "#2e7d46"};
  }
  return {"#ffffff", "#000000"};
}

std::string rectangle(const Box& box, const Look& look, double round) {
  return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='{}' fill='{}' stroke='{}'/>\n",
                     box.x, box.y, box.width, box.height, round, look.fill, look.stroke);
}

class HostPicture {
 public:
  explicit HostPicture(const Host& host) : host_(host), layout_(lay_out(host, kMostWidth)), rings_(find_rings(host)) {
    for (const Box& box : layout_.boxes) box_of_[box.object] = box;
  }

  double width() const { return layout_.width + (rings_.rings.empty() ? 0 : kMargin + kRingsPanelWidth); }
  double height() const { return std::max(layout_.height, rings_.rings.empty() ? 0 : rings_panel_height(rings_)) + 8; }

  std::string svg() const {
    std::string all;
    for (const Box& box : layout_.boxes) all += box_svg(box);
    all += links_svg();
    if (!rings_.rings.empty())
      all += fmt::format("<g transform='translate({:.1f},0)'>\n{}</g>\n", layout_.width + kMargin, rings_panel(rings_));
    return all;
  }

 private:
  const Object& at(int object) const { return host_.objects[static_cast<size_t>(object)]; }

  std::string box_svg(const Box& box) const {
    const Object& object = at(box.object);
    std::string svg = rectangle(box, look_of(object), object.kind == ObjectKind::kCore ? 2 : 4);
    const char* middle = "text-anchor='middle'";
    if (object.kind == ObjectKind::kCore) return svg;
    if (object.kind == ObjectKind::kGpu || object.kind == ObjectKind::kNic) {
      const bool gpu = object.kind == ObjectKind::kGpu;
      const double x = box.center_x();
      svg += text_at(x, box.y + 15, fmt::format("{} {}", gpu ? "GPU" : "NIC", object.number),
                     "text-anchor='middle' font-weight='bold'");
      const double width = gpu ? object.up.bandwidth.value : object.wire.bandwidth.value;
      const std::string second = width > 0 ? fmt::format("{:.3g} GB/s", width) : "";
      if (gpu && !object.name.empty())
        svg += text_at(x, box.y + 28, fitting(object.name, box.width - 4, 9), "class='small' text-anchor='middle'");
      if (!gpu && !object.name.empty() && second.empty()) {
        svg += text_at(x, box.y + 28, fitting(object.name, box.width - 4, 9), "class='small' text-anchor='middle'");
      } else {
        svg += text_at(x, box.y + (gpu ? 40 : 28), second, "class='small' text-anchor='middle'");
      }
      return svg;
    }
    if (object.kind == ObjectKind::kNvSwitch) {
      const size_t count = objects_of(host_, ObjectKind::kNvSwitch).size();
      return svg + text_at(box.center_x(), box.center_y() + 4,
                           count > 1 ? fmt::format("{} NVSwitches", count) : "NVSwitch", middle);
    }
    std::string title = title_of(object);
    if (object.kind == ObjectKind::kCache) title = fmt::format("L{} {}", object.cache_level, bytes_text(object.bytes));
    if (object.kind == ObjectKind::kHost && !host_.name.empty()) title = host_.name;
    return svg + text_at(box.x + 8, box.y + 14, fitting(title, box.width - 12));
  }

  // NVLink and its like: from GPU to GPU in a bow below them, as wide as there are links; into the switch straight
  // down.
  std::string links_svg() const {
    std::string svg;
    std::map<int, double> into_switch;
    std::map<int, int> count_into_switch;
    for (const Link& link : host_.links) {
      if (link.kind == LinkKind::kSocket) continue;
      const bool a_switch = at(link.a).kind == ObjectKind::kNvSwitch,
                 b_switch = at(link.b).kind == ObjectKind::kNvSwitch;
      if (a_switch || b_switch) {
        into_switch[a_switch ? link.b : link.a] += link.capacity.bandwidth.value;
        count_into_switch[a_switch ? link.b : link.a] += link.capacity.count;
        continue;
      }
      if (box_of_.count(link.a) == 0 || box_of_.count(link.b) == 0) continue;
      svg += bow(box_of_.at(link.a), box_of_.at(link.b), link);
    }
    for (const auto& [gpu, width] : into_switch) {
      const Box& box = box_of_.at(gpu);
      const Box& below = layout_.boxes.back();
      // Past the boxes of GPUs in rows further down.
      const bool blocked = std::any_of(box_of_.begin(), box_of_.end(), [&](const auto& other) {
        return at(other.first).kind == ObjectKind::kGpu && other.second.y > box.y &&
               std::abs(other.second.x - box.x) < box.width;
      });
      const double x = blocked ? box.x + box.width + 4 : box.center_x() + box.width / 4;
      const double y = blocked ? box.center_y() : box.y + box.height;
      const double from = blocked ? box.x + box.width : x;
      svg += fmt::format(
          "<path d='M{:.1f} {:.1f}H{:.1f}V{:.1f}' class='nvlink' stroke-width='3'><title>GPU {} to NVSwitch: {:.4g} "
          "GB/s</title></path>\n",
          from, y, x, below.y, at(gpu).number, width);
      if (!blocked)
        svg +=
            text_at(x - 4, below.y - 6, fmt::format("{} x", count_into_switch[gpu]), "class='small' text-anchor='end'");
    }
    return svg;
  }

  static std::string bow(const Box& a, const Box& b, const Link& link) {
    const char* kind = link.kind == LinkKind::kXgmi ? "xgmi" : link.kind == LinkKind::kC2c ? "c2c" : "nvlink";
    const double distance = std::hypot(a.center_x() - b.center_x(), a.center_y() - b.center_y());
    const double sag = std::min(230.0, 24 + distance / 2.6);
    const double x1 = a.center_x(), y1 = a.y + a.height - 2, x2 = b.center_x(), y2 = b.y + b.height - 2;
    return fmt::format(
        "<path d='M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}' class='{}' stroke-width='{:.1f}'><title>{:.4g} "
        "GB/s</title></path>\n",
        x1, y1, (x1 + x2) / 2, std::max(y1, y2) + sag, x2, y2, kind, 1 + 0.8 * std::clamp(link.capacity.count, 1, 6),
        link.capacity.bandwidth.value);
  }

  const Host& host_;
  Layout layout_;
  RingSet rings_;
  std::map<int, Box> box_of_;
};

std::string key_svg(double y) {
  struct Entry {
    const char *kind, *text;
  };
  std::string svg;
  double x = 0;
  for (const Entry& entry :
       {Entry{"nvlink", "NVLink, wider for more links"}, Entry{"xgmi", "xGMI"}, Entry{"c2c", "C2C"}}) {
    svg += fmt::format("<path d='M{:.1f} {:.1f}h34' class='{}' stroke-width='3'/>\n", x, y - 4, entry.kind);
    svg += text_at(x + 40, y, entry.text);
    x += 60 + 7.0 * static_cast<double>(std::string_view(entry.text).size());
  }
  for (const ObjectKind kind :
       {ObjectKind::kGpu, ObjectKind::kNic, ObjectKind::kNumaNode, ObjectKind::kCache, ObjectKind::kCore}) {
    const char* text = kind == ObjectKind::kGpu        ? "GPU: link to the bus"
                       : kind == ObjectKind::kNic      ? "NIC: wire"
                       : kind == ObjectKind::kNumaNode ? "NUMA node"
                       : kind == ObjectKind::kCache    ? "cache"
                                                       : "core";
    const Object sample{.kind = kind};
    svg += rectangle({0, x, y - 11, 14, 14}, look_of(sample), 2) + text_at(x + 20, y, text);
    x += 36 + 6.6 * static_cast<double>(std::string_view(text).size());
  }
  return svg;
}

}  // namespace

std::string drawing_of(const Machine& machine) {
  constexpr size_t kMostShapes = 6;
  std::string body;
  double y = 34, width = 1000;
  const auto runs = runs_of_alike_hosts(machine);
  for (size_t i = 0; i < std::min(runs.size(), kMostShapes); i++) {
    const auto [first, last] = runs[i];
    const HostPicture picture(machine.hosts[first]);
    const std::string name = machine.hosts[first].name;
    const std::string title =
        first == last ? "host " + name
                      : fmt::format("{} hosts alike: {} to {}", last - first + 1, name, machine.hosts[last].name);
    y += 26;
    body += text_at(0, y - 8, title, "class='title'");
    body += fmt::format("<g transform='translate(0,{:.1f})'>\n{}</g>\n", y, picture.svg());
    y += picture.height() + 20;
    width = std::max(width, picture.width());
  }
  if (runs.size() > kMostShapes)
    body += text_at(0, y += 16, fmt::format("and {} more kinds of hosts", runs.size() - kMostShapes));
  if (machine.hosts.size() > 1) {
    const ClusterRings cluster = find_cluster_rings(machine);
    y += 20;
    body +=
        text_at(0, y,
                fmt::format("Through all {} hosts: {} ring{}, a rail each, together {:.4g} GB/s", machine.hosts.size(),
                            cluster.rings.size(), cluster.rings.size() == 1 ? "" : "s", cluster.bytes_per_ns),
                "font-weight='bold'");
    y += 8;
  }
  y += 24;
  body += key_svg(y);
  y += 20;
  return fmt::format(
             "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' "
             "font-family='Helvetica, Arial, sans-serif' font-size='12'>\n"
             "<style>.small{{font-size:9px;fill:#555}}.ring{{font-size:11px}}.title{{font-size:15px;font-weight:bold}}."
             "nvlink,.xgmi,.c2c{{fill:none;stroke-opacity:0.75}}"
             ".nvlink{{stroke:#2e7d46}}.xgmi{{stroke:#b02a3a}}.c2c{{stroke:#7048b8}}</style>\n"
             "<rect width='100%' height='100%' fill='white'/>\n<g transform='translate({2},{2})'>\n",
             width + 2 * kMargin, y + 2 * kMargin, kMargin) +
         text_at(0, 14, machine.source, "class='title'") + body + "</g>\n</svg>\n";
}

}  // namespace peal::topo
