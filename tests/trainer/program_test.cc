// The trainer program: its exit codes, and what it says to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch_folder.h"
#include "synthetic_images.h"

namespace peal::trainer {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code = -1;
  std::string out;
};

// `arguments` go through the shell; 2>&1 in them brings stderr along. Bounded by timeout(1).
Result run(const std::string& arguments) {
  const std::string command = std::string("timeout 60 ") + PEAL_TRAINER_PROGRAM + " " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  Result result;
  std::array<char, 4096> piece{};
  for (size_t got = 0; (got = fread(piece.data(), 1, piece.size(), pipe)) > 0;) result.out.append(piece.data(), got);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

class Program : public ::testing::Test {
 protected:
  Program() {
    write_synthetic_images(folder_.path(), 200, 50);
    std::ofstream(folder_ / "run.toml") << synthetic_config(folder_.path());
  }
  std::string config() const { return folder_ / "run.toml"; }

  void expect_usage_error(const std::string& arguments, const std::vector<std::string>& words) const {
    const Result result = run(arguments + " 2>&1");
    EXPECT_EQ(result.code, 2) << arguments << "\n" << result.out;
    for (const std::string& word : words) EXPECT_THAT(result.out, HasSubstr(word)) << arguments;
  }
  ScratchFolder folder_;
};

TEST_F(Program, HelpAndVersion) {
  for (const char* arguments : {"--help", "train --help", "eval --help"}) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << arguments;
    EXPECT_THAT(result.out, HasSubstr("--help"));
  }
  EXPECT_THAT(run("--version").out, HasSubstr("trainer 0."));
  EXPECT_THAT(run("keys").out, HasSubstr("| `train.batch` |"));
}

TEST_F(Program, UsageErrorsAreTwo) {
  expect_usage_error("", {"subcommand"});
  expect_usage_error("train", {"CONFIG"});
  expect_usage_error("train " + config() + " --rnaks 2", {"--rnaks"});
  expect_usage_error("train " + config() + " --ranks 0", {"--ranks"});
  expect_usage_error("train " + config() + " --resume", {"--checkpoint"});
  expect_usage_error("eval " + config(), {"--checkpoint"});
  expect_usage_error("train /nowhere.toml", {"/nowhere.toml", "No such file"});
  expect_usage_error("train " + config() + " --set train.batsh=1", {"train.batsh", "train.batch"});
  expect_usage_error("train " + config() + " --epochs two", {"train.epochs", "two"});
  expect_usage_error("train " + config() + " --set data.directory=/nowhere", {"/nowhere/train-images", "No such file"});
  expect_usage_error("train " + config() + " --log /nowhere/log", {"/nowhere/log"});
  expect_usage_error("train " + config() + " --ranks 3", {"train.batch = 40", "39 and 42"});
}

TEST_F(Program, TrainsLogsSavesAndEvaluates) {
  const std::string checkpoint = folder_ / "run", log = folder_ / "log.jsonl";
  const Result trained =
      run("train " + config() + " --ranks 2 --json --quiet --epochs 3 --log " + log + " --checkpoint " + checkpoint);
  ASSERT_EQ(trained.code, 0) << trained.out;
  const auto summary = nlohmann::json::parse(trained.out);  // stdout is one object and nothing else
  EXPECT_EQ(summary["ranks"], 2);
  EXPECT_EQ(summary["steps"], 15);
  std::ifstream file(log);
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) EXPECT_TRUE(nlohmann::json::parse(line).contains("loss"));
  EXPECT_EQ(lines, 15U);
  const Result evaluated = run("eval " + config() + " --json --checkpoint " + checkpoint);
  ASSERT_EQ(evaluated.code, 0);
  EXPECT_NEAR(nlohmann::json::parse(evaluated.out)["test_accuracy"], summary["test_accuracy"], 1.5 / 50);
}

TEST_F(Program, ProgressGoesToStderrAndSaysWhatRuns) {
  const Result result = run("train " + config() + " 2>&1 >/dev/null");
  EXPECT_EQ(result.code, 0);
  for (const char* word : {"1 rank(s) x 1 thread(s)", "loss", "images/s", "wait", "test accuracy"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
}

TEST_F(Program, CheckpointThatCannotBeWrittenIsOneAndTrainingGoesOn) {
  std::ofstream(folder_ / "file") << "in the way";
  const Result result = run("train " + config() + " --checkpoint " + (folder_ / "file") + " 2>&1");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("warning: no checkpoint after step 5"));
  EXPECT_THAT(result.out, HasSubstr("10 steps in"));
}

}  // namespace
}  // namespace peal::trainer
