#include "collectives/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace peal {
namespace {

// A moment, and the chain that led to it.
struct Stamp {
  double at = 0;
  CriticalPath chain;
};

const Stamp& later(const Stamp& a, const Stamp& b) { return b.at > a.at ? b : a; }

struct Lane {
  int segment = 0;
  size_t next = 0;
  std::vector<Stamp> done;          // ends of this segment's steps: running maximum, since waits are for prefixes
  std::vector<Stamp> segment_done;  // by segment
  std::vector<Stamp> published;     // by segment * stages + stage, -1: not yet
};

// Messages from one rank to another on one lane: when each arrives, in order.
struct Wire {
  std::vector<Stamp> arrivals;
  size_t taken = 0;
  int waiting_rank = -1, waiting_lane = -1;  // who waits for the next one
};

// One step of one rank, with all that doesn't change between segments worked out.
struct Cost {
  int pair = -1;     // index of the pair's wires
  int way = -1;      // index in ways_, with links
  double work = 0;   // ns of this rank's core
  double bytes = 0;  // of a message
  double latency = 0;
};

class Simulation {
 public:
  Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape, int segments,
             Fold fold, Detail detail = Detail::kTimes);
  Stamp run();
  std::vector<PathMessage> path_of(CriticalPath* chain) const;
  const std::vector<double>& link_ns() const { return link_ns_; }

 private:
  struct Runnable {
    double at;
    int turn, lane;  // turn: the rank's, see turn_of()
    bool operator>(const Runnable& other) const {
      return std::tie(at, turn, lane) > std::tie(other.at, other.turn, other.lane);
    }
  };

  struct Noted {
    PathMessage message;
    int before;  // in noted_: the one before it on its path, or -1
  };

  void cost_steps(int rank, double chunk_bytes);
  int pair(int from, int to);
  void wake(double at, int rank, int lane) { runnable_.push({at, turn_of(rank), lane}); }
  // At one moment: in rank order, but ranks that stand for each other one after the other.
  int turn_of(int rank) const { return rank % period_ * (n_ / period_) + rank / period_; }
  int rank_of(int turn) const { return turn % (n_ / period_) * period_ + turn / (n_ / period_); }
  bool step(int rank, int lane);  // false when it must wait for another rank
  Stamp on_core(int rank, const Stamp& ready, double work);
  Stamp begin_of_arrival(const Cost& cost, Stamp* end);
  Stamp over_links(const Cost& cost, const Stamp& ready);
  bool mapped_ready(int rank, int lane, const Step& step, Stamp* ready);
  void publish(int rank, int lane, int stage, const Stamp& at);
  void send(const Cost& cost, int lane, const Stamp& arrives);
  void note_message(int from, int to, Stamp* arrives);
  const Plan& plan(int rank) const { return plans_[static_cast<size_t>(rank)]; }
  Lane& lane_of(int rank, int lane) { return lanes_of_all_[static_cast<size_t>(rank * lanes_ + lane)]; }
  Wire& wire(int pair, int lane) { return wires_[static_cast<size_t>(pair * lanes_ + lane)]; }

  std::span<const Plan> plans_;
  const MachineCosts& costs_;
  Detail detail_;
  int n_, ranks_, period_, lanes_, segments_, stages_ = 0;
  double share_, hop_ns_;
  bool fetches_;
  std::vector<Lane> lanes_of_all_;
  std::vector<std::vector<Cost>> steps_;  // by rank
  std::vector<Stamp> core_;
  std::map<std::tuple<int, int, int>, int> pairs_;
  std::vector<Wire> wires_;
  std::vector<MessageWay> ways_;
  std::vector<double> link_free_, link_ns_;
  std::vector<Noted> noted_;                // all messages, if asked for
  std::vector<std::vector<int>> watchers_;  // by lane: ranks that wait for something published
  std::priority_queue<Runnable, std::vector<Runnable>, std::greater<>> runnable_;
};

