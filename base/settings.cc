#include "base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/conf_file.h"
#include "base/error.h"

namespace peal {
namespace {

constexpr std::string_view kPrefix = "PEAL_";

struct SettingName {
  std::string_view name, type;
};
constexpr SettingName kNames[] = {
#define SETTING(member, name, type, initial, help) {"PEAL_" #name, #type},
#include "base/settings.def"
};

constexpr bool is_setting(std::string_view name) {
  for (const SettingName& known : kNames) {
    if (known.name == name) return true;
  }
  return false;
}

struct Bounds {
  std::string_view name;
  int64_t low, high;
};
constexpr Bounds kBounds[] = {
#define RANGE(name, low, high) {"PEAL_" #name, low, high},
#include "base/settings.def"
};

struct Choice {
  std::string_view name;
  std::array<std::string_view, 4> words;  // empty ones are padding
};
constexpr Choice kChoices[] = {
#define ONE_OF(name, ...) {"PEAL_" #name, {__VA_ARGS__}},
#include "base/settings.def"
};

template <class Rows>
constexpr bool all_name_settings(const Rows& rows) {
  for (const auto& row : rows) {
    if (!is_setting(row.name)) return false;
  }
  return true;
}
static_assert(all_name_settings(kBounds) && all_name_settings(kChoices), "settings.def: a misspelt RANGE or ONE_OF");

Bounds bounds_of(std::string_view name) {
  for (const Bounds& bounds : kBounds) {
    if (bounds.name == name) return bounds;
  }
  return {name, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

Error bad_value(std::string_view name, std::string_view value, std::string_view expected) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}='{}': expected {}", name, value, expected));
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string parse(std::string_view name, std::string_view value, const std::string*) {
  for (const auto& [limited, words] : kChoices) {
    if (limited != name || value.empty() || std::find(words.begin(), words.end(), value) != words.end()) continue;
    const auto end = std::find(words.begin(), words.end(), std::string_view());
    throw bad_value(name, value, fmt::format("one of {}", fmt::join(words.begin(), end, ", ")));
  }
  return std::string(value);
}

int64_t parse(std::string_view name, std::string_view value, const int64_t*) {
  const Bounds bounds = bounds_of(name);
  const auto parsed = number<int64_t>(value);
  if (!parsed || *parsed < bounds.low || *parsed > bounds.high) {
    throw bad_value(name, value, fmt::format("a whole number from {} to {}", bounds.low, bounds.high));
  }
  return *parsed;
}

bool parse(std::string_view name, std::string_view value, const bool*) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (value == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (value == no) return false;
  }
  throw bad_value(name, value, "1, true, yes, on or 0, false, no, off");
}

uint64_t parse(std::string_view name, std::string_view value, const uint64_t*) {
  uint64_t bytes = 0;
  try {
    bytes = parse_bytes(value);
  } catch (const Error& error) {
    throw bad_value(name, value, error.what());
  }
  const Bounds bounds = bounds_of(name);
  if (bytes < static_cast<uint64_t>(bounds.low) || bytes > static_cast<uint64_t>(bounds.high)) {
    throw bad_value(name, value, fmt::format("{} to {} bytes", bounds.low, bounds.high));
  }
  return bytes;
}

// The PEAL_* variables of the environment and, behind them, the lines of the conf file by full name.
struct Sources {
  Environment environment;
  std::string conf_path;
  std::map<std::string, ConfLine, std::less<>> conf_lines;

  std::string source_of(std::string_view name) const {
    if (environment.count(name) > 0) return "environment";
    return conf_lines.count(name) > 0 ? conf_path : "default";
  }

  // Leaves *value, the default, where nothing sets it.
  template <class T>
  void read(std::string_view name, T* value) const {
    if (const auto found = environment.find(name); found != environment.end()) {
      *value = parse(name, found->second, value);
    } else if (const auto line = conf_lines.find(name); line != conf_lines.end()) {
      try {
        *value = parse(name, line->second.value, value);
      } catch (const Error& error) {
        throw in_conf(line->second, error.what());
      }
    }
  }

  Error in_conf(const ConfLine& line, std::string_view what) const {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", conf_path, line.line, what));
  }
};

// Names in the file may leave out PEAL_.
void read_conf(Sources* sources) {
  for (ConfLine& line : read_conf_file(sources->conf_path)) {
    if (line.name.rfind(kPrefix, 0) != 0) line.name.insert(0, kPrefix);
    if (!is_setting(line.name)) throw sources->in_conf(line, unknown_setting(line.name));
    if (line.name == "PEAL_CONF_FILE") throw sources->in_conf(line, "a conf file can't name another");
    sources->conf_lines.insert_or_assign(line.name, line);
  }
}

Sources sources_of(const Environment& environment) {
  Sources sources;
  for (const auto& [name, value] : environment) {
    if (name.rfind(kPrefix, 0) == 0) sources.environment[name] = value;
  }
  const auto conf = sources.environment.find("PEAL_CONF_FILE");
  if (conf != sources.environment.end() && !conf->second.empty()) {
    sources.conf_path = conf->second;
    read_conf(&sources);
  }
  return sources;
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(int64_t value) { return fmt::format("{}", value); }
std::string text_of(uint64_t value) { return fmt::format("{}", value); }
std::string text_of(bool value) { return value ? "true" : "false"; }

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

uint64_t parse_bytes(std::string_view text) {
  const Error wrong(ErrorCode::kInvalidArgument, "bytes, e.g. 4096, 256K, 1.5M or 2GiB");
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view amount = text.substr(0, digits);
  std::string_view unit = text.substr(digits);
  uint64_t factor = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view kUnits = "KMGT";
    const size_t power = kUnits.find(static_cast<char>(unit.front() & ~0x20));
    unit.remove_prefix(1);
    const bool known = unit.empty() || unit == "B" || unit == "b" || unit == "iB";
    if (power == std::string_view::npos || !known) throw wrong;
    factor = uint64_t{1} << (10 * (power + 1));
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (const auto whole = number<uint64_t>(amount)) {
    if (*whole > kMost / factor) throw wrong;
    return *whole * factor;
  }
  const auto part = number<double>(amount);
  if (!part || *part * static_cast<double>(factor) >= static_cast<double>(kMost)) throw wrong;
  return static_cast<uint64_t>(*part * static_cast<double>(factor));
}

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; entry++) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string unknown_setting(std::string_view name) {
  std::vector<std::string> names;
  for (const SettingName& known : kNames) names.emplace_back(known.name);
  const std::string near = nearest(name, names);
  return fmt::format("{} is no setting of Peal{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

Settings Settings::from(const Environment& environment) {
  const Sources sources = sources_of(environment);
  Settings settings;
#define SETTING(member, name, type, initial, help) sources.read("PEAL_" #name, &settings.member);
#include "base/settings.def"
  for (const auto& [name, value] : sources.environment) {
    if (!is_setting(name)) settings.unknown.push_back(unknown_setting(name));
  }
  return settings;
}

std::vector<SettingRow> setting_rows(const Environment& environment) {
  const Sources sources = sources_of(environment);
  const Settings initial_values, effective = Settings::from(environment);
  std::vector<SettingRow> rows;
#define SETTING(member, name, type, initial, help)                                                 \
  rows.push_back({"PEAL_" #name, #type, text_of(initial_values.member), text_of(effective.member), \
                  sources.source_of("PEAL_" #name), help});
#include "base/settings.def"
  for (SettingRow& row : rows) {
    if (row.name == "PEAL_KEY" && !row.value.empty()) row.value = "set";
  }
  return rows;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace peal
