// The real data set, where Debian's package is installed: two epochs on two ranks must get where they got when this was
// written (87 % of the test set), less a margin.
#include <gtest/gtest.h>

#include <filesystem>

#include "ranks.h"
#include "trainer/train.h"

namespace peal::trainer {
namespace {

TEST(FashionMnist, TwoEpochsOnTwoRanks) {
  const Config config = load_config(PEAL_TRAINER_EXAMPLE, std::vector<std::string>{"train.epochs=2"});
  if (!std::filesystem::exists(config.data_path(config.train_images))) {
    GTEST_SKIP() << config.data_path(config.train_images) << " is not there: apt-get install dataset-fashion-mnist";
  }
  const TrainData data = read_data(config);
  EXPECT_EQ(data.train.size(), 60000U);
  EXPECT_EQ(data.train.features(), 784U);
  EXPECT_EQ(data.test.size(), 10000U);
  run_as_processes(2, [&](Communicator& communicator) {
    TrainOptions options;
    options.quiet = true;
    const TrainSummary summary = train(communicator, config, data, options);
    if (summary.steps != 469 || summary.evaluation.samples != 10000 || summary.evaluation.accuracy() < 0.85) {
      throw std::runtime_error("accuracy " + std::to_string(summary.evaluation.accuracy()));
    }
  });
}

}  // namespace
}  // namespace peal::trainer
