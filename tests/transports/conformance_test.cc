#include "tests/transports/conformance.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "tests/transports/allocations.h"

namespace peal::testing {

// One line per transport and way to run its ranks.
std::vector<Case> conformance_cases() {
  return {
      {"inproc", Mode::kThreads},        {"shm", Mode::kThreads},
      {"shm", Mode::kProcesses},         {"tcp", Mode::kThreads},
      {"tcp", Mode::kProcesses},         {"ucx", Mode::kThreads},
      {"ucx", Mode::kProcesses},         {"faulty:inproc", Mode::kThreads},
      {"traced:inproc", Mode::kThreads}, {"traced:faulty:shm", Mode::kProcesses},
  };
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.word;
  std::ranges::replace(name, ':', '_');
  return name + (info.param.mode == Mode::kThreads ? "_threads" : "_processes");
}

void Conformance::SetUp() {
  std::string_view word = GetParam().word;
  std::string_view inner = word.substr(word.rfind(':') + 1);
  auto entries = transport_entries();
  auto found = std::ranges::find(entries, inner, &TransportEntry::name);
  if (found == entries.end()) GTEST_SKIP() << inner << " is not in this build";
  Settings settings;
  Log log(settings, 0);
  TransportContext context;
  context.settings = &settings;
  context.log = &log;
  if (auto reason = found->why_not(context)) GTEST_SKIP() << inner << " can't be used here: " << *reason;
}

JobOptions Conformance::options(int ranks) const {
  JobOptions options;
  options.word = GetParam().word;
  options.mode = GetParam().mode;
  options.ranks = ranks;
  options.settings.buffer_size = 65536;
  return options;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::ValuesIn(conformance_cases()), case_name);

TEST_P(Conformance, AddressesAreShortAndReachBothWays) {
  run([](Rank& self) {
    EXPECT_LE(self.address(0).size(), 4096u);
    EXPECT_NE(self.address(0), self.address(1));
    EXPECT_TRUE(self.transport().reaches(self.address(0), self.address(1)));
    EXPECT_TRUE(self.transport().reaches(self.address(1), self.address(0)));
    EXPECT_FALSE(self.transport().reaches("", self.address(1)));
    EXPECT_FALSE(self.transport().reaches(self.address(1), ""));
    self.sync();
  });
}

TEST_P(Conformance, MessagesKeepTheirOrder) {
  run([](Rank& self) {
    constexpr size_t kMessages = 500;
    auto connection = self.connect(1 - self.rank());
    std::vector<uint64_t> values(kMessages, 0);
    size_t posted = 0;
    auto post_all = [&] {
      for (; posted < kMessages; ++posted) {
        uint64_t* value = &values[posted];
        if (self.rank() == 0) *value = posted * 3 + 1;
        Post post = self.rank() == 0 ? connection->post_send(value, 8) : connection->post_recv(value, 8);
        if (post != Post::kPosted) break;
      }
      return (self.rank() == 0 ? connection->sends_done() : connection->recvs_done()) == kMessages;
    };
    EXPECT_TRUE(self.drive_until(post_all));
    for (size_t i = 0; i < kMessages; ++i) ASSERT_EQ(values[i], i * 3 + 1);
    self.sync();
  });
}

TEST_P(Conformance, AcceptsTheMinimumBeforeThePeerIsThere) {
  run([](Rank& self) {
    constexpr size_t kBytes = 32768, kMost = 200;
    std::vector<std::vector<std::byte>> out, in(kMost, std::vector<std::byte>(kBytes));
    for (size_t i = 0; i < kMost; ++i) out.push_back(message(self.rank(), i, kBytes));
    if (self.rank() == 1) self.sync();
    auto connection = self.connect(1 - self.rank());
    size_t sends = 0, recvs = 0;
    while (sends < kMost && connection->post_send(out[sends].data(), kBytes) == Post::kPosted) ++sends;
    while (recvs < kMost && connection->post_recv(in[recvs].data(), kBytes) == Post::kPosted) ++recvs;
    EXPECT_GE(sends, size_t{Connection::kMinPosted});
    EXPECT_GE(recvs, size_t{Connection::kMinPosted});
    EXPECT_EQ(connection->failure(), nullptr);
    if (self.rank() == 0) self.sync();
    auto all_done = [&] {  // what was refused at first is accepted later
      if (sends < kMost && connection->post_send(out[sends].data(), kBytes) == Post::kPosted) ++sends;
      if (recvs < kMost && connection->post_recv(in[recvs].data(), kBytes) == Post::kPosted) ++recvs;
      return connection->sends_done() == kMost && connection->recvs_done() == kMost;
    };
    EXPECT_TRUE(self.drive_until(all_done));
    for (size_t i = 0; i < kMost; ++i) EXPECT_EQ(in[i], message(1 - self.rank(), i, kBytes)) << "message " << i;
    self.sync();
  });
}

TEST_P(Conformance, MessagesLargerThanTheRing) {
  run([](Rank& self) {
    constexpr size_t kBytes = 3 * 1000 * 1000 + 17;
    auto connection = self.connect(1 - self.rank());
    std::vector<std::byte> data = message(0, 0, kBytes), got(kBytes);
    if (self.rank() == 0) {
      EXPECT_EQ(connection->post_send(data.data(), kBytes), Post::kPosted);
      EXPECT_TRUE(self.drive_until([&] { return connection->sends_done() == 1; }));
    } else {
      EXPECT_EQ(connection->post_recv(got.data(), kBytes), Post::kPosted);
      EXPECT_TRUE(self.drive_until([&] { return connection->recvs_done() == 1; }));
      EXPECT_EQ(got, data);
    }
    self.sync();
  });
}

TEST_P(Conformance, ZeroBytesCompleteInOrder) {
  run([](Rank& self) {
    constexpr size_t kSizes[] = {0, 8, 0, 0, 100000, 0};
    auto connection = self.connect(1 - self.rank());
    std::vector<std::byte> got(100000);
    std::vector<std::vector<std::byte>> out;
    for (size_t i = 0; i < std::size(kSizes); ++i) out.push_back(message(self.rank(), i, kSizes[i]));
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      EXPECT_EQ(connection->post_recv(kSizes[i] ? got.data() : nullptr, kSizes[i]), Post::kPosted);
    }
    for (const auto& data : out) EXPECT_EQ(connection->post_send(data.data(), data.size()), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] {
      return connection->sends_done() == std::size(kSizes) && connection->recvs_done() == std::size(kSizes);
    }));
    EXPECT_EQ(got, message(1 - self.rank(), 4, 100000));
    self.sync();
  });
}

