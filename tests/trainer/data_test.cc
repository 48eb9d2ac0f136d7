// The sampler's promises, and what bad data files get.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <vector>

#include "scratch_folder.h"
#include "synthetic_images.h"
#include "throws_error.h"
#include "trainer/data/idx_file.h"
#include "trainer/data/image_dataset.h"
#include "trainer/data/sampler.h"

namespace peal::trainer {
namespace {

std::vector<size_t> read(Sampler& sampler, uint64_t first, size_t count) {
  std::vector<size_t> samples(count);
  sampler.read(first, samples);
  return samples;
}

TEST(Sampler, EveryEpochIsAnotherPermutation) {
  Sampler sampler(1, 1000);
  std::vector<size_t> all(1000);
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<std::vector<size_t>> epochs;
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    epochs.push_back(read(sampler, epoch * 1000, 1000));
    auto sorted = epochs.back();
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, all);
    EXPECT_NE(epochs.back(), all);
    for (uint64_t before = 0; before < epoch; ++before) EXPECT_NE(epochs[before], epochs.back());
  }
}

TEST(Sampler, OrderDoesNotDependOnHowManyReadIt) {
  constexpr size_t kSamples = 37, kBatch = 24;  // batches straddle epochs
  for (size_t ranks : {1, 2, 3, 4, 6}) {
    Sampler whole(9, kSamples);
    std::vector<Sampler> parts(ranks, Sampler(9, kSamples));
    for (uint64_t step = 0; step < 12; ++step) {
      std::vector<size_t> together;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const auto part = read(parts[rank], step * kBatch + rank * (kBatch / ranks), kBatch / ranks);
        together.insert(together.end(), part.begin(), part.end());
      }
      EXPECT_EQ(together, read(whole, step * kBatch, kBatch)) << ranks << " ranks, step " << step;
    }
  }
}

TEST(Sampler, JumpsAnywhere) {
  Sampler forward(5, 50), jumping(5, 50);
  const auto stream = read(forward, 0, 500);
  for (uint64_t at : {431, 7, 260, 49, 50, 0}) {
    EXPECT_EQ(read(jumping, at, 20), std::vector<size_t>(stream.begin() + static_cast<ptrdiff_t>(at),
                                                         stream.begin() + static_cast<ptrdiff_t>(at) + 20));
  }
}

TEST(Sampler, SeedChangesTheOrder) {
  Sampler one(1, 1000), two(2, 1000);
  EXPECT_NE(read(one, 0, 1000), read(two, 0, 1000));
}

