// Selection and simulation: rules that must hold whatever the figures, and the crossings that everybody knows.
#include "collectives/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace peal {
namespace {

JobShape job(int ranks, bool window, PathCost path = {1000, 1}) {
  JobShape shape;
  shape.ranks = ranks;
  shape.has_window = window;
  shape.costs.path = [path](int, int) { return path; };
  return shape;
}

std::vector<Plan> plans_of(std::string_view algorithm, int ranks) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; rank++) {
    plans.push_back(build_plan(find_algorithm(Collective::kAllReduce, algorithm), {rank, ranks, 0, false}));
  }
  return plans;
}

TEST(Simulate, RingTakesTheTimeOfItsFormula) {
  // 2(n-1) steps of latency and of S/n bytes each at 1 byte/ns; copies, reductions and issue made free.
  JobShape shape = job(8, false);
  shape.costs.copy_bytes_per_ns = shape.costs.reduce_bytes_per_ns = 1e12;
  shape.costs.step_ns = 0;
  const double bytes = 8e6, steps = 14;
  const double ns = simulate(plans_of("ring", 8), shape.costs, {bytes, 1, 0});
  // The model charges a rank for sending and for receiving: each step moves its bytes twice.
  EXPECT_GT(ns, steps * (1000 + bytes / 8));
  EXPECT_LT(ns, steps * (1000 + 2 * bytes / 8) * 1.01);
}

TEST(Simulate, MoreSegmentsThanAreSimulatedAreContinued) {
  const JobShape shape = job(4, false);
  const double once = simulate(plans_of("ring", 4), shape.costs, {64e6, 1, 1e6});
  const double twice = simulate(plans_of("ring", 4), shape.costs, {128e6, 1, 1e6});
  EXPECT_NEAR(twice / once, 2, 0.1);
}

TEST(Simulate, AnyAlgorithmEndsOnAnyNumberOfRanks) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const int ranks : {1, 2, 3, 7, 16, 33}) {
      std::vector<Plan> plans;
      for (int rank = 0; rank < ranks; rank++) plans.push_back(build_plan(algorithm, {rank, ranks, 0, false}));
      const double ns = simulate(plans, job(ranks, true).costs, {1e6, 2, 65536});
      EXPECT_TRUE(ns >= 0 && ns < 1e12) << algorithm.name << " on " << ranks << ": " << ns;
    }
  }
}

TEST(Select, SmallMessagesGoInFewStepsAndLargeOnesMoveFewBytes) {
  Selector selector(job(16, false, {20000, 1}), "", 0, 0);
  const auto name = [&](size_t bytes) {
    return selector.ranked(Collective::kAllReduce, bytes).front().algorithm->name;
  };
  EXPECT_EQ(name(8), "recursive_doubling");
  EXPECT_THAT(name(256 << 20), ::testing::AnyOf("ring", "halving_doubling"));
}

TEST(Select, MappedMemoryIsUsedWhereItIs) {
  Selector selector(job(4, true), "", 0, 0);
  EXPECT_EQ(selector.ranked(Collective::kAllReduce, 8).front().algorithm->name, "one_shot");
  EXPECT_EQ(selector.ranked(Collective::kAllReduce, 1 << 20).front().algorithm->name, "two_shot");
  EXPECT_EQ(selector.ranked(Collective::kAllReduce, 1 << 20, {.symmetric = true}).front().algorithm->name, "push");
  // Counts that only some ranks know: mapped memory needs the same segments on all.
  EXPECT_EQ(selector.ranked(Collective::kGather, 1 << 20, {.same_counts_known = false}).front().algorithm->name,
            "linear");
}

TEST(Select, ForcedAndExcludedAlgorithmsAreObeyed) {
  Selector forced(job(4, true), "all_reduce:ring;broadcast:^direct,binomial", 3, 4096);
  const Choice choice = forced.ranked(Collective::kAllReduce, 8).front();
  EXPECT_EQ(choice.algorithm->name, "ring");
  EXPECT_EQ(choice.channels, 3);
  EXPECT_EQ(choice.segment_bytes, 4096U);
  EXPECT_THAT(forced.ranked(Collective::kBroadcast, 8).front().algorithm->name,
              ::testing::AnyOf("ring", "double_tree"));
  EXPECT_THAT(forced.ranked(Collective::kBroadcast, 8), ::testing::SizeIs(2));
}

TEST(Select, AForcedAlgorithmThatCannotRunIsAnError) {
  Selector selector(job(4, false), "all_reduce:two_shot", 0, 0);
  try {
    selector.ranked(Collective::kAllReduce, 8);
    FAIL() << "chose something";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no transport in use maps all ranks' memory"));
  }
}

TEST(Select, EveryRankMakesTheSameChoice) {
  Selector a(job(6, true), "", 0, 0), b(job(6, true), "", 0, 0);
  for (int collective = 0; collective < kCollectives; collective++) {
    for (size_t bytes = 1; bytes < (size_t{1} << 31); bytes *= 8) {
      const Choice one = a.ranked(static_cast<Collective>(collective), bytes).front(),
                   two = b.ranked(static_cast<Collective>(collective), bytes + bytes / 4).front();
      EXPECT_EQ(one.algorithm, two.algorithm);
      EXPECT_EQ(one.segment_bytes, two.segment_bytes);
    }
  }
}

TEST(AlgorithmFilter, WhatCantBeReadIsNamed) {
  for (const char* text : {"ring", "all_reduce:rong", "allreduce:ring"}) {
    EXPECT_THROW(AlgorithmFilter{text}, Error) << text;
  }
}

}  // namespace
}  // namespace peal
