// Lists of processors as the kernel writes them: "0-3,8".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peal {

inline constexpr int kMostProcessors = 1 << 16;  // a number from there on is a mistake

std::string to_cpu_list(const std::vector<int>& ascending);

// Ascending and each once; empty text: none. nullopt for what is no list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

// Masks as the kernel, NCCL and hwloc write them: hexadecimal words of 32 bits, the highest first,
// "000000ff,0xffffffff". hwloc's "0xf...f", all processors from there on, has no end and is no mask here. nullopt for
// what is no mask.
std::optional<std::vector<int>> parse_cpu_mask(std::string_view text);

}  // namespace peal
