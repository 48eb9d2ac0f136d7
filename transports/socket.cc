#include "transports/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace peal {
namespace {

constexpr int kBacklog = 1024;

void set_option(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof value);  // what can't be set is not worth failing for
}

Socket new_socket(int family) noexcept {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::vector<SocketAddress> look_up(const std::string& host, uint16_t port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (addrinfo* one = error ? nullptr : found; one; one = one->ai_next) {
    addresses.emplace_back(one->ai_addr, one->ai_addrlen);
  }
  return addresses;
}

struct PortRange {
  uint16_t first = 0, last = 0;
};

PortRange parse_port_range(const std::string& text) {
  PortRange range;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, range.first);
  bool one_port = first.ec == std::errc{} && first.ptr == end;
  if (one_port) range.last = range.first;
  if (!one_port && first.ec == std::errc{} && *first.ptr == '-') {
    auto last = std::from_chars(first.ptr + 1, end, range.last);
    one_port = last.ec == std::errc{} && last.ptr == end;
  }
  if (!one_port || range.first == 0 || range.first > range.last) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("PEAL_PORT_RANGE is \"{}\": expected two ports, first <= last, e.g. 20000-20099", text));
  }
  return range;
}

// Listens at the port on the family's "any" address; AF_UNSPEC falls back to IPv4 where the kernel has no IPv6.
Socket listen_at_any(int family, uint16_t port) {
  if (family != AF_UNSPEC) return listen_at(SocketAddress::any(family, port));
  Socket probe = new_socket(AF_INET6);
  return listen_at(SocketAddress::any(probe.open() ? AF_INET6 : AF_INET, port));
}

}  // namespace

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t bytes) noexcept
    : bytes_(std::min<socklen_t>(bytes, sizeof storage_)) {
  std::memcpy(&storage_, address, bytes_);
}

SocketAddress SocketAddress::unix_name(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("Unix socket name \"{}\": expected 1 to {} bytes, found {}",
                                                         name, sizeof address.sun_path - 1, name.size()));
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading zero byte makes it abstract
  auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return {reinterpret_cast<const sockaddr*>(&address), bytes};
}

SocketAddress SocketAddress::ip(std::span<const uint8_t> bytes, uint16_t port) {
  if (bytes.size() == 4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::memcpy(&address.sin_addr, bytes.data(), 4);
    return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, bytes.data(), std::min<size_t>(bytes.size(), 16));
  return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
}

SocketAddress SocketAddress::any(int family, uint16_t port) {
  static constexpr uint8_t kZeros[16] = {};
  return ip(std::span(kZeros, family == AF_INET ? 4 : 16), port);
}

std::vector<SocketAddress> SocketAddress::numeric(const std::string& host, uint16_t port) {
  int error = 0;
  return look_up(host, port, AI_NUMERICHOST, error);
}

std::vector<SocketAddress> SocketAddress::resolve(const std::string& host, uint16_t port) {
  int error = 0;
  auto addresses = look_up(host, port, 0, error);
  if (addresses.empty()) {
    throw Error(ErrorCode::kSystem, fmt::format("can't find host \"{}\": {}", host, ::gai_strerror(error)));
  }
  return addresses;
}

SocketAddress SocketAddress::local_of(int fd) noexcept {
  SocketAddress address;
  address.bytes_ = sizeof address.storage_;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.bytes_) != 0) return {};
  return address;
}

SocketAddress SocketAddress::peer_of(int fd) noexcept {
  SocketAddress address;
  address.bytes_ = sizeof address.storage_;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.bytes_) != 0) return {};
  return address;
}

uint16_t SocketAddress::port() const noexcept {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(storage_).sin6_port);
  return 0;
}

std::span<const uint8_t> SocketAddress::ip_bytes() const noexcept {
  if (family() == AF_INET) {
    return {reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in&>(storage_).sin_addr), 4};
  }
  if (family() != AF_INET6) return {};
  std::span bytes(reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr), 16);
  bool is_mapped_ipv4 = IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
  return is_mapped_ipv4 ? bytes.last(4) : bytes;
}

std::string SocketAddress::text() const {
  if (family() == AF_UNIX) {
    const char* path = reinterpret_cast<const sockaddr_un&>(storage_).sun_path;
    size_t bytes = bytes_ - offsetof(sockaddr_un, sun_path);
    return bytes > 1 ? fmt::format("unix:{}", std::string_view(path + 1, bytes - 1)) : "unix:";
  }
  auto bytes = ip_bytes();
  if (bytes.empty()) return "nowhere";
  char words[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), words, sizeof words);
  return bytes.size() == 4 ? fmt::format("{}:{}", words, port()) : fmt::format("[{}]:{}", words, port());
}

Socket listen_at(const SocketAddress& address) {
  Socket socket = new_socket(address.family());
  if (!socket.open()) throw system_error("socket", errno);
  if (address.family() != AF_UNIX) set_option(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set_option(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.fd(), address.get(), address.bytes()) != 0 || ::listen(socket.fd(), kBacklog) != 0) {
    throw system_error(fmt::format("can't listen at {}", address.text()), errno);
  }
  return socket;
}

Socket listen_in_range(int family, const std::string& port_range) {
  if (port_range.empty()) return listen_at_any(family, 0);
  PortRange range = parse_port_range(port_range);
  std::string last_error;
  for (int port = range.first; port <= range.last; ++port) {
    try {
      return listen_at_any(family, static_cast<uint16_t>(port));
    } catch (const Error& error) {
      last_error = error.what();
    }
  }
  throw Error(ErrorCode::kSystem, fmt::format("no free port in PEAL_PORT_RANGE={} ({} ports tried; the last one: {})",
                                              port_range, range.last - range.first + 1, last_error));
}

Socket dial(const SocketAddress& to, int& error) noexcept {
  Socket socket = new_socket(to.family());
  error = socket.open() ? 0 : errno;
  if (error) return {};
  tune_for_messages(socket.fd());
  if (::connect(socket.fd(), to.get(), to.bytes()) == 0 || errno == EINPROGRESS) return socket;
  error = errno;
  return {};
}

void tune_for_messages(int fd) noexcept {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // 5 s of silence, then 5 questions a second apart. Not TCP_USER_TIMEOUT: that also ends a connection whose peer
  // merely leaves its window closed, which is how a receiver that posted nothing holds its sender back.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
}

}  // namespace peal
