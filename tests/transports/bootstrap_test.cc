// All ranks of a job as threads: how they meet, and what each hears when one is missing, doubled or different.
#include "transports/bootstrap/bootstrap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <thread>

#include "transports/bootstrap/root_address.h"
#include "transports/socket.h"

namespace peal {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kPlentyMs = 20000;

Launch rank_of(int rank, int size, const std::string& root) {
  Launch launch;
  launch.rank = rank;
  launch.size = size;
  launch.root = root;
  launch.key = parse_key("bootstrap test");
  return launch;
}

struct Outcome {
  std::vector<std::string> gathered;
  std::optional<Error> error;
};

using Body = std::function<std::vector<std::string>(const Launch&)>;

std::vector<Outcome> run(const std::vector<Launch>& launches, const Body& body) {
  std::vector<Outcome> outcomes(launches.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < launches.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        outcomes[i].gathered = body(launches[i]);
      } catch (const Error& error) {
        outcomes[i].error = error;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<std::string> meet(const Launch& launch, int64_t deadline_ms = kPlentyMs) {
  Deadline deadline = Deadline::after_ms(deadline_ms);
  Bootstrap bootstrap(launch, deadline);
  return bootstrap.all_gather(fmt::format("from {}", launch.rank), deadline);
}

std::string free_tcp_root(const char* host) {
  Socket probe = listen_in_range(AF_UNSPEC, "");  // closed on return: the port is free again, and no one else's soon
  return fmt::format("{}:{}", host, SocketAddress::local_of(probe.fd()).port());
}

void expect_all(const std::vector<Outcome>& outcomes, ErrorCode code, const std::vector<std::string>& words) {
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), code) << outcome.error->what();
    for (const std::string& word : words) EXPECT_THAT(outcome.error->what(), HasSubstr(word));
  }
}

class Meeting : public ::testing::TestWithParam<std::string> {
 protected:
  std::string root() const { return GetParam() == "unix" ? random_unix_root() : free_tcp_root(GetParam().c_str()); }
};

std::string root_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Roots, Meeting, ::testing::Values("unix", "127.0.0.1", "[::1]", "localhost"), root_name);

TEST_P(Meeting, EverybodyHearsEverybody) {
  for (int size : {1, 2, 7}) {
    std::string where = root();
    std::vector<Launch> launches;
    std::vector<std::string> expected;
    for (int rank = size - 1; rank >= 0; --rank) launches.push_back(rank_of(rank, size, where));
    for (int rank = 0; rank < size; ++rank) expected.push_back(fmt::format("from {}", rank));
    for (const Outcome& outcome : run(launches, [](const Launch& launch) { return meet(launch); })) {
      EXPECT_FALSE(outcome.error) << outcome.error->what();
      EXPECT_EQ(outcome.gathered, expected);
    }
  }
}