TEST(Idx, ReadsGzippedAndPlain) {
  const ScratchFolder folder;
  const auto bytes = idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  write_gzip(folder / "a.gz", bytes);
  std::ofstream(folder / "a", std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), 22);
  for (const char* name : {"a.gz", "a"}) {
    const IdxArray array = read_idx(folder / name, 3);
    EXPECT_EQ(array.shape, (std::vector<size_t>{2, 1, 3}));
    EXPECT_EQ(array.bytes, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Idx, MissingFile) {
  const ScratchFolder folder;
  expect_error([&] { read_idx(folder / "none.gz", 3); }, ErrorCode::kInvalidArgument,
               {folder / "none.gz", "No such file"});
}

TEST(Idx, TruncatedPayloadNamesExpectedAndFound) {
  const ScratchFolder folder;
  write_gzip(folder / "short.gz", idx_bytes({10, 2, 2}, std::vector<uint8_t>(33)));
  expect_error([&] { read_idx(folder / "short.gz", 3); }, ErrorCode::kInvalidArgument,
               {folder / "short.gz", "expected 56 bytes (16 header + 10 x 2 x 2)", "found 49", "truncated"});
}

TEST(Idx, TruncatedGzipStream) {
  const ScratchFolder folder;
  std::vector<uint8_t> noise(5000);
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>((i * 2654435761U) >> 13U);
  write_gzip(folder / "whole.gz", idx_bytes({5000}, noise));
  std::filesystem::resize_file(folder / "whole.gz", std::filesystem::file_size(folder / "whole.gz") / 2);
  expect_error([&] { read_idx(folder / "whole.gz", 1); }, ErrorCode::kInvalidArgument,
               {folder / "whole.gz", "expected 5008 bytes", "truncated"});
}

TEST(Idx, DamagedGzipData) {
  const ScratchFolder folder;
  write_gzip(folder / "bad.gz", idx_bytes({4000}, std::vector<uint8_t>(4000, 7)));
  std::fstream file(folder / "bad.gz", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(12);
  file.write("\xff\xff\xff\xff", 4);
  file.close();
  expect_error([&] { read_idx(folder / "bad.gz", 1); }, ErrorCode::kInvalidArgument, {folder / "bad.gz"});
}

TEST(Idx, WrongMagicExtraBytesAndLyingHeader) {
  const ScratchFolder folder;
  write_gzip(folder / "labels.gz", idx_bytes({4}, {1, 2, 3, 4}));
  expect_error([&] { read_idx(folder / "labels.gz", 3); }, ErrorCode::kInvalidArgument,
               {"expected", "16 bytes", "found 12"});
  write_gzip(folder / "text.gz", std::vector<uint8_t>(100, 'x'));
  expect_error([&] { read_idx(folder / "text.gz", 3); }, ErrorCode::kInvalidArgument, {"0x00000803", "0x78787878"});
  write_gzip(folder / "long.gz", idx_bytes({2}, {1, 2, 3}));
  expect_error([&] { read_idx(folder / "long.gz", 1); }, ErrorCode::kInvalidArgument,
               {"expected 10 bytes", "more than that"});
  write_gzip(folder / "lie.gz",
             idx_bytes({0xFFFFFFFF, 0xFFFF, 0xFFFF}, {1}));  // 2^64 / 4 bytes: must not allocate them
  expect_error([&] { read_idx(folder / "lie.gz", 3); }, ErrorCode::kInvalidArgument, {folder / "lie.gz"});
  write_gzip(folder / "big.gz", idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {1}));
  expect_error([&] { read_idx(folder / "big.gz", 3); }, ErrorCode::kInvalidArgument, {"more than any file holds"});
}

TEST(ImageDataset, RefusesWhatDoesNotFitTogether) {
  const ScratchFolder folder;
  write_gzip(folder / "images.gz", idx_bytes({3, 1, 2}, {0, 51, 102, 153, 204, 255}));
  write_gzip(folder / "two.gz", idx_bytes({2}, {0, 1}));
  write_gzip(folder / "high.gz", idx_bytes({3}, {0, 1, 9}));
  expect_error([&] { ImageDataset::read(folder / "images.gz", folder / "two.gz", 10, 0); }, ErrorCode::kInvalidArgument,
               {"3 images", "2 labels"});
  expect_error([&] { ImageDataset::read(folder / "images.gz", folder / "high.gz", 9, 0); }, ErrorCode::kInvalidArgument,
               {folder / "high.gz", "label 9 of sample 2"});
}

TEST(ImageDataset, GathersNormalisedRows) {
  const ScratchFolder folder;
  write_gzip(folder / "images.gz", idx_bytes({3, 1, 2}, {0, 51, 102, 153, 204, 255}));
  write_gzip(folder / "labels.gz", idx_bytes({3}, {7, 1, 4}));
  const ImageDataset all = ImageDataset::read(folder / "images.gz", folder / "labels.gz", 10, 0);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all.features(), 2U);
  EXPECT_EQ(ImageDataset::read(folder / "images.gz", folder / "labels.gz", 10, 2).size(), 2U);
  std::vector<float> rows(4);
  std::vector<uint8_t> labels(2);
  all.gather(std::vector<size_t>{2, 0}, {0.2, 0.5}, {rows.data(), 2, 2}, labels);
  EXPECT_EQ(labels, (std::vector<uint8_t>{4, 7}));
  const float expected[] = {1.2F, 1.6F, -0.4F, 0.0F};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(rows[i], expected[i], 1e-6);
}

}  // namespace
}  // namespace peal::trainer
