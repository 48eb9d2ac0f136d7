// Runs a plan over mapped memory: steps over slots that all ranks see, and over the callers' buffers where peers can
// get at those. Every step is done when it was issued; what is waited for are peers' counters. Several segments are in
// flight, phase by phase (phases.h).
//
// Counters. A rank publishes stage s of segment number e by raising its line e % kWindowTurns to e * kMostStages + s +
// 1 (numbers count on from operation to operation), with its call and its buffers' addresses in the same line. When it
// has read all it wants of segment e it raises its finished line to e + 1. A slot is used again once all have finished
// what used it last; who publishes says how far it has finished, so that finished lines are looked at only in need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "collectives/group_window.h"
#include "collectives/operation.h"
#include "collectives/phases.h"

namespace peal {

class MappedLane {
 public:
  explicit MappedLane(GroupWindow& group);

  // Prepares `operation`, which must outlive its end. May allocate.
  void begin(const Operation& operation);

  // Issues what it can; true when anything moved. Nothing happens once done() or failed.
  bool advance() noexcept;
  bool done() const noexcept { return done_; }

  // Looks for a member that died or left before this operation was over.
  void look() noexcept;

  const Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }
  int step() const noexcept { return static_cast<int>(cursor_.step()); }  // for messages: what is waited for
  int segment() const noexcept { return cursor_.done() ? 0 : static_cast<int>(cursor_.segment()); }

 private:
  struct Piece {
    std::byte* data = nullptr;
    size_t count = 0;
  };
  struct Peer {
    double factor = 1;                  // kPremulSum: for what this rank reads of its contribution
    uint64_t finished = 0;              // segments that it is known to have finished
    bool checked = false;               // it makes the same call
    std::array<uint64_t, 2> buffers{};  // its input and output, as addresses or offsets
  };

  size_t largest_chunk() const noexcept;
  void choose_slices();
  size_t share(size_t count) const noexcept;
  Piece piece(const Chunks& chunks, int i) const noexcept;
  uint64_t remote(int peer, const Chunks& chunks, int i) const noexcept;
  std::byte* mapped(int peer, const Chunks& chunks, int i) const noexcept;
  bool is_fetched(const Chunks& chunks) const noexcept;

  bool may_enter_segment() noexcept;
  bool finished_by_all(uint64_t segments) noexcept;
  bool issue(const Step& step) noexcept;
  void copy(const Chunks& dst, const Chunks& src) noexcept;
  void copy_to_peers(std::byte* to, const std::byte* from, size_t bytes, bool results) const noexcept;
  void publish(const Step& step) noexcept;
  bool published(int peer, int stage) noexcept;
  bool read(const Step& step) noexcept;
  bool read_reduce(const Step& step) noexcept;
  bool reduce_piece(const Step& step, std::span<const Step> writes, int i) noexcept;
  bool gather_sources(const Step& step, int i, size_t at, size_t count) noexcept;
  double factor_of_own() const noexcept;
  bool multiplies(const Step& step, bool own) const noexcept;
  size_t block_bytes() const noexcept;
  bool fetch(int peer, uint64_t from, void* to, size_t bytes) noexcept;
  void write(const Step& step) noexcept;
  void fail(Error error) noexcept {
    if (!failure_) failure_.emplace(std::move(error));
  }

  GroupWindow& group_;
  const Operation* operation_ = nullptr;
  const Plan* plan_ = nullptr;
  PhaseCursor cursor_;
  uint64_t epoch_ = 0;  // number of this operation's first segment
  size_t element_ = 1;
  size_t slice_ = 0;        // elements of one chunk in one segment
  size_t slice_bytes_ = 0;  // the same, rounded up to whole cache lines
  size_t segments_ = 0;
  size_t scratch_turn_ = 0;  // bytes
  bool done_ = true;
  std::optional<Error> failure_;

  std::vector<Peer> peers_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> blocks_;  // by rank: one of what is to be reduced, fetched or multiplied
  std::vector<const void*> sources_;
};

}  // namespace peal
