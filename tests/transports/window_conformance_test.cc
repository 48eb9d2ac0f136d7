// Windows, for every transport of conformance_cases() that maps its peers' memory.
#include <fmt/format.h>

#include <csignal>
#include <fstream>

#include "tests/transports/conformance.h"

namespace peal::testing {

void WindowConformance::SetUp() {
  Conformance::SetUp();
  if (IsSkipped()) return;
  for (std::string_view never : {"tcp", "ucx"}) {
    if (GetParam().word.ends_with(never)) GTEST_SKIP() << "never applies: " << never << " does not map peers' memory";
  }
}

INSTANTIATE_TEST_SUITE_P(All, WindowConformance, ::testing::ValuesIn(conformance_cases()), case_name);

bool wait_for(Rank& self, const std::atomic<uint64_t>& counter, uint64_t value) {
  return self.drive_until([&] { return counter.load(std::memory_order_acquire) >= value; });
}

TEST_P(WindowConformance, AllZeroAtFirstThenSeenByAll) {
  run_job(options(3), [](Rank& self) {
    constexpr size_t kBytes = 100000;
    EXPECT_TRUE(self.transport().properties().maps_peer_memory);
    auto members = self.everybody();
    auto window = self.transport().open_window(members, self.rank(), 1, kBytes, Deadline::after_ms(kPatienceMs));
    ASSERT_EQ(window->members(), 3);
    EXPECT_EQ(window->bytes(), kBytes);
    for (int member = 0; member < 3; ++member) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(window->data(member)) % 4096, 0u);
      EXPECT_EQ(std::count(window->data(member), window->data(member) + kBytes, std::byte{0}), std::ptrdiff_t{kBytes});
      for (size_t i = 0; i < Window::kLines; ++i) EXPECT_EQ(window->line(member, i).counter.load(), 0u);
    }
    self.sync();
    std::ranges::copy(message(self.rank(), 0, kBytes), window->data(self.rank()));
    Window::Line& mine = window->line(self.rank(), 3);
    mine.words[6].store(static_cast<uint64_t>(self.rank()) + 10, std::memory_order_relaxed);
    mine.counter.store(1, std::memory_order_release);
    for (int member = 0; member < 3; ++member) {
      ASSERT_TRUE(wait_for(self, window->line(member, 3).counter, 1));
      EXPECT_EQ(window->line(member, 3).words[6].load(), static_cast<uint64_t>(member) + 10);
      EXPECT_TRUE(std::ranges::equal(message(member, 0, kBytes), std::span(window->data(member), kBytes)));
    }
    EXPECT_EQ(window->failed_member(), -1);
    self.sync();
  });
}

TEST_P(WindowConformance, SeveralAtOnceOfAnySizeAndBesideConnections) {
  run([](Rank& self) {
    auto connection = self.connect(1 - self.rank());
    auto members = self.everybody();
    std::vector<std::unique_ptr<Window>> windows;
    for (uint64_t id = 0; id < 4; ++id) {
      windows.push_back(
          self.transport().open_window(members, self.rank(), id, id * 5000, Deadline::after_ms(kPatienceMs)));
      windows.back()->line(self.rank(), 0).counter.store(id + 1, std::memory_order_release);
    }
    uint64_t out = 3, in = 0;
    EXPECT_EQ(connection->post_send(&out, 8), Post::kPosted);
    EXPECT_EQ(connection->post_recv(&in, 8), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] { return connection->recvs_done() == 1; }));
    for (uint64_t id = 0; id < 4; ++id)
      EXPECT_TRUE(wait_for(self, windows[id]->line(1 - self.rank(), 0).counter, id + 1));
    EXPECT_EQ(in, 3u);
    self.sync();
  });
}

TEST_P(WindowConformance, AMemberThatNeverComesIsNamed) {
  run_job(options(3), [](Rank& self) {
    auto members = self.everybody();
    if (self.rank() != 2) {
      try {
        self.transport().open_window(members, self.rank(), 1, 4096, Deadline::after_ms(200));
        ADD_FAILURE() << "opened without rank 2";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kTimeout) << error.what();
        EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
      }
    }
    self.sync();
  });
}

TEST_P(WindowConformance, AMemberThatLeavesIsSeen) {
  run_job(options(3), [](Rank& self) {
    auto members = self.everybody();
    auto window = self.transport().open_window(members, self.rank(), 1, 4096, Deadline::after_ms(kPatienceMs));
    self.sync();
    if (self.rank() == 1) {
      window->line(1, 0).counter.store(7, std::memory_order_release);
      window.reset();
      self.destroy_transport();
      self.leave();
      return;
    }
    EXPECT_TRUE(self.drive_until([&] { return window->failed_member() >= 0; }));
    EXPECT_EQ(window->failed_member(), 1);
    EXPECT_EQ(window->line(1, 0).counter.load(std::memory_order_acquire), 7u) << "its memory stays readable";
    self.sync();
  });
}

TEST_P(WindowConformance, MoreMemoryThanThereIsGetsAnErrorThatSaysHowMuch) {
  run([](Rank& self) {
    constexpr size_t kBytes = size_t{1} << 46;
    auto members = self.everybody();
    try {
      self.transport().open_window(members, self.rank(), 1, kBytes, Deadline::after_ms(kPatienceMs));
      ADD_FAILURE() << "opened a window of 64 TiB";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kSystem) << error.what();
      EXPECT_NE(std::string(error.what()).find(std::to_string(kBytes >> 20)), std::string::npos) << error.what();
    }
    self.sync();
  });
}

// kB of shared memory on this machine, named or not.
int64_t shared_memory_kb() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    int64_t kb = 0;
    if (word == "Shmem:" && file >> kb) return kb;
  }
  return -1;
}

TEST_P(WindowConformance, AKilledMemberIsSeenAndItsMemoryIsFreed) {
  if (GetParam().mode == Mode::kThreads) GTEST_SKIP() << "never applies: a thread can't be killed alone";
  constexpr size_t kBytes = 64 << 20;
  int64_t before = shared_memory_kb();
  JobOptions job = options();
  job.killed_rank = 1;
  run_job(job, [](Rank& self) {
    auto members = self.everybody();
    auto window = self.transport().open_window(members, self.rank(), 1, kBytes, Deadline::after_ms(kPatienceMs));
    self.sync();
    if (self.rank() == 1) ::raise(SIGKILL);
    EXPECT_TRUE(self.drive_until([&] { return window->failed_member() >= 0; }));
    EXPECT_EQ(window->failed_member(), 1);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);  // as if killed: no destructor runs
  });
  EXPECT_LT(shared_memory_kb() - before, int64_t{2 * kBytes / 1024 / 2}) << "two segments of " << kBytes << " remain";
}

}  // namespace peal::testing
