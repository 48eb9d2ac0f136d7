// A listening socket and the strangers who have connected to it but not yet shown that they belong to the job.
// Strangers cost a bounded amount: kMostStrangers sockets at a time (when one more comes the oldest that said nothing
// goes, else the oldest), each for at most kPatienceMs and 64 bytes. Port scans, garbage and idle connections change
// nothing but a counter.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/api.h"
#include "base/deadline.h"
#include "transports/handshake.h"
#include "transports/socket.h"

namespace peal {

// Someone who proved the job's key.
struct Guest {
  Socket socket;  // non-blocking, nothing read from it beyond the handshake; closed when `mismatch` is not empty
  Hello hello;
  std::string address;   // where it came from, for messages
  std::string mismatch;  // not empty: it runs another build; one line naming both
};

class PEAL_API Listener {
 public:
  static constexpr size_t kMostStrangers = 64;
  static constexpr int64_t kPatienceMs = 2000;

  // `listening` from listen_at() or listen_in_range(). Dialers must name mine.purpose and mine.target. Throws
  // Error(kSystem) when out of files.
  Listener(Socket listening, const JobKey& key, const Hello& mine);

  // The next guest, or nothing: accepts and talks without blocking. Call until it answers nothing.
  std::optional<Guest> poll() noexcept;

  // Readable whenever poll() has something to do (an epoll set that others may wait on too).
  int poll_fd() const noexcept { return events_.fd(); }

  const SocketAddress& address() const noexcept { return address_; }
  uint64_t strangers_dropped() const noexcept { return dropped_; }
  // Why the last one was dropped, with its address: "10.0.0.9:5511: not a Peal process"; empty when none was.
  const std::string& last_dropped() const noexcept { return last_dropped_; }

 private:
  struct Stranger {
    Handshake handshake;
    Deadline patience;
    std::string address;
  };
  void accept_all() noexcept;
  void admit(Socket socket);
  void drop(const Stranger& stranger, const std::string& why) noexcept;
  std::optional<Guest> advance_strangers() noexcept;

  Socket listening_;
  Socket events_;
  JobKey key_;
  Hello mine_;
  SocketAddress address_;
  std::deque<Stranger> strangers_;  // oldest first
  uint64_t dropped_ = 0;
  std::string last_dropped_;
};

}  // namespace peal
