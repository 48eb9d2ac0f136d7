#include "tests/fuzz/readers_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return peal::check_reader(peal::parse_nccl_xml, data, size);
}