TEST_P(Conformance, BothMaySendFirst) {
  run([](Rank& self) {
    constexpr size_t kBytes = 2 << 20;
    auto connection = self.connect(1 - self.rank());
    std::vector<std::byte> out = message(self.rank(), 0, kBytes), in(kBytes);
    EXPECT_EQ(connection->post_send(out.data(), kBytes), Post::kPosted);
    for (int i = 0; i < 1000; ++i) self.transport().progress();
    EXPECT_EQ(connection->post_recv(in.data(), kBytes), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] { return connection->sends_done() == 1 && connection->recvs_done() == 1; }));
    EXPECT_EQ(in, message(1 - self.rank(), 0, kBytes));
    self.sync();
  });
}

TEST_P(Conformance, ChannelsAreIndependent) {
  run([](Rank& self) {
    constexpr size_t kLarge = 4 << 20;
    auto blocked = self.connect(1 - self.rank(), 0);
    auto flowing = self.connect(1 - self.rank(), 7);
    std::vector<std::byte> large = message(self.rank(), 0, kLarge), in(kLarge);
    uint64_t small_out = 42, small_in = 0;
    EXPECT_EQ(blocked->post_send(large.data(), kLarge), Post::kPosted);
    EXPECT_EQ(flowing->post_send(&small_out, 8), Post::kPosted);
    EXPECT_EQ(flowing->post_recv(&small_in, 8), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] { return flowing->recvs_done() == 1; }));
    EXPECT_EQ(small_in, 42u);
    EXPECT_EQ(blocked->post_recv(in.data(), kLarge), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] { return blocked->recvs_done() == 1 && blocked->sends_done() == 1; }));
    EXPECT_EQ(in, message(1 - self.rank(), 0, kLarge));
    EXPECT_TRUE(self.drive_until([&] { return flowing->sends_done() == 1; }));
    self.sync();
  });
}

