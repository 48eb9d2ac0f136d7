// Runs a body on n ranks of one job, as threads (inproc) or as forked processes (whatever transport Peal picks).
#pragma once

#include <functional>

#include "collectives/communicator.h"

namespace peal::trainer {

using RankBody = std::function<void(Communicator&)>;

// Returns when all threads have ended; rethrows the first failure.
void run_as_threads(int ranks, const RankBody& body);

// Returns when all children have ended. A body that throws ends its child with the message on stderr; then this throws
// std::runtime_error naming the rank. Assertions of GoogleTest in a body are not seen: let it throw.
void run_as_processes(int ranks, const RankBody& body);

}  // namespace peal::trainer
