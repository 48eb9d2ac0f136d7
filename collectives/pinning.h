// Ranks on cores of their own, where no launcher saw to that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/settings.h"

namespace peal {

// Collective over the job: `exchange` gives everybody's string in rank order. Ranks of a host that may all run on the
// same processors get an equal share each, whole cores, while there are enough. PEAL_AFFINITY auto: unless a launcher
// gave the ranks of this host different processors; pin: even then, among those that share theirs; none: never. Pins
// the calling thread, and with it the threads that it starts later. Says in a sentence what it did, or why it did
// nothing.
std::string pin_to_own_cores(const Settings& settings, int rank,
                             const std::function<std::vector<std::string>(const std::string&)>& exchange);

}  // namespace peal
