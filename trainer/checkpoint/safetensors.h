// The safetensors format: 8 bytes little-endian length of a JSON header, the header, then the tensors' bytes. Read as
// from a stranger: nothing in a file is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peal::trainer {

// A tensor's place in a file, or what to write.
struct TensorView {
  std::string name;
  std::string dtype;  // F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL F8_E4M3 F8_E5M2
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;
};

using TensorMetadata = std::map<std::string, std::string>;

struct Safetensors {
  TensorMetadata metadata;
  std::vector<TensorView> tensors;  // by ascending offset; views into the bytes that were parsed

  const TensorView* find(std::string_view name) const noexcept;  // nullptr: no such tensor
};

// `name` stands for the file in messages. Throws Error(kInvalidArgument) when the header is longer than the file or
// 100 MB, is not a JSON object of the right form, has a name twice, or when a tensor's offsets are reversed, out of the
// file, disagree with its shape and type, overlap another tensor, or leave a hole; and when bytes follow the last one.
Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& name);

// Writes atomically (atomic_file.h). Tensors are stored in the order given, from a 64-byte boundary on, with lengths
// that keep every F32 tensor aligned to 4 bytes. Names are unique. Throws Error(kSystem).
void write_safetensors(const std::string& path, std::span<const TensorView> tensors, const TensorMetadata& metadata);

// The whole file. Throws Error(kInvalidArgument) when it can't be opened, Error(kSystem) when reading fails.
std::vector<std::byte> read_bytes(const std::string& path);

}  // namespace peal::trainer
