#include "transports/pass_files.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace peal {
namespace {

// A message of one piece with room for the files beside it.
struct Message {
  explicit Message(void* data, size_t bytes, size_t files) : piece{data, bytes} {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (files == 0) return;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(files * sizeof(int));
  }
  iovec piece;
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFilesPassed * sizeof(int))] = {};
};

void take_files(msghdr& header, std::vector<Socket>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      files.emplace_back(fd);
    }
  }
}

}  // namespace

Passed send_files(const Socket& to, std::span<const std::byte> bytes, std::span<const int> files) {
  if (files.size() > kMostFilesPassed || bytes.empty() || bytes.size() > 4096) {
    throw Error(ErrorCode::kInternal, fmt::format("send_files: {} files with {} bytes", files.size(), bytes.size()));
  }
  Message message(const_cast<std::byte*>(bytes.data()), bytes.size(), files.size());
  if (cmsghdr* part = CMSG_FIRSTHDR(&message.header); part && !files.empty()) {
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(part), files.data(), files.size_bytes());
  }
  // Up to a page goes into a Unix stream socket as one piece or not at all.
  ssize_t sent = ::sendmsg(to.fd(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return Passed::kAll;
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return Passed::kAgain;
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return Passed::kClosed;
  throw system_error(fmt::format("passing {} files to a peer", files.size()), errno);
}

Passed receive_files(const Socket& from, std::span<std::byte> bytes, std::vector<Socket>& files) {
  files.clear();
  Message message(bytes.data(), bytes.size(), kMostFilesPassed);
  ssize_t got = ::recvmsg(from.fd(), &message.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Passed::kAgain;
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return Passed::kClosed;
  if (got < 0) throw system_error("receiving files from a peer", errno);
  take_files(message.header, files);
  if (message.header.msg_flags & MSG_CTRUNC) throw system_error("receiving files from a peer", EMFILE);
  if (static_cast<size_t>(got) != bytes.size()) {
    throw Error(ErrorCode::kPeerFailed,
                fmt::format("a peer passed files with {} bytes, expected {}", got, bytes.size()));
  }
  return Passed::kAll;
}

}  // namespace peal
