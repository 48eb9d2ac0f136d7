#include "trainer/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "trainer/checkpoint/safetensors.h"

namespace peal::trainer {

namespace {

// One tensor of the file and the floats in memory that it stands for.
struct Slot {
  std::string name;
  const Parameter* parameter;
  float* data;
};

std::vector<Slot> slots_of(const ParameterSet& parameters, const Adamw* optimizer) {
  std::vector<Slot> slots;
  for (const Parameter* parameter : parameters.all()) slots.push_back({parameter->name, parameter, parameter->value});
  if (optimizer == nullptr) return slots;
  for (const Parameter* parameter : parameters.all()) {
    slots.push_back({"adamw.m." + parameter->name, parameter, optimizer->m() + parameter->offset});
    slots.push_back({"adamw.v." + parameter->name, parameter, optimizer->v() + parameter->offset});
  }
  return slots;
}

const TensorView& matching_tensor(const Safetensors& file, const Slot& slot, const std::string& path) {
  const TensorView* tensor = file.find(slot.name);
  if (tensor == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("checkpoint {} is of another model: it has no tensor {} [{}]",
                                                         path, slot.name, fmt::join(slot.parameter->shape, ", ")));
  }
  if (tensor->shape != slot.parameter->shape || tensor->dtype != "F32") {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("checkpoint {} is of another model: tensor {} is {} [{}] there, F32 [{}] here", path, slot.name,
                    tensor->dtype, fmt::join(tensor->shape, ", "), fmt::join(slot.parameter->shape, ", ")));
  }
  return *tensor;
}

// A larger model's file has all that a smaller one asks for; what is left over gives it away.
void check_nothing_else(const Safetensors& file, const ParameterSet& parameters, const std::string& path) {
  for (const TensorView& tensor : file.tensors) {
    const bool known = std::any_of(parameters.all().begin(), parameters.all().end(),
                                   [&](const Parameter* parameter) { return parameter->name == tensor.name; });
    if (known || tensor.name.starts_with("adamw.")) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("checkpoint {} is of another model: tensor {} [{}] is not in this one", path, tensor.name,
                            fmt::join(tensor.shape, ", ")));
  }
}

uint64_t read_number(const TensorMetadata& metadata, const std::string& key, const std::string& path) {
  const auto found = metadata.find(key);
  const std::string text = found == metadata.end() ? "" : found->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("checkpoint {}: metadata {} should be a number; found \"{}\"", path, key, text));
  }
  return value;
}

}  // namespace

std::string checkpoint_path(const std::string& directory) {
  return (std::filesystem::path(directory) / "checkpoint.safetensors").string();
}

void save_checkpoint(const std::string& directory, const ParameterSet& parameters, const Adamw& optimizer,
                     const Progress& progress) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) throw system_error("create " + directory, failure.value());
  std::vector<TensorView> tensors;
  for (const Slot& slot : slots_of(parameters, &optimizer)) {
    const auto bytes = std::as_bytes(std::span(slot.data, slot.parameter->size()));
    tensors.push_back({slot.name, "F32", slot.parameter->shape, bytes});
  }
  write_safetensors(checkpoint_path(directory), tensors,
                    {{"format", "pt"},
                     {"step", std::to_string(progress.step)},
                     {"seed", std::to_string(progress.seed)},
                     {"batch", std::to_string(progress.batch)}});
}

Progress load_checkpoint(const std::string& directory, ParameterSet& parameters, Adamw* optimizer) {
  const std::string path = checkpoint_path(directory);
  const std::vector<std::byte> bytes = read_bytes(path);
  const Safetensors file = parse_safetensors(bytes, path);
  const auto slots = slots_of(parameters, optimizer);
  std::vector<const TensorView*> tensors;
  for (const Slot& slot : slots) tensors.push_back(&matching_tensor(file, slot, path));
  check_nothing_else(file, parameters, path);
  const Progress progress{read_number(file.metadata, "step", path), read_number(file.metadata, "seed", path),
                          read_number(file.metadata, "batch", path)};
  for (size_t i = 0; i < slots.size(); ++i) {
    std::memcpy(slots[i].data, tensors[i]->bytes.data(), tensors[i]->bytes.size());
  }
  return progress;
}

}  // namespace peal::trainer
