#include "trainer/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/open_error.h"

namespace peal::trainer {

namespace {

using Json = nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr size_t kAlign = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct ElementType {
  std::string_view name;
  size_t bytes;
};
constexpr ElementType kElementTypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                                         {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},     {"U32", 4},
                                         {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

// Refusals of one file, all beginning with its name.
struct Source {
  const std::string& name;
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("safetensors file {}: {}", name, fmt::format(text, std::forward<Args>(args)...)));
  }
};

size_t element_bytes(const std::string& dtype, const std::string& tensor, const Source& source) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == dtype) return type.bytes;
  }
  source.refuse("tensor {} has unknown type {}", tensor, dtype);
}

std::string_view header_text(std::span<const std::byte> file, const Source& source) {
  if (file.size() < kLengthBytes) source.refuse("expected at least 8 bytes, found {}", file.size());
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8U | std::to_integer<uint64_t>(file[i]);
  if (length > kLongestHeader) source.refuse("a header of {} bytes is over the limit of {}", length, kLongestHeader);
  if (length > file.size() - kLengthBytes) {
    source.refuse("expected a header of {} bytes, found {}: it is truncated", length, file.size() - kLengthBytes);
  }
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, length};
}

// nlohmann-json keeps the last of equal keys silently; a file with one name twice has two readings, so it is refused.
Json parse_header(std::string_view text, const Source& source) {
  std::vector<std::set<std::string>> open;  // keys of the objects that enclose the parser's position
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception& error) {
    source.refuse("the header is not JSON: {}", error.what());
  }
  if (!twice.empty()) source.refuse("the header has the name {} twice", twice);
  if (!header.is_object()) source.refuse("the header is not a JSON object");
  return header;
}

TensorMetadata read_metadata(const Json& entry, const Source& source) {
  if (!entry.is_object()) source.refuse("{} is not an object", kMetadata);
  TensorMetadata metadata;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) source.refuse("{} entry {} is not a string", kMetadata, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::vector<size_t> read_sizes(const Json& list, const std::string& tensor, std::string_view what,
                               const Source& source) {
  std::vector<size_t> sizes;
  if (!list.is_array()) source.refuse("{} of tensor {} is not a list", what, tensor);
  for (const Json& size : list) {
    if (!size.is_number_unsigned()) source.refuse("{} of tensor {} has an entry that is no size", what, tensor);
    sizes.push_back(size.get<size_t>());
  }
  return sizes;
}

std::optional<size_t> multiply(size_t a, size_t b) noexcept {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

size_t bytes_of(const TensorView& tensor, const Source& source) {
  size_t bytes = element_bytes(tensor.dtype, tensor.name, source);
  for (size_t extent : tensor.shape) {
    const auto product = multiply(bytes, extent);
    if (!product) source.refuse("the shape of tensor {} overflows", tensor.name);
    bytes = *product;
  }
  return bytes;
}

TensorView read_tensor(const std::string& name, const Json& entry, std::span<const std::byte> data,
                       const Source& source) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets") || !entry["dtype"].is_string()) {
    source.refuse("tensor {} does not have exactly dtype, shape and data_offsets", name);
  }
  TensorView tensor{name, entry["dtype"].get<std::string>(), read_sizes(entry["shape"], name, "shape", source), {}};
  const auto offsets = read_sizes(entry["data_offsets"], name, "data_offsets", source);
  if (offsets.size() != 2) source.refuse("data_offsets of tensor {} are {} numbers, not 2", name, offsets.size());
  const size_t begin = offsets[0], end = offsets[1];
  if (begin > end) source.refuse("data_offsets of tensor {} are reversed: {} > {}", name, begin, end);
  if (end > data.size()) {
    source.refuse("tensor {} ends at byte {}, but the file has {} bytes of data: it is truncated", name, end,
                  data.size());
  }
  if (const size_t bytes = bytes_of(tensor, source); bytes != end - begin) {
    source.refuse("tensor {} has {} bytes by its shape, {} by its offsets", name, bytes, end - begin);
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

// In order of offset each tensor must begin where the one before ended.
void check_cover(std::vector<TensorView>& tensors, std::span<const std::byte> data, const Source& source) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  size_t end = 0;
  for (const TensorView& tensor : tensors) {
    const auto begin = static_cast<size_t>(tensor.bytes.data() - data.data());
    if (begin < end) source.refuse("tensor {} overlaps the one before it ({} < {})", tensor.name, begin, end);
    if (begin > end) source.refuse("there is a hole of {} bytes before tensor {}", begin - end, tensor.name);
    end = begin + tensor.bytes.size();
  }
  if (end != data.size()) source.refuse("expected {} bytes of data, found {}", end, data.size());
}

std::string make_header(std::span<const TensorView> tensors, const TensorMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  size_t end = 0;
  for (const TensorView& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {end, end + tensor.bytes.size()}}};
    end += tensor.bytes.size();
  }
  std::string text = header.dump();
  while ((text.size() + kLengthBytes) % kAlign != 0) text += ' ';
  return text;
}

}  // namespace

const TensorView* Safetensors::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  const Source source{name};
  const std::string_view text = header_text(file, source);
  const auto data = file.subspan(kLengthBytes + text.size());
  const Json header = parse_header(text, source);
  Safetensors parsed;
  for (const auto& [key, entry] : header.items()) {
    if (key == kMetadata) {
      parsed.metadata = read_metadata(entry, source);
    } else {
      parsed.tensors.push_back(read_tensor(key, entry, data, source));
    }
  }
  check_cover(parsed.tensors, data, source);
  return parsed;
}

void write_safetensors(const std::string& path, std::span<const TensorView> tensors, const TensorMetadata& metadata) {
  const std::string header = make_header(tensors, metadata);
  std::byte length[kLengthBytes];
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  std::vector<std::span<const std::byte>> pieces = {length, std::as_bytes(std::span(header))};
  for (const TensorView& tensor : tensors) pieces.push_back(tensor.bytes);
  write_file_atomically(path, pieces);
}

std::vector<std::byte> read_bytes(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw open_error(path, errno != 0 ? errno : ENOENT);
  const std::streamoff size = file.tellg();
  if (size < 0) throw system_error("read " + path, errno != 0 ? errno : EIO);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) throw system_error("read " + path, EIO);
  return bytes;
}

}  // namespace peal::trainer
