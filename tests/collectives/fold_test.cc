// Few ranks that stand for all must give what all give.
#include <gtest/gtest.h>

#include "base/error.h"
#include "collectives/fold_job.h"
#include "collectives/simulate.h"

namespace peal {
namespace {

Placement hosts_of(int ranks, int per_host) {
  std::vector<Place> places(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; rank++)
    places[static_cast<size_t>(rank)].host = std::to_string(1000 + rank / per_host);
  return place_ranks(places);
}

// What folds() looks at in a few ranks holds for all of them.
TEST(Fold, AllRanksAreMovedWhereAFewAre) {
  int folded = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (int ranks = 2; ranks <= 48; ranks++) {
      for (const int period : {1, 2, 3, 4, 8}) {
        if (ranks % period != 0 || ranks == period) continue;
        const Placement placement = hosts_of(ranks, period);
        if (algorithm.placing == Placing::kByGroups && !placement.grouped()) continue;
        if (!folds(algorithm, ranks, period, &placement)) continue;
        folded++;
        std::vector<Plan> plans;
        for (int rank = 0; rank < ranks; rank++)
          plans.push_back(build_plan(algorithm, {rank, ranks, 0, false, &placement}));
        for (int rank = period; rank < ranks; rank++) {
          ASSERT_TRUE(is_moved(plans[static_cast<size_t>(rank)], plans[static_cast<size_t>(rank % period)]))
              << algorithm.name << " " << name_of(algorithm.collective) << ", rank " << rank << " of " << ranks
              << ", period " << period;
        }
      }
    }
  }
  EXPECT_GT(folded, 300);
}

TEST(Fold, TreesDoNotAndRingsDo) {
  const Placement placement = hosts_of(64, 8);
  EXPECT_TRUE(folds(find_algorithm(Collective::kAllReduce, "ring"), 64, 8, &placement));
  EXPECT_TRUE(folds(find_algorithm(Collective::kAllReduce, "hierarchical"), 64, 8, &placement));
  EXPECT_FALSE(folds(find_algorithm(Collective::kAllReduce, "double_tree"), 64, 8, &placement));
  EXPECT_FALSE(folds(find_algorithm(Collective::kAllReduce, "ring"), 64, 7, &placement));
  EXPECT_FALSE(folds(find_algorithm(Collective::kAllReduce, "one_shot"), 64, 8, &placement));
}

// Each rank has a port inside its host; the ranks of a host share two NICs, each way.
struct Cluster {
  int per_host;
  bool folded;
  int link(int host, int local) const { return (folded ? 0 : host) * (2 * per_host + 4) + local; }
  MessageWay way(int from, int to) const {
    const int a = from / per_host, b = to / per_host, i = from % per_host, j = to % per_host;
    MessageWay way{a == b ? 700.0 : 2500.0, {link(a, 2 * i), link(b, 2 * j + 1)}};
    if (a == b) return way;
    way.links.push_back(link(a, 2 * per_host + i % 2));
    way.links.push_back(link(b, 2 * per_host + 2 + j % 2));
    return way;
  }
};

Simulated simulated(const Algorithm& algorithm, int ranks, int per_host, double bytes, double segment, bool fold,
                    double mover = 0, Detail detail = Detail::kTimes) {
  const Placement placement = hosts_of(ranks, per_host);
  std::vector<Plan> plans;
  for (int rank = 0; rank < (fold ? per_host : ranks); rank++) {
    plans.push_back(build_plan(algorithm, {rank, ranks, 0, false, &placement}));
  }
  const Cluster cluster{per_host, fold};
  SharedLinks links;
  for (int host = 0; host < (fold ? 1 : ranks / per_host); host++) {
    for (int rank = 0; rank < per_host; rank++) links.bytes_per_ns.insert(links.bytes_per_ns.end(), {100, 100});
    links.bytes_per_ns.insert(links.bytes_per_ns.end(), {25, 25, 25, 25});
  }
  links.way = [&](int from, int to) { return cluster.way(from, to); };
  MachineCosts costs;
  costs.links = &links;
  costs.mover_bytes_per_ns = mover;
  return simulate_in_detail(plans, costs, {bytes, 1, segment}, {ranks, per_host}, detail);
}

void expect_same(const Algorithm& algorithm, int ranks, int per_host, double bytes, double mover) {
  const double segment = bytes > 1e7 ? double{1 << 20} : 0;
  const Simulated all = simulated(algorithm, ranks, per_host, bytes, segment, false, mover);
  const Simulated few = simulated(algorithm, ranks, per_host, bytes, segment, true, mover);
  EXPECT_NEAR(few.ns / all.ns, 1, 1e-9) << algorithm.name << " " << name_of(algorithm.collective) << " on " << ranks;
  for (size_t link = 0; link < few.link_ns.size(); link++) {
    EXPECT_NEAR(few.link_ns[link], all.link_ns[link], 1e-6 * all.ns);
  }
}

TEST(Fold, TakesTheTimeOfTheWholeJob) {
  int compared = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const auto& [ranks, per_host] : {std::pair(12, 4), {64, 8}, {128, 8}, {96, 2}, {512, 8}}) {
      const Placement placement = hosts_of(ranks, per_host);
      if (algorithm.needs != Needs::kConnections || !folds(algorithm, ranks, per_host, &placement)) continue;
      for (const double bytes : {8.0, 1e6, 1e8}) {
        if (ranks > 128 && bytes != 1e6) continue;  // a quarter of a minute, and the rest was seen on fewer ranks
        for (const double mover : {0.0, 12.0}) {
          expect_same(algorithm, ranks, per_host, bytes, mover);
          compared++;
        }
      }
    }
  }
  EXPECT_GT(compared, 120);
}

