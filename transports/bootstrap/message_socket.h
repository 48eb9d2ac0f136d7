// Start-up's messages over one authenticated socket: kind, deadline, length, body. Non-blocking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transports/socket.h"

namespace peal {

enum class MessageKind : uint8_t { kJoin = 1, kStart, kGather, kGathered, kFailure };

struct Message {
  MessageKind kind;
  int64_t left_ms;  // until the sender's deadline
  std::string body;
};

std::string encode(const Message& message);

class MessageSocket {
 public:
  // A body longer than `most_bytes` closes the socket unread.
  MessageSocket(Socket socket, std::string address, size_t most_bytes);

  // `encoded` stays the caller's and must live until all_sent(). Nothing may be under way.
  void start_sending(std::string_view encoded) { to_send_ = encoded; }
  void advance_sending() noexcept;
  // What is half sent can't be continued: closes.
  void give_up_sending() noexcept {
    if (!all_sent()) close("didn't read what it was sent");
  }
  bool all_sent() const noexcept { return to_send_.empty(); }

  // The next whole message. When there is none, closed() tells whether there ever will be.
  std::optional<Message> receive() noexcept;
  bool closed() const noexcept { return !socket_.open(); }

  int fd() const noexcept { return socket_.fd(); }
  const std::string& address() const noexcept { return address_; }
  const std::string& why_closed() const noexcept { return why_closed_; }

 private:
  void close(std::string why) noexcept;
  bool fill(size_t bytes) noexcept;

  Socket socket_;
  std::string address_;
  size_t most_bytes_;
  std::string_view to_send_;
  std::string received_;  // header and body of the message that is arriving
  std::string why_closed_;
};

}  // namespace peal
