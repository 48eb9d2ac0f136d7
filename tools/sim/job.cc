#include "tools/sim/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/error.h"
#include "collectives/fold_job.h"
#include "topology/rings.h"

namespace peal::sim {
namespace {

constexpr double kMostSteps = 60e6;  // of all plans held at once: 6 GiB with what simulate() adds

// The GPUs of a host in the order of its first ring, or its cores.
std::vector<int> seats_of(const Host& host, bool gpus) {
  if (!gpus) return objects_of(host, ObjectKind::kCore);
  const RingSet rings = find_rings(host);
  const std::vector<int> objects = objects_of(host, ObjectKind::kGpu);
  std::vector<int> seats;
  if (rings.rings.empty()) return seats;
  for (const int gpu : rings.rings[0].order) seats.push_back(objects[static_cast<size_t>(gpu)]);
  return seats;
}

bool any_gpu(const Machine& machine) {
  return std::any_of(machine.hosts.begin(), machine.hosts.end(),
                     [](const Host& host) { return !objects_of(host, ObjectKind::kGpu).empty(); });
}

}  // namespace

Job::Job(const Machine& machine, int ranks, Seating seating, Folding folding)
    : routes_(std::make_shared<const Routes>(machine)), ranks_(ranks), folding_(folding), on_gpus_(any_gpu(machine)) {
  const auto hosts = static_cast<int>(machine.hosts.size());
  std::vector<std::vector<int>> seats;  // by host
  bool alike = true;
  size_t all = 0;
  for (int host = 0; host < hosts; host++) {
    alike = alike && routes_->alike(0, host);
    seats.push_back(alike && host > 0 ? seats[0] : seats_of(machine.hosts[static_cast<size_t>(host)], on_gpus_));
    all += seats.back().size();
  }
  if (static_cast<size_t>(ranks) > all) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{} ranks: expected at most the {} {} of the machine", ranks,
                                                         all, on_gpus_ ? "GPUs" : "cores"));
  }
  seat(seats, seating);
  place(machine);
  const int per_host = static_cast<int>(seats[0].size());
  if (alike && seating.spread == Spread::kBlock && hosts > 1 && ranks % per_host == 0) period_ = per_host;

  for (int link = 0; link < routes_->links(); link++) links_.bytes_per_ns.push_back(routes_->bytes_per_ns(link));
  links_.way = [this](int from, int to) { return way(from, to); };
  costs_.links = &links_;
  if (on_gpus_) {
    costs_.copy_bytes_per_ns = costs_.reduce_bytes_per_ns = kGpuCopyBytesPerNs;
    costs_.step_ns = kGpuStepNs;
  } else {
    costs_.mover_bytes_per_ns = kCoreBytesPerNs;
  }
}

void Job::seat(const std::vector<std::vector<int>>& seats, Seating seating) {
  const auto ranks = static_cast<size_t>(ranks_);
  std::vector<size_t> next(seats.size());
  for (size_t host = 0; seats_.size() < ranks; host = (host + 1) % seats.size()) {
    size_t& taken = next[host];
    do {
      if (taken < seats[host].size()) seats_.push_back({static_cast<int>(host), seats[host][taken++]});
    } while (seating.spread != Spread::kInterleaved && taken < seats[host].size() && seats_.size() < ranks);
  }
  if (seating.spread != Spread::kRandom) return;
  std::mt19937_64 random(seating.seed);  // and not std::shuffle, whose result differs between standard libraries
  for (size_t i = ranks; i > 1; i--) std::swap(seats_[i - 1], seats_[random() % i]);
}

// Where the algorithms think that the ranks are.
void Job::place(const Machine& machine) {
  std::vector<Place> places;
  for (const Location& seat : seats_) {
    Place place{.host = fmt::format("{:06}", seat.host)};
    const Host& host = machine.hosts[static_cast<size_t>(seat.host)];
    if (!on_gpus_) place = place_on(host, place.host, host.objects[static_cast<size_t>(seat.object)].cpus);
    places.push_back(place);
  }
  placement_ = place_ranks(places);
}

// All hosts are alike: the first one's links stand for everybody's.
int Job::folded(int link) const {
  if (!fold_) return link;
  const int host = routes_->host_of(link);
  return link - routes_->first_link(host) + routes_->first_link(0);
}

MessageWay Job::way(int from, int to) const {
  const Route route = routes_->between(seats_[static_cast<size_t>(from)], seats_[static_cast<size_t>(to)]);
  MessageWay way{route.latency_ns, {}};
  for (const int link : route.links) way.links.push_back(folded(link));
  std::sort(way.links.begin(), way.links.end());
  way.links.erase(std::unique(way.links.begin(), way.links.end()), way.links.end());
  return way;
}

void Job::build(const Algorithm& algorithm) {
  if (built_ == &algorithm) return;
  built_ = nullptr;
  plans_.clear();
  symmetric_ = period_ > 0 && folds(algorithm, ranks_, period_, &placement_);
  fold_ = symmetric_ && folding_ == Folding::kWherePossible;
  simulated_ranks_ = fold_ ? period_ : ranks_;
  for (int rank = 0; rank < simulated_ranks_; rank++) {
    plans_.push_back(build_plan(algorithm, {rank, ranks_, 0, false, &placement_}));
    if (plans_.back().needs_window()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{} maps the memory of all ranks, and does not send messages", algorithm.name));
    }
    const double steps = static_cast<double>(plans_[0].steps.size()) * simulated_ranks_;
    if (steps > kMostSteps) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{} on {} ranks{}: {:.3g} steps of {} ranks' plans, and at most {:.3g} can be held",
                              algorithm.name, ranks_, symmetric_ ? "" : ", which don't fold", steps, simulated_ranks_,
                              kMostSteps));
    }
  }
  built_ = &algorithm;
}

Simulated Job::run(const Algorithm& algorithm, double bytes, double segment_bytes, Detail detail) {
  build(algorithm);
  return simulate_in_detail(plans_, costs_, {bytes, 1, segment_bytes}, symmetric_ ? Fold{ranks_, period_} : Fold{},
                            detail);
}

Passage Job::passage(int from, int to) const {
  const Route route = routes_->between(seats_[static_cast<size_t>(from)], seats_[static_cast<size_t>(to)]);
  const auto narrower = [&](int a, int b) { return routes_->bytes_per_ns(a) < routes_->bytes_per_ns(b); };
  const auto narrowest = std::min_element(route.links.begin(), route.links.end(), narrower);
  const bool by_core =
      narrowest == route.links.end() || (!on_gpus_ && routes_->bytes_per_ns(*narrowest) > kCoreBytesPerNs);
  if (by_core) return {route.kind, "the ranks' cores"};
  return {route.kind, routes_->name_of(*narrowest)};
}

}  // namespace peal::sim