Simulation::Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape,
                       int segments, Fold fold, Detail detail)
    : plans_(plans),
      costs_(costs),
      detail_(detail),
      n_(static_cast<int>(plans.size())),
      ranks_(fold.ranks > 0 ? fold.ranks : n_),
      period_(fold.ranks > 0 ? fold.period : n_),
      lanes_(shape.channels),
      segments_(segments) {
  const double segment_bytes =
      shape.segment_bytes > 0 ? std::min(shape.segment_bytes, shape.bytes / lanes_) : shape.bytes / lanes_;
  share_ = std::max(1.0, costs.ranks_per_core);
  fetches_ = shape.fetches;
  hop_ns_ = share_ > 1 ? costs.handover_ns : 0;
  lanes_of_all_.resize(static_cast<size_t>(n_ * lanes_));
  core_.resize(static_cast<size_t>(n_));
  steps_.resize(static_cast<size_t>(n_));
  watchers_.resize(static_cast<size_t>(lanes_));
  if (costs.links != nullptr) {
    link_free_.resize(costs.links->bytes_per_ns.size());
    link_ns_.resize(costs.links->bytes_per_ns.size());
  }
  for (const Plan& plan : plans_) stages_ = std::max(stages_, plan.stages);
  for (int rank = 0; rank < n_; rank++) cost_steps(rank, segment_bytes / plan(rank).chunks);
  wires_.resize(pairs_.size() * static_cast<size_t>(lanes_));
  for (int rank = 0; rank < n_; rank++) {
    for (int lane = 0; lane < lanes_; lane++) {
      lane_of(rank, lane).published.assign(static_cast<size_t>(segments_ * stages_), Stamp{-1, {}});
      wake(0, rank, lane);
    }
  }
}

// By the two ranks that stand for sender and receiver and by how many periods lie between the two: seen from the sender
// that is where the receiver is, seen from the receiver it is the other way.
int Simulation::pair(int from, int to) {
  const int periods = ranks_ / n_;
  const int distance = ((to / n_ - from / n_) % periods + periods) % periods;
  return pairs_.emplace(std::tuple(from % n_, to % n_, distance), static_cast<int>(pairs_.size())).first->second;
}

void Simulation::cost_steps(int rank, double chunk_bytes) {
  std::unordered_map<int, int> way_to;  // of this rank's messages, by peer
  for (const Step& step : plan(rank).steps) {
    Cost cost;
    const bool sends = step.kind == StepKind::kSend;
    const double bytes = chunk_bytes * (sends ? step.src : step.dst).count;
    const double reducing = bytes / costs_.reduce_bytes_per_ns, copying = bytes / costs_.copy_bytes_per_ns;
    const double fetching = costs_.fetch_ns + bytes / costs_.fetch_bytes_per_ns;
    if (sends || step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce) {
      const int from = sends ? rank : step.peer, to = sends ? step.peer : rank;
      cost.pair = pair(from, to);
      cost.bytes = bytes;
      if (costs_.links == nullptr) {
        const PathCost path = costs_.path(from, to);
        cost.work = bytes / path.bytes_per_ns;
        cost.latency = path.latency_ns;
      } else if (costs_.mover_bytes_per_ns > 0) {
        cost.work = bytes / costs_.mover_bytes_per_ns;
      }
      if (costs_.links != nullptr && sends) {
        const auto [known, is_new] = way_to.try_emplace(to, static_cast<int>(ways_.size()));
        if (is_new) ways_.push_back(costs_.links->way(from, to));
        cost.way = known->second;
        cost.latency = ways_[static_cast<size_t>(cost.way)].latency_ns;
      }
      if (step.kind == StepKind::kRecvReduce) cost.work += reducing;
    } else if (step.kind == StepKind::kReduce) {
      cost.work = reducing;
    } else if (step.kind == StepKind::kReadReduce) {
      cost.work = (reducing + (fetches_ ? fetching : 0)) * (n_ - 1);
    } else if (step.kind == StepKind::kRead && fetches_) {
      cost.work = fetching;
    } else if (step.kind != StepKind::kPublish) {
      cost.work = copying;
    }
    steps_[static_cast<size_t>(rank)].push_back(cost);
  }
}

