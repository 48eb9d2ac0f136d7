// Ranks on cores of their own, where the launcher left them all on the same ones and PEAL_AFFINITY=pin asks for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/settings.h"

namespace peal {

// Collective over the job: `exchange` gives everybody's string in rank order. Pins the calling thread, and with it the
// threads that it starts later, inside what it was allowed; says in a sentence what it did and why, "" when not asked.
std::string pin_to_own_cores(const Settings& settings, int rank,
                             const std::function<std::vector<std::string>(const std::string&)>& exchange);

}  // namespace peal
