#include "tools/info/plans.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/settings.h"
#include "collectives/algorithms/catalog.h"
#include "collectives/path_costs.h"
#include "collectives/select.h"
#include "tools/info/transports_at_hand.h"
#include "topology/places.h"
#include "topology/read.h"

namespace peal::info {
namespace {

using nlohmann::json;

std::string human(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); unit++) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

size_t parse_size(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("size '{}' is not {}", text, error.what()));
  }
}

// Ranks as peal-run pins them on this machine, or on the first host of PEAL_TOPO_FILE, with the figures measured there.
JobShape job_of(const ExplainedCall& call, const TransportProperties& properties, const std::string& topo_file) {
  const Machine machine = machine_or_file(topo_file);
  const Host& host = machine.hosts[0];
  std::vector<Place> places;
  for (int rank = 0; rank < call.ranks; rank++) {
    places.push_back(place_on(host, host.name, share_of_cpus(host, rank, call.ranks)));
  }
  PathCosts paths(machine);
  for (size_t i = 0; i < static_cast<size_t>(kLevels); i++) {
    paths.add(machine, static_cast<Level>(i), call.transport, properties);
  }
  const size_t described = objects_of(host, ObjectKind::kCore).size();
  const size_t cores = described > 0 ? described : static_cast<size_t>(usable_cores());
  JobShape job;
  job.ranks = call.ranks;
  job.has_window = properties.maps_peer_memory;
  job.costs = machine_costs(places, paths, static_cast<double>(call.ranks) / static_cast<double>(cores));
  job.placement = place_ranks(places);
  return job;
}

void print_json(const std::vector<Choice>& choices) {
  json all = json::array();
  for (const Choice& choice : choices) {
    all.push_back({{"algorithm", choice.algorithm->name},
                   {"channels", choice.channels},
                   {"segment_bytes", choice.segment_bytes},
                   {"expected_us", choice.expected_ns / 1e3}});
  }
  fmt::print("{}\n", all.dump(2));
}

void print_table(const std::vector<Choice>& choices) {
  fmt::print("  {:<20} {:>12} {:>9} {:>10}\n", "algorithm", "time (us)", "channels", "segment");
  for (const Choice& choice : choices) {
    fmt::print("  {:<20} {:>12.2f} {:>9} {:>10}{}\n", choice.algorithm->name, choice.expected_ns / 1e3, choice.channels,
               choice.segment_bytes == 0 ? "-" : human(static_cast<double>(choice.segment_bytes)),
               choice.algorithm->needs == Needs::kSymmetric ? "   (only on symmetric memory)" : "");
  }
}

}  // namespace

int show_explanation(const ExplainedCall& call, bool as_json) {
  const Settings settings = Settings::from(process_environment());
  const Collective collective = parse_collective(call.collective);
  const size_t bytes = parse_size(call.size);
  const TransportProperties properties = TransportsAtHand().properties_of(call.transport);
  const Selector selector(job_of(call, properties, settings.topo_file), settings.algo,
                          static_cast<int>(settings.channels), settings.segment_size);
  const std::vector<Choice> choices = selector.ranked(collective, bytes, {.symmetric = properties.maps_peer_memory});
  if (as_json) {
    print_json(choices);
    return 0;
  }
  const PathCost near = call.ranks > 1 ? selector.job().costs.path(0, 1) : PathCost{};
  fmt::print("{} of {} on {} ranks ({:.2g} per core) over {} ({:.3g} us, {:.3g} GB/s{}): simulated, fastest first\n\n",
             name_of(collective), human(static_cast<double>(bytes)), call.ranks, selector.job().costs.ranks_per_core,
             call.transport, near.latency_ns / 1e3, near.bytes_per_ns,
             properties.maps_peer_memory ? ", maps peers' memory" : "");
  print_table(choices);
  return 0;
}

int show_plan(const std::string& algorithm_name, const std::string& collective, const std::string& ranks_text,
              bool as_json) {
  const Algorithm& algorithm = find_algorithm(parse_collective(collective), algorithm_name);
  char* end = nullptr;
  const long ranks = std::strtol(ranks_text.c_str(), &end, 10);
  if (*end != '\0' || ranks < 1 || ranks > 4096) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("ranks '{}': expected a number from 1 to 4096", ranks_text));
  }
  json all = json::array();
  for (int rank = 0; rank < ranks; rank++) {
    const Plan plan = build_plan(algorithm, {rank, static_cast<int>(ranks), 0, false});
    if (!as_json) {
      fmt::print("{}", to_string(plan));
      continue;
    }
    json steps = json::array();
    for (const Step& step : plan.steps) steps.push_back({{"step", to_string(step)}, {"after", step.after}});
    all.push_back({{"rank", rank}, {"chunks", plan.chunks}, {"steps", steps}});
  }
  if (as_json) fmt::print("{}\n", all.dump(2));
  return 0;
}

}  // namespace peal::info
