// The exact results that the *_perf programs compare with: they are exact in whatever order they are formed, and data
// that is off shows.
#include "tools/perf/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string>

namespace peal::perf {
namespace {

constexpr size_t kCount = 3000;  // more than a period
const std::vector<int> kSizes = {1, 2, 3, 4, 5, 8, 13, 64};

using Bytes = std::vector<unsigned char>;

Bytes filled(const Tile& tile, DataType type) {
  Bytes bytes(kCount * size_of(type));
  tile.fill(bytes.data(), kCount);
  return bytes;
}

// Every rank's contribution to `block`, as a reduction takes it.
std::vector<Bytes> contributions(const Pattern& pattern, DataType type, ReduceOp op, int ranks, size_t block) {
  std::vector<Bytes> all;
  for (int rank = 0; rank < ranks; rank++) {
    Bytes bytes = filled(pattern.input(rank, block), type);
    if (op == ReduceOp::kPremulSum) scale(type, bytes.data(), bytes.data(), Pattern::factor(rank), kCount);
    all.push_back(std::move(bytes));
  }
  return all;
}

// Two at a time, each partial result rounded to the type: what rings and trees do.
Bytes folded(const std::vector<Bytes>& sources, const std::vector<int>& order, DataType type, ReduceOp op) {
  Bytes result = sources[static_cast<size_t>(order[0])];
  for (size_t i = 1; i < order.size(); i++) {
    const void* const pair[] = {result.data(), sources[static_cast<size_t>(order[i])].data()};
    reduce(type, op, result.data(), pair, kCount);
  }
  if (op == ReduceOp::kAvg) divide(type, result.data(), result.data(), static_cast<int64_t>(order.size()), kCount);
  return result;
}

std::string named(DataType type, ReduceOp op, int ranks) {
  return std::string(name_of(type)) + " " + std::string(name_of(op)) + ", " + std::to_string(ranks) + " ranks";
}

template <class Check>
void for_every_reduction(Check check) {
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : all_reduce_ops()) {
      for (const int ranks : kSizes) check(type, op, ranks);
    }
  }
}

TEST(Pattern, IsExactInAnyOrder) {
  for_every_reduction([](DataType type, ReduceOp op, int ranks) {
    const Pattern pattern(type, op, true, ranks);
    const std::vector<Bytes> sources = contributions(pattern, type, op, ranks, 2);
    const Tile expected = pattern.reduced(2);
    std::vector<int> order(static_cast<size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    const Bytes forward = folded(sources, order, type, op);
    std::reverse(order.begin(), order.end());
    const Bytes backward = folded(sources, order, type, op);
    std::stable_partition(order.begin(), order.end(), [](int rank) { return rank % 3 == 1; });
    const Bytes mixed = folded(sources, order, type, op);
    for (const Bytes* each : {&forward, &backward, &mixed}) {
      ASSERT_EQ(expected.count_wrong(each->data(), kCount, pattern.tolerance_ulps()), 0U) << named(type, op, ranks);
    }
  });
}

TEST(Pattern, ShowsDataThatIsOffByChunksOrBlocks) {
  for_every_reduction([](DataType type, ReduceOp op, int ranks) {
    if (op == ReduceOp::kAvg && ranks > 13) return;  // of narrow whole numbers little but zeros is left
    const Pattern pattern(type, op, true, ranks);
    const Tile expected = pattern.reduced(1);
    const Bytes right = filled(expected, type), other_block = filled(pattern.reduced(0), type);
    EXPECT_GT(expected.count_wrong(other_block.data(), kCount, pattern.tolerance_ulps()), kCount / 5)
        << named(type, op, ranks);
    for (const size_t shift : {1, 8, 16, 64, 512, 1024, 2048}) {
      const size_t wrong =
          expected.count_wrong(right.data() + shift * size_of(type), kCount - shift, pattern.tolerance_ulps());
      EXPECT_GT(wrong, (kCount - shift) / 5) << named(type, op, ranks) << ", off by " << shift;
    }
  });
}

TEST(Pattern, ShowsAMissingOrDoubledContribution) {
  for_every_reduction([](DataType type, ReduceOp op, int ranks) {
    if (ranks == 1 || ranks > 13 || op == ReduceOp::kAvg) return;
    const Pattern pattern(type, op, true, ranks);
    std::vector<Bytes> sources = contributions(pattern, type, op, ranks, 0);
    std::vector<int> order(static_cast<size_t>(ranks) - 1);
    std::iota(order.begin(), order.end(), 1);  // without rank 0
    const Bytes missing = folded(sources, order, type, op);
    EXPECT_GT(pattern.reduced(0).count_wrong(missing.data(), kCount), kCount / 100U) << named(type, op, ranks);
    if (op == ReduceOp::kMin || op == ReduceOp::kMax) return;  // twice is once
    order.insert(order.end(), {0, 0});
    const Bytes doubled = folded(sources, order, type, op);
    EXPECT_GT(pattern.reduced(0).count_wrong(doubled.data(), kCount), kCount / 100U) << named(type, op, ranks);
  });
}

TEST(Pattern, DataThatMovesIsEveryRanksOwn) {
  for (const DataType type : all_data_types()) {
    const Pattern pattern(type, ReduceOp::kSum, false, 4);
    const Tile mine = pattern.input(1, 1);
    EXPECT_EQ(mine.count_wrong(filled(mine, type).data(), kCount), 0U);
    for (const auto& [rank, block] : {std::pair{0, 1}, {1, 0}, {2, 1}, {1, 2}}) {
      EXPECT_GT(mine.count_wrong(filled(pattern.input(rank, static_cast<size_t>(block)), type).data(), kCount),
                kCount * 9 / 10)
          << name_of(type) << " of rank " << rank << ", block " << block;
    }
  }
}

TEST(Tile, CountsWrongElementsOnceAndForgivesLastPlacesOnly) {
  const Tile tile = Tile::of_numbers(DataType::kFloat32, [](size_t i) { return static_cast<double>(i) / 3; });
  std::vector<float> values(kCount);
  tile.fill(values.data(), kCount);
  values[1500] = std::nextafter(values[1500], 1e9F);
  values[7] += 1;
  EXPECT_EQ(tile.count_wrong(values.data(), kCount), 2U);
  EXPECT_EQ(tile.count_wrong(values.data(), kCount, 2), 1U);
}

}  // namespace
}  // namespace peal::perf