Stamp Simulation::on_core(int rank, const Stamp& ready, double work) {
  Stamp& core = core_[static_cast<size_t>(rank)];
  core = later(core, ready);
  const double ns = (costs_.step_ns + work) * share_;
  core.at += ns;
  core.chain.core_ns += ns;
  return core;
}

// When the message has passed its links.
Stamp Simulation::over_links(const Cost& cost, const Stamp& ready) {
  const MessageWay& way = ways_[static_cast<size_t>(cost.way)];
  double begin = ready.at, slowest = 0;
  for (const int link : way.links) {
    begin = std::max(begin, link_free_[static_cast<size_t>(link)]);
    slowest = std::max(slowest, cost.bytes / costs_.links->bytes_per_ns[static_cast<size_t>(link)]);
  }
  for (const int link : way.links) {
    const double ns = cost.bytes / costs_.links->bytes_per_ns[static_cast<size_t>(link)];
    link_free_[static_cast<size_t>(link)] = begin + ns;
    link_ns_[static_cast<size_t>(link)] += ns;
  }
  Stamp passed = ready;
  passed.at = begin + slowest;
  passed.chain.queue_ns += begin - ready.at;
  passed.chain.transfer_ns += slowest;
  return passed;
}

// False when something that a mapped step reads is not yet published; otherwise *ready is when all of it is seen.
bool Simulation::mapped_ready(int rank, int lane, const Step& step, Stamp* ready) {
  const auto index = static_cast<size_t>(lane_of(rank, lane).segment * stages_ + step.stage);
  for (int peer = 0; peer < n_; peer++) {
    if (peer == rank || (step.kind != StepKind::kReadReduce && peer != step.peer)) continue;
    Stamp seen = lane_of(peer, lane).published[index];
    if (seen.at < 0) {
      watchers_[static_cast<size_t>(lane)].push_back(rank);
      return false;
    }
    seen.at += costs_.mapped_latency_ns + hop_ns_;
    seen.chain.latency_ns += costs_.mapped_latency_ns + hop_ns_;
    note_message(peer, rank, &seen);
    *ready = later(*ready, seen);
  }
  return true;
}

void Simulation::publish(int rank, int lane, int stage, const Stamp& at) {
  Lane& own = lane_of(rank, lane);
  own.published[static_cast<size_t>(own.segment * stages_ + stage)] = at;
  auto& watchers = watchers_[static_cast<size_t>(lane)];
  for (const int watcher : watchers) wake(at.at, watcher, lane);
  watchers.clear();
}

void Simulation::send(const Cost& cost, int lane, const Stamp& arrives) {
  Wire& to = wire(cost.pair, lane);
  to.arrivals.push_back(arrives);
  if (to.waiting_rank < 0) return;
  wake(arrives.at, std::exchange(to.waiting_rank, -1), to.waiting_lane);
}

void Simulation::note_message(int from, int to, Stamp* arrives) {
  arrives->chain.messages++;
  if (detail_ == Detail::kTimes) return;
  const int before = std::exchange(arrives->chain.last_message, static_cast<int>(noted_.size()));
  noted_.push_back({{from, to, arrives->at, arrives->chain}, before});
}

// The messages of one path, numbered anew.
std::vector<PathMessage> Simulation::path_of(CriticalPath* chain) const {
  std::vector<PathMessage> path;
  for (int i = chain->last_message; i >= 0; i = noted_[static_cast<size_t>(i)].before) {
    path.push_back(noted_[static_cast<size_t>(i)].message);
  }
  std::reverse(path.begin(), path.end());
  for (size_t i = 0; i < path.size(); i++) path[i].until.last_message = static_cast<int>(i);
  chain->last_message = static_cast<int>(path.size()) - 1;
  return path;
}

// When the receiver may begin to move the bytes, so that it ends after the links have; latency comes on top. `end`: of
// the sender's core; then of the send, whose buffer is free when the bytes have left.
Stamp Simulation::begin_of_arrival(const Cost& cost, Stamp* end) {
  const double moving = cost.work * share_;  // by either side, at the same time
  Stamp begin = *end;
  begin.at -= moving;
  begin.chain.core_ns -= moving;
  if (cost.way < 0) return begin;
  Stamp passed = over_links(cost, begin);
  *end = later(*end, passed);
  const double overlap = std::min(moving, passed.chain.transfer_ns - begin.chain.transfer_ns);
  passed.at -= overlap;
  passed.chain.transfer_ns -= overlap;
  return passed;
}

