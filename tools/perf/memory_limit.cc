#include "tools/perf/memory_limit.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"

namespace peal::perf {
namespace {

double available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return std::numeric_limits<double>::max();
}

}  // namespace

void require_memory_for(size_t bytes, int ranks) {
  const double need = static_cast<double>(bytes) * ranks, have = available_bytes();
  if (need <= have) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("the buffers of {} rank(s) need {:.1f} GiB of memory, {:.1f} GiB are available: lower --maxbytes",
                  ranks, need / (1 << 30), have / (1 << 30)));
}

}  // namespace peal::perf
