#include "transports/bootstrap/message_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peal {
namespace {

struct Header {
  uint32_t bytes;
  uint32_t left_ms;
  MessageKind kind;
  uint8_t spare[3];
};
static_assert(sizeof(Header) == 12);

}  // namespace

std::string encode(const Message& message) {
  Header header{static_cast<uint32_t>(message.body.size()),
                static_cast<uint32_t>(std::min<int64_t>(message.left_ms, UINT32_MAX)),
                message.kind,
                {}};
  std::string encoded(reinterpret_cast<const char*>(&header), sizeof header);
  return encoded + message.body;
}

MessageSocket::MessageSocket(Socket socket, std::string address, size_t most_bytes)
    : socket_(std::move(socket)), address_(std::move(address)), most_bytes_(most_bytes) {}

void MessageSocket::advance_sending() noexcept {
  while (!to_send_.empty() && !closed()) {
    ssize_t sent = ::send(fd(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      to_send_.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      to_send_ = {};  // what the peer sent before it went is still to be read, so the socket stays open
    }
  }
}

std::optional<Message> MessageSocket::receive() noexcept {
  if (!fill(sizeof(Header))) return std::nullopt;
  Header header;
  std::memcpy(&header, received_.data(), sizeof header);
  if (header.bytes > most_bytes_) {
    close(fmt::format("sent {} bytes, at most {} are legal", header.bytes, most_bytes_));
    return std::nullopt;
  }
  if (!fill(sizeof header + header.bytes)) return std::nullopt;
  Message message{header.kind, header.left_ms, received_.substr(sizeof header)};
  received_.clear();
  return message;
}

void MessageSocket::close(std::string why) noexcept {
  socket_.close();
  to_send_ = {};
  why_closed_ = std::move(why);
}

// Reads until `bytes` of the message are here. Never reads beyond them, so a fixed piece at a time is enough.
bool MessageSocket::fill(size_t bytes) noexcept {
  char piece[16384];
  while (received_.size() < bytes && !closed()) {
    ssize_t got = ::recv(fd(), piece, std::min(sizeof piece, bytes - received_.size()), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(piece, static_cast<size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      return false;
    } else if (got == 0 || errno != EINTR) {
      close(got == 0 ? "closed its connection" : std::strerror(errno));
    }
  }
  return received_.size() >= bytes;
}

}  // namespace peal
