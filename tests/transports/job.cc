#include "tests/transports/job.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

namespace peal::testing {
namespace {

class ThreadVenue final : public Venue {
 public:
  explicit ThreadVenue(int ranks) : addresses_(static_cast<size_t>(ranks)), expected_(ranks) {}

  void sync() override {
    std::unique_lock lock(mutex_);
    uint64_t round = round_;
    ++arrived_;
    finish_round_if_full();
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return round_ != round; })) {
      throw Error(ErrorCode::kTimeout, fmt::format("sync: {} of {} ranks came", arrived_, expected_));
    }
  }
  void publish(int rank, const std::string& address) override {
    std::lock_guard lock(mutex_);
    addresses_[static_cast<size_t>(rank)] = address;
  }
  std::string address(int rank) const override { return addresses_[static_cast<size_t>(rank)]; }
  void leave() override {
    std::lock_guard lock(mutex_);
    --expected_;
    finish_round_if_full();
  }

 private:
  void finish_round_if_full() {
    if (arrived_ < expected_) return;
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> addresses_;
  int expected_;
  int arrived_ = 0;
  uint64_t round_ = 0;
};

// In memory that all forked ranks share.
class ProcessVenue final : public Venue {
 public:
  explicit ProcessVenue(int ranks) {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw system_error("mmap", errno);
    shared_ = new (memory) Shared;
    shared_->expected = ranks;
  }
  ~ProcessVenue() override { ::munmap(shared_, sizeof(Shared)); }

  void sync() override {
    Deadline deadline = Deadline::after_ms(kPatienceMs);
    uint32_t round = shared_->round;
    ++shared_->arrived;
    while (shared_->round == round) {
      finish_round_if_full(round);
      if (deadline.passed()) {
        throw Error(ErrorCode::kTimeout,
                    fmt::format("sync: {} of {} ranks came", shared_->arrived.load(), shared_->expected.load()));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void publish(int rank, const std::string& address) override {
    Slot& slot = shared_->slots[rank];
    slot.bytes = address.size();
    std::memcpy(slot.address, address.data(), address.size());
  }
  std::string address(int rank) const override {
    const Slot& slot = shared_->slots[rank];
    return {slot.address, slot.bytes};
  }
  void leave() override { --shared_->expected; }

 private:
  static constexpr int kMostRanks = 8;
  struct Slot {
    size_t bytes = 0;
    char address[4096];
  };
  struct Shared {
    std::atomic<int> expected{0};
    std::atomic<int> arrived{0};
    std::atomic<uint32_t> round{0};
    Slot slots[kMostRanks];
  };

  void finish_round_if_full(uint32_t round) {
    int expected = shared_->expected;
    if (shared_->arrived >= expected && shared_->arrived.compare_exchange_strong(expected, 0)) {
      shared_->round = round + 1;
    }
  }

  Shared* shared_;
};

void run_rank(int rank, const JobOptions& options, Venue& venue, const Body& body) {
  try {
    Rank self(rank, options.ranks, options.word, options.settings, venue);
    body(self);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << rank << ": " << error.what();
  }
}

void run_threads(const JobOptions& options, const Body& body) {
  ThreadVenue venue(options.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads.emplace_back([&, rank] { run_rank(rank, options, venue, body); });
  }
  for (std::thread& thread : threads) thread.join();
}

[[noreturn]] void run_forked_rank(int rank, const JobOptions& options, Venue& venue, const Body& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphans when the test itself is killed
  run_rank(rank, options, venue, body);
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void run_processes(const JobOptions& options, const Body& body) {
  ProcessVenue venue(options.ranks);
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0) << "fork: " << std::strerror(errno);
    if (pid == 0) run_forked_rank(rank, options, venue, body);
    children.push_back(pid);
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[static_cast<size_t>(rank)], &status, 0), children[static_cast<size_t>(rank)]);
    if (rank == options.killed_rank) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "rank " << rank << ", status " << status;
    } else {
      EXPECT_EQ(status, 0) << "rank " << rank << " failed: see its messages above";
    }
  }
}

}  // namespace

Rank::Rank(int rank, int ranks, const std::string& word, const Settings& settings, Venue& venue)
    : settings_(settings), log_(settings_, rank), venue_(venue) {
  context_.rank = rank;
  context_.ranks = ranks;
  context_.host_id = "conformance";
  context_.key.fill(7);
  context_.settings = &settings_;
  context_.log = &log_;
  transport_ = std::move(create_transports(word, context_).transports.at(0));
  venue.publish(rank, transport_->address());
  venue.sync();
  for (int peer = 0; peer < ranks; ++peer) addresses_.push_back(venue.address(peer));
}

std::vector<PeerAddress> Rank::everybody() const {
  std::vector<PeerAddress> all;
  for (int peer = 0; peer < ranks(); ++peer) all.push_back(this->peer(peer));
  return all;
}

bool Rank::drive_until(const std::function<bool()>& condition, int64_t limit_ms) {
  Deadline deadline = Deadline::after_ms(limit_ms);
  for (uint32_t polls = 1; !condition(); ++polls) {
    transport_->progress();
    if (polls % 64 == 0) std::this_thread::yield();
    if (polls % 1024 != 0) continue;
    if (deadline.passed()) return condition();
    transport_->wait(100);
  }
  return true;
}

void run_job(const JobOptions& options, const Body& body) {
  options.mode == Mode::kThreads ? run_threads(options, body) : run_processes(options, body);
}

std::vector<std::byte> message(int rank, size_t index, size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = pattern(rank, index, i);
  return data;
}

}  // namespace peal::testing
