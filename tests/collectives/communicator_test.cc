// What a Communicator promises beyond results: groups, Works, splits, symmetric memory, point to point, and clear
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/collectives/job.h"
#include "transports/bootstrap/launch.h"

namespace peal {
namespace {

using ::testing::HasSubstr;
using testing::run_job;

class Communicators : public ::testing::TestWithParam<const char*> {
 protected:
  Environment settings() const { return {{"PEAL_TRANSPORT", GetParam()}, {"PEAL_TIMEOUT", "20000"}}; }
};
INSTANTIATE_TEST_SUITE_P(Transports, Communicators, ::testing::Values("inproc", "shm", "tcp"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Communicators, SendsAndReceivesOfManySizesAreUnderWayAtOnce) {
  run_job(3, settings(), [](Communicator& c) {
    // Every rank trades with every other, both directions posted before any wait, larger than any ring.
    const std::array<size_t, 5> counts = {0, 1, 1000, 300000, 2000001};
    const int n = c.size();
    std::vector<std::vector<int32_t>> sent, received;
    std::vector<Work> works;
    for (int peer = 0; peer < n; peer++) {
      for (const size_t count : counts) {
        sent.emplace_back(count);
        received.emplace_back(count);
        std::iota(sent.back().begin(), sent.back().end(), c.rank() * 1000 + peer);
      }
    }
    for (size_t i = 0; i < sent.size(); i++) {
      const int peer = static_cast<int>(i / counts.size());
      works.push_back(c.send_async(sent[i].data(), sent[i].size(), DataType::kInt32, peer));
      works.push_back(c.recv_async(received[i].data(), received[i].size(), DataType::kInt32, peer));
    }
    for (Work& work : works) work.wait();
    for (size_t i = 0; i < received.size(); i++) {
      const int peer = static_cast<int>(i / counts.size());
      for (size_t j = 0; j < received[i].size(); j++) {
        ASSERT_EQ(received[i][j], peer * 1000 + c.rank() + static_cast<int32_t>(j));
      }
    }
  });
}

TEST_P(Communicators, AGroupIsWaitedForAsOne) {
  run_job(4, settings(), [](Communicator& c) {
    const int next = (c.rank() + 1) % 4, previous = (c.rank() + 3) % 4;
    std::vector<int> out(5000, c.rank()), in(5000), sum(5000);
    c.group_begin();
    c.send(out.data(), out.size(), DataType::kInt32, next);  // would deadlock outside a group
    c.recv(in.data(), in.size(), DataType::kInt32, previous);
    c.all_reduce(out.data(), sum.data(), sum.size(), DataType::kInt32);
    c.group_end().wait();
    EXPECT_THAT(in, ::testing::Each(previous));
    EXPECT_THAT(sum, ::testing::Each(6));
  });
}

TEST_P(Communicators, CollectivesUnderWayFinishInOrder) {
  run_job(3, settings(), [](Communicator& c) {
    std::vector<std::vector<float>> buffers(20, std::vector<float>(10000));
    std::vector<Work> works;
    for (size_t i = 0; i < buffers.size(); i++) {
      std::fill(buffers[i].begin(), buffers[i].end(), static_cast<float>(i));
      works.push_back(c.all_reduce_async(buffers[i].data(), buffers[i].data(), buffers[i].size(), DataType::kFloat32));
    }
    for (size_t i = buffers.size(); i-- > 0;) {
      works[i].wait();
      EXPECT_THAT(buffers[i], ::testing::Each(static_cast<float>(3 * i)));
    }
  });
}

TEST_P(Communicators, SplitMakesGroupsOrderedByKey) {
  run_job(5, settings(), [](Communicator& c) {
    const int color = c.rank() == 4 ? -1 : c.rank() % 2;
    const auto part = c.split(color, -c.rank());
    if (color < 0) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    ASSERT_EQ(part->size(), 2);
    EXPECT_EQ(part->rank(), c.rank() < 2 ? 1 : 0);  // the higher old rank has the lower key
    int mine = c.rank(), sum = 0;
    part->all_reduce(&mine, &sum, 1, DataType::kInt32);
    EXPECT_EQ(sum, color == 0 ? 2 : 4);
  });
}

TEST_P(Communicators, SeveralCommunicatorsRunInSeveralThreads) {
  run_job(3, settings(), [](Communicator& c) {
    std::vector<std::unique_ptr<Communicator>> parts;
    for (int i = 0; i < 3; i++) parts.push_back(c.split(0, c.rank()));
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (auto& part : parts) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; i++) {
          std::vector<int> data(static_cast<size_t>(1 + i * 7), part->rank() + i);
          part->all_reduce(data.data(), data.data(), data.size(), DataType::kInt32);
          for (const int value : data) wrong += value != 3 + 3 * i;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(Communicators, SymmetricMemoryIsSharedAndCollectivesWorkOnPartsOfIt) {
  for (const char* algorithm : {"push", "pull", "ring"}) {
    Environment environment = settings();
    if (std::string(GetParam()) == "tcp" && std::string(algorithm) != "ring") continue;  // maps nothing
    environment["PEAL_ALGO"] = std::string("all_reduce:") + algorithm;
    run_job(4, environment, [](Communicator& c) {
      SymmetricMemory memory = c.allocate(1 << 20);
      auto* data = static_cast<float*>(memory.data());
      EXPECT_EQ(data[1000], 0.0F);
      for (int round = 0; round < 20; round++) {
        const size_t offset = static_cast<size_t>(round) * 100, count = 1 + static_cast<size_t>(round) * 1000;
        for (size_t i = 0; i < count; i++) data[offset + i] = static_cast<float>(c.rank() + static_cast<int>(i % 5));
        c.all_reduce(data + offset, data + offset, count, DataType::kFloat32, ReduceOp::kAvg);
        for (size_t i = 0; i < count; i++) ASSERT_EQ(data[offset + i], 1.5F + static_cast<float>(i % 5));
      }
    });
  }
}

// In place the side with one block begins elsewhere on every rank; what must agree is where the whole buffer begins.
TEST_P(Communicators, CollectivesWithBlocksRunInPlaceInSymmetricMemory) {
  run_job(3, settings(), [](Communicator& c) {
    constexpr size_t kCount = 5000;
    const auto n = static_cast<size_t>(c.size()), rank = static_cast<size_t>(c.rank());
    SymmetricMemory memory = c.allocate(n * kCount * sizeof(int));
    auto* data = static_cast<int*>(memory.data());
    for (int round = 0; round < 5; round++) {
      for (size_t i = 0; i < n * kCount; i++) data[i] = c.rank() + static_cast<int>(i % 100) + round;
      c.reduce_scatter(data, data + rank * kCount, kCount, DataType::kInt32);
      for (size_t i = rank * kCount; i < (rank + 1) * kCount; i++) {
        ASSERT_EQ(data[i], 3 + 3 * (static_cast<int>(i % 100) + round));
      }
      c.all_gather(data + rank * kCount, data, kCount, DataType::kInt32);
      for (size_t i = 0; i < n * kCount; i++) ASSERT_EQ(data[i], 3 + 3 * (static_cast<int>(i % 100) + round));
    }
  });
}

TEST_P(Communicators, WhatIsWrittenPastTheCachesArrives) {
  if (std::string(GetParam()) == "tcp") return;  // maps nothing
  for (const char* algorithm : {"two_shot", "two_shot_return", "push"}) {
    for (const char* streaming : {"never", "results", "all"}) {
      Environment environment = settings();
      environment["PEAL_ALGO"] = std::string("all_reduce:") + algorithm;
      environment["PEAL_STREAMING"] = streaming;
      run_job(3, environment, [](Communicator& c) {
        constexpr size_t kMost = 300001;
        SymmetricMemory memory = c.allocate(kMost * sizeof(int16_t));
        auto* data = static_cast<int16_t*>(memory.data());
        for (const size_t count : {size_t{1}, size_t{4097}, kMost - 1}) {
          for (const size_t offset : {size_t{0}, size_t{1}}) {  // the second one is aligned to nothing
            for (size_t i = 0; i < count; i++)
              data[offset + i] = static_cast<int16_t>(c.rank() + static_cast<int>(i % 999));
            c.all_reduce(data + offset, data + offset, count, DataType::kInt16);
            for (size_t i = 0; i < count; i++) ASSERT_EQ(data[offset + i], 3 + 3 * static_cast<int>(i % 999));
          }
        }
      });
    }
  }
}

TEST_P(Communicators, SymmetricMemoryInUseIsNotFreed) {
  run_job(2, settings(), [](Communicator& c) {
    constexpr size_t kCount = 1 << 20;
    SymmetricMemory memory = c.allocate(kCount * sizeof(float));
    auto* data = static_cast<float*>(memory.data());
    for (size_t i = 0; i < kCount; i++) data[i] = 1;
    Work work = c.all_reduce_async(data, data, kCount, DataType::kFloat32);
    try {
      memory.free();
      ADD_FAILURE() << "freed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), HasSubstr("in use by all_reduce number"));
    }
    work.wait();
    EXPECT_EQ(data[kCount - 1], 2.0F);
    c.barrier();  // nobody is inside a collective on it any more
    memory.free();
    EXPECT_EQ(memory.data(), nullptr);
    memory.free();  // nothing is left to free
    Work last;
    {
      SymmetricMemory short_lived = c.allocate(kCount * sizeof(float));
      auto* numbers = static_cast<float*>(short_lived.data());
      last = c.all_reduce_async(numbers, numbers, kCount, DataType::kFloat32);
    }  // its destructor waits for the all-reduce
    EXPECT_TRUE(last.done());
    c.barrier();
  });
}

TEST_P(Communicators, AProgressThreadFinishesWorkOnItsOwn) {
  Environment environment = settings();
  environment["PEAL_PROGRESS_THREAD"] = "1";
  run_job(2, environment, [](Communicator& c) {
    std::vector<float> data(100000, 1);
    for (int i = 0; i < 50; i++) {
      Work work = c.all_reduce_async(data.data(), data.data(), data.size(), DataType::kFloat32, ReduceOp::kMax);
      work.wait();
    }
    EXPECT_THAT(data, ::testing::Each(1.0F));
  });
}

TEST_P(Communicators, ManyAreMadeAndDestroyed) {
  run_job(2, settings(), [](Communicator& c) {
    for (int i = 0; i < 100; i++) {
      const auto part = c.split(0, c.rank());
      int one = 1;
      part->all_reduce(&one, &one, 1, DataType::kInt32);
      ASSERT_EQ(one, 2);
    }
  });
}

// ---- What goes wrong ----

template <class Body>
std::string error_of(ErrorCode code, Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST_P(Communicators, MismatchedCallsAreAnErrorWithBothSidesArguments) {
  for (const char* algorithm : {"ring", "two_shot"}) {
    if (std::string(GetParam()) == "tcp" && std::string(algorithm) == "two_shot") continue;
    Environment environment = settings();
    environment["PEAL_ALGO"] = std::string("all_reduce:") + algorithm;
    run_job(2, environment, [](Communicator& c) {
      std::vector<float> data(100, 7);
      const size_t count = c.rank() == 0 ? 100 : 99;
      const std::string what =
          error_of(ErrorCode::kMismatch, [&] { c.all_reduce(data.data(), data.data(), count, DataType::kFloat32); });
      EXPECT_THAT(what, HasSubstr("count 100"));
      EXPECT_THAT(what, HasSubstr("count 99"));
      EXPECT_THAT(data, ::testing::Each(7.0F)) << "nothing is written before both ends agree";
      error_of(ErrorCode::kMismatch, [&] { c.barrier(); });  // the failure stays
    });
  }
}

TEST_P(Communicators, MismatchedMessagesAreAnError) {
  run_job(2, settings(), [](Communicator& c) {
    std::vector<float> data(100, 7);
    if (c.rank() == 0) {
      c.send(data.data(), 50, DataType::kFloat32, 1);
    } else {
      const std::string what = error_of(ErrorCode::kMismatch, [&] { c.recv(data.data(), 100, DataType::kFloat32, 0); });
      EXPECT_THAT(what, HasSubstr("receives 100 x float from rank 0, which sends 50 x float"));
      EXPECT_THAT(data, ::testing::Each(7.0F));
    }
  });
}

TEST_P(Communicators, APeerThatLeavesIsAnErrorForWhoWaitsForIt) {
  run_job(3, settings(), [](Communicator& c) {
    std::vector<float> data(1000, 1);
    c.all_reduce(data.data(), data.data(), data.size(), DataType::kFloat32);
    if (c.rank() == 2) return;  // leaves
    const std::string what = error_of(ErrorCode::kPeerFailed,
                                      [&] { c.all_reduce(data.data(), data.data(), data.size(), DataType::kFloat32); });
    // A rank that has nothing to do with rank 2 sees the one that did leave after it.
    EXPECT_THAT(what, ::testing::AnyOf(HasSubstr("rank 2"), HasSubstr("rank 0 ")));
    EXPECT_THAT(what, HasSubstr("all_reduce number 1"));
  });
}

TEST_P(Communicators, AbortFromAnotherThreadEndsAWait) {
  run_job(2, settings(), [](Communicator& c) {
    int mine = 0, go = 0;
    c.sendrecv(&mine, 1, 1 - c.rank(), &go, 1, 1 - c.rank(), DataType::kInt32);  // so that the two are connected
    if (c.rank() == 1) {                                                         // sees rank 0 go
      error_of(ErrorCode::kPeerFailed, [&] { c.recv(&go, 1, DataType::kInt32, 0); });
      return;
    }
    std::thread aborter([&] { c.abort("enough"); });
    float value = 0;
    const std::string what = error_of(ErrorCode::kAborted, [&] { c.recv(&value, 1, DataType::kFloat32, 0); });
    aborter.join();
    EXPECT_THAT(what, HasSubstr("enough"));
  });
}

TEST_P(Communicators, AWaitThatGoesNowhereTimesOutAndSaysWhatItWaitedFor) {
  Environment environment = settings();
  environment["PEAL_TIMEOUT"] = "300";
  std::barrier both_timed_out(2);  // who left earlier would be seen as a peer that failed
  run_job(2, environment, [&](Communicator& c) {
    float value = 0;
    const std::string what =
        error_of(ErrorCode::kTimeout, [&] { c.recv(&value, 1, DataType::kFloat32, 1 - c.rank()); });
    both_timed_out.arrive_and_wait();
    EXPECT_THAT(what, HasSubstr("PEAL_TIMEOUT"));
    EXPECT_THAT(what, HasSubstr("receive of 4 bytes from rank"));
  });
}

TEST(Arguments, AreCheckedBeforeAnythingIsSent) {
  run_job(2, {}, [](Communicator& c) {
    std::vector<float> data(100);
    const auto invalid = [&](auto body) { return error_of(ErrorCode::kInvalidArgument, body); };
    EXPECT_THAT(invalid([&] { c.broadcast(data.data(), data.data(), 1, DataType::kFloat32, 2); }),
                HasSubstr("root is 2, but ranks are 0 to 1"));
    EXPECT_THAT(invalid([&] { c.send(data.data(), 1, DataType::kFloat32, -1); }), HasSubstr("peer is -1"));
    EXPECT_THAT(invalid([&] { c.all_reduce(data.data(), data.data() + 1, 50, DataType::kFloat32); }),
                HasSubstr("overlap"));
    EXPECT_THAT(invalid([&] { c.all_reduce(nullptr, data.data(), 50, DataType::kFloat32); }),
                HasSubstr("send buffer is null"));
    const std::vector<size_t> three(3), two(2, 1);
    EXPECT_THAT(invalid([&] { c.all_gather_v(data.data(), 1, data.data() + 50, three, three, DataType::kFloat32); }),
                HasSubstr("3 counts"));
    EXPECT_THAT(invalid([&] { c.all_gather_v(data.data(), 5, data.data() + 50, two, two, DataType::kFloat32); }),
                HasSubstr("send_count is 5"));
    c.all_reduce(data.data(), data.data(), 100, DataType::kFloat32);  // and all is well afterwards
  });
}

TEST(Arguments, AnUnknownAlgorithmOrTransportIsRefusedAtTheStart) {
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [] {
                         run_job(2, {{"PEAL_ALGO", "all_reduce:rign"}}, [](auto&) {});
                       }),
              HasSubstr("did you mean ring?"));
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [] {
                         run_job(2, {{"PEAL_ALGO", "allreduce:ring"}}, [](auto&) {});
                       }),
              HasSubstr("all_reduce"));
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [] {
                         run_job(2, {{"PEAL_TRANSPORT", "tpc"}}, [](auto&) {});
                       }),
              HasSubstr("tcp"));
}

TEST(Alone, OneRankNeedsNobody) {
  run_job(1, {}, [](Communicator& c) {
    std::vector<float> data(10, 4), out(10);
    c.all_reduce(data.data(), out.data(), 10, DataType::kFloat32, ReduceOp::kAvg);
    EXPECT_EQ(out, data);
    c.barrier();
    c.sendrecv(data.data(), 10, 0, out.data(), 10, 0, DataType::kFloat32);
    EXPECT_EQ(c.transports_in_use(), "self");
  });
}

}  // namespace
}  // namespace peal