bool Simulation::step(int rank, int lane) {
  Lane& own = lane_of(rank, lane);
  const Step& step = plan(rank).steps[own.next];
  const Cost& cost = steps_[static_cast<size_t>(rank)][own.next];
  Stamp ready = step.after >= 0 ? own.done[static_cast<size_t>(step.after)] : Stamp{};
  if (own.next == 0 && own.segment >= kSegmentsInFlight) {
    ready = own.segment_done[static_cast<size_t>(own.segment - kSegmentsInFlight)];
  }
  if (step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce) {
    Wire& from = wire(cost.pair, lane);
    if (from.taken == from.arrivals.size()) {
      from.waiting_rank = rank;
      from.waiting_lane = lane;
      return false;
    }
    ready = later(ready, from.arrivals[from.taken++]);
  } else if (step.waits_for_publish()) {
    if (!mapped_ready(rank, lane, step, &ready)) return false;
  }
  Stamp end = on_core(rank, ready, cost.work);
  if (step.kind == StepKind::kPublish) publish(rank, lane, step.stage, end);
  if (step.kind == StepKind::kSend) {
    Stamp arrives = begin_of_arrival(cost, &end);
    arrives.at += cost.latency + hop_ns_;
    arrives.chain.latency_ns += cost.latency + hop_ns_;
    note_message(rank, step.peer, &arrives);
    send(cost, lane, arrives);
  }
  own.done.push_back(own.done.empty() ? end : later(own.done.back(), end));
  own.next++;
  return true;
}

Stamp Simulation::run() {
  Stamp last;
  while (!runnable_.empty()) {
    const auto [at, turn, lane] = runnable_.top();
    const int rank = rank_of(turn);
    runnable_.pop();
    Lane& own = lane_of(rank, lane);
    const size_t steps = plan(rank).steps.size();
    if (own.segment == segments_) continue;
    if (own.next < steps && !step(rank, lane)) continue;
    if (own.next == steps) {
      own.segment_done.push_back(own.done.empty() ? Stamp{at, {}} : own.done.back());
      last = later(last, own.segment_done.back());
      own.done.clear();
      own.next = 0;
      own.segment++;
    }
    if (own.segment < segments_) wake(core_[static_cast<size_t>(rank)].at, rank, lane);
  }
  return last;
}

void check_fold(Fold fold, int plans) {
  const bool right = fold.ranks == 0 || (fold.period > 0 && fold.ranks % fold.period == 0 &&
                                         (plans == fold.ranks || plans == fold.period));
  if (right) return;
  throw Error(ErrorCode::kInternal, fmt::format("a job of {} ranks that folds by {}: {} plans are neither all nor "
                                                "those of a period",
                                                fold.ranks, fold.period, plans));
}

}  // namespace

Simulated simulate_in_detail(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape,
                             Fold fold, Detail detail) {
  check_fold(fold, static_cast<int>(plans.size()));
  const double per_lane = shape.bytes / shape.channels;
  const double segments =
      shape.segment_bytes > 0 && per_lane > 0 ? std::max(1.0, std::ceil(per_lane / shape.segment_bytes)) : 1.0;
  const int simulated = static_cast<int>(std::min<double>(segments, kSimulatedSegments));
  Simulation simulation(plans, costs, shape, simulated, fold, detail);
  const Stamp last = simulation.run();
  Simulated result{last.at, last.chain, simulation.link_ns(), simulated / segments, {}};
  result.path = simulation.path_of(&result.critical);
  for (double& ns : result.link_ns) ns *= segments / simulated;
  if (segments <= simulated) return result;
  const double before = Simulation(plans, costs, shape, simulated - 2, fold).run().at;
  result.ns += (segments - simulated) * (last.at - before) / 2;
  return result;
}

double simulate(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape) {
  return simulate_in_detail(plans, costs, shape).ns;
}

}  // namespace peal
