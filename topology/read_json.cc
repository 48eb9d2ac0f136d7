#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "topology/cpu_list.h"
#include "topology/json_fields.h"
#include "topology/read.h"

namespace peal {
namespace {

using nlohmann::json;

constexpr size_t kMostHosts = 1 << 16;
constexpr size_t kMostObjects = 1 << 16;  // of a host, and links
constexpr size_t kMostMeasurements = 1 << 20;
constexpr double kMostOfAnything = 1e15;  // bytes/ns or ns: beyond that it is a mistake
constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();
constexpr size_t kMostInAll = 1 << 22;  // objects and links of all hosts: equal ones are one entry of the file

// One value of the file and where it lies, for errors: "box.json: /hosts/0/objects/3/parent: expected ..., found ...".
class Value {
 public:
  Value(const json& value, std::string_view file, std::string path = "")
      : value_(value), file_(file), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& expected) const {
    std::string found = shown();
    if (found.size() > 60) found = found.substr(0, 57) + "...";
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}: expected {}, found {}", file_, path_.empty() ? "/" : path_, expected, found));
  }

  const std::string& path() const { return path_; }
  const json& object() const {
    if (!value_.is_object()) fail("an object");
    return value_;
  }
  bool is_object() const { return value_.is_object(); }
  bool has(const std::string& name) const { return object().contains(name); }
  Value member(const std::string& name) const {
    if (!has(name)) fail(fmt::format("an object with the member \"{}\"", name));
    return Value(value_.at(name), file_, path_ + "/" + name);
  }
  std::vector<Value> list(size_t most) const {
    if (!value_.is_array() || value_.size() > most) fail(fmt::format("a list of at most {}", most));
    std::vector<Value> all;
    for (size_t i = 0; i < value_.size(); i++) all.emplace_back(value_[i], file_, fmt::format("{}/{}", path_, i));
    return all;
  }
  std::string text() const {
    if (!value_.is_string()) fail("a text");
    return value_.get<std::string>();
  }
  bool truth() const {
    if (!value_.is_boolean()) fail("true or false");
    return value_.get<bool>();
  }
  double number() const {
    const double number = value_.is_number() ? value_.get<double>() : -1;
    if (!(number >= 0 && number <= kMostOfAnything)) fail(fmt::format("a number from 0 to {:g}", kMostOfAnything));
    return number;
  }
  int64_t integer(int64_t least, int64_t most) const {
    const bool overflows =
        value_.is_number_unsigned() && value_.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
    if (!value_.is_number_integer() || overflows || value_.get<int64_t>() < least || value_.get<int64_t>() > most) {
      fail(fmt::format("a whole number from {} to {}", least, most));
    }
    return value_.get<int64_t>();
  }

 private:
  // Not what is inside: dump() calls itself for each level, and there may be as many as the file has characters.
  std::string shown() const {
    if (value_.is_object() && !value_.empty()) return fmt::format("an object of {}", value_.size());
    if (value_.is_array() && !value_.empty()) return fmt::format("a list of {}", value_.size());
    return value_.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  const json& value_;
  std::string_view file_;
  std::string path_;
};

class Reader {
 public:
  explicit Reader(Machine& machine) : machine_(machine) {}
  void read_all(const Value& file);

 private:
  template <class T>
  T read(const Value& value);
  template <class Enum>
  Enum read_enum(const Value& value);
  Figure read_figure(const Value& value);
  template <class T>
  std::vector<T> read_list(const Value& value, size_t most);
  void read_hosts(const Value& value);
  void check_measurement(const Value& value, const Measurement& measurement) const;
  void warn_of_unknown(const Value& value, const std::set<std::string>& known);

  Machine& machine_;
};

void Reader::warn_of_unknown(const Value& value, const std::set<std::string>& known) {
  for (const auto& [name, unused] : value.object().items()) {
    if (known.count(name) == 0) machine_.warnings.push_back({value.path() + "/" + name, 0, "is not known: ignored"});
  }
}

// Names are those of name_of(), which says "?" beyond the last one.
template <class Enum>
Enum Reader::read_enum(const Value& value) {
  const std::string name = value.text();
  std::string all;
  for (uint8_t i = 0; name_of(static_cast<Enum>(i)) != "?"; i++) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    all += fmt::format("{}{}", i > 0 ? ", " : "", name_of(static_cast<Enum>(i)));
  }
  value.fail("one of " + all);
}

// A number alone is what the file says.
Figure Reader::read_figure(const Value& value) {
  if (!value.is_object()) return {value.number(), Source::kRead};
  warn_of_unknown(value, {"value", "source"});
  return {value.member("value").number(),
          value.has("source") ? read_enum<Source>(value.member("source")) : Source::kRead};
}

template <class T>
T Reader::read(const Value& value) {
  if constexpr (topology_json::HasFields<T>) {
    T result{};
    std::set<std::string> known;
    topology_json::fields_of(std::type_identity<T>{}, [&](const char* name, auto member) {
      known.insert(name);
      if (value.has(name)) result.*member = read<std::decay_t<decltype(result.*member)>>(value.member(name));
    });
    warn_of_unknown(value, known);
    return result;
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum<T>(value);
  } else if constexpr (std::is_same_v<T, Figure>) {
    return read_figure(value);
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    const auto cpus = parse_cpu_list(value.text());
    if (!cpus) value.fail(fmt::format("processors such as \"0-3,8\", below {}", kMostProcessors));
    return *cpus;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.truth();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, double>) {
    return value.number();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return static_cast<uint64_t>(value.integer(0, kMostBytes));
  } else {
    static_assert(std::is_same_v<T, int>);
    return static_cast<int>(value.integer(-1, std::numeric_limits<int>::max()));
  }
}

