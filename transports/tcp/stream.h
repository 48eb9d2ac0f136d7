// One socket of a tcp connection: sends chunks cut from the connection's queue, places the chunks that arrive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transports/socket.h"
#include "transports/tcp/queues.h"

namespace peal {

class TcpStream {
 public:
  enum class End {
    kNone,
    kClosed,     // the peer closed it; all that it sent has been read
    kError,      // the network or the peer's host: error_number()
    kOtherSize,  // the peer's message is not of the posted receive's size: last_header()
    kBroken,     // what came makes no sense
  };

  void attach(Socket socket) noexcept;
  bool attached() const noexcept { return socket_.open(); }
  int fd() const noexcept { return socket_.fd(); }
  // Closes so that what the kernel has taken still arrives.
  void detach() noexcept;

  // An event from epoll (edge-triggered).
  void notice(uint32_t events) noexcept;

  // What the kernel takes now, within a budget per call. True when anything moved.
  bool send_from(SendQueue& queue) noexcept;
  bool may_send() const noexcept { return writable_ && !send_broken_ && is_live(); }
  // The peer takes no more; what it sent before may still be read.
  bool send_broken() const noexcept { return send_broken_; }

  // What has arrived for posted receives; the rest stays in the kernel and holds the peer back. True when anything
  // moved.
  bool receive_into(ReceiveQueue& queue) noexcept;
  // There may be something to read, as far as is known without asking the kernel, or a chunk waits in the stage.
  bool may_receive() const noexcept { return is_live() && (readable_ || has_staged_header()); }
  // More than a chunk whose receive is not posted yet.
  bool may_continue(const ReceiveQueue& queue) const noexcept {
    return may_receive() && !(waits_for_post_ && in_.header.message >= queue.posted());
  }
  void assume_readable() noexcept { readable_ = true; }
  bool is_live() const noexcept { return attached() && end_ == End::kNone; }

  End end() const noexcept { return end_; }
  bool peer_hung_up() const noexcept { return hung_up_ || end_ != End::kNone; }
  int error_number() const noexcept { return error_; }
  const ChunkHeader& last_header() const noexcept { return in_.header; }

  // The peer's host has not acknowledged anything for `limit_ms` though it was asked again and again. A system call.
  bool is_host_silent(int64_t limit_ms) const noexcept;

 private:
  enum class Step { kMoved, kWait };

  bool has_staged_header() const noexcept { return stage_end_ - stage_begin_ >= sizeof(ChunkHeader); }
  Step read_chunk(ReceiveQueue& queue) noexcept;
  Step read_more() noexcept;
  Step begin_chunk(ReceiveQueue& queue) noexcept;
  void take_bytes(ReceiveQueue& queue, size_t bytes) noexcept;
  Step after_read(ssize_t got, size_t asked) noexcept;
  bool send_chunk(SendQueue& queue) noexcept;
  void stop(End end, int error) noexcept;

  // Messages up to 8 KiB are read together with their headers by one call, and copied once more.
  static constexpr size_t kStageBytes = 8192 + sizeof(ChunkHeader);

  Socket socket_;
  bool readable_ = false, writable_ = false, hung_up_ = false, send_broken_ = false, waits_for_post_ = false;
  End end_ = End::kNone;
  int error_ = 0;

  struct {
    Chunk chunk;
    size_t sent = 0;  // of header and data together
    bool under_way = false;
  } out_;

  struct {
    ChunkHeader header{};
    std::byte* to = nullptr;
    size_t got = 0;
    bool under_way = false;
  } in_;
  std::array<std::byte, kStageBytes> stage_;
  size_t stage_begin_ = 0, stage_end_ = 0;
};

}  // namespace peal
