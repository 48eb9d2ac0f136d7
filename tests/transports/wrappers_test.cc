// What faulty and traced do beyond what the conformance suite asks of every transport.
#include <gmock/gmock.h>

#include "tests/transports/job.h"
#include "transports/faulty.h"
#include "transports/traced.h"

namespace peal::testing {

using ::testing::HasSubstr;

TEST(Faults, AreParsed) {
  Faults faults = parse_faults("again=0.25,stall=0.5,delay=20,fail_after=1000,seed=9");
  EXPECT_EQ(faults.again, 0.25);
  EXPECT_EQ(faults.stall, 0.5);
  EXPECT_EQ(faults.delay_us, 20);
  EXPECT_EQ(faults.fail_after, 1000u);
  EXPECT_EQ(faults.seed, 9u);
  EXPECT_EQ(parse_faults("").again, 0);
}

TEST(Faults, BadOnesAreNamed) {
  for (std::string word : {"again", "again=", "again=2", "again=-0.1", "delay=1.5", "seed=x", "speed=3"}) {
    try {
      parse_faults("stall=0," + word);
      ADD_FAILURE() << word << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), HasSubstr(word.substr(0, word.find('='))));
    }
  }
}

JobOptions faulty_job(const std::string& fault) {
  JobOptions options;
  options.word = "faulty:inproc";
  options.settings.fault = fault;
  return options;
}

// Sends and receives `times` words each way, counting refusals.
int exchange(Rank& self, Connection& connection, uint64_t times) {
  int refused = 0;
  for (uint64_t i = 0; i < times; ++i) {
    uint64_t out = i * 3, in = 0;
    EXPECT_TRUE(self.drive_until([&] { return connection.post_recv(&in, 8) != Post::kAgain || (++refused, false); }));
    EXPECT_TRUE(self.drive_until([&] { return connection.post_send(&out, 8) != Post::kAgain || (++refused, false); }));
    EXPECT_TRUE(self.drive_until([&] { return connection.recvs_done() == i + 1 && connection.sends_done() == i + 1; }));
    EXPECT_EQ(in, i * 3);
  }
  return refused;
}

TEST(Faulty, AgainAndStallAreSurvived) {
  std::atomic<int> refused = 0;
  run_job(faulty_job("again=0.5,stall=0.3,seed=4"), [&](Rank& self) {
    auto connection = self.connect(1 - self.rank());
    refused += exchange(self, *connection, 200);
    self.sync();
  });
  EXPECT_GT(refused, 500);  // 800 posts, each refused with probability 1/2 until taken: 800 expected, deviation 40
  EXPECT_LT(refused, 1100);
}

TEST(Faulty, DelayShowsCompletionsLate) {
  run_job(faulty_job("delay=20000"), [](Rank& self) {
    auto connection = self.connect(1 - self.rank());
    auto start = Deadline::Clock::now();
    exchange(self, *connection, 1);
    EXPECT_GE(Deadline::Clock::now() - start, std::chrono::milliseconds(20));
    self.sync();
  });
}

TEST(Faulty, FailAfterBreaksBothSides) {
  run_job(faulty_job("fail_after=160"), [](Rank& self) {  // 10 words each way
    auto connection = self.connect(1 - self.rank());
    exchange(self, *connection, 10);
    uint64_t word = 0;
    self.sync();
    EXPECT_EQ(connection->post_recv(&word, 8), Post::kFailed);
    ASSERT_NE(connection->failure(), nullptr);
    EXPECT_EQ(connection->failure()->code(), ErrorCode::kPeerFailed);
    EXPECT_THAT(connection->failure()->what(), HasSubstr("fail_after=160"));
    EXPECT_EQ(connection->post_send(&word, 8), Post::kFailed);
    self.sync();
  });
}

TEST(Traced, CountsWhatCompletedPerPeer) {
  JobOptions options;
  options.word = "traced:inproc";
  options.ranks = 3;
  run_job(options, [](Rank& self) {
    auto* traced = dynamic_cast<TracedTransport*>(&self.transport());
    ASSERT_NE(traced, nullptr);
    if (self.rank() == 2) return self.sync();
    {
      auto first = self.connect(1 - self.rank(), 0), second = self.connect(1 - self.rank(), 1);
      exchange(self, *first, 5);
      exchange(self, *second, 2);
    }
    const Traffic& traffic = traced->traffic(1 - self.rank());
    EXPECT_EQ(traffic.sends, 7u);
    EXPECT_EQ(traffic.recvs, 7u);
    EXPECT_EQ(traffic.bytes_sent, 56u);
    EXPECT_EQ(traffic.bytes_received, 56u);
    EXPECT_EQ(traced->traffic(2).sends, 0u);
    EXPECT_THROW(traced->traffic(3), std::out_of_range);
    self.sync();
  });
}

}  // namespace peal::testing
