#include "trainer/data/image_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "trainer/data/idx_file.h"
#include "trainer/math/vector_kernels.h"

namespace peal::trainer {

namespace {

void check_labels(std::span<const uint8_t> labels, size_t classes, const std::string& path) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("data file {}: label {} of sample {} is not below model.classes = {}", path, labels[i], i,
                            classes));
  }
}

}  // namespace

ImageDataset ImageDataset::read(const std::string& images, const std::string& labels, size_t classes, size_t limit) {
  IdxArray image_array = read_idx(images, 3);
  IdxArray label_array = read_idx(labels, 1);
  const size_t count = image_array.shape[0];
  if (count != label_array.shape[0]) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} images but {} has {} labels", images, count, labels, label_array.shape[0]));
  }
  if (image_array.bytes.empty()) throw Error(ErrorCode::kInvalidArgument, fmt::format("{} holds no images", images));
  check_labels(label_array.bytes, classes, labels);

  ImageDataset dataset;
  dataset.features_ = image_array.shape[1] * image_array.shape[2];
  dataset.pixels_ = std::move(image_array.bytes);
  dataset.labels_ = std::move(label_array.bytes);
  if (limit != 0 && limit < count) {
    dataset.labels_.resize(limit);
    dataset.pixels_.resize(limit * dataset.features_);
  }
  return dataset;
}

void ImageDataset::gather(std::span<const size_t> samples, const Normalisation& normalisation, Matrix inputs,
                          std::span<uint8_t> out_labels) const noexcept {
  const auto offset = static_cast<float>(255 * normalisation.mean);
  const auto factor = static_cast<float>(1 / (255 * normalisation.deviation));
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint8_t* image = pixels_.data() + samples[i] * features_;
    vector_kernels().normalise(image, offset, factor, inputs.row(i), features_);
    out_labels[i] = labels_[samples[i]];
  }
}

}  // namespace peal::trainer
