#include "collectives/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace peal {
namespace {

struct LaneClock {
  int segment = 0;
  size_t next = 0;
  std::vector<double> done;          // ends of this segment's steps: running maximum, since waits are for prefixes
  std::vector<double> segment_done;  // by segment
};

struct Message {
  double begin, arrives;
};

class Simulation {
 public:
  Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape, int segments);
  double run();

 private:
  struct Waiter {
    int rank, lane;
  };
  struct Runnable {
    double at;
    int rank, lane;
    bool operator>(const Runnable& other) const {
      return std::tie(at, rank, lane) > std::tie(other.at, other.rank, other.lane);
    }
  };
  using Key = std::tuple<int, int, int>;  // from, to, lane; publishes: rank, segment * 8 + stage, lane

  bool step(int rank, int lane);  // false when it must wait for another rank
  double on_core(int rank, double ready, double work);
  double mapped_ready(int rank, int lane, const Step& step, double ready, bool* waits);
  void wake(const Key& key, double at);
  double bytes(const Chunks& chunks) const { return chunk_bytes_ * chunks.count; }
  LaneClock& clock(int rank, int lane) { return clocks_[static_cast<size_t>(rank * lanes_ + lane)]; }

  std::span<const Plan> plans_;
  const MachineCosts& costs_;
  int n_, lanes_, segments_;
  double chunk_bytes_, share_, hop_ns_;
  std::vector<LaneClock> clocks_;
  std::vector<double> core_;
  std::map<Key, std::queue<Message>> sent_;
  std::map<Key, double> published_;
  std::map<Key, std::vector<Waiter>> waiting_;
  std::priority_queue<Runnable, std::vector<Runnable>, std::greater<>> runnable_;
};

Simulation::Simulation(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape,
                       int segments)
    : plans_(plans), costs_(costs), n_(static_cast<int>(plans.size())), lanes_(shape.channels), segments_(segments) {
  const double segment_bytes =
      shape.segment_bytes > 0 ? std::min(shape.segment_bytes, shape.bytes / lanes_) : shape.bytes / lanes_;
  chunk_bytes_ = segment_bytes / plans[0].chunks;
  share_ = std::max(1.0, costs.ranks_per_core);
  hop_ns_ = share_ > 1 ? costs.handover_ns : 0;
  clocks_.resize(static_cast<size_t>(n_ * lanes_));
  core_.resize(static_cast<size_t>(n_));
  for (int rank = 0; rank < n_; rank++) {
    for (int lane = 0; lane < lanes_; lane++) runnable_.push({0, rank, lane});
  }
}

double Simulation::on_core(int rank, double ready, double work) {
  double& core = core_[static_cast<size_t>(rank)];
  core = std::max(core, ready) + (costs_.step_ns + work) * share_;
  return core;
}

void Simulation::wake(const Key& key, double at) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  for (const Waiter& waiter : found->second) runnable_.push({at, waiter.rank, waiter.lane});
  waiting_.erase(found);
}

// When everything that a mapped step reads has been published; or where it waits.
double Simulation::mapped_ready(int rank, int lane, const Step& step, double ready, bool* waits) {
  const int segment = clock(rank, lane).segment;
  for (int peer = 0; peer < n_; peer++) {
    if (peer == rank || (step.kind == StepKind::kRead && peer != step.peer)) continue;
    const Key key{peer, segment * 8 + step.stage, lane};
    const auto found = published_.find(key);
    if (found == published_.end()) {
      waiting_[key].push_back({rank, lane});
      *waits = true;
      return 0;
    }
    ready = std::max(ready, found->second + costs_.mapped_latency_ns + hop_ns_);
  }
  return ready;
}

bool Simulation::step(int rank, int lane) {
  LaneClock& own = clock(rank, lane);
  const Step& step = plans_[static_cast<size_t>(rank)].steps[own.next];
  double ready = step.after >= 0 ? own.done[static_cast<size_t>(step.after)] : 0;
  if (own.next == 0 && own.segment >= kSegmentsInFlight) {
    ready = own.segment_done[static_cast<size_t>(own.segment - kSegmentsInFlight)];
  }
  double end = ready;
  switch (step.kind) {
    case StepKind::kSend: {
      const PathCost path = costs_.path(rank, step.peer);
      const double moved = bytes(step.src) / path.bytes_per_ns;
      end = on_core(rank, ready, moved);
      const Key key{rank, step.peer, lane};
      const double begin = end - moved * share_;
      sent_[key].push({begin, begin + path.latency_ns + hop_ns_});
      wake(key, begin + path.latency_ns + hop_ns_);
      break;
    }
    case StepKind::kRecv:
    case StepKind::kRecvReduce: {
      const Key key{step.peer, rank, lane};
      auto& queue = sent_[key];
      if (queue.empty()) {
        waiting_[key].push_back({rank, lane});
        return false;
      }
      const PathCost path = costs_.path(step.peer, rank);
      double work = bytes(step.dst) / path.bytes_per_ns;
      if (step.kind == StepKind::kRecvReduce) work += bytes(step.dst) / costs_.reduce_bytes_per_ns;
      end = on_core(rank, std::max(ready, queue.front().arrives), work);
      queue.pop();
      break;
    }
    case StepKind::kCopy:
      end = on_core(rank, ready, bytes(step.src) / costs_.copy_bytes_per_ns);
      break;
    case StepKind::kReduce:
      end = on_core(rank, ready, bytes(step.src) / costs_.reduce_bytes_per_ns);
      break;
    case StepKind::kPublish: {
      end = on_core(rank, ready, 0);
      const Key key{rank, own.segment * 8 + step.stage, lane};
      published_[key] = end;
      wake(key, end);
      break;
    }
    case StepKind::kRead:
    case StepKind::kReadReduce: {
      bool waits = false;
      ready = mapped_ready(rank, lane, step, ready, &waits);
      if (waits) return false;
      const double work = step.kind == StepKind::kRead ? bytes(step.dst) / costs_.copy_bytes_per_ns
                                                       : bytes(step.dst) / costs_.reduce_bytes_per_ns * (n_ - 1);
      end = on_core(rank, ready, work);
      break;
    }
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
    LaneClock& own = clock(rank, lane);
    const size_t steps = plans_[static_cast<size_t>(rank)].steps.size();
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
