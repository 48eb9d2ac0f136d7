// A training configuration: a TOML file plus command-line overrides, checked whole before anything starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peal::trainer {

struct Config {
  using string_type = std::string;
  using integer_type = int64_t;
  using number_type = double;
  using integers_type = std::vector<int64_t>;
#define KEY(member, name, type, initial, legal, help) type##_type member = initial;
#include "trainer/config_keys.def"
#undef KEY

  std::string data_path(const std::string& file) const;  // data.directory / file
};

// Reads `path`. Each override is "key=value", value as TOML writes it (a bare word is a string); it wins over the file.
// Throws Error(kInvalidArgument) for a file that can't be read, bad TOML, an unknown key (naming the nearest real one),
// a wrong type or a value out of range, each with file and line.
Config load_config(const std::string& path, std::span<const std::string> overrides);

// The same from text; `name` stands for the file in messages, and data.directory is taken as it is.
Config parse_config(std::string_view text, const std::string& name, std::span<const std::string> overrides);

// Throws Error(kInvalidArgument) with the rule and the nearest legal values unless `batch` is a multiple of `ranks`.
void check_batch(int64_t batch, int ranks);

// One row of the table of keys.
struct ConfigKey {
  std::string name, type, initial, legal, help;
};
std::vector<ConfigKey> config_keys();

}  // namespace peal::trainer
