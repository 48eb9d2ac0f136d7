// Starts the ranks of a job on this host: what peal-run is, and what --ranks N of the other tools does.
#pragma once

#include <string>
#include <vector>

namespace peal {

struct LocalLaunch {
  int ranks = 1;
  std::vector<std::string> command;  // program and arguments; the program is looked up in PATH
  bool prefix = false;               // begin each line of output with "[rank] "
};

// Runs one process per rank with PEAL_RANK, PEAL_SIZE, PEAL_ROOT and PEAL_KEY set, and returns when all have ended: 0,
// or the exit code of the first rank that failed (128 + signal for one that was killed; 127 when the program can't be
// started).
//
// Each rank is pinned to whole cores of its own, an equal share of those that the launcher may use, unless there are
// more ranks than cores, it is the only one, or PEAL_AFFINITY is "none".
//
// When a rank fails, the others get a second to notice and report, then SIGTERM, then SIGKILL. SIGINT, SIGTERM and
// SIGHUP to the launcher end all ranks likewise; a second one at once. Ranks and what they start die with the launcher,
// however it dies: each rank is a process group that gets SIGKILL from a guardian process which notices, and the ranks
// themselves also from the kernel. (What leaves its process group on purpose, as setsid does, is its own affair.)
// Standard input goes to rank 0, unless it is a terminal.
//
// Call from a process with one thread. Throws Error(kSystem) when processes can't be made, none is left then;
// Error(kInvalidArgument) for PEAL_ variables that can't be read.
int run_local_ranks(const LocalLaunch& launch);

}  // namespace peal
