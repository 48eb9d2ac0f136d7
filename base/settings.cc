#include "base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>

#include "base/error.h"

namespace peal {
namespace {

constexpr std::string_view kPrefix = "PEAL_";

struct Bounds {
  int64_t low, high;
};

// Legal values of the int settings.
constexpr std::pair<std::string_view, Bounds> kBounds[] = {
    {"PEAL_RANK", {-1, 1 << 20}},          {"PEAL_SIZE", {-1, 1 << 20}}, {"PEAL_CONNECT_TIMEOUT", {1, 86400000}},
    {"PEAL_TIMEOUT", {1, 86400000}},       {"PEAL_NSOCKS", {1, 64}},     {"PEAL_CHANNELS", {0, 64}},
    {"PEAL_SPIN_COUNT", {-1, 1000000000}},
};

Bounds bounds_of(std::string_view name) {
  for (const auto& [bounded, bounds] : kBounds) {
    if (bounded == name) return bounds;
  }
  return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
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

std::string parse(std::string_view, std::string_view value, const std::string*) { return std::string(value); }

int64_t parse(std::string_view name, std::string_view value, const int64_t*) {
  const auto [low, high] = bounds_of(name);
  const auto parsed = number<int64_t>(value);
  if (!parsed || *parsed < low || *parsed > high) {
    throw bad_value(name, value, fmt::format("a whole number from {} to {}", low, high));
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
  try {
    return parse_bytes(value);
  } catch (const Error& error) {
    throw bad_value(name, value, error.what());
  }
}

struct SettingName {
  std::string_view name, type;
};
constexpr SettingName kNames[] = {
#define SETTING(member, name, type, initial, help) {"PEAL_" #name, #type},
#include "base/settings.def"
#undef SETTING
};

bool is_setting(std::string_view name) {
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const SettingName& known) { return known.name == name; });
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// NAME=value lines; # begins a comment line. Names may leave out PEAL_.
Environment read_conf_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kInvalidArgument, fmt::format("PEAL_CONF_FILE: can't open '{}'", path));
  Environment values;
  std::string line;
  for (int number = 1; std::getline(file, line); number++) {
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#') continue;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}:{}: expected NAME=value, found '{}'", path, number, text));
    }
    std::string name(trim(text.substr(0, equals)));
    if (name.rfind(kPrefix, 0) != 0) name = fmt::format("{}{}", kPrefix, name);
    if (!is_setting(name)) {
      const std::string sentence = unknown_setting(name);
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, number, sentence));
    }
    values[name] = trim(text.substr(equals + 1));
  }
  return values;
}

struct Sources {
  Environment environment, conf_file;
  std::string conf_path;
  const std::string* find(std::string_view name, std::string* source) const {
    for (const auto* values : {&environment, &conf_file}) {
      const auto found = values->find(name);
      if (found == values->end()) continue;
      *source = values == &environment ? "environment" : conf_path;
      return &found->second;
    }
    *source = "default";
    return nullptr;
  }
};

Sources sources_of(const Environment& environment) {
  Sources sources;
  for (const auto& [name, value] : environment) {
    if (name.rfind(kPrefix, 0) == 0) sources.environment[name] = value;
  }
  const auto conf = sources.environment.find("PEAL_CONF_FILE");
  if (conf != sources.environment.end() && !conf->second.empty()) {
    sources.conf_path = conf->second;
    sources.conf_file = read_conf_file(sources.conf_path);
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
  constexpr const char* kExpected = "bytes, e.g. 4096, 256K, 1.5M or 2GiB";
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto amount = number<double>(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  if (!amount || digits == 0) throw Error(ErrorCode::kInvalidArgument, kExpected);
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view kUnits = "KMGT";
    const size_t power = kUnits.find(static_cast<char>(unit.front() & ~0x20));
    unit.remove_prefix(1);
    const bool known = unit.empty() || unit == "B" || unit == "b" || unit == "iB";
    if (power == std::string_view::npos || !known) throw Error(ErrorCode::kInvalidArgument, kExpected);
    factor = static_cast<double>(uint64_t{1} << (10 * (power + 1)));
  }
  if (*amount * factor >= 9e18) throw Error(ErrorCode::kInvalidArgument, kExpected);
  return static_cast<uint64_t>(*amount * factor);
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
  std::string source;
#define SETTING(member, name, type, initial, help)                      \
  if (const std::string* text = sources.find("PEAL_" #name, &source)) { \
    settings.member = parse("PEAL_" #name, *text, &settings.member);    \
  }
#include "base/settings.def"
#undef SETTING
  for (const auto& [name, value] : sources.environment) {
    if (!is_setting(name)) settings.unknown.push_back(unknown_setting(name));
  }
  return settings;
}

std::vector<SettingRow> setting_rows(const Environment& environment) {
  const Sources sources = sources_of(environment);
  const Settings effective = Settings::from(environment);
  std::vector<SettingRow> rows;
  std::string source;
#define SETTING(member, name, type, initial, help) \
  sources.find("PEAL_" #name, &source);            \
  rows.push_back(                                  \
      {"PEAL_" #name, #type, text_of(Settings::type##_type(initial)), text_of(effective.member), source, help});
#include "base/settings.def"
#undef SETTING
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