template <class T>
std::vector<T> Reader::read_list(const Value& value, size_t most) {
  std::vector<T> all;
  for (const Value& one : value.list(most)) all.push_back(read<T>(one));
  return all;
}

void check_objects(const Value& list, const std::vector<Object>& objects) {
  const std::vector<Value> values = list.list(kMostObjects);
  if (objects.empty()) list.fail("the host itself as the first object");
  for (size_t i = 0; i < objects.size(); i++) {
    const Object& object = objects[i];
    if ((object.kind == ObjectKind::kHost) != (i == 0)) {
      values[i].fail("the host as the first object, and as no other");
    }
    const bool right = i == 0 ? object.parent == -1 : object.parent >= 0 && static_cast<size_t>(object.parent) < i;
    if (!right) values[i].fail(i == 0 ? "no parent" : fmt::format("a parent from 0 to {}", i - 1));
  }
}

// Devices count from 0; where a file leaves numbers out, in the order in which they come.
void number_devices(const Value& list, std::vector<Object>& objects, ObjectKind kind) {
  std::vector<Object*> devices;
  for (Object& object : objects) {
    if (object.kind == kind) devices.push_back(&object);
  }
  std::set<int> seen;
  for (size_t i = 0; i < devices.size(); i++) {
    if (devices[i]->number < 0) devices[i]->number = static_cast<int>(i);
    const auto number = static_cast<size_t>(devices[i]->number);
    if (number >= devices.size() || !seen.insert(devices[i]->number).second) {
      list.fail(fmt::format("{}s numbered from 0 to {}, each once", name_of(kind), devices.size() - 1));
    }
  }
}

void check_links(const Value& list, const Host& host) {
  const std::vector<Value> values = list.list(kMostObjects);
  for (size_t i = 0; i < values.size(); i++) {
    for (const int end : {host.links[i].a, host.links[i].b}) {
      if (end < 0 || static_cast<size_t>(end) >= host.objects.size()) {
        values[i].fail(fmt::format("ends from 0 to {}", host.objects.size() - 1));
      }
    }
  }
}

void Reader::read_hosts(const Value& value) {
  size_t all = 0;
  for (const Value& one : value.list(kMostHosts)) {
    warn_of_unknown(one, {"names", "objects", "links"});
    Host host;
    const Value objects = one.member("objects");
    host.objects = read_list<Object>(objects, kMostObjects);
    check_objects(objects, host.objects);
    number_devices(objects, host.objects, ObjectKind::kGpu);
    number_devices(objects, host.objects, ObjectKind::kNic);
    if (one.has("links")) {
      host.links = read_list<Link>(one.member("links"), kMostObjects);
      check_links(one.member("links"), host);
    }
    std::vector<std::string> names{""};
    if (one.has("names")) names = read_list<std::string>(one.member("names"), kMostHosts);
    all += names.size() * (host.objects.size() + host.links.size());
    if (all > kMostInAll) value.fail(fmt::format("at most {} objects and links of all hosts", kMostInAll));
    if (machine_.hosts.size() + names.size() > kMostHosts) value.fail(fmt::format("at most {} hosts", kMostHosts));
    for (std::string& name : names) {
      host.name = std::move(name);
      machine_.hosts.push_back(host);
    }
  }
  if (machine_.hosts.empty()) value.fail("at least one host");
}

void Reader::check_measurement(const Value& value, const Measurement& measurement) const {
  const auto check = [&](int host, int object) {
    if (host < 0 || static_cast<size_t>(host) >= machine_.hosts.size() || object < 0 ||
        static_cast<size_t>(object) >= machine_.hosts[static_cast<size_t>(host)].objects.size()) {
      value.fail("hosts and objects of this file");
    }
  };
  check(measurement.from_host, measurement.from);
  check(measurement.to_host, measurement.to);
  if (measurement.latency_ns <= 0 || measurement.bytes_per_ns <= 0) value.fail("a latency and a bandwidth above 0");
}

void Reader::read_all(const Value& file) {
  file.member("peal_machine").integer(topology_json::kVersion, topology_json::kVersion);
  warn_of_unknown(file, {"peal_machine", "source", "network", "processor", "hosts", "measurements"});
  if (file.has("source")) machine_.source = file.member("source").text();
  if (file.has("network")) machine_.network = read<Capacity>(file.member("network"));
  if (file.has("processor")) machine_.processor = read<Processor>(file.member("processor"));
  read_hosts(file.member("hosts"));
  if (!file.has("measurements")) return;
  for (const Value& one : file.member("measurements").list(kMostMeasurements)) {
    machine_.measurements.push_back(read<Measurement>(one));
    check_measurement(one, machine_.measurements.back());
  }
}

}  // namespace

Machine parse_json(std::string_view text, std::string_view name) {
  json all;
  try {
    all = json::parse(text);
  } catch (const json::exception& error) {
    const std::string_view what = error.what();  // shows the last text that was read, however long
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: expected JSON: {}", name, what.substr(0, 300)));
  }
  Machine machine;
  Reader(machine).read_all(Value(all, name));
  return machine;
}

}  // namespace peal