TEST_P(Conformance, UnalignedBuffers) {
  run([](Rank& self) {
    auto connection = self.connect(1 - self.rank());
    for (size_t bytes : {1, 3, 7, 63, 65, 4097, 70001}) {
      std::vector<std::byte> data = message(0, bytes, bytes), out(bytes + 8), in(bytes + 8, std::byte{0xee});
      size_t skew = 1 + bytes % 5;
      std::memcpy(out.data() + skew, data.data(), bytes);
      uint64_t done = connection->recvs_done() + 1;
      EXPECT_EQ(connection->post_recv(in.data() + skew, bytes), Post::kPosted);
      EXPECT_EQ(connection->post_send(out.data() + skew, bytes), Post::kPosted);
      EXPECT_TRUE(
          self.drive_until([&] { return connection->recvs_done() == done && connection->sends_done() == done; }));
      EXPECT_EQ(std::memcmp(in.data() + skew, data.data(), bytes), 0);
      EXPECT_EQ(in[skew - 1], std::byte{0xee});
      EXPECT_EQ(in[skew + bytes], std::byte{0xee});
    }
    self.sync();
  });
}

// Both directions at once, sizes and moments of posting at random (same seed on both sides for the sizes alone).
TEST_P(Conformance, RandomSizesAndMoments) {
  run([](Rank& self) {
    constexpr size_t kMessages = 300;
    std::mt19937_64 shared(5), own(static_cast<uint64_t>(self.rank()));
    std::vector<size_t> sizes[2];
    for (auto& list : sizes) {
      for (size_t i = 0; i < kMessages; ++i) list.push_back((shared() >> 16) % (size_t{1} << (shared() % 18)));
    }
    size_t me = static_cast<size_t>(self.rank()), peer = 1 - me;
    std::vector<std::vector<std::byte>> out, in;
    for (size_t i = 0; i < kMessages; ++i) {
      out.push_back(message(self.rank(), i, sizes[me][i]));
      in.emplace_back(sizes[peer][i]);
    }
    auto connection = self.connect(1 - self.rank());
    size_t sends = 0, recvs = 0;
    auto step = [&] {
      if (own() % 2 && sends < kMessages &&
          connection->post_send(out[sends].data(), out[sends].size()) == Post::kPosted)
        ++sends;
      if (own() % 2 && recvs < kMessages && connection->post_recv(in[recvs].data(), in[recvs].size()) == Post::kPosted)
        ++recvs;
      return connection->sends_done() == kMessages && connection->recvs_done() == kMessages;
    };
    EXPECT_TRUE(self.drive_until(step));
    for (size_t i = 0; i < kMessages; ++i) {
      ASSERT_EQ(in[i], message(static_cast<int>(peer), i, sizes[peer][i])) << "message " << i;
    }
    self.sync();
  });
}

