// Counts what a thread takes from operator new: the test program that links allocations.cc replaces it.
#pragma once

#include <cstdint>

namespace peal::testing {

uint64_t allocations() noexcept;  // of the calling thread, so far

}  // namespace peal::testing
