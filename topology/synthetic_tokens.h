// The words of a synthetic description: "gpu:4(sm=90,memory=80GB)".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace peal {

inline constexpr int64_t kMostOfAToken = 1 << 21;

struct Token {
  std::string type;
  int64_t count = 1;
  std::map<std::string, std::string> attributes;
  size_t position = 0;  // of its first character, from 1
};

// Errors are Error(kInvalidArgument): "NAME: position 12: expected ..., found '...'".
class Scanner {
 public:
  // Both must outlive it.
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  std::vector<Token> tokens();
  [[noreturn]] void fail(size_t position, const std::string& expected) const;

 private:
  void skip_space();
  std::string word(const char* more);
  Token token();
  void attributes(Token& token);

  std::string_view text_, name_;
  size_t at_ = 0;
};

}  // namespace peal
