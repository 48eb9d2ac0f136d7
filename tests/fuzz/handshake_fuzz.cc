// Whatever a stranger sends: neither side of the handshake lets it in, and an acceptor takes 64 bytes at most.
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

#include "transports/handshake.h"

using peal::Handshake;
using peal::Hello;
using peal::Socket;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  Socket stranger(ends[0]);
  peal::JobKey key{};
  key.fill(0x5a);
  const Hello hello{1, 0, peal::Purpose::kTcp, 0, 1, 42};
  bool accepts = data[0] & 1;
  auto handshake =
      accepts ? Handshake::accept(Socket(ends[1]), key, hello) : Handshake::dial(Socket(ends[1]), key, hello, 0);
  size_t pieces = 1 + data[0] / 64, rest = size - 1;
  const uint8_t* at = data + 1;
  for (size_t piece = 0; piece < pieces; ++piece) {
    size_t bytes = piece + 1 == pieces ? rest : rest / 2;
    if (bytes > 0 && ::send(stranger.fd(), at, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) break;
    at += bytes;
    rest -= bytes;
    if (handshake.advance() == Handshake::State::kDone) std::abort();
  }
  int unread = 0;
  ::ioctl(handshake.fd(), FIONREAD, &unread);
  size_t sent = static_cast<size_t>(at - data - 1);
  if (accepts && sent - static_cast<size_t>(unread) > Handshake::kMostBytesFromDialer) std::abort();
  return 0;
}
