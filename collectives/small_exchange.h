// Collectives of a few KiB over mapped memory, in one hand-over: every rank writes what it contributes into cache lines
// that carry their own tag, and everybody takes the lines it needs as they come. The tag says which call the line
// belongs to, with which arguments, so that waiting for the tag is waiting for the data and checking the call at once.
//
// The plans one_shot and direct_* (algorithms/direct.cc) say the same and are what the checker proves: contributions
// into slots, publish, read; slots used in turn and reused when all have read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/group_window.h"
#include "collectives/operation.h"

namespace peal {

class SmallExchange {
 public:
  static constexpr size_t kMostBytes = 4096;  // of one rank's contribution

  explicit SmallExchange(GroupWindow& group);

  // What each rank puts in: equal on all ranks for equal calls. `count`, as the API says for this collective.
  static size_t contribution(Collective collective, int ranks, size_t count, size_t element) noexcept;

  // Starts `operation` (no v-variant, contribution at most kMostBytes, not empty), which must outlive its end.
  // `declares`: tells the group (GroupWindow::declare).
  void begin(const Operation& operation, bool declares = true) noexcept;

  // True when the operation is done. Never blocks; nothing is written to the output before all that is needed is here.
  bool advance() noexcept;

  // While an operation is under way: can it still end without this member's help?
  bool needs(int member) const noexcept;
  std::string waiting_for() const;

 private:
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kPayload = kLineBytes - sizeof(uint64_t);
  static constexpr size_t kTurns = 4;  // areas used one after the other: who is ahead need not wait for who has to read
  static constexpr size_t kAreaLines = (kMostBytes + kPayload - 1) / kPayload;
  static constexpr size_t kAreaBytes = kAreaLines * kLineBytes;
  static_assert(kTurns * kAreaBytes <= GroupWindow::kSmallBytes);

  struct alignas(kLineBytes) Line {
    std::atomic<uint64_t> tag;
    std::byte payload[kPayload];
  };

  Line* area(int member) const noexcept;
  bool puts() const noexcept;
  bool takes_from(int member) const noexcept;
  bool may_reuse() noexcept;
  void put(const std::byte* data, size_t bytes) noexcept;
  const Line& next_line() const noexcept;
  bool take() noexcept;
  void write_output() noexcept;

  GroupWindow& group_;
  int ranks_ = 1;
  uint64_t turn_ = 0;            // calls so far, equal on all ranks
  std::vector<uint64_t> turns_;  // by member: calls that it is known to have finished

  const Operation* operation_ = nullptr;
  Collective collective_ = Collective::kBarrier;
  uint64_t tag_ = 0;
  const std::byte* own_ = nullptr;  // what this rank contributes
  size_t block_ = 0;                // bytes taken from each member
  size_t block_offset_ = 0;         // in its contribution
  bool put_done_ = false;
  int member_ = 0;    // whose lines are awaited
  size_t taken_ = 0;  // bytes of its block that came

  std::vector<std::byte> arrived_;    // by member, kMostBytes each: blocks of several lines
  std::vector<std::byte> scaled_;     // kPremulSum: this rank's contribution
  std::vector<const void*> sources_;  // by member: its block
};

}  // namespace peal
