// The number of ranks changes nothing: loss curves of 1, 2 and 4 ranks agree within float32 rounding, and to the bit
// where all arithmetic is exact.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "ranks.h"
#include "scratch_folder.h"
#include "synthetic_images.h"
#include "throws_error.h"
#include "trainer/math/matmul.h"
#include "trainer/model/linear.h"
#include "trainer/schedule/step.h"
#include "trainer/train.h"

namespace peal::trainer {
namespace {

using Json = nlohmann::json;

std::vector<Json> read_log(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

using Runner = void (*)(int ranks, const RankBody& body);

class Training : public ::testing::Test {
 protected:
  Training() { write_synthetic_images(folder_.path(), 1000, 203); }

  Config config(std::vector<std::string> overrides = {}) const {
    return parse_config(synthetic_config(folder_.path()), "synthetic.toml", overrides);
  }

  std::vector<Json> run(Runner runner, int ranks, const Config& config, TrainOptions options = {}) const {
    options.log_file = folder_ / "log.jsonl";
    options.quiet = true;
    const TrainData data = read_data(config);
    runner(ranks, [&](Communicator& communicator) { train(communicator, config, data, options); });
    return read_log(options.log_file);
  }

  ScratchFolder folder_;
};

// Losses start at log(10) and fall; 1e-5 of them is about 100 roundings of float32.
void expect_same_curve(const std::vector<Json>& one, const std::vector<Json>& many, int ranks) {
  ASSERT_EQ(one.size(), many.size());
  for (size_t i = 0; i < one.size(); ++i) {
    const double expected = one[i]["loss"], actual = many[i]["loss"];
    EXPECT_NEAR(actual, expected, 1e-5 * (1 + expected)) << ranks << " ranks, step " << i + 1;
    if (one[i].contains("test_accuracy")) {
      EXPECT_NEAR(many[i]["test_accuracy"], one[i]["test_accuracy"], 1.5 / 203);
      EXPECT_NEAR(many[i]["test_loss"], one[i]["test_loss"], 1e-4);
    }
  }
}

TEST_F(Training, LearnsAndLogsEveryStep) {
  const auto log = run(run_as_threads, 1, config());
  ASSERT_EQ(log.size(), 50U);  // 2 epochs x 1000 / 40
  size_t epochs = 0;
  for (size_t i = 0; i < log.size(); ++i) {
    EXPECT_EQ(log[i]["step"], i + 1);
    EXPECT_GT(log[i]["samples_per_s"], 0.0);
    epochs += log[i].contains("test_accuracy") ? 1 : 0;
  }
  EXPECT_EQ(epochs, 2U);
  EXPECT_NEAR(log.front()["loss"], std::log(10.0), 0.5);
  EXPECT_GT(log.back()["test_accuracy"], 0.9);
}

TEST_F(Training, ThreadsOfOneTwoAndFourRanksAgree) {
  const auto one = run(run_as_threads, 1, config());
  for (int ranks : {2, 4}) expect_same_curve(one, run(run_as_threads, ranks, config()), ranks);
}

TEST_F(Training, ProcessesOfOneTwoAndFourRanksAgree) {
  const auto one = run(run_as_processes, 1, config());
  for (int ranks : {2, 4}) expect_same_curve(one, run(run_as_processes, ranks, config()), ranks);
}

TEST_F(Training, SameLayoutTwiceIsTheSameToTheBit) {
  const auto first = run(run_as_threads, 2, config()), second = run(run_as_threads, 2, config());
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i]["loss"], second[i]["loss"]) << "step " << i + 1;
}

TEST_F(Training, ResumeGoesOnToTheBitAndOnOtherRanksWithinRounding) {
  const auto whole = run(run_as_threads, 2, config());
  TrainOptions options;
  options.checkpoint_directory = folder_ / "run";
  run(run_as_threads, 2, config({"train.epochs=1"}), options);
  std::filesystem::copy(folder_ / "run", folder_ / "kept");
  options.resume = true;
  auto expect_rest = [&](int ranks, double tolerance) {
    std::filesystem::remove(folder_ / "log.jsonl");
    const auto rest = run(run_as_threads, ranks, config(), options);
    ASSERT_EQ(rest.size(), 25U);
    for (size_t i = 0; i < rest.size(); ++i) {
      EXPECT_EQ(rest[i]["step"], 26 + i);
      EXPECT_NEAR(rest[i]["loss"], whole[25 + i]["loss"], tolerance) << "step " << 26 + i;
    }
  };
  expect_rest(2, 0);
  options.checkpoint_directory = folder_ / "kept";
  expect_rest(4, 1e-5);
}

TEST_F(Training, ResumeRefusesAnotherSampleOrder) {
  TrainOptions options;
  options.checkpoint_directory = folder_ / "run";
  run(run_as_threads, 1, config({"train.epochs=1"}), options);
  options.resume = true;
  expect_error([&] { run(run_as_threads, 1, config({"train.batch=20"}), options); }, ErrorCode::kInvalidArgument,
               {"train.batch = 40", "20"});
}

TEST_F(Training, CheckpointEvaluatesToWhatTrainingSaw) {
  TrainOptions options;
  options.checkpoint_directory = folder_ / "run";
  const auto log = run(run_as_threads, 2, config(), options);
  const TrainData data = read_data(config());
  run_as_threads(3, [&](Communicator& communicator) {  // 203 samples over 3 ranks: shares differ
    const auto found = evaluate_checkpoint(communicator, config(), data, options.checkpoint_directory);
    if (found.samples != 203 || std::abs(found.accuracy() - log.back()["test_accuracy"].get<double>()) > 1e-9) {
      throw std::runtime_error("evaluation differs");
    }
  });
}

TEST_F(Training, RefusesBatchThatDoesNotDivide) {
  expect_error([&] { run(run_as_threads, 3, config()); }, ErrorCode::kInvalidArgument,
               {"train.batch = 40", "3 ranks", "39 and 42"});
}

TEST_F(Training, StopsAtALossThatIsNotFinite) {
  expect_error(
      [&] {
        run(run_as_threads, 2,
            config({"optim.lr=10", "optim.epsilon=1e-12", "optim.beta1=0", "optim.weight_decay=10"}));
      },
      ErrorCode::kInvalidArgument, {"the loss of step", "optim.lr"});
}

TEST_F(Training, FewerSamplesThanOneBatch) {
  const auto log = run(run_as_threads, 2, config({"data.train_limit=10", "train.epochs=9"}));
  ASSERT_EQ(log.size(), 3U);  // 90 samples in batches of 40
  EXPECT_TRUE(log.back().contains("test_accuracy"));
}

// Half the squared distance to the label's unit vector: integer outputs have integer gradients.
class SquaredDistance : public Loss {
 public:
  double forward_backward(ConstMatrix outputs, std::span<const uint8_t> labels,
                          Matrix gradient) const noexcept override {
    double loss = 0;
    for (size_t r = 0; r < outputs.rows; ++r) {
      for (size_t c = 0; c < outputs.cols; ++c) {
        const float distance = outputs.row(r)[c] - (c == labels[r] ? 1.0F : 0.0F);
        gradient.row(r)[c] = distance;
        loss += 0.5 * distance * distance;
      }
    }
    return loss;
  }
  double forward(ConstMatrix, std::span<const uint8_t>) const noexcept override { return 0; }
};

// All that a step computed, as a rank saw it.
struct Outcome {
  double loss = 0;
  std::vector<float> gradients, values;
  bool operator==(const Outcome&) const = default;
};

constexpr size_t kInputs = 12, kHidden = 24, kOutputs = 4, kBatch = 64;

float integer(uint64_t stream, uint64_t counter, uint64_t span) {
  return static_cast<float>(CounterRandom(5, stream).below(counter, 2 * span + 1)) - static_cast<float>(span);
}

Model integer_model() {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Linear>("a", kInputs, kHidden));
  layers.push_back(std::make_unique<Linear>("b", kHidden, kOutputs));
  Model model(std::move(layers));
  for (const Parameter* parameter : model.parameters().all()) {
    for (size_t i = 0; i < parameter->size(); ++i) parameter->value[i] = integer(1, parameter->offset + i, 1);
  }
  return model;
}

