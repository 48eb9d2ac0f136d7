#include "trainer/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/version.h"

namespace peal::trainer {

namespace {

constexpr int kUsageError = 2;

void add_common(CLI::App& command, CommandLine& line) {
  command.add_option("CONFIG", line.config_file, "training configuration (TOML); see `trainer keys`")->required();
  command.add_option("--set", line.overrides, "override a key of the configuration, e.g. --set optim.lr=0.0005")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command
      .add_option("--ranks", line.ranks,
                  "start this many ranks on this host (without: be the rank that PEAL_RANK or "
                  "the launcher says, or the only one)")
      ->check(CLI::Range(1, 4096));
  command.add_flag("--json", line.json, "a summary as one JSON object on stdout");
}

void add_train(CLI::App& app, CommandLine& line, std::string& epochs) {
  CLI::App* command = app.add_subcommand("train", "train a model, data parallel over all ranks");
  add_common(*command, line);
  command->add_option("--epochs", epochs, "short for --set train.epochs=N");
  command->add_option("--log", line.options.log_file, "JSON Lines: one object for each step")->type_name("FILE");
  auto* checkpoint =
      command->add_option("--checkpoint", line.options.checkpoint_directory, "save here after each epoch")
          ->type_name("DIR");
  command->add_flag("--resume", line.options.resume, "go on from the checkpoint")->needs(checkpoint);
  command->add_flag("--quiet", line.options.quiet, "no progress line");
  command->callback([&line] { line.action = Action::kTrain; });
}

void add_eval(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("eval", "accuracy and loss of a checkpoint on the test set");
  add_common(*command, line);
  command->add_option("--checkpoint", line.options.checkpoint_directory, "folder of the checkpoint")
      ->type_name("DIR")
      ->required();
  command->callback([&line] { line.action = Action::kEval; });
}

}  // namespace

std::optional<CommandLine> parse_command_line(int argc, const char* const* argv, int& exit_code) {
  CommandLine line;
  std::string epochs;
  CLI::App app("Trains models on Peal's collectives.", "trainer");
  app.set_version_flag("--version", fmt::format("trainer {}", describe_build()));
  app.require_subcommand(1);
  add_train(app, line, epochs);
  add_eval(app, line);
  app.add_subcommand("keys", "the keys of a configuration, as a table")->callback([&line] {
    line.action = Action::kKeys;
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : kUsageError;
    return std::nullopt;
  }
  if (!epochs.empty()) line.overrides.push_back("train.epochs=" + epochs);
  return line;
}

}  // namespace peal::trainer
