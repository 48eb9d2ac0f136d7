#include "trainer/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/settings.h"
#include "trainer/open_error.h"

namespace peal::trainer {

namespace {

// What values a key may have.
struct Legal {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
  std::vector<std::string> choices;

  std::string text() const {
    if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ", "));
    if (high == std::numeric_limits<double>::max()) {
      return low == std::numeric_limits<double>::lowest() ? "any" : fmt::format(">= {}", low);
    }
    return fmt::format("{} to {}", low, high);
  }
};

Legal anything() { return {}; }
Legal at_least(double low) { return {low}; }
Legal between(double low, double high) { return {low, high}; }
template <typename... Words>
Legal one_of(Words... words) {
  Legal legal;
  legal.choices = {words...};
  return legal;
}

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::kInvalidArgument, text); }

// A value and where it was written, for messages.
struct Found {
  std::string key;
  std::string where;  // "file.toml:12" or "--set"
  const toml::node& node;

  std::string written() const {
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    return text.str();
  }
  [[noreturn]] void refuse_type(std::string_view expected) const {
    refuse(fmt::format("{}: {} must be {}; found {}", where, key, expected, written()));
  }
  [[noreturn]] void refuse_value(const Legal& legal) const {
    refuse(fmt::format("{}: {} must be {}{}; found {}", where, key, legal.choices.empty() ? "" : "one of ",
                       legal.text(), written()));
  }
};

void check_range(double value, const Found& found, const Legal& legal) {
  if (!(value >= legal.low && value <= legal.high)) found.refuse_value(legal);
}

void store(std::string& into, const Found& found, const Legal& legal) {
  if (!found.node.is_string()) found.refuse_type("a string");
  into = *found.node.value<std::string>();
  if (!legal.choices.empty() && std::find(legal.choices.begin(), legal.choices.end(), into) == legal.choices.end()) {
    found.refuse_value(legal);
  }
}

void store(int64_t& into, const Found& found, const Legal& legal) {
  if (!found.node.is_integer()) found.refuse_type("an integer");
  into = *found.node.value<int64_t>();
  check_range(static_cast<double>(into), found, legal);
}

void store(double& into, const Found& found, const Legal& legal) {
  if (!found.node.is_number()) found.refuse_type("a number");
  into = *found.node.value<double>();
  check_range(into, found, legal);
}

void store(std::vector<int64_t>& into, const Found& found, const Legal& legal) {
  const toml::array* array = found.node.as_array();
  if (array == nullptr) found.refuse_type("a list of integers");
  into.clear();
  for (const toml::node& element : *array) {
    if (!element.is_integer()) found.refuse_type("a list of integers");
    into.push_back(*element.value<int64_t>());
    check_range(static_cast<double>(into.back()), found, legal);
  }
}

std::vector<std::string> key_names() {
  return {
#define KEY(member, name, type, initial, legal, help) name,
#include "trainer/config_keys.def"
#undef KEY
  };
}

void store_key(Config& config, const Found& found) {
#define KEY(member, name, type, initial, legal, help) \
  if (found.key == name) return store(config.member, found, legal);
#include "trainer/config_keys.def"
#undef KEY
  const std::string close = nearest(found.key, key_names());
  refuse(fmt::format("{}: unknown key {}{}", found.where, found.key,
                     close.empty() ? "; `trainer keys` lists them" : fmt::format("; did you mean {}?", close)));
}

bool is_section(const std::string& prefix) {
  const auto names = key_names();
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(prefix + "."); });
}

// Stores every leaf of `table` under its dotted name. `name` is the file, or "--set", which has no lines.
void store_table(Config& config, const toml::table& table, const std::string& prefix, const std::string& name) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
    if (node.is_table() && (is_section(path) || !node.as_table()->empty())) {
      store_table(config, *node.as_table(), path, name);
      continue;
    }
    const std::string where = name == "--set" ? name : fmt::format("{}:{}", name, node.source().begin.line);
    store_key(config, {path, where, node});
  }
}

std::optional<toml::table> try_parse(const std::string& text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

// A value that is no TOML is taken as a bare string, so that --set optim.schedule=constant needs no quotes.
void store_override(Config& config, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) refuse(fmt::format("--set: expected key=value; found {}", text));
  const std::string key = text.substr(0, equals), value = text.substr(equals + 1);
  const auto parsed = try_parse("value = " + value);
  const toml::table table = parsed && parsed->size() == 1 ? *parsed : toml::table{{"value", value}};
  store_key(config, {key, "--set", *table.get("value")});
}

toml::table parse_toml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    refuse(fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line, error.description()));
  }
}

std::string read_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw open_error("configuration " + path, errno != 0 ? errno : EISDIR);
  return text.str();
}

[[maybe_unused]] std::string show(const std::string& text) { return fmt::format("\"{}\"", text); }
[[maybe_unused]] std::string show(int64_t value) { return fmt::format("{}", value); }
[[maybe_unused]] std::string show(double value) { return fmt::format("{}", value); }
[[maybe_unused]] std::string show(const std::vector<int64_t>& list) {
  return fmt::format("[{}]", fmt::join(list, ", "));
}

}  // namespace

std::string Config::data_path(const std::string& file) const {
  return (std::filesystem::path(data_directory) / file).string();
}

Config parse_config(std::string_view text, const std::string& name, std::span<const std::string> overrides) {
  Config config;
  store_table(config, parse_toml(text, name), "", name);
  for (const std::string& entry : overrides) store_override(config, entry);
  return config;
}

Config load_config(const std::string& path, std::span<const std::string> overrides) {
  Config config = parse_config(read_text(path), path, overrides);
  const auto folder = std::filesystem::path(path).parent_path();
  config.data_directory = (folder / config.data_directory).lexically_normal().string();
  return config;
}

void check_batch(int64_t batch, int ranks) {
  if (batch % ranks == 0) return;
  const int64_t below = batch / ranks * ranks, above = below + ranks;
  refuse(
      fmt::format("train.batch = {} can't be split over {} ranks: it must be a multiple of the number of ranks; "
                  "nearest: {}",
                  batch, ranks, below > 0 ? fmt::format("{} and {}", below, above) : fmt::format("{}", above)));
}

std::vector<ConfigKey> config_keys() {
  const Config defaults;
  return {
#define KEY(member, name, type, initial, legal, help) {name, #type, show(defaults.member), (legal).text(), help},
#include "trainer/config_keys.def"
#undef KEY
  };
}

}  // namespace peal::trainer
