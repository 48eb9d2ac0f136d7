#include "tools/info/facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/host.h"
#include "base/reduce.h"
#include "base/version.h"
#include "collectives/algorithms/catalog.h"
#include "tools/info/transports_at_hand.h"
#include "topology/read.h"

namespace peal::info {
namespace {

using nlohmann::json;

json all_facts() {
  json transports = json::array();
  const TransportsAtHand at_hand;
  for (const TransportEntry& entry : transport_entries()) {
    const std::string why_not = entry.why_not(at_hand.context()).value_or("");
    transports.push_back(
        {{"name", entry.name}, {"summary", entry.summary}, {"usable", why_not.empty()}, {"why_not", why_not}});
  }
  json names = json::object();
  for (const Algorithm& algorithm : algorithms()) {
    names[std::string(name_of(algorithm.collective))].push_back(algorithm.name);
  }
  return {{"machine", summary(discover_machine())},
          {"build", describe_build()},
          {"host", host_name()},
          {"usable_cores", usable_cores()},
          {"simd", simd_in_use()},
          {"transports", transports},
          {"algorithms", names}};
}

void print_summary(const json& all) {
  fmt::print("Peal {}\nhost {}: {} usable core(s), reductions by {}\n{}\n\ntransports, by preference:\n",
             all["build"].get<std::string>(), all["host"].get<std::string>(), all["usable_cores"].get<int>(),
             all["simd"].get<std::string>(), all["machine"].get<std::string>());
  for (const json& one : all["transports"]) {
    const bool usable = one["usable"].get<bool>();
    fmt::print("  {:<8} {}{}\n", one["name"].get<std::string>(), one["summary"].get<std::string>(),
               usable ? "" : " (not here: " + one["why_not"].get<std::string>() + ")");
  }
  fmt::print("\nalgorithms:\n");
  for (const auto& [collective, names] : all["algorithms"].items()) {
    std::string line;
    for (const json& name : names) line += " " + name.get<std::string>();
    fmt::print("  {:<15}{}\n", collective, line);
  }
}

}  // namespace

int show_facts(bool as_json) {
  const json all = all_facts();
  if (as_json) {
    fmt::print("{}\n", all.dump(2));
  } else {
    print_summary(all);
  }
  return 0;
}

}  // namespace peal::info
