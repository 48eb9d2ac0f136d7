// Every PEAL_* variable in one table (settings.def): the only place that reads the environment.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"

namespace peal {

// Environment variables as a value, so that tests and launchers can make their own.
using Environment = std::map<std::string, std::string, std::less<>>;

// A copy of this process's environment, taken now. Call before other threads change it.
PEAL_API Environment process_environment();

// The effective value of every setting. A plain value: read once per communicator, never cached in the process.
struct PEAL_API Settings {
  using string_type = std::string;
  using int_type = int64_t;
  using bool_type = bool;
  using size_type = uint64_t;
#define SETTING(member, name, type, initial, help) type##_type member = initial;
#include "base/settings.def"

  // Reads PEAL_* from `environment`, and before it the file that PEAL_CONF_FILE names. Throws Error(kInvalidArgument)
  // for a value of the wrong type or out of range, naming variable, value and what is legal (and file and line, if it
  // stands in the file). A PEAL_* variable that is not in the table is added to `unknown`, with the nearest real name;
  // the caller logs it.
  static Settings from(const Environment& environment);

  std::vector<std::string> unknown;  // one ready sentence for each misspelt variable
};

// One row for `peal-info --env` and docs/settings.md.
struct SettingRow {
  std::string name;     // PEAL_TIMEOUT
  std::string type;     // int
  std::string initial;  // the default, as text
  std::string value;    // effective; PEAL_KEY shows "set" or ""
  std::string source;   // "default", "environment" or the conf file's name
  std::string help;
};
PEAL_API std::vector<SettingRow> setting_rows(const Environment& environment);

// "1048576", "1M", "1.5MiB": bytes with a binary suffix. Throws Error(kInvalidArgument) whose text says what is
// expected.
PEAL_API uint64_t parse_bytes(std::string_view text);

// "PEAL_TIMOUT is no setting of Peal; did you mean PEAL_TIMEOUT?"
PEAL_API std::string unknown_setting(std::string_view name);

// The candidate with the least edit distance to `word`, or "" when all are further than a third of its length (at least
// 2): "did you mean" for variables, flags, config keys and algorithm names.
PEAL_API std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace peal
