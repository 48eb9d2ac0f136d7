// The transport seam: how bytes get from one rank to another. A transport is one file, one line in registry.cc and one
// line in tests/transports/conformance_test.cc.
//
// Threads: one thread at a time drives a transport and all that came from it. Different transports (of different
// communicators) may be driven by different threads at once.
//
// Nothing here calls up: a transport answers calls and counts completions; the caller decides what comes next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"

namespace peal {

// 256-bit secret of the job; every connection proves both ways that it knows it, before anything it says is believed.
using JobKey = std::array<uint8_t, 32>;

// What a transport may know of the job. Everything outlives the transport.
struct TransportContext {
  int rank = 0;
  int ranks = 1;
  std::string host_id;  // base/host.h
  JobKey key{};
  const Settings* settings = nullptr;
  Log* log = nullptr;
};

// What selection and simulation need to know. Defaults for a class of hardware; `peal-topo --measure` will refine them.
// Equal on all ranks of a job for the same build, since every rank computes every rank's choice.
struct TransportProperties {
  double latency_ns = 1000;           // one way, smallest message
  double bandwidth_bytes_per_ns = 1;  // one way, large messages, one connection
  bool maps_peer_memory = false;      // open_window() works
  bool reads_device_memory = false;   // post_* take device pointers
};

enum class Post {
  kPosted,  // accepted; will complete, or the connection will fail
  kAgain,   // too many posted; nothing was taken; call Transport::progress() and try again
  kFailed,  // the connection has failed: see Connection::failure()
};

// An ordered, reliable path to one peer on one channel. The k-th send of one side meets the k-th receive of the other,
// and the two must have equal sizes: there are no tags and no matching. Zero bytes are legal and complete in order.
//
// post_* never block, throw or allocate (after warm-up). Buffers belong to the connection from post until completion.
// At least kMinPosted operations of each direction are accepted whatever the peer does. A send may complete before the
// peer posted its receive (eager) or only after (rendezvous): callers may rely on neither.
//
// A connection is usable as soon as connect() returns it, even when the peer is not there yet: what is posted flows
// when the peer has called connect() for the same channel. Destroying it with operations posted is legal: they never
// complete, their buffers are not touched again, and the peer's next operation that needs this side fails.
class PEAL_API Connection {
 public:
  static constexpr int kMinPosted = 16;

  virtual ~Connection() = default;
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  virtual Post post_send(const void* data, size_t bytes) noexcept = 0;
  virtual Post post_recv(void* data, size_t bytes) noexcept = 0;

  // Operations completed since connect(), in order. They move only inside post_* and Transport::progress().
  uint64_t sends_done() const noexcept { return sends_done_; }
  uint64_t recvs_done() const noexcept { return recvs_done_; }

  // The first failure, or nullptr: the peer died or closed, or broke the protocol. Stays set. Never a deadline: those
  // are the caller's.
  const Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

 protected:
  void fail(Error error) noexcept {
    if (!failure_) failure_.emplace(std::move(error));
  }
  uint64_t sends_done_ = 0;
  uint64_t recvs_done_ = 0;

 private:
  std::optional<Error> failure_;
};

// A group's exposed memory: every member owns one segment and has all members' segments mapped.
// A segment is [kWindowCounters cache lines of counters][data]. Freshly opened, all of it is zero.
class PEAL_API Window {
 public:
  // One cache line (two are fetched at a time by adjacent-line prefetch, hence 128), written by its owner alone.
  struct alignas(128) Line {
    std::atomic<uint64_t> counter{0};
    std::array<std::atomic<uint64_t>, 15> words{};  // what travels with the counter: stored before it is raised
  };
  static constexpr size_t kLines = 8;

  virtual ~Window() = default;
  Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  int members() const noexcept { return static_cast<int>(data_.size()); }
  size_t bytes() const noexcept { return bytes_; }  // of each member's data
  Line& line(int member, size_t index) const noexcept { return lines_[static_cast<size_t>(member)][index]; }
  std::byte* data(int member) const noexcept { return data_[static_cast<size_t>(member)]; }

  // How this rank gets at what members have outside their segments.
  enum class Reach : uint8_t {
    kNone,
    kFetch,    // by fetch()
    kPointer,  // members' pointers are good here: ranks are threads of one process
  };
  Reach reach() const noexcept { return reach_; }

  // Copies `bytes` from `remote`, an address as `member` knows it, in one system call or a few. False when the member
  // is gone or has no such memory; then `to` may have been written in part. Only with kFetch.
  virtual bool fetch(int member, uint64_t remote, void* to, size_t bytes) noexcept;

  // The first member seen dead or gone, or -1. Cheap enough for every few thousandth poll; moves inside progress().
  int failed_member() const noexcept { return failed_member_; }

 protected:
  std::vector<Line*> lines_;
  std::vector<std::byte*> data_;
  size_t bytes_ = 0;
  int failed_member_ = -1;
  Reach reach_ = Reach::kNone;
};

struct PeerAddress {
  int rank = -1;             // in the communicator's numbering
  std::string_view address;  // what that rank's Transport::address() returned
};

class PEAL_API Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual std::string_view name() const noexcept = 0;
  virtual TransportProperties properties() const noexcept = 0;

  // Opaque bytes to be handed to every other rank (at most 4 KiB). Fixed for the transport's life.
  virtual std::string address() const = 0;

  // May the rank with address `from` talk to the one with address `to`? A pure function of the two, symmetric, and
  // never of this rank's private knowledge: every rank computes it for every pair and gets the same answer.
  virtual bool reaches(std::string_view from, std::string_view to) const = 0;

  // Starts a connection; does not block. Both sides call it with the same channel (any non-negative number), at most
  // once for each peer and channel in the transport's life. Throws Error only for what is wrong on this side (out of
  // files...).
  virtual std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) = 0;

  // Collective over `members` (all of them call it with the same list, id and bytes): maps everybody's segment of
  // `bytes` data bytes (zeroed; reserved, so that later use can't run out). `self` is this rank's index in members.
  // Blocks until all are mapped; throws Error(kTimeout) naming the missing ranks, Error(kSystem) with need and have
  // when memory is short. Only for transports whose properties say maps_peer_memory; the default throws kUnsupported.
  virtual std::unique_ptr<Window> open_window(std::span<const PeerAddress> members, int self, uint64_t id, size_t bytes,
                                              Deadline deadline);

  // Tells the transport of memory that will be used often (pinning, keys). Optional: everything works without. The
  // default does nothing. Deregister before freeing.
  virtual void register_memory(void* data, size_t bytes);
  virtual void deregister_memory(void* data);

  // Moves everything that can move, without blocking.
  virtual void progress() noexcept = 0;

  // Sleeps until something may have happened or `timeout_us` passed: what an idle rank calls once it has spun and
  // yielded in vain. The default sleeps for min(timeout_us, 50).
  virtual void wait(int timeout_us) noexcept;
};

}  // namespace peal
