#include "topology/cpu_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace peal {

std::string to_cpu_list(const std::vector<int>& ascending) {
  std::string list;
  for (size_t first = 0, last = 0; first < ascending.size(); first = last + 1) {
    last = first;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) last++;
    if (!list.empty()) list += ',';
    list +=
        first == last ? fmt::format("{}", ascending[first]) : fmt::format("{}-{}", ascending[first], ascending[last]);
  }
  return list;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](int* value) {
    const auto [next, error] = std::from_chars(at, end, *value);
    at = next;
    return error == std::errc() && *value >= 0 && *value < kMostProcessors;
  };
  while (at != end) {
    int first = 0, last = 0;
    if (!number(&first)) return std::nullopt;
    last = first;
    if (at != end && *at == '-' && (at++, !number(&last) || last < first)) return std::nullopt;
    // Ranges that overlap again and again would cost their number times the length.
    if (cpus.size() > 4 * static_cast<size_t>(kMostProcessors)) return std::nullopt;
    for (int cpu = first; cpu <= last; cpu++) cpus.push_back(cpu);
    if (at == end) break;
    if (*at++ != ',' || at == end) return std::nullopt;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::optional<std::vector<int>> parse_cpu_mask(std::string_view text) {
  std::vector<uint32_t> words;  // the highest first
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    if (word.starts_with("0x")) word.remove_prefix(2);
    uint32_t value = 0;
    const auto [next, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    // hwloc leaves a word out that is zero: "0xff,,0x1".
    if (!word.empty() && (error != std::errc() || next != word.data() + word.size())) return std::nullopt;
    if (word.empty() && (words.empty() || end == text.size())) return std::nullopt;
    words.push_back(value);
    if (words.size() > kMostProcessors / 32) return std::nullopt;
    begin = end + 1;
  }
  std::vector<int> cpus;
  for (size_t i = 0; i < words.size(); i++) {
    const uint32_t word = words[words.size() - 1 - i];
    for (int bit = 0; bit < 32; bit++) {
      if ((word >> bit & 1) != 0) cpus.push_back(static_cast<int>(i) * 32 + bit);
    }
  }
  return cpus;
}

}  // namespace peal
