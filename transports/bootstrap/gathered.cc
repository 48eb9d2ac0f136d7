#include "transports/bootstrap/gathered.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace peal {

void check_gathered_bytes(const std::string& mine, int ranks) {
  size_t most = kMostGatheredBytes / static_cast<size_t>(ranks);
  if (mine.size() <= most) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("start-up's exchange: {} bytes from one of {} ranks, at most {}", mine.size(), ranks, most));
}

std::string pack_gathered(const std::vector<std::string>& all) {
  std::string body;
  for (const std::string& one : all) {
    auto bytes = static_cast<uint32_t>(one.size());
    body.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    body += one;
  }
  return body;
}

std::optional<std::vector<std::string>> unpack_gathered(std::string_view body, int ranks) {
  std::vector<std::string> all;
  while (!body.empty()) {
    uint32_t bytes = 0;
    if (body.size() < sizeof bytes) return std::nullopt;
    std::memcpy(&bytes, body.data(), sizeof bytes);
    body.remove_prefix(sizeof bytes);
    if (body.size() < bytes) return std::nullopt;
    all.emplace_back(body.substr(0, bytes));
    body.remove_prefix(bytes);
  }
  if (all.size() != static_cast<size_t>(ranks)) return std::nullopt;
  return all;
}

}  // namespace peal
