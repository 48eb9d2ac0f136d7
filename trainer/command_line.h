// The trainer's command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/train.h"

namespace peal::trainer {

enum class Action { kTrain, kEval, kKeys };

struct CommandLine {
  Action action = Action::kTrain;
  std::string config_file;
  std::vector<std::string> overrides;  // key=value
  int ranks = 0;                       // local ranks to start; 0: be the one rank that the environment says
  bool json = false;                   // a summary for machines on stdout
  TrainOptions options;                // eval reads options.checkpoint_directory
};

// What the program should do; or nothing when it is done already (--help, --version, an error), with `exit_code` set: 0
// for the first two, 2 for errors, which are on stderr.
std::optional<CommandLine> parse_command_line(int argc, const char* const* argv, int& exit_code);

}  // namespace peal::trainer
