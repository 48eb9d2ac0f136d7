#include <peal/collectives/communicator.h>

#include <cstdio>
#include <vector>

int main() {
  peal::Communicator communicator;
  std::vector<float> values(1000, 1.0F);
  communicator.all_reduce(values.data(), values.data(), values.size(), peal::DataType::kFloat32);
  try {
    communicator.broadcast(values.data(), values.data(), 1, peal::DataType::kFloat32, 99);
  } catch (const peal::Error& error) {
    if (communicator.rank() == 0) std::printf("sum %g; refused: %s\n", values[999], error.what());
    return values[999] == static_cast<float>(communicator.size()) ? 0 : 1;
  }
  return 1;
}
