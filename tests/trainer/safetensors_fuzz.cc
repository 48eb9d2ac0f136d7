// libFuzzer target: whatever bytes a file holds, parse_safetensors() either refuses them with an Error or returns
// tensors that lie inside them, in order, without gaps. Built by clang alone: ninja safetensors_fuzz.
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "trainer/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const auto parsed = peal::trainer::parse_safetensors(file, "fuzz");
    size_t bytes = 0;
    for (const auto& tensor : parsed.tensors) {
      const bool inside =
          tensor.bytes.data() >= file.data() && tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size();
      if (!inside) std::abort();
      for (std::byte byte : tensor.bytes) bytes += std::to_integer<size_t>(byte) & 1U;  // reads all of it
    }
    if (bytes > size) std::abort();
  } catch (const peal::Error& error) {
    if (error.code() != peal::ErrorCode::kInvalidArgument) std::abort();
  }
  return 0;
}
