// trainer: train and evaluate models, one process for each rank.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/settings.h"
#include "collectives/communicator.h"
#include "tools/local_launch.h"
#include "trainer/command_line.h"
#include "trainer/config.h"
#include "trainer/math/matmul.h"
#include "trainer/restart.h"
#include "trainer/train.h"

namespace peal::trainer {

namespace {

constexpr int kRunFailed = 1;
constexpr int kUsageError = 2;

nlohmann::ordered_json describe(const Evaluation& evaluation) {
  return {
      {"test_accuracy", evaluation.accuracy()}, {"test_loss", evaluation.loss}, {"test_samples", evaluation.samples}};
}

void print_keys() {
  fmt::print("| key | type | default | legal | meaning |\n|---|---|---|---|---|\n");
  for (const ConfigKey& key : config_keys()) {
    fmt::print("| `{}` | {} | `{}` | {} | {} |\n", key.name, key.type, key.initial, key.legal, key.help);
  }
}

int report_training(const CommandLine& line, const TrainSummary& summary, int ranks) {
  if (line.json) {
    auto object = describe(summary.evaluation);
    object["steps"] = summary.steps;
    object["ranks"] = ranks;
    object["seconds"] = summary.seconds;
    object["samples_per_s"] = summary.samples_per_second;
    object["wait_percent"] = 100 * summary.wait_fraction;
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{} steps in {:.1f} s on {} rank(s), {:.0f} images/s, {:.1f} % of it waiting; test accuracy {:.2f} %\n",
               summary.steps, summary.seconds, ranks, summary.samples_per_second, 100 * summary.wait_fraction,
               100 * summary.evaluation.accuracy());
  }
  const bool lost = !line.options.checkpoint_directory.empty() && !summary.checkpoint_saved;
  return lost ? kRunFailed : 0;
}

void report_evaluation(const CommandLine& line, const Evaluation& evaluation) {
  if (line.json) {
    fmt::print("{}\n", describe(evaluation).dump());
  } else {
    fmt::print("test accuracy {:.2f} % ({} of {}), loss {:.4f}\n", 100 * evaluation.accuracy(), evaluation.correct,
               evaluation.samples, evaluation.loss);
  }
}

// Files are read before the job is joined: a rank that can't read them fails at once, without keeping the others
// waiting.
int run_rank(const CommandLine& line, const Config& config) {
  const TrainData data = read_data(config);
  Communicator communicator;
  if (line.action == Action::kEval) {
    const auto evaluation = evaluate_checkpoint(communicator, config, data, line.options.checkpoint_directory);
    if (communicator.rank() == 0) report_evaluation(line, evaluation);
    return 0;
  }
  const TrainSummary summary = train(communicator, config, data, line.options);
  return communicator.rank() == 0 ? report_training(line, summary, communicator.size()) : 0;
}

// With --ranks N the program first starts itself N times; a copy knows that it is one by its PEAL_RANK.
bool is_launcher(const CommandLine& line) {
  if (line.ranks == 0) return false;
  const Settings settings = Settings::from(process_environment());
  if (settings.rank < 0) return true;
  if (settings.size == line.ranks) return false;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("--ranks {}: this process is already rank {} of a job of {}",
                                                       line.ranks, settings.rank, settings.size));
}

int launch(const CommandLine& line, const Config& config, int argc, char** argv) {
  if (line.action == Action::kTrain) check_batch(config.batch, line.ranks);  // once, not on every rank
  LocalLaunch job;
  job.ranks = line.ranks;
  job.command.assign(argv, argv + argc);
  return run_local_ranks(job);
}

int run(int argc, char** argv) {
  int exit_code = 0;
  const auto line = parse_command_line(argc, argv, exit_code);
  if (!line) return exit_code;
  if (line->action == Action::kKeys) {
    print_keys();
    return 0;
  }
  restart_with(matmul_environment(), argv);
  const Config config = load_config(line->config_file, line->overrides);
  return is_launcher(*line) ? launch(*line, config, argc, argv) : run_rank(*line, config);
}

}  // namespace

}  // namespace peal::trainer

int main(int argc, char** argv) {
  try {
    return peal::trainer::run(argc, argv);
  } catch (const peal::Error& error) {
    fmt::print(stderr, "trainer: {}\n", error.what());
    return error.code() == peal::ErrorCode::kInvalidArgument ? peal::trainer::kUsageError : peal::trainer::kRunFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "trainer: {}\n", error.what());
    return peal::trainer::kRunFailed;
  }
}
