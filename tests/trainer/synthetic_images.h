// Small IDX data sets that tests make for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace peal::trainer {

// header + payload, gzipped.
void write_gzip(const std::string& path, const std::vector<uint8_t>& bytes);

// The bytes of an IDX file of unsigned bytes.
std::vector<uint8_t> idx_bytes(const std::vector<size_t>& shape, const std::vector<uint8_t>& payload);

// Four files under the names that a configuration has by default: `train` and `test` images of 8 x 8 pixels, each class
// (of 10) a random pattern under noise, so that a small perceptron learns them in a few epochs.
void write_synthetic_images(const std::string& folder, size_t train, size_t test);

// A configuration for them: 64-32-16-10.
std::string synthetic_config(const std::string& folder);

}  // namespace peal::trainer