// One step on this rank's part of a batch of small integers. No sum exceeds 2^24, so float32 is exact in any order.
Outcome integer_step(Communicator& communicator, size_t bucket_bytes) {
  set_matmul_threads(1);
  Model model = integer_model();
  DataParallel parallel(communicator, model.parameters(), bucket_bytes, bucket_bytes);
  parallel.replicate();
  Adamw optimizer(model.parameters(), {});
  const size_t rows = kBatch / static_cast<size_t>(communicator.size());
  const size_t first = rows * static_cast<size_t>(communicator.rank());
  Activations activations(model, rows);
  std::vector<uint8_t> labels(rows);
  for (size_t r = 0; r < rows; ++r) {
    labels[r] = static_cast<uint8_t>((first + r) % kOutputs);
    for (size_t c = 0; c < kInputs; ++c) activations.at(0, rows).row(r)[c] = integer(2, (first + r) * kInputs + c, 2);
  }
  StepParts parts{communicator, model, SquaredDistance(), parallel, optimizer, activations};
  Outcome outcome;
  outcome.loss = run_step(parts, labels, {1, 0.01, kBatch});
  ParameterSet& set = model.parameters();
  outcome.gradients.assign(set.all()[0]->gradient, set.all()[0]->gradient + set.flat_size());
  outcome.values.assign(set.values(), set.values() + set.flat_size());
  return outcome;
}

TEST(IntegerModel, GradientsUpdateAndLossAgreeToTheBit) {
  Outcome expected;
  run_as_threads(1, [&](Communicator& communicator) { expected = integer_step(communicator, 1 << 20); });
  EXPECT_GT(expected.loss, 0);
  EXPECT_TRUE(std::any_of(expected.gradients.begin(), expected.gradients.end(), [](float g) { return g > 1000; }));
  EXPECT_TRUE(std::all_of(expected.gradients.begin(), expected.gradients.end(),
                          [](float g) { return g == std::floor(g) && std::abs(g) < (1 << 24); }));
  for (int ranks : {2, 4, 8}) {
    for (size_t bucket_bytes : {64, 512, 1 << 20}) {
      std::mutex mutex;
      run_as_threads(ranks, [&](Communicator& communicator) {
        const Outcome outcome = integer_step(communicator, bucket_bytes);
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(outcome, expected) << "rank " << communicator.rank() << " of " << ranks << ", buckets of "
                                     << bucket_bytes;
      });
    }
  }
}

TEST(DataParallelism, ReplicateGivesEveryRankTheValuesOfRankZero) {
  run_as_threads(3, [](Communicator& communicator) {
    Model model = make_mlp(std::vector<size_t>{5, 4, 3});
    DataParallel parallel(communicator, model.parameters(), 64, 64);
    model.initialise(static_cast<uint64_t>(communicator.rank()));
    parallel.replicate();
    Model expected = make_mlp(std::vector<size_t>{5, 4, 3});
    expected.initialise(0);
    const size_t count = expected.parameters().flat_size();
    if (hash_of(model.parameters().values(), count) != hash_of(expected.parameters().values(), count)) {
      throw std::runtime_error("values differ");
    }
  });
}

}  // namespace
}  // namespace peal::trainer
