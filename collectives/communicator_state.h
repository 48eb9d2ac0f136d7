// What a Communicator owns, and the loop that drives it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "collectives/communicator.h"
#include "collectives/endpoint.h"
#include "collectives/executor.h"
#include "collectives/idle.h"
#include "collectives/planner.h"
#include "collectives/point_to_point.h"
#include "collectives/work_table.h"
#include "transports/bootstrap/launch.h"

namespace peal {

// A collective as the caller asked for it, before anything is known of how.
struct Call {
  Collective collective;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;  // elements, as the API says for this collective
  DataType type = DataType::kUint8;
  Reduction reduction{};
  int root = -1;
  // v-variants; empty spans on the side that has one block, or that this rank doesn't know.
  bool variant = false;
  bool counts_known = true;  // by all ranks
  std::span<const size_t> send_counts{}, send_displacements{}, recv_counts{}, recv_displacements{};
};

class CommunicatorState {
 public:
  // Everybody's string in rank order; collective.
  using Exchange = std::function<std::vector<std::string>(const std::string&)>;
  static constexpr int kExchanges = 2;  // that the constructor makes

  // Collective over the group that `exchange` spans. `machine`: what this rank runs on.
  CommunicatorState(int rank, int ranks, const JobKey& key, std::shared_ptr<const Settings> settings,
                    std::shared_ptr<const Machine> machine, const Exchange& exchange);
  ~CommunicatorState();

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  const Settings& settings() const noexcept { return *settings_; }
  const std::shared_ptr<const Settings>& shared_settings() const noexcept { return settings_; }
  const JobKey& key() const noexcept { return key_; }
  Log& log() noexcept { return log_; }
  Endpoint& endpoint() noexcept { return *endpoint_; }
  Planner& planner() noexcept { return *planner_; }
  const Placement& placement() const noexcept { return placement_; }
  const std::shared_ptr<const Machine>& shared_machine() const noexcept { return machine_; }
  bool has_window() const noexcept { return window_ != nullptr; }

  // Start something; the answer is its entry in the table of Works.
  uint32_t start(const Call& call);
  void run(const Call& call);  // start and wait, by a shorter way where there is one
  uint32_t start_send(const void* data, size_t count, DataType type, int peer);
  uint32_t start_recv(void* data, size_t count, DataType type, int peer);
  Call barrier_call() noexcept {
    return {Collective::kBarrier, &barrier_bytes_[0], &barrier_bytes_[1], 1, DataType::kUint8, ReduceOp::kMax};
  }
  void begin_group();
  uint32_t end_group();
  bool grouping() const noexcept { return group_.has_value(); }

  // Drive until the entry is done, then give it back. Throws what went wrong.
  void wait(uint32_t slot);
  bool done(uint32_t slot);     // one round of progress
  void release(uint32_t slot);  // of an entry that is done
  void wait_all();              // until nothing is under way
  void progress();
  void abort(const std::string& reason);

  SymmetricMemory allocate(size_t bytes);
  void free_symmetric(uint64_t id) noexcept;
  // What is under way here with a buffer in [data, data + bytes), in words; or "".
  std::string user_of_memory(const void* data, size_t bytes);
  // Until nothing is, or this communicator has failed.
  void wait_for_memory(const void* data, size_t bytes) noexcept;

 private:
  struct SymmetricRegion {
    uint64_t id;
    std::unique_ptr<Window> window;
    std::vector<std::byte*> bases;  // by rank
  };

  std::unique_lock<std::mutex> drive();
  uint32_t open_slot();
  bool advance() noexcept;
  template <class Ended>
  void drive_until(Ended ended);
  Idle make_idle();
  void look(Deadline::Clock::time_point& moved_at, bool moved);
  void throw_if_failed();
  void drive_in_background();
  const SymmetricRegion* symmetric_region(const void* data, size_t bytes) const noexcept;
  std::pair<const SymmetricRegion*, const SymmetricRegion*> symmetric_regions(const Call& call) const noexcept;
  void fill(Operation& operation, const Call& call, bool in_place);
  bool is_small(const Call& call) const noexcept;
  void fill_small(Operation& operation, const Call& call) noexcept;

  int rank_, ranks_;
  JobKey key_;
  std::shared_ptr<const Settings> settings_;
  std::shared_ptr<const Machine> machine_;
  Log log_;
  Placement placement_;
  TransportContext context_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Window> window_;
  std::unique_ptr<Planner> planner_;
  WorkTable works_;
  std::optional<PointToPoint> point_to_point_;
  std::optional<Executor> executor_;
  std::vector<SymmetricRegion> symmetric_;
  uint64_t next_symmetric_id_ = 1;
  uint64_t sequence_ = 0;
  std::array<uint8_t, 2> barrier_bytes_{};
  int spins_ = 0;
  std::array<size_t, kCollectives> small_limits_{};  // contributions up to this go by SmallExchange; 0: none
  std::optional<uint32_t> group_;
  std::optional<Error> failure_;

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;

  // Only with PEAL_PROGRESS_THREAD.
  std::mutex drive_mutex_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace peal
