#include "base/error.h"
// Every algorithm is proved by the checker, and the checker by plans that were broken on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "collectives/check.h"
#include "collectives/plan_builder.h"

namespace peal {
namespace {

std::string name_of_case(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(name_of(info.param.collective)) + "_" + std::string(info.param.name);
}

bool rooted(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithm, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         name_of_case);

TEST_P(EveryAlgorithm, IsRightOnUpTo17Ranks) {
  for (int ranks = 1; ranks <= 17; ranks++) {
    const int roots = rooted(GetParam().collective) ? ranks : 1;
    for (int root = 0; root < roots; root += root == 0 || ranks < 5 ? 1 : 3) {
      ASSERT_EQ(check_algorithm(GetParam(), ranks, root, 6), "");
    }
  }
}

TEST_P(EveryAlgorithm, IsRightOnManyRanks) {
  for (const int ranks : {32, 64, 100}) {
    ASSERT_EQ(check_algorithm(GetParam(), ranks, rooted(GetParam().collective) ? ranks / 3 : 0, 1), "");
  }
}

// Ranks of several hosts in any numbers and any order: blocks, interleaved, 3 + 1, one host of many.
Placement random_placement(int ranks, std::mt19937& random) {
  std::vector<Place> places(static_cast<size_t>(ranks));
  const uint32_t hosts = 1 + random() % static_cast<uint32_t>(ranks);
  for (Place& place : places) place.host = std::string("host") + std::to_string(random() % hosts);
  Placement placement = place_ranks(places);
  if (random() % 4 == 0) std::shuffle(placement.ring.begin(), placement.ring.end(), random);  // a user's own ring
  return placement;
}

TEST_P(EveryAlgorithm, IsRightWhereverRanksAre) {
  std::mt19937 random(11);
  for (int ranks = 1; ranks <= 17; ranks++) {
    for (int i = 0; i < (ranks < 9 ? 12 : 4); i++) {
      const Placement placement = random_placement(ranks, random);
      const int root = rooted(GetParam().collective) ? static_cast<int>(random() % static_cast<uint32_t>(ranks)) : 0;
      ASSERT_EQ(check_algorithm(GetParam(), ranks, root, 2, &placement), "");
    }
  }
}

// ---- Broken plans ----

enum class Damage { kDropStep, kWrongPeer, kWrongChunk, kDropWait, kOtherKind };

// Breaks one step, or says why it can't be broken that way.
bool damage(Plan& plan, size_t at, Damage kind) {
  Step& step = plan.steps[at];
  switch (kind) {
    case Damage::kDropStep:
      plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(at));
      for (Step& later : plan.steps) {
        if (later.after >= static_cast<int>(at)) later.after--;
      }
      return true;
    case Damage::kWrongPeer:
      if (step.peer < 0) return false;
      step.peer = wrap(step.peer + 1, plan.ranks);
      if (step.peer == plan.rank) step.peer = wrap(step.peer + 1, plan.ranks);
      return true;
    case Damage::kWrongChunk: {
      Chunks& chunks = step.kind == StepKind::kSend || step.kind == StepKind::kPublish ? step.src : step.dst;
      if (plan.chunks < 2 || chunks.count >= plan.chunks) return false;
      chunks.first = wrap(chunks.first + 1, plan.chunks - chunks.count + 1);
      return true;
    }
    case Damage::kDropWait:
      if (!step.own_wait) return false;
      step.after = at == 0 ? -1 : plan.steps[at - 1].after;
      return true;
    case Damage::kOtherKind:
      if (step.kind == StepKind::kRecv) {
        step.kind = StepKind::kRecvReduce;
      } else if (step.kind == StepKind::kRecvReduce) {
        step.kind = StepKind::kRecv;
      } else if (step.kind == StepKind::kReduce) {
        step.kind = StepKind::kCopy;
      } else {
        return false;
      }
      return true;
  }
  return false;
}

std::vector<Plan> plans_of(const Algorithm& algorithm, int ranks) {
  std::vector<Plan> plans;
  static const Placement kUneven = [] {
    std::vector<Place> places(8);
    for (const size_t rank : {0U, 2U, 3U, 6U, 7U}) places[rank].host = "other";
    return place_ranks(places);
  }();
  const Placement* placement = algorithm.placing == Placing::kByGroups && ranks == 8 ? &kUneven : nullptr;
  for (int rank = 0; rank < ranks; rank++) plans.push_back(build_plan(algorithm, {rank, ranks, 0, false, placement}));
  return plans;
}

bool caught(const std::vector<Plan>& plans) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    for (const bool eager : {false, true}) {
      CheckOptions options;
      options.seed = seed;
      options.eager = eager;
      if (!check(plans, options).empty()) return true;
    }
  }
  return false;
}