TEST(Fold, IsOfAllPlansOrOfThoseOfAPeriod) {
  std::vector<Plan> plans;
  const Algorithm& ring = find_algorithm(Collective::kAllReduce, "ring");
  for (int rank = 0; rank < 4; rank++) plans.push_back(build_plan(ring, {rank, 8, 0, false}));
  MachineCosts costs;
  costs.path = [](int, int) { return PathCost{}; };
  EXPECT_GT(simulate_in_detail(plans, costs, {8, 1, 0}, {8, 4}).ns, 0);
  for (const Fold wrong : {Fold{8, 0}, {8, 3}, {8, 2}, {16, 2}}) {
    EXPECT_THROW(simulate_in_detail(plans, costs, {8, 1, 0}, wrong), Error) << wrong.ranks << " " << wrong.period;
  }
}

// A core that moves a message's bytes is one of its narrow places: the slower of core and link decides.
TEST(Links, AreAsFastAsTheCoresThatMoveTheBytes) {
  const Algorithm& algorithm = find_algorithm(Collective::kBroadcast, "binomial");
  std::vector<Plan> plans;
  for (int rank = 0; rank < 2; rank++) plans.push_back(build_plan(algorithm, {rank, 2, 0, true}));
  SharedLinks links;
  links.way = [](int, int) { return MessageWay{500, {0}}; };
  MachineCosts costs;
  costs.links = &links;
  costs.step_ns = 0;
  for (const auto& [link, mover] : {std::pair(1.0, 4.0), {4.0, 1.0}, {2.0, 0.0}}) {
    links.bytes_per_ns = {link};
    costs.mover_bytes_per_ns = mover;
    const double narrowest = mover > 0 ? std::min(link, mover) : link;
    EXPECT_NEAR(simulate_in_detail(plans, costs, {4000, 1, 0}).ns, 500 + 4000 / narrowest, 1e-6) << link;
  }
}

// What a tool shows of the path is the path: it ends where the job does, and each message begins after the one before.
TEST(Path, LeadsToTheEndMessageByMessage) {
  for (const bool fold : {false, true}) {
    const Simulated times = simulated(find_algorithm(Collective::kAllReduce, "ring"), 64, 8, 1e6, 0, fold);
    const Simulated traced =
        simulated(find_algorithm(Collective::kAllReduce, "ring"), 64, 8, 1e6, 0, fold, 0, Detail::kPath);
    EXPECT_EQ(times.ns, traced.ns);
    EXPECT_TRUE(times.path.empty());
    ASSERT_EQ(static_cast<int>(traced.path.size()), traced.critical.messages);
    ASSERT_EQ(traced.path.size(), 2 * 63U);
    const auto sum = [](const CriticalPath& path) {
      return path.latency_ns + path.transfer_ns + path.queue_ns + path.core_ns;
    };
    EXPECT_NEAR(sum(traced.critical), traced.ns, 1e-6 * traced.ns);
    for (size_t i = 0; i < traced.path.size(); i++) {
      const PathMessage& message = traced.path[i];
      EXPECT_EQ(message.until.messages, static_cast<int>(i) + 1);
      EXPECT_NEAR(sum(message.until), message.arrives_ns, 1e-6 * traced.ns);
      EXPECT_EQ(message.to % 64, (message.from + 1) % 64);
      if (i > 0) {
        const int period = fold ? 8 : 64;
        EXPECT_EQ(message.from % period, traced.path[i - 1].to % period);
        EXPECT_GT(message.arrives_ns, traced.path[i - 1].arrives_ns);
      }
    }
  }
}

TEST(Links, MessagesThatMeetOnOneTakeTurns) {
  // Two ranks send to two others over one link: the second message waits for the first.
  const Algorithm& algorithm = find_algorithm(Collective::kAllToAll, "pairwise");
  std::vector<Plan> plans;
  for (int rank = 0; rank < 4; rank++) plans.push_back(build_plan(algorithm, {rank, 4, 0, false}));
  SharedLinks links;
  links.bytes_per_ns = {1};
  links.way = [](int, int) { return MessageWay{0, {0}}; };
  MachineCosts costs;
  costs.links = &links;
  costs.step_ns = 0;
  costs.copy_bytes_per_ns = 1e12;
  const Simulated result = simulate_in_detail(plans, costs, {4000, 1, 0});
  EXPECT_NEAR(result.link_ns[0], 12 * 1000, 1e-3);  // every rank sends a block of 1,000 bytes to three others
  EXPECT_NEAR(result.ns, 12 * 1000, 1);
  EXPECT_GT(result.critical.queue_ns, 0);
}

}  // namespace
}  // namespace peal
