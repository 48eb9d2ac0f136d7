// Everybody's strings as one body, and the limit on their sum.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peal {

inline constexpr size_t kMostGatheredBytes = size_t{64} << 20;  // over all ranks: 16,384 ranks of 4 KiB each

// Throws Error(kInvalidArgument) when one rank's share of kMostGatheredBytes is exceeded.
void check_gathered_bytes(const std::string& mine, int ranks);

std::string pack_gathered(const std::vector<std::string>& all);
// Nothing when the body doesn't hold exactly `ranks` strings.
std::optional<std::vector<std::string>> unpack_gathered(std::string_view body, int ranks);

}  // namespace peal
