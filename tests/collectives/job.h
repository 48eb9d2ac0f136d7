// A job of ranks as threads of this process, each with its own Communicator, for tests.
#pragma once

#include <functional>
#include <string>

#include "base/settings.h"
#include "collectives/communicator.h"

namespace peal::testing {

// Runs `body` on every rank of a new job with these settings ({"PEAL_ALGO", "all_reduce:ring"}, ...). Waits for all.
// When ranks throw, the first one's error is thrown again here.
void run_job(int ranks, const Environment& settings, const std::function<void(Communicator&)>& body);

}  // namespace peal::testing
