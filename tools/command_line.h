// What programs with a command line have in common: how they end, and how they take a machine.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "topology/machine.h"

namespace peal {

// Parses and works; the exit code. What is thrown is one line on standard error: code 2 for a command line, a file or a
// setting that can't be right, 1 for everything else.
int run_command(CLI::App& app, std::string_view name, int argc, char** argv, const std::function<int()>& work);

// A machine as users name it: a file of any format that is read, or a description such as "host:8 dgx-h100". Throws as
// read_machine() does.
Machine machine_argument(const std::string& text);

}  // namespace peal