TEST_P(Meeting, RankZeroMayComeLast) {
  std::string where = root();
  auto outcomes = run({rank_of(0, 2, where), rank_of(1, 2, where)}, [](const Launch& launch) {
    if (launch.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return meet(launch);
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.error->what();
}

TEST_P(Meeting, EveryRankNamesAllThatNeverCame) {
  std::string where = root();
  auto outcomes = run({rank_of(0, 5, where), rank_of(2, 5, where), rank_of(4, 5, where)},
                      [](const Launch& launch) { return meet(launch, launch.rank == 2 ? 500 : 5000); });
  expect_all(outcomes, ErrorCode::kTimeout, {"ranks 1, 3", "never came", where});
}

TEST_P(Meeting, RankZeroNeverComes) {
  std::string where = root();
  auto outcomes = run({rank_of(1, 2, where)}, [](const Launch& launch) { return meet(launch, 300); });
  expect_all(outcomes, ErrorCode::kTimeout, {"rank 0 never came", where, "refused"});
}

TEST_P(Meeting, TwoRanksWithOneNumber) {
  std::string where = root();
  auto outcomes = run({rank_of(0, 4, where), rank_of(1, 4, where), rank_of(2, 4, where), rank_of(2, 4, where)},
                      [](const Launch& launch) {
                        // Rank 1 must be there to hear of it.
                        if (launch.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
                        return meet(launch);
                      });
  expect_all(outcomes, ErrorCode::kMismatch, {"two processes say that they are rank 2"});
}

TEST_P(Meeting, SizesThatDiffer) {
  std::string where = root();
  auto outcomes = run({rank_of(0, 3, where), rank_of(1, 4, where)}, [](const Launch& launch) { return meet(launch); });
  expect_all(outcomes, ErrorCode::kMismatch, {"of 3 ranks", "of 4"});
  outcomes = run({rank_of(0, 2, where), rank_of(5, 6, where)}, [](const Launch& launch) { return meet(launch); });
  expect_all(outcomes, ErrorCode::kMismatch, {"rank 5", "2 ranks"});
}

TEST_P(Meeting, AnotherKeyIsAnotherJob) {
  std::string where = root();
  Launch stranger = rank_of(1, 2, where);
  stranger.key = parse_key("another");
  auto outcomes = run({rank_of(0, 2, where), stranger}, [](const Launch& launch) { return meet(launch, 700); });
  expect_all(outcomes, ErrorCode::kTimeout, {"never came"});
  EXPECT_THAT(outcomes[0].error->what(), HasSubstr("turned away"));
  EXPECT_THAT(outcomes[1].error->what(), HasSubstr("PEAL_KEY"));
}

// Connects, says something that is no handshake, leaves; again and again.
void pester(const SocketAddress& address, const std::atomic<bool>& done) {
  const std::string words = "GET / HTTP/1.1\r\n\r\n and much more";
  while (!done) {
    int error = 0;
    Socket socket = dial(address, error);
    if (!error) ::send(socket.fd(), words.data(), words.size(), MSG_NOSIGNAL);
  }
}

SocketAddress address_of(const std::string& root) {
  RootAddress parsed = parse_root(root);
  if (!parsed.unix_name.empty()) return SocketAddress::unix_name(parsed.unix_name);
  return SocketAddress::resolve(parsed.host, parsed.port).front();
}

TEST_P(Meeting, StrangersChangeNothing) {
  std::string where = root();
  std::atomic<bool> done{false};
  std::thread stranger([&] { pester(address_of(where), done); });
  auto outcomes = run({rank_of(0, 3, where), rank_of(1, 3, where), rank_of(2, 3, where)}, [](const Launch& launch) {
    if (launch.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return meet(launch);
  });
  done = true;
  stranger.join();
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.error->what();
}

TEST_P(Meeting, ARankThatLeavesIsNamedToTheOthers) {
  std::string where = root();
  auto outcomes = run({rank_of(0, 3, where), rank_of(1, 3, where), rank_of(2, 3, where)}, [](const Launch& launch) {
    Deadline deadline = Deadline::after_ms(kPlentyMs);
    Bootstrap bootstrap(launch, deadline);
    if (launch.rank == 2) throw Error(ErrorCode::kPeerFailed, "this is rank 2 leaving");
    return bootstrap.all_gather("", deadline);
  });
  expect_all(outcomes, ErrorCode::kPeerFailed, {"rank 2"});
}

TEST_P(Meeting, ARankThatDoesNotGatherIsNamedToTheOthers) {
  std::string where = root();
  std::atomic<int> finished{0};
  auto outcomes = run({rank_of(0, 3, where), rank_of(1, 3, where), rank_of(2, 3, where)}, [&](const Launch& launch) {
    Bootstrap bootstrap(launch, Deadline::after_ms(kPlentyMs));
    if (launch.rank == 1) {
      for (Deadline patience = Deadline::after_ms(kPlentyMs); finished < 2 && !patience.passed();) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      throw Error(ErrorCode::kTimeout, "this is rank 1");
    }
    try {
      return bootstrap.all_gather("", Deadline::after_ms(300));
    } catch (const Error&) {
      ++finished;
      throw;
    }
  });
  expect_all(outcomes, ErrorCode::kTimeout, {"rank 1"});
}

TEST_P(Meeting, LargeAndUnequalStringsSeveralTimes) {
  std::string where = root();
  std::vector<Launch> launches = {rank_of(0, 3, where), rank_of(1, 3, where), rank_of(2, 3, where)};
  auto sent = [](int round, int rank) {
    return std::string(static_cast<size_t>(rank * 3000000 + round * 17), static_cast<char>('a' + rank));
  };
  auto outcomes = run(launches, [&](const Launch& launch) {
    Deadline deadline = Deadline::after_ms(kPlentyMs);
    Bootstrap bootstrap(launch, deadline);
    for (int round = 0; round < 3; ++round) {
      auto all = bootstrap.all_gather(sent(round, launch.rank), deadline);
      for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], sent(round, rank));
    }
    return std::vector<std::string>{};
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.error->what();
}

TEST(Bootstrap, TooMuchIsRefusedBeforeItIsSent) {
  Launch launch = rank_of(0, 1, "");
  Bootstrap bootstrap(launch, Deadline::after_ms(kPlentyMs));
  EXPECT_THROW(bootstrap.all_gather(std::string((size_t{64} << 20) + 1, 'x'), Deadline::after_ms(1)), Error);
}

TEST(Bootstrap, ARootInUseIsNamed) {
  Socket taken = listen_in_range(AF_INET, "");
  std::string root = fmt::format("127.0.0.1:{}", SocketAddress::local_of(taken.fd()).port());
  auto outcomes = run({rank_of(0, 2, root)}, [](const Launch& launch) { return meet(launch); });
  expect_all(outcomes, ErrorCode::kSystem, {root, "in use"});
}

TEST(Bootstrap, RootsAndRanksThatCantBe) {
  auto outcomes = run({rank_of(0, 2, "nonsense"), rank_of(1, 2, "nonsense"), rank_of(2, 2, "unix:x")},
                      [](const Launch& launch) { return meet(launch); });
  expect_all(outcomes, ErrorCode::kInvalidArgument, {});
}

}  // namespace
}  // namespace peal
