#include "topology/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace peal::xml {
namespace {

[[noreturn]] void fail(std::string_view name, int line, const std::string& what) {
  const std::string where = line > 0 ? fmt::format("{}: line {}", name, line) : std::string(name);
  throw Error(ErrorCode::kInvalidArgument, where + ": " + what);
}

// tinyxml2's own text has several sentences, and the line, which stands before it here.
std::string what_is_wrong(tinyxml2::XMLError error) {
  switch (error) {
    case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
      return "found the end of another element, or the file's end";
    case tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED:
      return "found elements nested too deep";
    case tinyxml2::XML_ERROR_EMPTY_DOCUMENT:
      return "found no element";
    default:
      return fmt::format("found none that can be parsed ({})", tinyxml2::XMLDocument::ErrorIDToName(error));
  }
}

}  // namespace

Document::Document(std::string_view text, std::string_view name, std::string_view root) {
  if (const size_t entity = text.find("<!ENTITY"); entity != text.npos) {
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(entity), '\n');
    fail(name, static_cast<int>(lines) + 1, "expected XML without entities, found one declared");
  }
  const tinyxml2::XMLError error = document_.Parse(text.data(), text.size());
  if (error != tinyxml2::XML_SUCCESS) fail(name, document_.ErrorLineNum(), "expected XML, " + what_is_wrong(error));
  root_ = document_.RootElement();
  if (root_ == nullptr || root_->Name() != root) {
    fail(name, root_ == nullptr ? 0 : root_->GetLineNum(),
         fmt::format("expected <{}>, found {}", root, root_ == nullptr ? "no element" : "another element"));
  }
}

std::string text_of(const Element& element, const char* attribute) {
  const char* value = element.Attribute(attribute);
  return value == nullptr ? "" : value;
}

std::optional<int64_t> integer_of(const Element& element, const char* attribute) {
  const std::string text = text_of(element, attribute);
  int64_t value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || next != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> number_of(const Element& element, const char* attribute) {
  const std::string text = text_of(element, attribute);
  double value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || next != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace peal::xml
