#include "topology/synthetic_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"

namespace peal {

void Scanner::fail(size_t position, const std::string& expected) const {
  const std::string_view rest = text_.substr(std::min(position - 1, text_.size()));
  const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \t\n"), size_t{40}));
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: position {}: expected {}, found {}", name_, position,
                                                       expected, word.empty() ? "the end" : fmt::format("'{}'", word)));
}

std::vector<Token> Scanner::tokens() {
  std::vector<Token> all;
  for (skip_space(); at_ < text_.size(); skip_space()) all.push_back(token());
  if (all.empty()) fail(1, "a description such as \"package:2 core:4\"");
  return all;
}

void Scanner::skip_space() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) at_++;
}

std::string Scanner::word(const char* more) {
  std::string word;
  while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                std::string_view(more).find(text_[at_]) != std::string_view::npos)) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
  }
  return word;
}

// hwloc writes "[NUMANode(memory=...)]" for memory beside a level: one in each.
Token Scanner::token() {
  Token token;
  token.position = at_ + 1;
  const bool bracket = text_[at_] == '[';
  if (bracket) at_++;
  token.type = word("-");
  if (token.type.empty()) fail(at_ + 1, "a word such as package:2");
  if (at_ < text_.size() && text_[at_] == ':') {
    at_++;
    const std::string digits = word("");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.count);
    if (error != std::errc() || end != digits.data() + digits.size() || token.count < 1 ||
        token.count > kMostOfAToken) {
      fail(token.position, fmt::format("a number from 1 to {} after the colon", kMostOfAToken));
    }
  }
  if (at_ < text_.size() && text_[at_] == '(') attributes(token);
  if (bracket && (at_ >= text_.size() || text_[at_++] != ']')) fail(token.position, "a closing ]");
  if (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0) fail(at_ + 1, "a blank");
  return token;
}

void Scanner::attributes(Token& token) {
  for (at_++; at_ < text_.size() && text_[at_] != ')';) {
    const std::string key = word("-_");
    std::string value;
    if (at_ < text_.size() && text_[at_] == '=') {
      at_++;
      value = word(key == "indexes" ? ",:*" : ".+");  // of hwloc: "indexes=0,2,1,3"
    }
    if (key.empty()) fail(at_ + 1, "an attribute such as memory=64GB");
    token.attributes[key] = value;
    if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ' ')) at_++;
  }
  if (at_ >= text_.size()) fail(token.position, "a closing )");
  at_++;
}

}  // namespace peal
