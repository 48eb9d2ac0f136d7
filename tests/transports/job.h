// Runs a test's body on n ranks, as threads of this process or as forked processes, each with a transport of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transports/registry.h"

namespace peal::testing {

// Where ranks of a job meet outside the transport under test: addresses, a barrier, who is expected to die.
class Venue {
 public:
  virtual ~Venue() = default;
  // Returns when all living ranks have called it; throws Error(kTimeout) after kPatienceMs.
  virtual void sync() = 0;
  virtual void publish(int rank, const std::string& address) = 0;
  virtual std::string address(int rank) const = 0;
  virtual void leave() = 0;  // this rank will not sync any more
};

inline constexpr int64_t kPatienceMs = 30000;

class Rank {
 public:
  Rank(int rank, int ranks, const std::string& word, const Settings& settings, Venue& venue);

  int rank() const { return context_.rank; }
  int ranks() const { return context_.ranks; }
  Transport& transport() { return *transport_; }
  const TransportContext& context() const { return context_; }
  const std::string& address(int peer) const { return addresses_[static_cast<size_t>(peer)]; }
  PeerAddress peer(int peer) const { return {peer, address(peer)}; }
  std::vector<PeerAddress> everybody() const;
  std::unique_ptr<Connection> connect(int to, int channel = 0) { return transport_->connect(peer(to), channel); }

  // Waits for all ranks at the same point, and meanwhile drives nothing.
  void sync() { venue_.sync(); }
  // As sync(), for the last time: this rank will die or return early.
  void leave() { venue_.leave(); }
  void destroy_transport() { transport_.reset(); }

  // Drives the transport until the condition holds; false after kPatienceMs or `limit_ms`.
  bool drive_until(const std::function<bool()>& condition, int64_t limit_ms = kPatienceMs);

 private:
  Settings settings_;
  Log log_;
  TransportContext context_;
  Venue& venue_;
  std::unique_ptr<Transport> transport_;
  std::vector<std::string> addresses_;
};

enum class Mode { kThreads, kProcesses };
using Body = std::function<void(Rank&)>;

struct JobOptions {
  std::string word;  // as in PEAL_TRANSPORT
  Mode mode = Mode::kThreads;
  int ranks = 2;
  Settings settings;
  int killed_rank = -1;  // kProcesses: this one must end by SIGKILL, all others with success
};

// Failures in any rank are failures of the calling test.
void run_job(const JobOptions& options, const Body& body);

// Reproducible bytes: what message `index` from `rank` holds at `offset`.
inline std::byte pattern(int rank, size_t index, size_t offset) {
  return static_cast<std::byte>((static_cast<size_t>(rank) * 101 + index * 37 + offset * 7 + (offset >> 8) * 13) &
                                0xff);
}
std::vector<std::byte> message(int rank, size_t index, size_t bytes);

}  // namespace peal::testing
