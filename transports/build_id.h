// Which build this is. Every rank computes what every other will do, so ranks of one job run one build.
#pragma once

#include <cstdint>

namespace peal {

struct BuildId {
  uint8_t version[3];
  uint32_t hash;  // over all sources of base/, topology/, transports/ and collectives/; see build_id.cmake
};

extern const BuildId kThisBuild;

}  // namespace peal
