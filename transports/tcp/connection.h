// An ordered path to one peer over several TCP sockets. Every socket takes chunks from one queue as fast as its network
// path drains, and the receiver places them by offset: so no socket waits for a slower one. Sends complete when the
// kernel has taken them. What no receive is posted for stays in the kernel, whose closed window holds the sender back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/tcp/queues.h"
#include "transports/tcp/stream.h"
#include "transports/transport.h"

namespace peal {

class TcpTransport;

class TcpConnection final : public Connection {
 public:
  // `transport` outlives the connection, or has told it so by forget_transport().
  TcpConnection(TcpTransport& transport, int rank, int peer, int channel, size_t sockets);
  ~TcpConnection() override;

  Post post_send(const void* data, size_t bytes) noexcept override;
  Post post_recv(void* data, size_t bytes) noexcept override;

  int peer() const noexcept { return peer_; }
  int channel() const noexcept { return channel_; }
  size_t sockets() const noexcept { return streams_.size(); }
  TcpStream& stream(size_t index) noexcept { return streams_[index]; }
  // A socket whose other end has proved to be the peer's. `address` is for messages.
  void attach(size_t index, Socket socket, const std::string& address) noexcept;
  bool attached(size_t index) const noexcept { return streams_[index].attached(); }
  // Before the peer was reached.
  void fail_unreached(ErrorCode code, const std::string& why) noexcept;
  void forget_transport() noexcept;

  // Moves what can move. `ask_first_socket`: reads the first socket, if a receive waits, without waiting for an event.
  bool progress(bool ask_first_socket) noexcept;
  bool awaits_receive() const noexcept { return !receives_.empty() && !failure(); }
  // More than small messages on the first socket are under way: events are needed to go on.
  bool needs_events() const noexcept {
    return !failure() && (!sends_.empty() || (!receives_.empty() && receives_.oldest_bytes() > kChunkBytes));
  }
  // A call more would move more: no time to sleep.
  bool may_move() const noexcept;
  // Fails when the peer's host has been silent for long while a send waits. A system call.
  void check_host() noexcept;

 private:
  bool push() noexcept;
  bool pull(bool ask_first_socket) noexcept;
  void judge() noexcept;
  void fail_by(const TcpStream& stream) noexcept;
  void fail_with(ErrorCode code, const std::string& why) noexcept;

  TcpTransport* transport_;
  int rank_, peer_, channel_;
  std::string peer_address_ = "(not connected yet)";
  SendQueue sends_;
  ReceiveQueue receives_;
  std::vector<TcpStream> streams_;
};

}  // namespace peal
