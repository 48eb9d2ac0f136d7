// A collective as data: for one rank, straight-line steps over chunks. A plan holds no bytes, element types, pointers,
// transports or threads; it is executed (execute.h), proved (check.h), costed (simulate.h) and printed (to_string).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"
#include "topology/places.h"

namespace peal {

// Values travel in the fingerprint; they never change.
enum class Collective : uint8_t {
  kAllReduce = 0,
  kReduceScatter = 1,
  kAllGather = 2,
  kBroadcast = 3,
  kReduce = 4,
  kGather = 5,
  kScatter = 6,
  kAllToAll = 7,
  kBarrier = 8,
};
inline constexpr int kCollectives = 9;

PEAL_API std::string_view name_of(Collective collective) noexcept;  // "all_reduce"
PEAL_API Collective parse_collective(std::string_view word);        // throws Error(kInvalidArgument) listing them
PEAL_API bool reduces(Collective collective) noexcept;              // does it combine elements?

enum class Space : uint8_t {
  kInput,    // the caller's send buffer, never written
  kOutput,   // the caller's receive buffer
  kScratch,  // slots of this rank's own, contents undefined at the start
  kShared,   // slots that the whole group has mapped; contents undefined at the start
};

// A run of chunks of one space. Scratch and shared space consist of slots that may hold any chunk: slot first + i holds
// (a partial result of) chunk like + i, and has its length.
struct Chunks {
  Space space = Space::kInput;
  int32_t first = 0;
  int32_t count = 1;
  int32_t like = 0;

  bool overlaps(const Chunks& other) const noexcept {
    return space == other.space && first < other.first + other.count && other.first < first + count;
  }
  bool operator==(const Chunks&) const = default;
};

enum class StepKind : uint8_t {
  kSend,        // src to peer
  kRecv,        // dst from peer
  kRecvReduce,  // dst = dst (op) what comes from peer
  kCopy,        // dst = src
  kReduce,      // dst = dst (op) src
  kPublish,     // src may from now on be read by the group, which waits for `stage`; it copies nothing
  kRead,        // dst = peer's src, once the peer published `stage`
  kReadReduce,  // dst = fold in rank order over the group of: own for this rank, the member's src for the others
  kWrite,  // peer's dst = src, once the peer published `stage`; seen by others with this rank's next publish or end
  kTake,   // dst = src of this rank's own, which the peer wrote before it published `stage`
};

struct Step {
  StepKind kind;
  int32_t peer = -1;  // kReadReduce: unused, the group is all ranks
  Chunks dst{};
  Chunks src{};
  Chunks own{};           // kReadReduce: this rank's own contribution
  int16_t stage = 0;      // kPublish, kRead, kReadReduce, kWrite, kTake
  int32_t after = -1;     // every step up to and including this one has completed before this one is issued
  bool own_wait = false;  // `after` is this step's own hazard, not inherited from the step before it

  // A peer's chunks (kRead's and kReadReduce's src, kWrite's dst) are named as out of place: see in_place_chunks().
  bool waits_for_publish() const noexcept {
    return kind == StepKind::kRead || kind == StepKind::kReadReduce || kind == StepKind::kWrite ||
           kind == StepKind::kTake;
  }
  bool reads(const Chunks& chunks) const noexcept;   // of this rank's own spaces
  bool writes(const Chunks& chunks) const noexcept;  // of this rank's own spaces
};

// Segments of one channel that may be in flight at once: scratch and shared slots exist this many times, used in turn.
// The checker runs plans under exactly this rule.
inline constexpr int kSegmentsInFlight = 2;

// The same for plans over mapped memory, which run their phases on several segments at once (phases.h).
inline constexpr int kWindowTurns = 4;

struct Plan {
  Collective collective = Collective::kAllReduce;
  std::string_view algorithm;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  bool in_place = false;
  int chunks = 1;  // of the larger of input and output
  int scratch_slots = 0;
  int shared_slots = 0;              // equal on all ranks
  int stages = 0;                    // published counters used per execution, equal on all ranks
  bool exposes_user_memory = false;  // peers read and write the caller's buffers
  std::vector<Step> steps;
  std::vector<int> send_peers;  // in order of first use
  std::vector<int> recv_peers;

  bool needs_window() const noexcept { return stages > 0; }  // over all ranks
};

// Where chunks named as out of place lie in a call in place by `rank`: the smaller side lies inside the larger (the
// input of an all-gather is its block of the output, the output of a reduce-scatter is its block of the input);
// elsewhere the two are one buffer.
PEAL_API Chunks in_place_chunks(Collective collective, int rank, Chunks chunks) noexcept;

// Chunks in the caller's buffers: all_reduce, broadcast and reduce cut the buffer into plan.chunks parts; the others
// have one block per rank on one side or both.
PEAL_API int input_chunks(const Plan& plan) noexcept;
PEAL_API int output_chunks(const Plan& plan) noexcept;

// What an algorithm is told. In place is this rank's own affair: messages never depend on it.
struct PlanRequest {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  bool in_place = false;
  const Placement* placement = nullptr;  // where the ranks are; null: in rank order, and nothing else known
};

// One line per step.
PEAL_API std::string to_string(const Plan& plan);
PEAL_API std::string to_string(const Step& step);

}  // namespace peal
