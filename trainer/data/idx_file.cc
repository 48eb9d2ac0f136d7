#include "trainer/data/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "base/error.h"
#include "trainer/open_error.h"

namespace peal::trainer {

namespace {

constexpr uint8_t kUnsignedBytes = 0x08;  // third byte of the magic number: the element type

struct CloseGzip {
  void operator()(gzFile file) const noexcept { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

GzipFile open_gzip(const std::string& path) {
  errno = 0;
  GzipFile file(gzopen(path.c_str(), "rb"));
  if (!file) throw open_error("data file " + path, errno != 0 ? errno : ENOMEM);
  gzbuffer(file.get(), 1 << 18);
  return file;
}

// Up to `want` bytes; fewer only at the end of the file, be it a proper end or not.
size_t read_up_to(const GzipFile& file, const std::string& path, uint8_t* into, size_t want) {
  const int got = gzread(file.get(), into, static_cast<unsigned>(want));
  if (got >= 0) return static_cast<size_t>(got);
  int code = 0;
  const char* text = gzerror(file.get(), &code);
  if (code == Z_BUF_ERROR) return 0;  // the compressed stream stops in the middle: reported as bytes missing
  if (code == Z_ERRNO) throw system_error("data file " + path, errno);
  throw Error(ErrorCode::kInvalidArgument, fmt::format("data file {}: damaged gzip data ({})", path, text));
}

[[noreturn]] void wrong_size(const std::string& path, const std::string& what, size_t expected, size_t found) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("data file {}: expected {} bytes ({}), found {}", path, expected, what,
                          found > expected ? "more than that" : fmt::format("{}: it is truncated", found)));
}

size_t read_extent(const uint8_t* at) noexcept {
  return size_t{at[0]} << 24U | size_t{at[1]} << 16U | size_t{at[2]} << 8U | size_t{at[3]};
}

std::vector<size_t> read_shape(const GzipFile& file, const std::string& path, int dimensions) {
  uint8_t header[4 + 4 * 4] = {};
  const size_t bytes = 4 + 4 * static_cast<size_t>(dimensions);
  const size_t got = read_up_to(file, path, header, bytes);
  if (got < bytes) wrong_size(path, "the header alone", bytes, got);
  if (header[0] != 0 || header[1] != 0 || header[2] != kUnsignedBytes || header[3] != dimensions) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("data file {}: expected an IDX file of unsigned bytes with {} dimension(s), magic number "
                    "0x{:08x}; found 0x{:08x}",
                    path, dimensions, kUnsignedBytes << 8U | static_cast<unsigned>(dimensions), read_extent(header)));
  }
  std::vector<size_t> shape;
  for (size_t d = 0; d < static_cast<size_t>(dimensions); ++d) shape.push_back(read_extent(header + 4 + 4 * d));
  return shape;
}

size_t product(const std::vector<size_t>& shape, const std::string& path) {
  size_t size = 1;
  for (size_t extent : shape) {
    if (extent != 0 && size > std::numeric_limits<size_t>::max() / 2 / extent) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("data file {}: {} elements are more than any file holds", path, fmt::join(shape, " x ")));
    }
    size *= extent;
  }
  return size;
}

}  // namespace

IdxArray read_idx(const std::string& path, int dimensions) {
  constexpr size_t kPiece = 1 << 22;
  const GzipFile file = open_gzip(path);
  IdxArray array{read_shape(file, path, dimensions), {}};
  const size_t size = product(array.shape, path);
  const size_t header = 4 + 4 * array.shape.size();
  const std::string what = fmt::format("{} header + {}", header, fmt::join(array.shape, " x "));
  while (array.bytes.size() < size) {
    const size_t have = array.bytes.size(), want = std::min(kPiece, size - have);
    array.bytes.resize(have + want);
    const size_t got = read_up_to(file, path, array.bytes.data() + have, want);
    array.bytes.resize(have + got);
    if (got < want) wrong_size(path, what, header + size, header + array.bytes.size());
  }
  uint8_t extra = 0;
  if (read_up_to(file, path, &extra, 1) > 0) wrong_size(path, what, header + size, header + size + 1);
  return array;
}

}  // namespace peal::trainer
