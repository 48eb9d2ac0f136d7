// Text in SVG.
#pragma once

#include <string>
#include <string_view>

namespace peal::topo {

// With what XML needs in the place of marks, and without control characters, which XML has no way to write.
std::string svg_escaped(std::string_view text);

// As much of it as has room at this font size, in pixels: a letter is 0.55 of that wide on average.
std::string fitting(const std::string& text, double width, double size = 12);

// A <text> element; `style`: further attributes.
std::string text_at(double x, double y, const std::string& text, const char* style = "");

}  // namespace peal::topo
