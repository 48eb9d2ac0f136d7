// What this build is and has, and what the machine is.
#pragma once

namespace peal::info {

// Prints build, host, machine, transports with why-not, and algorithms; returns the exit code.
int show_facts(bool as_json);

}  // namespace peal::info
