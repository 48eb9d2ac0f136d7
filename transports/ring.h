// A byte ring with one writer and one reader, in memory that may be shared between processes.
//
// Memory: [RingControl][capacity bytes], capacity a power of two. Both indices count bytes since the start and never
// wrap (2^64 bytes at 100 GB/s last 5 years). Each index has one writer and a line of its own; each side keeps the last
// value that it saw of the other's and looks again only when that no longer suffices, so a stream of small messages
// costs one line transfer per refill, not one per message.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace peal {

// 128: the adjacent-line prefetcher pulls 64-byte lines in pairs.
inline constexpr size_t kRingLine = 128;

struct RingControl {
  static constexpr size_t kShortWords = 5;
  static constexpr size_t kShort = kShortWords * sizeof(uint64_t);

  // Stored by the writer alone. A write of at most kShort bytes leaves a copy in this line, so that a reader that waits
  // for it pays one line transfer, not a second one for the ring's bytes: 8 bytes take 175 ns one way instead of 330
  // where a bare counter takes 110 to 160.
  alignas(kRingLine) std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> short_end{0};    // `written` after the write that the copy is of
  std::atomic<uint64_t> short_begin{0};  // and before it
  std::array<std::atomic<uint64_t>, kShortWords> short_copy{};

  alignas(kRingLine) std::atomic<uint64_t> read{0};         // stored by the reader alone
  alignas(kRingLine) std::atomic<uint32_t> writer_left{0};  // stored once, at the end: a line that stays in both caches
  std::atomic<uint32_t> reader_left{0};

  // With the padding that lets another ring follow.
  static size_t bytes_for(size_t capacity) noexcept {
    return sizeof(RingControl) + (capacity + kRingLine - 1) / kRingLine * kRingLine;
  }
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingControl* ring, size_t capacity) noexcept : ring_(ring), capacity_(capacity) {}

  // Takes as many of the bytes as there is room for, and says how many.
  size_t write(const std::byte* from, size_t bytes) noexcept {
    if (capacity_ - (written_ - read_seen_) < bytes) read_seen_ = ring_->read.load(std::memory_order_acquire);
    size_t taken = std::min<size_t>(bytes, capacity_ - (written_ - read_seen_));
    if (taken == 0) return 0;
    size_t at = written_ & (capacity_ - 1);
    size_t first = std::min(taken, capacity_ - at);
    std::memcpy(ring_->data() + at, from, first);
    if (first < taken) std::memcpy(ring_->data(), from + first, taken - first);
    written_ += taken;
    if (taken <= RingControl::kShort) leave_copy(from, taken);
    ring_->written.store(written_, std::memory_order_release);
    return taken;
  }

  explicit operator bool() const noexcept { return ring_ != nullptr; }
  size_t capacity() const noexcept { return capacity_; }
  bool reader_left() const noexcept { return ring_->reader_left.load(std::memory_order_acquire) != 0; }
  void leave() noexcept { ring_->writer_left.store(1, std::memory_order_release); }

 private:
  // The end goes first: a reader that sees a word of this copy sees, when it looks again, that the end has moved.
  void leave_copy(const std::byte* from, size_t bytes) noexcept {
    uint64_t words[RingControl::kShortWords] = {};
    std::memcpy(words, from, bytes);
    ring_->short_end.store(written_, std::memory_order_relaxed);
    ring_->short_begin.store(written_ - bytes, std::memory_order_release);
    for (size_t i = 0; i * sizeof(uint64_t) < bytes; ++i) {
      ring_->short_copy[i].store(words[i], std::memory_order_release);
    }
  }

  RingControl* ring_ = nullptr;
  size_t capacity_ = 0;
  uint64_t written_ = 0;
  uint64_t read_seen_ = 0;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(RingControl* ring, size_t capacity) noexcept : ring_(ring), capacity_(capacity) {}

  // Gives as many bytes as there are, at most `bytes`, and says how many.
  size_t read(std::byte* to, size_t bytes) noexcept {
    if (written_seen_ - read_ < bytes) written_seen_ = ring_->written.load(std::memory_order_acquire);
    size_t given = std::min<size_t>(bytes, written_seen_ - read_);
    if (given == 0) return 0;
    bool is_last = given <= RingControl::kShort && written_seen_ - read_ == given;
    if (!is_last || !take_copy(to, given)) take_bytes(to, given);
    read_ += given;
    ring_->read.store(read_, std::memory_order_release);
    return given;
  }

  explicit operator bool() const noexcept { return ring_ != nullptr; }
  size_t capacity() const noexcept { return capacity_; }
  // Once this is true, all that was ever written can be read.
  bool writer_left() const noexcept { return ring_->writer_left.load(std::memory_order_acquire) != 0; }
  void leave() noexcept { ring_->reader_left.store(1, std::memory_order_release); }

 private:
  void take_bytes(std::byte* to, size_t bytes) const noexcept {
    size_t at = read_ & (capacity_ - 1);
    size_t first = std::min(bytes, capacity_ - at);
    std::memcpy(to, ring_->data() + at, first);
    if (first < bytes) std::memcpy(to + first, ring_->data(), bytes - first);
  }

  // False when the copy is of other bytes, or was overwritten while it was read.
  bool take_copy(std::byte* to, size_t bytes) const noexcept {
    if (ring_->short_begin.load(std::memory_order_acquire) != read_) return false;
    uint64_t words[RingControl::kShortWords];
    for (size_t i = 0; i * sizeof(uint64_t) < bytes; ++i)
      words[i] = ring_->short_copy[i].load(std::memory_order_acquire);
    if (ring_->short_end.load(std::memory_order_relaxed) != written_seen_) return false;
    std::memcpy(to, words, bytes);
    return true;
  }

  RingControl* ring_ = nullptr;
  size_t capacity_ = 0;
  uint64_t read_ = 0;
  uint64_t written_seen_ = 0;
};

// Two rings in one block: what a connection between two ranks needs. The lower side writes the first, the upper side
// the second. The block is aligned to kRingLine and outlives the view.
struct RingPair {
  std::byte* memory = nullptr;
  size_t capacity = 0;

  static size_t bytes_for(size_t capacity) noexcept { return 2 * RingControl::bytes_for(capacity); }
  // Done by one side, before the other sees the block.
  void create() const noexcept {
    new (memory) RingControl;
    new (memory + RingControl::bytes_for(capacity)) RingControl;
  }
  RingControl* from_lower() const noexcept { return std::launder(reinterpret_cast<RingControl*>(memory)); }
  RingControl* from_upper() const noexcept {
    return std::launder(reinterpret_cast<RingControl*>(memory + RingControl::bytes_for(capacity)));
  }
  RingWriter writer(bool lower) const noexcept { return {lower ? from_lower() : from_upper(), capacity}; }
  RingReader reader(bool lower) const noexcept { return {lower ? from_upper() : from_lower(), capacity}; }
};

}  // namespace peal
