#include "synthetic_images.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include "trainer/math/random.h"

namespace peal::trainer {

namespace {

constexpr size_t kPixels = 64;
constexpr size_t kClasses = 10;

void write_set(const std::string& folder, const std::string& prefix, size_t count, uint64_t stream) {
  const CounterRandom patterns(7, 0), noise(7, stream);
  std::vector<uint8_t> pixels, labels;
  for (size_t i = 0; i < count; ++i) {
    const auto label = noise.below(i * (kPixels + 1), kClasses);
    labels.push_back(static_cast<uint8_t>(label));
    for (size_t p = 0; p < kPixels; ++p) {
      const uint64_t pattern = patterns.below(label * kPixels + p, 160);
      pixels.push_back(static_cast<uint8_t>(pattern + noise.below(i * (kPixels + 1) + 1 + p, 96)));
    }
  }
  write_gzip(folder + "/" + prefix + "-images-idx3-ubyte.gz", idx_bytes({count, 8, 8}, pixels));
  write_gzip(folder + "/" + prefix + "-labels-idx1-ubyte.gz", idx_bytes({count}, labels));
}

}  // namespace

void write_gzip(const std::string& path, const std::vector<uint8_t>& bytes) {
  gzFile file = gzopen(path.c_str(), "wb1");
  if (file == nullptr) throw std::runtime_error("gzopen " + path);
  const int wrote = gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  if (gzclose(file) != Z_OK || wrote != static_cast<int>(bytes.size())) throw std::runtime_error("gzwrite " + path);
}

std::vector<uint8_t> idx_bytes(const std::vector<size_t>& shape, const std::vector<uint8_t>& payload) {
  std::vector<uint8_t> bytes = {0, 0, 8, static_cast<uint8_t>(shape.size())};
  for (size_t extent : shape) {
    for (unsigned shift : {24U, 16U, 8U, 0U}) bytes.push_back(static_cast<uint8_t>(extent >> shift));
  }
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

void write_synthetic_images(const std::string& folder, size_t train, size_t test) {
  write_set(folder, "train", train, 1);
  write_set(folder, "t10k", test, 2);
}

std::string synthetic_config(const std::string& folder) {
  return fmt::format(R"(
seed = 3
[data]
directory = "{}"
mean = 0.5
deviation = 0.25
[model]
hidden = [32, 16]
[train]
epochs = 2
batch = 40
[optim]
lr = 0.005
schedule = "constant"
[parallel]
first_bucket_kib = 1
bucket_kib = 4
threads = 1
)",
                     folder);
}

}  // namespace peal::trainer
