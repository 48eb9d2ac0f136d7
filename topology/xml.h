// XML as the readers see it: a parsed document within limits, attributes by type, and errors that name file and line.
#pragma once

#include <tinyxml2.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal::xml {

using Element = tinyxml2::XMLElement;

class Document {
 public:
  // Throws Error(kInvalidArgument) in one line for what is no XML, is truncated, declares entities (which could grow
  // without bounds), nests deeper than tinyxml2 allows (100 levels), or has another root than `root`.
  Document(std::string_view text, std::string_view name, std::string_view root);

  const Element& root() const { return *root_; }

 private:
  tinyxml2::XMLDocument document_;
  const Element* root_ = nullptr;
};

// Attributes; "" or nullopt where they are missing or no number of the type.
std::string text_of(const Element& element, const char* attribute);
std::optional<int64_t> integer_of(const Element& element, const char* attribute);
std::optional<double> number_of(const Element& element, const char* attribute);

// Walks over the children with this name (any name where it is null).
template <class Visit>
void for_each_child(const Element& element, const char* name, Visit&& visit) {
  for (const Element* child = element.FirstChildElement(name); child != nullptr;
       child = child->NextSiblingElement(name)) {
    visit(*child);
  }
}

}  // namespace peal::xml
