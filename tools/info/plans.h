// Plans, and why one is chosen.
#pragma once

#include <string>

namespace peal::info {

struct ExplainedCall {
  std::string collective, size;  // "all_reduce", "1MiB"
  int ranks = 4;
  std::string transport = "shm";
};

// Prints what each algorithm would take, fastest first, at the figures of the transport; returns the exit code. Throws
// Error for a word that is none.
int show_explanation(const ExplainedCall& call, bool as_json);

// Prints every rank's steps; `ranks` as text. Throws Error likewise.
int show_plan(const std::string& algorithm, const std::string& collective, const std::string& ranks, bool as_json);

}  // namespace peal::info
