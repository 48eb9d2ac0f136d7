#include "trainer/restart.h"

#include <unistd.h>

#include <cstdlib>

#include "base/settings.h"

namespace peal::trainer {

void restart_with(const std::vector<std::pair<std::string, std::string>>& variables, char** argv) {
  const Environment environment = process_environment();
  bool changed = false;
  for (const auto& [name, value] : variables) {
    if (environment.contains(name)) continue;
    changed = setenv(name.c_str(), value.c_str(), 0) == 0 || changed;
  }
  if (changed) execv("/proc/self/exe", argv);
}

}  // namespace peal::trainer