TEST_P(Conformance, FourRanksAllToAll) {
  run_job(options(4), [](Rank& self) {
    constexpr size_t kBytes = 100001;
    std::vector<std::unique_ptr<Connection>> connections(4);
    std::vector<std::vector<std::byte>> out(4), in(4);
    for (size_t peer = 0; peer < 4; ++peer) {
      if (static_cast<int>(peer) == self.rank()) continue;
      out[peer] = message(self.rank(), peer, kBytes);
      in[peer].resize(kBytes);
      connections[peer] = self.connect(static_cast<int>(peer));
      EXPECT_EQ(connections[peer]->post_recv(in[peer].data(), kBytes), Post::kPosted);
      EXPECT_EQ(connections[peer]->post_send(out[peer].data(), kBytes), Post::kPosted);
    }
    EXPECT_TRUE(self.drive_until([&] {
      return std::ranges::all_of(connections,
                                 [](auto& c) { return !c || (c->sends_done() == 1 && c->recvs_done() == 1); });
    }));
    for (size_t peer = 0; peer < 4; ++peer) {
      if (!connections[peer]) continue;
      EXPECT_EQ(in[peer], message(static_cast<int>(peer), static_cast<size_t>(self.rank()), kBytes));
    }
    self.sync();
  });
}

TEST_P(Conformance, NoAllocationAfterWarmUp) {
  run([](Rank& self) {
    auto connection = self.connect(1 - self.rank());
    std::vector<std::byte> out(8000), in(8000);
    uint64_t done = 0;
    auto exchange = [&](int times) {
      for (int i = 0; i < times; ++i) {
        ++done;
        if (connection->post_recv(in.data(), in.size()) != Post::kPosted) return false;
        if (connection->post_send(out.data(), out.size()) != Post::kPosted) return false;
        if (!self.drive_until([&] { return connection->recvs_done() == done && connection->sends_done() == done; }))
          return false;
      }
      return true;
    };
    EXPECT_TRUE(exchange(200));
    uint64_t before = allocations();
    EXPECT_TRUE(exchange(500));
    EXPECT_EQ(allocations() - before, 0u);
    self.sync();
  });
}

// A send that is done belongs to the transport: it arrives though its sender has gone.
TEST_P(Conformance, WhatIsDoneArrivesAfterTheSenderLeft) {
  run([](Rank& self) {
    std::vector<std::byte> data = message(0, 0, 1000), got(1000);
    auto connection = self.connect(1 - self.rank());
    if (self.rank() == 0) {
      EXPECT_EQ(connection->post_send(data.data(), data.size()), Post::kPosted);
      EXPECT_TRUE(self.drive_until([&] { return connection->sends_done() == 1; }));
      connection.reset();
      self.destroy_transport();
      self.sync();
      return;
    }
    self.drive_until([&] { return false; }, 50);  // lets the sender connect
    self.sync();
    EXPECT_EQ(connection->post_recv(got.data(), got.size()), Post::kPosted);
    EXPECT_TRUE(self.drive_until([&] { return connection->recvs_done() == 1 || connection->failure(); }));
    EXPECT_EQ(got, data);
  });
}

void expect_lost(Rank& self, Connection& connection, int peer) {
  EXPECT_TRUE(self.drive_until([&] { return connection.failure() != nullptr; }));
  if (!connection.failure()) return;
  EXPECT_EQ(connection.failure()->code(), ErrorCode::kPeerFailed) << connection.failure()->what();
  EXPECT_EQ(connection.failure()->site().peer, peer);
  EXPECT_EQ(connection.failure()->site().rank, self.rank());
  uint64_t word = 0;
  EXPECT_EQ(connection.post_send(&word, 8), Post::kFailed);
  EXPECT_EQ(connection.post_recv(&word, 8), Post::kFailed);
}

uint64_t exchange_word(Rank& self, Connection& connection) {
  uint64_t out = 5, in = 0, recvs = connection.recvs_done() + 1, sends = connection.sends_done() + 1;
  EXPECT_EQ(connection.post_recv(&in, 8), Post::kPosted);
  EXPECT_EQ(connection.post_send(&out, 8), Post::kPosted);
  EXPECT_TRUE(self.drive_until([&] { return connection.recvs_done() == recvs && connection.sends_done() == sends; }));
  return in;
}

