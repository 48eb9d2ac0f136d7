#include "tools/topo/layout.h"

#include <algorithm>
#include <cmath>

namespace peal::topo {
namespace {

constexpr double kGap = 8, kTitle = 20;
constexpr double kCore = 12, kCoreGap = 3;
constexpr double kDeviceWidth = 74, kGpuHeight = 46, kNicHeight = 36;
constexpr double kSwitchHeight = 28, kSwitchGap = 60, kBows = 70;  // room for the links

bool is_device(ObjectKind kind) { return kind == ObjectKind::kGpu || kind == ObjectKind::kNic; }

class Layouter {
 public:
  Layouter(const Host& host, double most_width)
      : host_(host), children_(host.objects.size()), sizes_(host.objects.size()) {
    for (size_t i = 1; i < host.objects.size(); i++) {
      if (host.objects[i].kind != ObjectKind::kNvSwitch) children_[parent_of(i)].push_back(i);
    }
    for (size_t i = host.objects.size(); i-- > 0;) measure(i, most_width);
  }

  Layout go() {
    place(0, 0, 0);
    layout_.width = sizes_[0].width;
    layout_.height = sizes_[0].height;
    const std::vector<int> switches = objects_of(host_, ObjectKind::kNvSwitch);
    const bool bows = std::any_of(host_.links.begin(), host_.links.end(), [&](const Link& link) {
      return link.kind != LinkKind::kSocket && at(static_cast<size_t>(link.a)).kind != ObjectKind::kNvSwitch &&
             at(static_cast<size_t>(link.b)).kind != ObjectKind::kNvSwitch;
    });
    if (bows) layout_.height += kBows;
    if (!switches.empty()) {
      layout_.boxes.push_back(
          {switches[0], kGap, layout_.height + kSwitchGap, layout_.width - 2 * kGap, kSwitchHeight});
      layout_.height += kSwitchGap + kSwitchHeight;
    }
    return layout_;
  }

 private:
  struct Size {
    double width = 0, height = 0;
    std::vector<Box> inside;  // of the children, from this box's corner
  };

  size_t parent_of(size_t object) const { return static_cast<size_t>(host_.objects[object].parent); }
  const Object& at(size_t object) const { return host_.objects[object]; }

  // What stands in a box: its children, but of a bridge with nothing in it nothing, and of one with a single thing in
  // it that thing: the ways down to a device are long on real boards, and only where they part is of interest.
  std::vector<size_t> inside(size_t object) const {
    std::vector<size_t> all;
    for (const size_t child : children_[object]) {
      if (at(child).kind != ObjectKind::kHostBridge && at(child).kind != ObjectKind::kPciBridge) {
        all.push_back(child);
        continue;
      }
      const std::vector<size_t> below = inside(child);
      if (below.size() > 1) all.push_back(child);
      if (below.size() == 1) all.push_back(below[0]);
    }
    return all;
  }

  double title_width(size_t object) const {
    const ObjectKind kind = at(object).kind;
    return kind == ObjectKind::kHost || kind == ObjectKind::kPackage || kind == ObjectKind::kNumaNode ? 150 : 96;
  }

  // Children are measured before their parents. Cores stand in a grid, all else in rows.
  void measure(size_t object, double most_width) {
    Size& size = sizes_[object];
    const ObjectKind kind = at(object).kind;
    if (kind == ObjectKind::kCore) {
      size = {kCore, kCore, {}};
      return;
    }
    if (is_device(kind)) {
      size = {kDeviceWidth, kind == ObjectKind::kGpu ? kGpuHeight : kNicHeight, {}};
      return;
    }
    std::vector<size_t> cores, others;
    for (const size_t child : inside(object)) (at(child).kind == ObjectKind::kCore ? cores : others).push_back(child);
    double bottom = kTitle, right = title_width(object);
    if (!cores.empty()) {
      const double columns = std::clamp(std::ceil(std::sqrt(static_cast<double>(cores.size()) * 2)), 4.0, 16.0);
      for (size_t i = 0; i < cores.size(); i++) {
        const double column = std::fmod(static_cast<double>(i), columns),
                     row = std::floor(static_cast<double>(i) / columns);
        size.inside.push_back({static_cast<int>(cores[i]), kGap + column * (kCore + kCoreGap),
                               kTitle + row * (kCore + kCoreGap), kCore, kCore});
        right = std::max(right, size.inside.back().x + kCore);
        bottom = std::max(bottom, size.inside.back().y + kCore);
      }
      bottom += kGap;
    }
    // Wide things get rows of their own when the row is full; the host's limit shrinks with every level.
    const double limit = std::max(kDeviceWidth, most_width - 2 * kGap * 4);
    double x = kGap, row_height = 0;
    for (const size_t child : others) {
      const Size& inner = sizes_[child];
      if (x > kGap && x + inner.width > limit) {
        bottom += row_height + kGap;
        x = kGap;
        row_height = 0;
      }
      size.inside.push_back({static_cast<int>(child), x, bottom, inner.width, inner.height});
      x += inner.width + kGap;
      right = std::max(right, x - kGap);
      row_height = std::max(row_height, inner.height);
    }
    size.width = right + kGap;
    size.height = bottom + row_height + (row_height > 0 ? kGap : 0);
    if (cores.empty() && others.empty()) size.height = kTitle + 4;
  }

  void place(size_t object, double x, double y) {
    layout_.boxes.push_back({static_cast<int>(object), x, y, sizes_[object].width, sizes_[object].height});
    for (const Box& child : sizes_[object].inside) place(static_cast<size_t>(child.object), x + child.x, y + child.y);
  }

  const Host& host_;
  std::vector<std::vector<size_t>> children_;
  std::vector<Size> sizes_;
  Layout layout_;
};

}  // namespace

Layout lay_out(const Host& host, double most_width) { return Layouter(host, most_width).go(); }

}  // namespace peal::topo
