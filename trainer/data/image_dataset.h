// Images with one label each, held as the bytes they were stored in; batches come out as normalised floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/math/matrix.h"

namespace peal::trainer {

struct Normalisation {
  double mean = 0;  // of pixels scaled to [0, 1]
  double deviation = 1;
};

class ImageDataset {
 public:
  // `images`: IDX with 3 dimensions (count, height, width); `labels`: IDX with one. At most `limit` samples are kept
  // (0: all). Throws as read_idx() does, and Error(kInvalidArgument) when the two differ in count, are empty, or a
  // label is not below `classes` (file, index, value).
  static ImageDataset read(const std::string& images, const std::string& labels, size_t classes, size_t limit);

  size_t size() const noexcept { return labels_.size(); }
  size_t features() const noexcept { return features_; }  // height * width

  // Row i of `inputs` [samples.size(), features()] = normalised pixels of samples[i]; out_labels[i] = its label.
  void gather(std::span<const size_t> samples, const Normalisation& normalisation, Matrix inputs,
              std::span<uint8_t> out_labels) const noexcept;

 private:
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
  size_t features_ = 0;
};

}  // namespace peal::trainer
