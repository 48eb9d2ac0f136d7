// IDX files (the format of MNIST and its kin), gzipped or plain: a big-endian header, then unsigned bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace peal::trainer {

struct IdxArray {
  std::vector<size_t> shape;   // 1 to 4 extents
  std::vector<uint8_t> bytes;  // row-major, product of the extents
};

// Throws Error(kSystem) when reading fails, Error(kInvalidArgument) when it can't be opened, is no IDX file of unsigned
// bytes with `dimensions` dimensions, or holds fewer or more bytes than its header promises: the message has
// the name, the bytes expected and the bytes found. A header that lies costs no more memory than the file has bytes.
IdxArray read_idx(const std::string& path, int dimensions);

}  // namespace peal::trainer
