// Stream sockets and their addresses, as values: abstract Unix names, IPv4 and IPv6. Everything here is non-blocking.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api.h"

namespace peal {

// Owns a file descriptor. Movable.
class PEAL_API Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  int fd() const noexcept { return fd_; }
  bool open() const noexcept { return fd_ >= 0; }
  void close() noexcept;
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

class PEAL_API SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t bytes) noexcept;

  // A name in Linux's abstract namespace: no file, gone with its socket. Throws Error(kInvalidArgument) when empty or
  // longer than 107 bytes.
  static SocketAddress unix_name(std::string_view name);
  // 4 bytes (IPv4) or 16 bytes (IPv6) in network order.
  static SocketAddress ip(std::span<const uint8_t> bytes, uint16_t port);
  // Every address of the family on this machine.
  static SocketAddress any(int family, uint16_t port);
  // Numeric addresses alone; an empty list when `host` is a name.
  static std::vector<SocketAddress> numeric(const std::string& host, uint16_t port);
  // Asks the resolver, which may block. Throws Error(kSystem) with the resolver's words.
  static std::vector<SocketAddress> resolve(const std::string& host, uint16_t port);
  static SocketAddress local_of(int fd) noexcept;
  static SocketAddress peer_of(int fd) noexcept;

  int family() const noexcept { return storage_.ss_family; }
  uint16_t port() const noexcept;  // 0 for Unix names
  std::span<const uint8_t> ip_bytes() const noexcept;
  std::string text() const;  // 10.0.0.1:4711, [fd00::2]:4711, unix:NAME
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const noexcept { return bytes_; }

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

// A listening socket. IPv6 "any" accepts IPv4 too. Throws Error(kSystem) naming the address and, for a port in use,
// that.
PEAL_API Socket listen_at(const SocketAddress& address);

// Listens on the first free port of `port_range` ("20000-20099", as PEAL_PORT_RANGE; empty: the system picks), on every
// address of `family` (AF_INET, AF_INET6, or AF_UNSPEC for both where there are both). Throws Error(kInvalidArgument)
// for a range that can't be read, Error(kSystem) naming the range when all its ports are in use.
PEAL_API Socket listen_in_range(int family, const std::string& port_range);

// Starts connecting. A closed socket and errno in `error` when refused at once. The connection may be under way still:
// a send then answers EAGAIN, and once it is refused, the reason.
PEAL_API Socket dial(const SocketAddress& to, int& error) noexcept;

// No delay for small messages; a peer whose host vanished is noticed within ten seconds. No-op on Unix sockets.
PEAL_API void tune_for_messages(int fd) noexcept;

}  // namespace peal
