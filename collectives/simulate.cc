#include "collectives/simulate.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace peal {
namespace {

struct Lane {
  int segment = 0;
  size_t next = 0;
  std::vector<double> done;          // ends of this segment's steps: running maximum, since waits are for prefixes
  std::vector<double> segment_done;  // by segment
  std::vector<double> published;     // by segment * stages + stage, -1: not yet
};

// Messages from one rank to another on one lane: when each arrives, in order.
struct Wire {
  std::vector<double> arrivals;
  size_t taken = 0;
  int waiting = -1;  // the lane (of the receiving rank) that waits for the next one
};

// One step of one rank, with all that doesn't change between segments worked out.
struct Cost {
  int pair = -1;    // index of the pair's wires
  double work = 0;  // ns of this rank's core
  double latency = 0;
};

class Simulation {
 public:
  Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape, int segments);
  double run();

 private:
  struct Runnable {
    double at;
    int rank, lane;
    bool operator>(const Runnable& other) const {
      return std::tie(at, rank, lane) > std::tie(other.at, other.rank, other.lane);
    }
  };

  void cost_steps(int rank, double chunk_bytes);
  int pair(int from, int to);
  bool step(int rank, int lane);  // false when it must wait for another rank
  double on_core(int rank, double ready, double work);
  bool mapped_ready(int rank, int lane, const Step& step, double* ready);
  void publish(int rank, int lane, int stage, double at);
  const Plan& plan(int rank) const { return plans_[static_cast<size_t>(rank)]; }
  Lane& lane_of(int rank, int lane) { return lanes_of_all_[static_cast<size_t>(rank * lanes_ + lane)]; }
  Wire& wire(int pair, int lane) { return wires_[static_cast<size_t>(pair * lanes_ + lane)]; }

  std::span<const Plan> plans_;
  const MachineCosts& costs_;
  int n_, lanes_, segments_, stages_ = 0;
  double share_, hop_ns_;
  std::vector<Lane> lanes_of_all_;
  std::vector<std::vector<Cost>> steps_;  // by rank
  std::vector<double> core_;
  std::unordered_map<uint64_t, int> pairs_;
  std::vector<Wire> wires_;
  std::vector<std::vector<int>> watchers_;  // by lane: ranks that wait for something published
  std::priority_queue<Runnable, std::vector<Runnable>, std::greater<>> runnable_;
};

Simulation::Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape,
                       int segments)
    : plans_(plans), costs_(costs), n_(static_cast<int>(plans.size())), lanes_(shape.channels), segments_(segments) {
  const double segment_bytes =
      shape.segment_bytes > 0 ? std::min(shape.segment_bytes, shape.bytes / lanes_) : shape.bytes / lanes_;
  share_ = std::max(1.0, costs.ranks_per_core);
  hop_ns_ = share_ > 1 ? costs.handover_ns : 0;
  lanes_of_all_.resize(static_cast<size_t>(n_ * lanes_));
  core_.resize(static_cast<size_t>(n_));
  steps_.resize(static_cast<size_t>(n_));
  watchers_.resize(static_cast<size_t>(lanes_));
  for (const Plan& plan : plans_) stages_ = std::max(stages_, plan.stages);
  for (int rank = 0; rank < n_; rank++) cost_steps(rank, segment_bytes / plan(rank).chunks);
  wires_.resize(pairs_.size() * static_cast<size_t>(lanes_));
  for (int rank = 0; rank < n_; rank++) {
    for (int lane = 0; lane < lanes_; lane++) {
      lane_of(rank, lane).published.assign(static_cast<size_t>(segments_ * stages_), -1);
      runnable_.push({0, rank, lane});
    }
  }
}

int Simulation::pair(int from, int to) {
  const uint64_t key = (static_cast<uint64_t>(from) << 32) | static_cast<uint64_t>(to);
  return pairs_.emplace(key, static_cast<int>(pairs_.size())).first->second;
}

void Simulation::cost_steps(int rank, double chunk_bytes) {
  for (const Step& step : plan(rank).steps) {
    Cost cost;
    const bool sends = step.kind == StepKind::kSend;
    const double bytes = chunk_bytes * (sends ? step.src : step.dst).count;
    const double reducing = bytes / costs_.reduce_bytes_per_ns, copying = bytes / costs_.copy_bytes_per_ns;
    if (sends || step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce) {
      const int from = sends ? rank : step.peer, to = sends ? step.peer : rank;
      const PathCost path = costs_.path(from, to);
      cost = {pair(from, to), bytes / path.bytes_per_ns, path.latency_ns};
      if (step.kind == StepKind::kRecvReduce) cost.work += reducing;
    } else if (step.kind == StepKind::kReduce) {
      cost.work = reducing;
    } else if (step.kind == StepKind::kReadReduce) {
      cost.work = reducing * (n_ - 1);
    } else if (step.kind != StepKind::kPublish) {
      cost.work = copying;
    }
    steps_[static_cast<size_t>(rank)].push_back(cost);
  }
}

