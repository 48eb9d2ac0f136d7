#include "transports/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace peal {

bool Window::fetch(int, uint64_t, void*, size_t) noexcept { return false; }

std::unique_ptr<Window> Transport::open_window(std::span<const PeerAddress>, int, uint64_t, size_t, Deadline) {
  throw Error(ErrorCode::kUnsupported, fmt::format("transport {} does not map peers' memory", name()));
}

void Transport::register_memory(void*, size_t) {}
void Transport::deregister_memory(void*) {}

void Transport::wait(int timeout_us) noexcept {
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(timeout_us, 50)));
}

}  // namespace peal