TEST_P(Conformance, AClosedTransportFailsReceivesAndLargeSends) {
  run([](Rank& self) {
    auto receiving = self.connect(1 - self.rank(), 0), sending = self.connect(1 - self.rank(), 1);
    EXPECT_EQ(exchange_word(self, *receiving), 5u);
    EXPECT_EQ(exchange_word(self, *sending), 5u);
    self.sync();
    if (self.rank() == 1) {
      receiving.reset();
      sending.reset();
      self.destroy_transport();
      return;
    }
    uint64_t word = 0;
    std::vector<std::byte> large(8 << 20);
    receiving->post_recv(&word, 8);
    sending->post_send(large.data(), large.size());
    expect_lost(self, *receiving, 1);
    expect_lost(self, *sending, 1);
  });
}

TEST_P(Conformance, AKilledProcessFailsReceivesAndLargeSends) {
  if (GetParam().mode == Mode::kThreads) GTEST_SKIP() << "never applies: a thread can't be killed alone";
  JobOptions job = options();
  job.killed_rank = 1;
  run_job(job, [](Rank& self) {
    auto receiving = self.connect(1 - self.rank(), 0), sending = self.connect(1 - self.rank(), 1);
    EXPECT_EQ(exchange_word(self, *receiving), 5u);
    EXPECT_EQ(exchange_word(self, *sending), 5u);
    if (self.rank() == 1) {
      uint64_t last = 9;
      EXPECT_EQ(receiving->post_send(&last, 8), Post::kPosted);
      EXPECT_TRUE(self.drive_until([&] { return receiving->sends_done() == 2; }));
      self.drive_until([] { return false; }, 20);
      ::raise(SIGKILL);
    }
    uint64_t last = 0, never = 0;
    std::vector<std::byte> large(8 << 20);
    receiving->post_recv(&last, 8);
    receiving->post_recv(&never, 8);
    sending->post_send(large.data(), large.size());
    expect_lost(self, *receiving, 1);
    EXPECT_EQ(last, 9u) << "what had been sent before the death";
    expect_lost(self, *sending, 1);
  });
}

TEST_P(Conformance, CloseWhilePosted) {
  run([](Rank& self) {
    auto closing = self.connect(1 - self.rank(), 0), staying = self.connect(1 - self.rank(), 1);
    EXPECT_EQ(exchange_word(self, *closing), 5u);
    EXPECT_EQ(exchange_word(self, *staying), 5u);
    self.sync();
    std::vector<std::byte> in(8 << 20), out(8 << 20);
    EXPECT_EQ(closing->post_recv(in.data(), in.size()), Post::kPosted);
    if (self.rank() == 0) {
      EXPECT_EQ(closing->post_send(out.data(), out.size()), Post::kPosted);
      closing.reset();
      std::ranges::fill(in, std::byte{0x55});  // ours again: nobody may write here now
    } else {
      expect_lost(self, *closing, 0);
    }
    EXPECT_EQ(exchange_word(self, *staying), 5u);
    if (self.rank() == 0) {
      EXPECT_EQ(std::ranges::count(in, std::byte{0x55}), static_cast<ptrdiff_t>(in.size()));
    }
    self.sync();
  });
}

std::set<std::string> named_segments() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().filename());
  return names;
}

TEST_P(Conformance, NothingIsLeftWhenAllAreKilled) {
  if (GetParam().mode == Mode::kThreads) GTEST_SKIP() << "never applies: it would kill the test";
  std::set<std::string> before = named_segments();
  for (int killed = 0; killed < 2; ++killed) {
    JobOptions job = options();
    job.killed_rank = killed;
    run_job(job, [&](Rank& self) {
      auto connection = self.connect(1 - self.rank());
      EXPECT_EQ(exchange_word(self, *connection), 5u);
      self.sync();
      if (self.rank() == job.killed_rank) ::raise(SIGKILL);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);  // no destructor runs here either
    });
  }
  std::set<std::string> after = named_segments();
  std::erase_if(after, [&](const std::string& name) { return before.contains(name); });
  EXPECT_TRUE(after.empty()) << *after.begin();
}

}  // namespace peal::testing
