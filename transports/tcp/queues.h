// What is posted on a tcp connection: sends as one queue that sockets take chunks from, receives as places by number.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace peal {

// On the wire before each chunk, in this machine's byte order (ranks run one build).
struct ChunkHeader {
  uint64_t message;  // number of the send, from 0
  uint64_t offset;   // of this chunk in the message
  uint64_t total;    // bytes of the message
  uint32_t bytes;    // of this chunk; 0 only for a message of 0
  uint32_t spare;
};
static_assert(sizeof(ChunkHeader) == 32);

struct Chunk {
  ChunkHeader header;
  const std::byte* data;
};

// A chunk is a socket's turn: large enough that a header and a system call are nothing beside it, small enough that two
// sockets share a message of a megabyte evenly.
inline constexpr size_t kChunkBytes = 256 << 10;

class SendQueue {
 public:
  static constexpr size_t kCapacity = 128;

  bool full() const noexcept { return posted_ - done_ == kCapacity; }
  bool empty() const noexcept { return posted_ == done_; }
  uint64_t done() const noexcept { return done_; }
  bool all_cut() const noexcept { return cutting_ == posted_; }

  void post(const void* data, size_t bytes) noexcept {
    entry(posted_++) = {static_cast<const std::byte*>(data), bytes, 0, std::max<size_t>(bytes, 1)};
  }

  // The next chunk of the oldest message that is not cut to its end; false when there is none.
  bool cut(Chunk& chunk) noexcept {
    if (all_cut()) return false;
    Entry& send = entry(cutting_);
    size_t bytes = std::min(send.bytes - send.cut, kChunkBytes);
    chunk = {{cutting_, send.cut, send.bytes, static_cast<uint32_t>(bytes), 0}, send.data + send.cut};
    send.cut += bytes;
    if (send.cut == send.bytes) ++cutting_;
    return true;
  }

  // The kernel has taken all of this chunk.
  void taken(const ChunkHeader& header) noexcept {
    entry(header.message).left -= std::max<size_t>(header.bytes, 1);
    while (done_ < cutting_ && entry(done_).left == 0) ++done_;
  }

 private:
  struct Entry {
    const std::byte* data;
    size_t bytes;
    size_t cut;
    size_t left;  // bytes not taken yet; 1 for the header of an empty message
  };
  Entry& entry(uint64_t message) noexcept { return entries_[message % kCapacity]; }

  std::array<Entry, kCapacity> entries_;
  uint64_t done_ = 0, cutting_ = 0, posted_ = 0;  // message numbers
};

class ReceiveQueue {
 public:
  static constexpr size_t kCapacity = 128;
  enum class Place { kFound, kNotPosted, kOtherSize, kBroken };

  bool full() const noexcept { return posted_ - done_ == kCapacity; }
  bool empty() const noexcept { return posted_ == done_; }
  uint64_t done() const noexcept { return done_; }
  uint64_t posted() const noexcept { return posted_; }
  size_t oldest_bytes() const noexcept { return entries_[done_ % kCapacity].bytes; }

  void post(void* data, size_t bytes) noexcept {
    entry(posted_++) = {static_cast<std::byte*>(data), bytes, std::max<size_t>(bytes, 1)};
  }

  // Where the chunk's bytes belong.
  Place find(const ChunkHeader& header, std::byte*& to) noexcept {
    if (header.message >= posted_) return Place::kNotPosted;
    if (header.message < done_) return Place::kBroken;
    Entry& receive = entry(header.message);
    if (header.total != receive.bytes) return Place::kOtherSize;
    bool fits = header.offset <= header.total && header.bytes <= header.total - header.offset &&
                std::max<size_t>(header.bytes, 1) <= receive.left && (header.bytes > 0 || header.total == 0);
    to = receive.data + (fits ? header.offset : 0);
    return fits ? Place::kFound : Place::kBroken;
  }

  void arrived(const ChunkHeader& header) noexcept {
    entry(header.message).left -= std::max<size_t>(header.bytes, 1);
    while (done_ < posted_ && entry(done_).left == 0) ++done_;
  }

  size_t bytes_of(uint64_t message) const noexcept { return entries_[message % kCapacity].bytes; }

 private:
  struct Entry {
    std::byte* data;
    size_t bytes;
    size_t left;  // bytes not here yet; 1 for the header of an empty message
  };
  Entry& entry(uint64_t message) noexcept { return entries_[message % kCapacity]; }

  std::array<Entry, kCapacity> entries_;
  uint64_t done_ = 0, posted_ = 0;
};

}  // namespace peal
