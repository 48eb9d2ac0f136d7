// Whatever a peer publishes as its address or sends as chunks: no byte is written outside the posted buffers (the
// sanitizers watch), and an address that is accepted survives its own encoding.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "transports/tcp/address.h"
#include "transports/tcp/stream.h"

using namespace peal;

static void feed_address(const uint8_t* data, size_t size) {
  auto address = TcpAddress::decode({reinterpret_cast<const char*>(data), size});
  if (!address) return;
  places_to_try(*address, *address);
  auto same = TcpAddress::decode(address->encode());
  if (!same || same->id != address->id) std::abort();
}

static void feed_stream(const uint8_t* data, size_t size) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  Socket far(ends[0]);
  TcpStream stream;
  stream.attach(Socket(ends[1]));
  ReceiveQueue queue;
  std::vector<std::vector<std::byte>> buffers;
  for (size_t bytes : {4u, 0u, 100u, 5u}) {
    buffers.emplace_back(bytes);
    queue.post(buffers.back().data(), bytes);
  }
  if (::send(far.fd(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
  for (int i = 0; i < 8; ++i) {
    stream.assume_readable();
    stream.receive_into(queue);
  }
  if (queue.done() > queue.posted()) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  data[0] & 1 ? feed_address(data + 1, size - 1) : feed_stream(data + 1, size - 1);
  return 0;
}