double Simulation::on_core(int rank, double ready, double work) {
  double& core = core_[static_cast<size_t>(rank)];
  core = std::max(core, ready) + (costs_.step_ns + work) * share_;
  return core;
}

// False when something that a mapped step reads is not yet published; otherwise *ready is when all of it is seen.
bool Simulation::mapped_ready(int rank, int lane, const Step& step, double* ready) {
  const auto index = static_cast<size_t>(lane_of(rank, lane).segment * stages_ + step.stage);
  for (int peer = 0; peer < n_; peer++) {
    if (peer == rank || (step.kind == StepKind::kRead && peer != step.peer)) continue;
    const double at = lane_of(peer, lane).published[index];
    if (at < 0) {
      watchers_[static_cast<size_t>(lane)].push_back(rank);
      return false;
    }
    *ready = std::max(*ready, at + costs_.mapped_latency_ns + hop_ns_);
  }
  return true;
}

void Simulation::publish(int rank, int lane, int stage, double at) {
  Lane& own = lane_of(rank, lane);
  own.published[static_cast<size_t>(own.segment * stages_ + stage)] = at;
  auto& watchers = watchers_[static_cast<size_t>(lane)];
  for (const int watcher : watchers) runnable_.push({at, watcher, lane});
  watchers.clear();
}

bool Simulation::step(int rank, int lane) {
  Lane& own = lane_of(rank, lane);
  const Step& step = plan(rank).steps[own.next];
  const Cost& cost = steps_[static_cast<size_t>(rank)][own.next];
  double ready = step.after >= 0 ? own.done[static_cast<size_t>(step.after)] : 0;
  if (own.next == 0 && own.segment >= kSegmentsInFlight) {
    ready = own.segment_done[static_cast<size_t>(own.segment - kSegmentsInFlight)];
  }
  if (step.kind == StepKind::kRecv || step.kind == StepKind::kRecvReduce) {
    Wire& from = wire(cost.pair, lane);
    if (from.taken == from.arrivals.size()) {
      from.waiting = lane;
      return false;
    }
    ready = std::max(ready, from.arrivals[from.taken++]);
  } else if (step.kind == StepKind::kRead || step.kind == StepKind::kReadReduce) {
    if (!mapped_ready(rank, lane, step, &ready)) return false;
  }
  const double end = on_core(rank, ready, cost.work);
  if (step.kind == StepKind::kPublish) publish(rank, lane, step.stage, end);
  if (step.kind == StepKind::kSend) {
    Wire& to = wire(cost.pair, lane);
    const double arrives = end - cost.work * share_ + cost.latency + hop_ns_;
    to.arrivals.push_back(arrives);
    if (to.waiting >= 0) runnable_.push({arrives, step.peer, std::exchange(to.waiting, -1)});
  }
  own.done.push_back(own.done.empty() ? end : std::max(own.done.back(), end));
  own.next++;
  return true;
}

double Simulation::run() {
  double last = 0;
  while (!runnable_.empty()) {
    const auto [at, rank, lane] = runnable_.top();
    runnable_.pop();
    Lane& own = lane_of(rank, lane);
    const size_t steps = plan(rank).steps.size();
    if (own.segment == segments_) continue;
    if (own.next < steps && !step(rank, lane)) continue;
    if (own.next == steps) {
      own.segment_done.push_back(own.done.empty() ? at : own.done.back());
      last = std::max(last, own.segment_done.back());
      own.done.clear();
      own.next = 0;
      own.segment++;
    }
    if (own.segment < segments_) runnable_.push({core_[static_cast<size_t>(rank)], rank, lane});
  }
  return last;
}

}  // namespace

double simulate(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape) {
  const double per_lane = shape.bytes / shape.channels;
  const double segments =
      shape.segment_bytes > 0 && per_lane > 0 ? std::max(1.0, std::ceil(per_lane / shape.segment_bytes)) : 1.0;
  const int simulated = static_cast<int>(std::min<double>(segments, kSimulatedSegments));
  const double time = Simulation(plans, costs, shape, simulated).run();
  if (segments <= simulated) return time;
  const double before = Simulation(plans, costs, shape, simulated - 2).run();
  return time + (segments - simulated) * (time - before) / 2;
}

}  // namespace peal