TEST_P(EveryAlgorithm, BrokenPlansAreCaught) {
  std::mt19937 random(7);
  std::map<Damage, int> tried, missed;
  std::string first_missed;
  for (int i = 0; i < 120; i++) {
    std::vector<Plan> plans = plans_of(GetParam(), 8);
    Plan& plan = plans[random() % plans.size()];
    const size_t at = random() % plan.steps.size();
    const auto kind = static_cast<Damage>(random() % 5);
    const std::string was = to_string(plan.steps[at]);
    // A barrier's operation may take a contribution twice, so that adding to what came before does no harm there.
    if (kind == Damage::kOtherKind && plan.collective == Collective::kBarrier) continue;
    // Out of place, as here, nobody waits for the last publish of an all-to-all that pulls.
    const bool for_in_place_alone =
        plan.collective == Collective::kAllToAll && plan.steps[at].kind == StepKind::kPublish;
    if (plan.algorithm == "pull" && for_in_place_alone && plan.steps[at].stage == 1) continue;
    if (!damage(plan, at, kind)) continue;
    tried[kind]++;
    if (caught(plans)) continue;
    missed[kind]++;
    if (first_missed.empty()) first_missed = was + " of rank " + std::to_string(plan.rank);
  }
  for (const auto& [kind, count] : tried) {
    EXPECT_EQ(missed[kind], 0) << "damage " << static_cast<int>(kind) << ", of " << count << ": first missed "
                               << first_missed;
  }
}

TEST(Checker, SeesASharedSlotUsedAgainTooEarly) {
  const auto plans = plans_of(find_algorithm(Collective::kAllReduce, "two_shot"), 4);
  int faults = 0;
  for (uint32_t seed = 0; seed < 20; seed++) {
    CheckOptions options;
    options.seed = seed;
    options.shared_turns = 1;
    faults += !check(plans, options).empty();
  }
  EXPECT_GT(faults, 0) << "one slot, reused while peers may read it, must be seen";
}

TEST(Checker, SeesABufferGivenBackWhilePeersRead) {
  auto plans = plans_of(find_algorithm(Collective::kAllReduce, "pull"), 4);
  for (Plan& plan : plans) plan.exposes_user_memory = false;  // no closing wait
  EXPECT_TRUE(caught(plans));
}

// A send that waits for its receive on both sides first: right when eager, a deadlock under rendezvous.
TEST(Checker, SeesARendezvousDeadlock) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; rank++) {
    PlanBuilder plan(Collective::kAllReduce, {rank, 2, 0, false}, 1);
    plan.copy(scratch(0, 0), in(0));
    plan.send(1 - rank, scratch(0, 0));
    plan.copy(scratch(0, 0), in(0));  // must wait for the send
    plan.copy(out(0), scratch(0, 0));
    plan.recv_reduce(1 - rank, out(0));
    plans.push_back(std::move(plan).finish());
  }
  CheckOptions options;
  options.eager = true;
  EXPECT_EQ(check(plans, options), "");
  options.eager = false;
  EXPECT_THAT(check(plans, options), testing::HasSubstr("deadlock: rank 0"));
}

TEST(Checker, SeesTwoEndsThatDisagreeOnAChunk) {
  auto plans = plans_of(find_algorithm(Collective::kAllGather, "ring"), 3);
  plans[1].steps[1].src = out(2);
  EXPECT_THAT(check(plans, {}), testing::HasSubstr("not the same chunks"));
}

TEST(Plan, PrintsOneLineAStep) {
  const Plan plan = build_plan(find_algorithm(Collective::kAllReduce, "ring"), {1, 3, 0, false});
  EXPECT_EQ(to_string(plan),
            "ring all_reduce: rank 1 of 3, 3 chunks, 0 scratch and 0 shared slots\n"
            "   0  copy out[0..2] = in[0..2]\n"
            "   1  send out[1] to 2  (after 0)\n"
            "   2  recv_reduce out[0] from 0\n"
            "   3  send out[0] to 2  (after 2)\n"
            "   4  recv_reduce out[2] from 0\n"
            "   5  send out[2] to 2  (after 4)\n"
            "   6  recv out[1] from 0\n"
            "   7  send out[1] to 2  (after 6)\n"
            "   8  recv out[0] from 0\n");
}

TEST(Catalog, AnUnknownNameListsTheValidOnesAndTheNearest) {
  try {
    find_algorithm(Collective::kAllReduce, "rign");
    FAIL() << "accepted an unknown algorithm";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean ring?"));
    EXPECT_THAT(error.what(), testing::HasSubstr("halving_doubling"));
  }
}

}  // namespace
}  // namespace peal
