#include "tools/topo/svg_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace peal::topo {

std::string svg_escaped(std::string_view text) {
  std::string all;
  for (const char c : text) {
    switch (c) {
      case '<':
        all += "&lt;";
        break;
      case '>':
        all += "&gt;";
        break;
      case '&':
        all += "&amp;";
        break;
      case '"':
        all += "&quot;";
        break;
      case '\'':
        all += "&apos;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ') all += c;
    }
  }
  return all;
}

std::string fitting(const std::string& text, double width, double size) {
  const auto letters = static_cast<size_t>(std::max(0.0, width / (size * 0.55)));
  return text.size() <= letters ? text : text.substr(0, letters > 2 ? letters - 2 : 0) + "..";
}

std::string text_at(double x, double y, const std::string& text, const char* style) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' {}>{}</text>\n", x, y, style, svg_escaped(text));
}

}  // namespace peal::topo
