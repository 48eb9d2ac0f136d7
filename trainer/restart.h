// Some libraries read the environment once, while they are loaded, before main(): to change their minds a program has
// to start again.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace peal::trainer {

// Sets those of `variables` that are not set. If there were any, replaces this process by a fresh run of its program
// with the same arguments, and does not return (if the system refuses, goes on as it is). Call before threads exist.
void restart_with(const std::vector<std::pair<std::string, std::string>>& variables, char** argv);

}  // namespace peal::trainer
