#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "topology/cpu_list.h"
#include "topology/json_fields.h"
#include "topology/read.h"

namespace peal {
namespace {

using json = nlohmann::ordered_json;  // members stay in the order in which people expect them

template <class T>
json written(const T& value) {
  if constexpr (topology_json::HasFields<T>) {
    json all = json::object();
    const T otherwise{};
    topology_json::fields_of(std::type_identity<T>{}, [&](const char* name, auto member) {
      const bool tells = !(value.*member == otherwise.*member) || name == std::string_view("kind");
      if (tells) all[name] = written(value.*member);
    });
    return all;
  } else if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else if constexpr (std::is_same_v<T, Figure>) {
    return {{"value", value.value}, {"source", name_of(value.source)}};
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    return to_cpu_list(value);
  } else {
    return value;
  }
}

template <class T>
json written_list(const std::vector<T>& all) {
  json list = json::array();
  for (const T& one : all) list.push_back(written(one));
  return list;
}

bool alike(const Host& a, const Host& b) { return a.objects == b.objects && a.links == b.links; }

// Neighbours that differ in nothing but their names are one entry: a cluster of 2,048 equal hosts is one host long.
json written_hosts(const std::vector<Host>& hosts) {
  json all = json::array();
  for (size_t i = 0; i < hosts.size(); i++) {
    if (i > 0 && alike(hosts[i - 1], hosts[i])) {
      all.back()["names"].push_back(hosts[i].name);
      continue;
    }
    all.push_back({{"names", {hosts[i].name}}, {"objects", written_list(hosts[i].objects)}});
    if (!hosts[i].links.empty()) all.back()["links"] = written_list(hosts[i].links);
  }
  return all;
}

}  // namespace

std::string to_json(const Machine& machine) {
  json all = {{"peal_machine", topology_json::kVersion}};
  if (!machine.source.empty()) all["source"] = machine.source;
  if (!(machine.network == Capacity{})) all["network"] = written(machine.network);
  if (!(machine.processor == Processor{})) all["processor"] = written(machine.processor);
  all["hosts"] = written_hosts(machine.hosts);
  if (!machine.measurements.empty()) all["measurements"] = written_list(machine.measurements);
  // Names come from files and may hold anything; they are not worth failing for.
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace peal
