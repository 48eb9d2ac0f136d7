// Runs a plan of messages on one channel: this lane's part of every chunk, segment after segment. Steps are issued in
// order, each as soon as what it must wait for is complete; sends and receives of several steps, and of two segments,
// are in flight at once.
//
// A segment is the same piece of every chunk. Lanes never wait for each other: each has its own connections and
// scratch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "collectives/endpoint.h"
#include "collectives/operation.h"

namespace peal {

class Lane {
 public:
  // `channel` is the number of the connections used; index and of which share of each chunk is set by begin().
  Lane(Endpoint& endpoint, int channel);

  // Prepares `operation`, which must outlive its end. May allocate and throw: connections and scratch are made here,
  // and stay.
  void begin(const Operation& operation, int index);

  // Issues and completes what it can; true when anything moved. Nothing happens once done() or failed.
  bool advance() noexcept;
  bool done() const noexcept { return stage_ == Stage::kDone; }

  // Looks for a peer that died or left before this operation was over: called now and then while nothing moves. A peer
  // that left after its part was done is no failure.
  void look() noexcept;

  const Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }
  int step() const noexcept { return static_cast<int>(next_); }  // for messages: what is waited for
  int segment() const noexcept { return static_cast<int>(segment_); }

 private:
  enum class Stage { kGreet, kSteps, kDrain, kDone };
  static constexpr size_t kStagingSlots = 4;

  struct Piece {  // one chunk's share of this segment, or several chunks that lie back to back
    std::byte* data = nullptr;
    size_t count = 0;
  };
  struct Pending {  // a posted operation; complete when its connection's counter got there
    const Connection* connection;
    uint64_t target;
    uint64_t serial;  // segment * steps + step
    bool is_send;
    bool staged;
    void* reduce_into;  // kRecvReduce
    const void* arrived;
    size_t count;
  };
  struct Greeting {  // with one peer
    Connection* connection = nullptr;
    uint64_t sent = 0, received = 0;  // counters' targets
    uint64_t sends = 0, recvs = 0;    // posted on the connection so far
    bool checked = false;
    std::array<uint64_t, 4> theirs{};
  };

  size_t elements_in_lane(size_t count) const noexcept;
  size_t lane_begin(size_t count) const noexcept;
  size_t largest_share() const noexcept;
  void prepare_memory();

  bool greet() noexcept;
  bool check_greeting(int peer) noexcept;
  bool may_enter_segment() const noexcept;
  bool run_steps() noexcept;
  bool drain() noexcept;
  void finish() noexcept;
  bool completed(uint64_t serial) const noexcept;

  // Each returns false when the step can't be issued (wholly) yet, or failed.
  bool issue(const Step& step) noexcept;
  bool issue_send(const Step& step) noexcept;
  bool issue_recv(const Step& step) noexcept;
  void copy(const Step& step) noexcept;
  void reduce_local(const Step& step) noexcept;
  const void* scaled(const Chunks& chunks, const Piece& source) noexcept;

  int pieces(const Chunks& chunks) const noexcept { return merge_ ? 1 : chunks.count; }
  Piece message_piece(const Chunks& chunks, int i) const noexcept;
  Piece piece(const Chunks& chunks, int i) const noexcept;
  size_t share(size_t count) const noexcept;

  bool posted(Post answer, Connection& connection) noexcept;
  void remember(Pending pending) noexcept;
  std::byte* staging_slot() noexcept;  // the next one, or nullptr while all are taken
  void take_staging_slot() noexcept;
  void fail(Error error) noexcept {
    if (!failure_) failure_.emplace(std::move(error));
  }

  Endpoint& endpoint_;
  int channel_;

  const Operation* operation_ = nullptr;
  const Plan* plan_ = nullptr;
  size_t index_ = 0, lanes_ = 1;
  size_t element_ = 1;
  size_t slice_ = 0;        // elements of one chunk in one segment
  size_t slice_bytes_ = 0;  // the same, rounded up to whole cache lines
  size_t segments_ = 0;
  bool merge_ = false;  // chunks that lie back to back travel as one message

  Stage stage_ = Stage::kDone;
  size_t segment_ = 0, next_ = 0;
  int next_piece_ = 0;
  bool entered_ = false;
  std::optional<Error> failure_;

  std::vector<Greeting> greetings_;  // by peer
  size_t greeted_ = 0;
  std::array<uint64_t, 4> words_{};  // this rank's fingerprint, as sent
  std::vector<Pending> pending_;     // a ring
  size_t pending_head_ = 0, pending_count_ = 0;

  std::vector<std::byte> scratch_, staging_, scaled_;
  size_t staging_bytes_ = 0, staged_ = 0, staging_next_ = 0;
};

}  // namespace peal
