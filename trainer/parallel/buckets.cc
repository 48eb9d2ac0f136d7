#include "trainer/parallel/buckets.h"

#include <span>

namespace peal::trainer {

std::vector<Bucket> make_buckets(const ParameterSet& parameters, size_t first_bytes, size_t bytes) {
  std::vector<Bucket> buckets;
  const auto all = parameters.all();
  size_t end = parameters.flat_size();
  for (size_t i = all.size(); i-- > 0;) {
    const size_t limit = buckets.size() <= 1 ? first_bytes : bytes;
    if (buckets.empty() || (buckets.back().end - buckets.back().begin) * sizeof(float) >= limit) {
      buckets.push_back({end, end, {}});
    }
    buckets.back().parameters.push_back(all[i]);
    buckets.back().begin = end = all[i]->offset;
  }
  return buckets;
}

}  // namespace peal::trainer
