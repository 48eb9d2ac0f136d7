#include "collectives/fingerprint.h"

#include <fmt/format.h>

namespace peal {

std::string to_string(const Fingerprint& fingerprint) {
  // What came over the wire may be anything.
  const bool known = static_cast<int>(fingerprint.collective) < kCollectives &&
                     static_cast<int>(fingerprint.type) < kDataTypes && static_cast<int>(fingerprint.op) < kReduceOps;
  if (!known) return "something that is no call of this version";
  std::string text = fmt::format("{}{} number {}", name_of(fingerprint.collective), fingerprint.variant ? "_v" : "",
                                 fingerprint.sequence);
  if (fingerprint.collective == Collective::kBarrier) return text;
  text += fmt::format(", count {}, {}", fingerprint.count, name_of(fingerprint.type));
  if (reduces(fingerprint.collective)) text += fmt::format(", {}", name_of(fingerprint.op));
  if (fingerprint.root >= 0) text += fmt::format(", root {}", fingerprint.root);
  if (fingerprint.symmetric_offset > 0) {
    text += fmt::format(", symmetric memory at offset {}", fingerprint.symmetric_offset - 1);
  }
  return text;
}

Error mismatch(int rank, int peer, const std::array<uint64_t, 4>& mine, const std::array<uint64_t, 4>& theirs) {
  return Error(ErrorCode::kMismatch,
               fmt::format("rank {} calls {}, but rank {} calls {}", rank, to_string(Fingerprint::of(mine)), peer,
                           to_string(Fingerprint::of(theirs))),
               {rank, peer, -1});
}

}  // namespace peal
