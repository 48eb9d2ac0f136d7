#include "trainer/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "scratch_folder.h"
#include "throws_error.h"

namespace peal::trainer {
namespace {

Config parse(std::string_view text, std::vector<std::string> overrides = {}) {
  return parse_config(text, "run.toml", overrides);
}

void expect_refused(std::string_view text, const std::vector<std::string>& words,
                    std::vector<std::string> overrides = {}) {
  expect_error([&] { parse(text, overrides); }, ErrorCode::kInvalidArgument, words);
}

TEST(Config, ReadsEveryType) {
  const Config config = parse("seed = 7\n[model]\nhidden = [3, 4, 5]\n[optim]\nlr = 1\nschedule = 'constant'\n");
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(config.hidden, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(config.learning_rate, 1.0);  // an integer is a number too
  EXPECT_EQ(config.schedule, "constant");
  EXPECT_EQ(config.batch, 256);  // untouched
}

TEST(Config, DottedKeysAndEmptyListsAreLegal) {
  const Config config = parse("train.batch = 8\nmodel.hidden = []\n");
  EXPECT_EQ(config.batch, 8);
  EXPECT_TRUE(config.hidden.empty());
}

TEST(Config, OverridesWin) {
  const Config config = parse("[optim]\nlr = 0.1\n", {"optim.lr=0.001", "optim.schedule=constant", "model.hidden=[2]"});
  EXPECT_EQ(config.learning_rate, 0.001);
  EXPECT_EQ(config.schedule, "constant");
  EXPECT_EQ(config.hidden, (std::vector<int64_t>{2}));
}

TEST(Config, UnknownKeyNamesTheNearest) {
  expect_refused("[train]\nepoch = 3\n", {"run.toml:2", "unknown key train.epoch", "did you mean train.epochs?"});
  expect_refused("", {"--set", "unknown key optim.lrr", "optim.lr?"}, {"optim.lrr=1"});
  expect_refused("[nothing.like.it]\nzzzzzzzz = 1\n", {"unknown key nothing.like.it.zzzzzzzz"});
  expect_refused("[trian]\n", {"unknown key trian"});
  expect_refused("[train]\n[train.batch]\nx = 1\n", {"unknown key train.batch.x"});
}

TEST(Config, WrongTypesNameKeyLineAndValue) {
  expect_refused("[optim]\nlr = 'fast'\n", {"run.toml:2", "optim.lr must be a number", "fast"});
  expect_refused("[train]\nbatch = 2.5\n", {"train.batch must be an integer", "2.5"});
  expect_refused("[train]\nbatch = true\n", {"train.batch must be an integer", "true"});
  expect_refused("[model]\nhidden = 3\n", {"model.hidden must be a list of integers", "3"});
  expect_refused("[model]\nhidden = [3, 'x']\n", {"model.hidden must be a list of integers"});
  expect_refused("[data]\ndirectory = 3\n", {"data.directory must be a string"});
  expect_refused("", {"--set: train.batch must be an integer", "many"}, {"train.batch=many"});
}

TEST(Config, RangesAndChoices) {
  expect_refused("[train]\nbatch = 0\n", {"train.batch must be 1 to 16777216; found 0"});
  expect_refused("seed = -1\n", {"seed must be >= 0; found -1"});
  expect_refused("[optim]\nlr = nan\n", {"optim.lr must be 0 to 10"});
  expect_refused("[optim]\nschedule = 'step'\n", {"optim.schedule must be one of cosine, constant", "step"});
  expect_refused("[model]\nhidden = [0]\n", {"model.hidden must be 1 to 65536"});
}

TEST(Config, BadTomlNamesTheLine) { expect_refused("seed = 1\n[train\nbatch = 8\n", {"run.toml:2", "not TOML"}); }

TEST(Config, BadOverride) {
  expect_refused("", {"--set: expected key=value; found batch"}, {"batch"});
  expect_refused("", {"--set: expected key=value; found =3"}, {"=3"});
}

TEST(Config, MissingFile) {
  expect_error([] { load_config("/nowhere/run.toml", {}); }, ErrorCode::kInvalidArgument,
               {"/nowhere/run.toml", "No such file"});
}

TEST(Config, DataFolderIsRelativeToTheFile) {
  const ScratchFolder folder;
  std::ofstream(folder / "run.toml") << "[data]\ndirectory = 'images'\n";
  const Config config = load_config(folder / "run.toml", {});
  EXPECT_EQ(config.data_path("a.gz"), folder / "images/a.gz");
}

TEST(Config, BatchMustDivide) {
  check_batch(256, 4);
  expect_error([] { check_batch(250, 4); }, ErrorCode::kInvalidArgument,
               {"train.batch = 250", "4 ranks", "multiple", "248 and 252"});
  expect_error([] { check_batch(3, 8); }, ErrorCode::kInvalidArgument, {"nearest: 8"});
}

TEST(Config, EveryKeyIsDocumented) {
  std::ifstream file(PEAL_TRAINER_DOC);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty()) << PEAL_TRAINER_DOC;
  for (const ConfigKey& key : config_keys()) {
    const std::string row =
        "| `" + key.name + "` | " + key.type + " | `" + key.initial + "` | " + key.legal + " | " + key.help + " |";
    EXPECT_NE(text.find(row), std::string::npos) << "docs/trainer.md lacks, or differs from `trainer keys` in: " << row;
  }
}

}  // namespace
}  // namespace peal::trainer
