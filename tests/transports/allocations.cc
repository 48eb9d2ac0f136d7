#include "tests/transports/allocations.h"

#include <cstdlib>
#include <new>

static thread_local uint64_t allocated = 0;

uint64_t peal::testing::allocations() noexcept { return allocated; }

void* operator new(size_t bytes) {
  ++allocated;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
