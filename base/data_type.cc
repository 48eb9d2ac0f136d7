#include "base/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace peal {
namespace {

struct TypeRow {
  DataType type;
  std::string_view name;
  size_t bytes;
  bool floating;
};

constexpr std::array<TypeRow, kDataTypes> kRows = {{{DataType::kInt8, "int8", 1, false},
                                                    {DataType::kUint8, "uint8", 1, false},
                                                    {DataType::kInt16, "int16", 2, false},
                                                    {DataType::kUint16, "uint16", 2, false},
                                                    {DataType::kInt32, "int32", 4, false},
                                                    {DataType::kUint32, "uint32", 4, false},
                                                    {DataType::kInt64, "int64", 8, false},
                                                    {DataType::kUint64, "uint64", 8, false},
                                                    {DataType::kFloat16, "half", 2, true},
                                                    {DataType::kBfloat16, "bfloat16", 2, true},
                                                    {DataType::kFloat32, "float", 4, true},
                                                    {DataType::kFloat64, "double", 8, true},
                                                    {DataType::kFloat8E4m3, "f8e4m3", 1, true},
                                                    {DataType::kFloat8E5m2, "f8e5m2", 1, true}}};

constexpr std::array<std::pair<std::string_view, DataType>, 7> kAliases = {{{"float16", DataType::kFloat16},
                                                                            {"fp16", DataType::kFloat16},
                                                                            {"bf16", DataType::kBfloat16},
                                                                            {"float32", DataType::kFloat32},
                                                                            {"fp32", DataType::kFloat32},
                                                                            {"float64", DataType::kFloat64},
                                                                            {"fp64", DataType::kFloat64}}};

constexpr std::array<DataType, kDataTypes> all_types() {
  std::array<DataType, kDataTypes> types{};
  for (size_t i = 0; i < types.size(); i++) types[i] = kRows[i].type;
  return types;
}
constexpr auto kTypes = all_types();

const TypeRow& row(DataType type) noexcept { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::span<const DataType> all_data_types() noexcept { return kTypes; }
size_t size_of(DataType type) noexcept { return row(type).bytes; }
std::string_view name_of(DataType type) noexcept { return row(type).name; }
bool is_floating(DataType type) noexcept { return row(type).floating; }

DataType parse_data_type(std::string_view word) {
  for (const TypeRow& candidate : kRows) {
    if (candidate.name == word) return candidate.type;
  }
  for (const auto& [alias, type] : kAliases) {
    if (alias == word) return type;
  }
  std::string valid;
  for (const TypeRow& candidate : kRows) valid += fmt::format(" {}", candidate.name);
  throw Error(ErrorCode::kInvalidArgument, fmt::format("unknown data type '{}'; valid:{}", word, valid));
}

}  // namespace peal
