#include "collectives/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <utility>

#include "collectives/phases.h"

namespace peal {
namespace {

using Value = std::vector<uint64_t>;  // sorted symbols
constexpr uint64_t kPoison = ~uint64_t{0};

uint64_t symbol(int segment, int rank, int chunk) {
  return (static_cast<uint64_t>(segment) << 40) | (static_cast<uint64_t>(rank) << 20) | static_cast<uint64_t>(chunk);
}

Value merge(const Value& a, const Value& b) {
  Value sum(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), sum.begin());
  return sum;
}

std::vector<Value> fold(std::vector<Value> into, const std::vector<Value>& values) {
  for (size_t i = 0; i < into.size(); i++) into[i] = merge(into[i], i < values.size() ? values[i] : Value{kPoison});
  return into;
}

// The chunk whose length a chunk has, for comparing both ends of a message; all-to-all blocks are named by the other
// end.
int length_class(const Plan& plan, const Chunks& chunks, int i) {
  const bool one_block = (chunks.space == Space::kInput && input_chunks(plan) == 1 && plan.chunks > 1) ||
                         (chunks.space == Space::kOutput && output_chunks(plan) == 1 && plan.chunks > 1);
  return one_block ? plan.rank : chunks.like + i;
}

struct Cell {
  Value value{kPoison};
  int published = -1;  // the stage at which it was last published, -1: written since
};

// Progress of one rank through one segment.
struct Run {
  std::vector<char> done;
  int done_prefix = 0;
  int published = 0;  // stages raised
};

// Issued, not complete, and of this rank alone. It reads at one moment and writes at a later one, so that a second step
// on the same chunk in between is seen.
struct InFlight {
  int segment, step;
  std::vector<Value> payload;  // kRecvReduce: what came in; kReadReduce: own contribution; then the result
  bool has_read = false;
};

// What a rank wrote into a peer, not yet to be seen there.
struct Written {
  int segment, peer;
  Chunks where;
  std::vector<Value> values;
};

struct Rank {
  PhaseCursor cursor;     // what is issued next
  int finished = 0;       // segments all of whose steps are done
  bool returned = false;  // the call is over and the caller owns the buffers again
  int unapplied_reduces = 0;
  std::vector<Run> runs;
  std::vector<InFlight> in_flight;
  std::vector<Written> written;
  std::array<std::vector<Cell>, 4> cells;  // by space
};

struct Posted {
  int segment, step;
  bool absorbed = false;  // eager: the payload was read
  std::vector<Value> payload;
};

struct Channel {  // one direction of a pair of ranks
  int from, to;
  size_t actor;
  std::deque<Posted> sends, recvs;
};

class Checker {
 public:
  Checker(std::span<const Plan> plans, const CheckOptions& options);
  std::string run();

 private:
  // Actors: each rank issuing, each rank completing its own steps, each channel. Those that may be able to move are
  // awake.
  size_t issuer(int rank) const { return static_cast<size_t>(rank); }
  size_t completer(int rank) const { return static_cast<size_t>(n_ + rank); }
  void wake(size_t actor);
  void wake_issuers();
  bool move(size_t actor);
  bool try_issue(int rank);
  bool may_begin(int rank) const;
  bool may_issue(int rank, const Step& step);
  void issue(int rank, const Step& step);
  void publish(int rank, const Step& step);
  bool complete_local(int rank);
  std::vector<Value> result_of(int rank, InFlight& item);
  bool move_channel(Channel& channel);
  void deliver(Channel& channel);
  void complete(int rank, int segment, int step);
  void finish(int rank);
  bool return_to_caller(int rank);

  Cell& cell(int rank, int segment, Space space, int index);
  std::vector<Value> read(int rank, int segment, const Chunks& chunks);
  std::vector<Value> read_peer(int rank, int segment, int peer, const Step& step);
  void write(int rank, int segment, const Chunks& chunks, const std::vector<Value>& values);
  void poison(int rank, int segment, const Chunks& chunks);
  Channel& channel(int from, int to);
  int turns(int rank) const { return plan(rank).needs_window() ? kWindowTurns : kSegmentsInFlight; }
  int segment_of(int rank) const { return static_cast<int>(at(rank).cursor.segment()); }
  Chunks on_peer(int peer, const Chunks& chunks) const {
    return plan(peer).in_place ? in_place_chunks(plan(peer).collective, peer, chunks) : chunks;
  }
  void require_published(int rank, int segment, int peer, const Chunks& chunks, const Step& step);
  void show_written(int rank, int segment);
  const Plan& plan(int rank) const { return plans_[static_cast<size_t>(rank)]; }
  const Step& step_of(int rank, int step) const { return plan(rank).steps[static_cast<size_t>(step)]; }
  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  const Rank& at(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  void fill_inputs(int rank);
  Value expected(int rank, int segment, int chunk) const;
  void compare_outputs(int rank);
  void fault(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  std::string where_stuck() const;

  std::span<const Plan> plans_;
  CheckOptions options_;
  int n_;
  std::mt19937 random_;
  std::vector<Rank> ranks_;
  std::deque<Channel> channels_;  // stable addresses
  std::map<std::pair<int, int>, Channel*> by_pair_;
  std::vector<char> slow_;   // actors that move only when nobody else can
  std::vector<char> awake_;  // in one of the two lists
  std::vector<size_t> fast_awake_, slow_awake_;
  std::string fault_;
};

Checker::Checker(std::span<const Plan> plans, const CheckOptions& options)
    : plans_(plans), options_(options), n_(static_cast<int>(plans.size())), random_(options.seed) {
  ranks_.resize(plans.size());
  slow_.resize(2 * plans.size());
  awake_.resize(2 * plans.size());
  for (int r = 0; r < n_; r++) {
    if (plan(r).shared_slots != plan(0).shared_slots || plan(r).needs_window() != plan(0).needs_window()) {
      fault(fmt::format("rank {} uses {} shared slots, rank 0 {}: segments would differ", r, plan(r).shared_slots,
                        plan(0).shared_slots));
    }
    Rank& rank = at(r);
    rank.cursor.begin(phase_ends(plan(r)), static_cast<size_t>(options.segments));
    rank.runs.resize(static_cast<size_t>(options.segments));
    for (Run& run : rank.runs) run.done.assign(plan(r).steps.size(), 0);
    const auto turns = static_cast<size_t>(this->turns(r));
    rank.cells[0].resize(static_cast<size_t>(plan(r).chunks * options.segments));
    rank.cells[1].resize(static_cast<size_t>(plan(r).chunks * options.segments));
    rank.cells[2].resize(static_cast<size_t>(plan(r).scratch_slots) * turns);
    rank.cells[3].resize(static_cast<size_t>(plan(r).shared_slots) * turns);
    fill_inputs(r);
    for (const int peer : plan(r).send_peers) channel(r, peer);
    for (const int peer : plan(r).recv_peers) channel(peer, r);
  }
  // A third of the orders starve one actor, a third a random part of them, and the others treat all alike.
  if (options.seed % 3 == 1) slow_[random_() % (random_() % 2 ? slow_.size() : 2 * plans.size())] = 1;
  if (options.seed % 3 == 2) {
    for (char& slow : slow_) slow = random_() % 3 == 0;
  }
  wake_issuers();
}

void Checker::wake(size_t actor) {
  if (awake_[actor]) return;
  awake_[actor] = 1;
  (slow_[actor] ? slow_awake_ : fast_awake_).push_back(actor);
}

void Checker::wake_issuers() {
  for (int r = 0; r < n_; r++) wake(issuer(r));
}

// Broadcast and scatter read the root's input alone; in place, the input lies where the builder's resolve() puts it.
void Checker::fill_inputs(int rank) {
  const Plan& p = plan(rank);
  if ((p.collective == Collective::kBroadcast || p.collective == Collective::kScatter) && rank != p.root) return;
  for (int segment = 0; segment < options_.segments; segment++) {
    for (int chunk = 0; chunk < input_chunks(p); chunk++) {
      Space space = Space::kInput;
      int index = chunk;
      if (p.in_place && p.collective != Collective::kReduceScatter && p.collective != Collective::kScatter) {
        space = Space::kOutput;
        if (p.collective == Collective::kAllGather || p.collective == Collective::kGather) index = rank;
      }
      cell(rank, segment, space, index).value = {symbol(segment, rank, chunk)};
    }
  }
}

Value Checker::expected(int rank, int segment, int chunk) const {
  const Plan& p = plan(rank);
  switch (p.collective) {
    case Collective::kBroadcast:
      return {symbol(segment, p.root, chunk)};
    case Collective::kAllGather:
    case Collective::kGather:
      return {symbol(segment, chunk, 0)};
    case Collective::kScatter:
      return {symbol(segment, p.root, rank)};
    case Collective::kAllToAll:
      return {symbol(segment, chunk, rank)};
    default: {
      const int index = p.collective == Collective::kReduceScatter ? rank : chunk;
      Value sum;
      for (int r = 0; r < n_; r++) sum.push_back(symbol(segment, r, index));
      return sum;
    }
  }
}

void Checker::compare_outputs(int rank) {
  const Plan& p = plan(rank);
  if ((p.collective == Collective::kReduce || p.collective == Collective::kGather) && rank != p.root) return;
  const bool in_input =
      p.in_place && (p.collective == Collective::kReduceScatter || p.collective == Collective::kScatter);
  for (int segment = 0; segment < options_.segments; segment++) {
    for (int chunk = 0; chunk < output_chunks(p); chunk++) {
      Value got =
          in_input ? cell(rank, segment, Space::kInput, rank).value : cell(rank, segment, Space::kOutput, chunk).value;
      // A barrier's operation (max) may take a contribution twice.
      if (p.collective == Collective::kBarrier) got.erase(std::unique(got.begin(), got.end()), got.end());
      if (got == expected(rank, segment, chunk)) continue;
      const bool poisoned = !got.empty() && got.back() == kPoison;
      fault(fmt::format("wrong result: rank {} segment {} output chunk {} holds {} contributions{}", rank, segment,
                        chunk, got.size(), poisoned ? ", unwritten data among them" : ""));
    }
  }
}

Cell& Checker::cell(int rank, int segment, Space space, int index) {
  const Plan& p = plan(rank);
  int stride = p.chunks, turn = segment;
  if (space == Space::kScratch) stride = p.scratch_slots, turn = segment % turns(rank);
  if (space == Space::kShared) stride = p.shared_slots, turn = segment % options_.shared_turns;
  static thread_local Cell outside;  // what a wrong chunk number reads and writes
  if (index < 0 || index >= stride) {
    fault(fmt::format("rank {} uses chunk {} of a space of {}", rank, index, stride));
    return outside = Cell{};
  }
  return at(rank).cells[static_cast<size_t>(space)][static_cast<size_t>(turn * stride + index)];
}

std::vector<Value> Checker::read(int rank, int segment, const Chunks& chunks) {
  std::vector<Value> values;
  for (int i = 0; i < chunks.count; i++) values.push_back(cell(rank, segment, chunks.space, chunks.first + i).value);
  return values;
}

void Checker::require_published(int rank, int segment, int peer, const Chunks& chunks, const Step& step) {
  for (int i = 0; i < chunks.count; i++) {
    const int published = cell(peer, segment, chunks.space, chunks.first + i).published;
    if (published >= 0 && published <= step.stage) continue;
    fault(fmt::format("rank {} at '{}' uses a chunk of rank {} that is not published", rank, to_string(step), peer));
  }
}

std::vector<Value> Checker::read_peer(int rank, int segment, int peer, const Step& step) {
  const Chunks src = on_peer(peer, step.src);
  require_published(rank, segment, peer, src, step);
  return read(peer, segment, src);
}

// A counter of this rank has risen: what it wrote into peers is there.
void Checker::show_written(int rank, int segment) {
  for (const Written& item : at(rank).written) {
    if (item.segment == segment) write(item.peer, segment, item.where, item.values);
  }
  std::erase_if(at(rank).written, [&](const Written& item) { return item.segment == segment; });
}

void Checker::write(int rank, int segment, const Chunks& chunks, const std::vector<Value>& values) {
  for (int i = 0; i < chunks.count; i++) {
    Cell& target = cell(rank, segment, chunks.space, chunks.first + i);
    target.value = static_cast<size_t>(i) < values.size() ? values[static_cast<size_t>(i)] : Value{kPoison};
    target.published = -1;
  }
}

void Checker::poison(int rank, int segment, const Chunks& chunks) { write(rank, segment, chunks, {}); }

Channel& Checker::channel(int from, int to) {
  Channel*& found = by_pair_[{from, to}];
  if (found == nullptr) {
    found = &channels_.emplace_back(Channel{from, to, static_cast<size_t>(2 * n_) + channels_.size(), {}, {}});
    slow_.push_back(0), awake_.push_back(0);
  }
  return *found;
}

// The executor's rules: a slot is used again when this rank's own run so many segments ago is done and, for shared
// slots, when every member has read what it wanted of it.
bool Checker::may_begin(int rank) const {
  const int oldest_in_flight = segment_of(rank) - turns(rank) + 1;
  if (at(rank).finished < oldest_in_flight) return false;
  if (!plan(rank).needs_window()) return true;
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const Rank& other) { return other.finished >= oldest_in_flight; });
}

bool Checker::may_issue(int rank, const Step& step) {
  Rank& self = at(rank);
  const auto segment = self.cursor.segment();
  const Run& run = self.runs[segment];
  if (run.done_prefix <= step.after) return false;
  switch (step.kind) {
    case StepKind::kSend:
      return !options_.tight || channel(rank, step.peer).sends.empty();
    case StepKind::kRecv:
      return !options_.tight || channel(step.peer, rank).recvs.empty();
    case StepKind::kRecvReduce:
      return !options_.tight || (channel(step.peer, rank).recvs.empty() && self.unapplied_reduces == 0);
    case StepKind::kRead:
    case StepKind::kWrite:
    case StepKind::kTake:
      return at(step.peer).runs[segment].published > step.stage;
    case StepKind::kReadReduce:
      for (int r = 0; r < n_; r++) {
        if (r != rank && at(r).runs[segment].published <= step.stage) return false;
      }
      return true;
    default:
      return true;
  }
}

bool Checker::try_issue(int rank) {
  Rank& self = at(rank);
  PhaseCursor& cursor = self.cursor;
  if (cursor.done()) return false;
  if (cursor.at_begin_of_segment() && !may_begin(rank)) return false;
  if (!cursor.at_end_of_phase()) {
    const Step& step = step_of(rank, static_cast<int>(cursor.step()));
    if (!may_issue(rank, step)) return false;
    issue(rank, step);
    cursor.next_step();
  }
  if (cursor.at_end_of_phase()) {
    cursor.next_phase();
    if (plan(rank).steps.empty()) finish(rank);
  }
  return true;
}

void Checker::issue(int rank, const Step& step) {
  Rank& self = at(rank);
  const int segment = segment_of(rank), number = static_cast<int>(self.cursor.step());
  const auto post = [&](Channel& channel, std::deque<Posted> Channel::*queue) {
    (channel.*queue).push_back({segment, number});
    wake(channel.actor);
  };
  wake(completer(rank));
  switch (step.kind) {
    case StepKind::kSend:
      post(channel(rank, step.peer), &Channel::sends);
      return;
    case StepKind::kRecv:
      poison(rank, segment, step.dst);
      post(channel(step.peer, rank), &Channel::recvs);
      return;
    case StepKind::kRecvReduce:
      self.unapplied_reduces++;
      post(channel(step.peer, rank), &Channel::recvs);
      return;
    case StepKind::kPublish:
      publish(rank, step);
      complete(rank, segment, number);
      return;
    case StepKind::kReduce:
      break;
    case StepKind::kWrite: {
      const Chunks where = on_peer(step.peer, step.dst);
      require_published(rank, segment, step.peer, where, step);
      poison(step.peer, segment, where);
      break;
    }
    case StepKind::kReadReduce:
      self.in_flight.push_back({segment, number, read(rank, segment, step.own)});
      poison(rank, segment, step.dst);
      return;
    case StepKind::kCopy:
    case StepKind::kRead:
    case StepKind::kTake:
      poison(rank, segment, step.dst);
      break;
  }
  self.in_flight.push_back({segment, number, {}});
}

void Checker::publish(int rank, const Step& step) {
  const int segment = segment_of(rank);
  Run& run = at(rank).runs[static_cast<size_t>(segment)];
  if (step.stage + 1 <= run.published) {
    fault(fmt::format("rank {} publishes stage {} after stage {}", rank, step.stage, run.published - 1));
  }
  run.published = step.stage + 1;
  show_written(rank, segment);
  wake_issuers();
  for (int i = 0; i < step.src.count; i++) {
    cell(rank, segment, step.src.space, step.src.first + i).published = step.stage;
  }
}

bool Checker::complete_local(int rank) {
  Rank& self = at(rank);
  if (self.in_flight.empty()) return false;
  const size_t pick = random_() % self.in_flight.size();
  InFlight& item = self.in_flight[pick];
  if (!item.has_read) {
    item.payload = result_of(rank, item);
    item.has_read = true;
    return true;
  }
  const Step& step = step_of(rank, item.step);
  if (step.kind == StepKind::kRecvReduce) self.unapplied_reduces--;
  if (step.kind == StepKind::kWrite) {
    self.written.push_back({item.segment, step.peer, on_peer(step.peer, step.dst), item.payload});
  } else {
    write(rank, item.segment, step.dst, item.payload);
  }
  const int segment = item.segment, number = item.step;
  self.in_flight.erase(self.in_flight.begin() + static_cast<std::ptrdiff_t>(pick));
  complete(rank, segment, number);
  return true;
}

std::vector<Value> Checker::result_of(int rank, InFlight& item) {
  const Step& step = step_of(rank, item.step);
  switch (step.kind) {
    case StepKind::kCopy:
    case StepKind::kWrite:
    case StepKind::kTake:
      return read(rank, item.segment, step.src);
    case StepKind::kRead:
      return read_peer(rank, item.segment, step.peer, step);
    case StepKind::kReduce:
      return fold(read(rank, item.segment, step.dst), read(rank, item.segment, step.src));
    case StepKind::kRecvReduce:
      return fold(read(rank, item.segment, step.dst), item.payload);
    default:
      break;
  }
  std::vector<Value> result = std::move(item.payload);
  for (int r = 0; r < n_; r++) {
    if (r != rank) result = fold(std::move(result), read_peer(rank, item.segment, r, step));
  }
  return result;
}

bool Checker::move_channel(Channel& channel) {
  if (options_.eager) {
    const auto waiting =
        std::find_if(channel.sends.begin(), channel.sends.end(), [](const Posted& send) { return !send.absorbed; });
    const bool can_deliver = !channel.sends.empty() && channel.sends.front().absorbed && !channel.recvs.empty();
    if (waiting != channel.sends.end() && (!can_deliver || random_() % 2 == 0)) {
      waiting->payload = read(channel.from, waiting->segment, step_of(channel.from, waiting->step).src);
      waiting->absorbed = true;
      complete(channel.from, waiting->segment, waiting->step);
      return true;
    }
    if (!can_deliver) return false;
  }
  if (channel.sends.empty() || channel.recvs.empty()) return false;
  deliver(channel);
  return true;
}

void Checker::deliver(Channel& channel) {
  Posted send = std::move(channel.sends.front());
  const Posted recv = channel.recvs.front();
  channel.sends.pop_front();
  channel.recvs.pop_front();
  const Chunks& src = step_of(channel.from, send.step).src;
  const Step& receive = step_of(channel.to, recv.step);
  if (!send.absorbed) send.payload = read(channel.from, send.segment, src);
  bool fits = src.count == receive.dst.count && send.segment == recv.segment;
  for (int i = 0; fits && i < src.count; i++) {
    const int sent = length_class(plan(channel.from), src, i), wanted = length_class(plan(channel.to), receive.dst, i);
    fits = plan(channel.from).collective == Collective::kAllToAll ? sent == channel.to && wanted == channel.from
                                                                  : sent == wanted;
  }
  if (!fits) {
    fault(fmt::format("rank {} at '{}' meets rank {} at '{}': not the same chunks", channel.from,
                      to_string(step_of(channel.from, send.step)), channel.to, to_string(receive)));
  }
  wake(issuer(channel.from));
  wake(issuer(channel.to));
  if (!send.absorbed) complete(channel.from, send.segment, send.step);
  if (receive.kind == StepKind::kRecvReduce) {
    at(channel.to).in_flight.push_back({recv.segment, recv.step, std::move(send.payload)});
    wake(completer(channel.to));
    return;
  }
  write(channel.to, recv.segment, receive.dst, send.payload);
  complete(channel.to, recv.segment, recv.step);
}

void Checker::complete(int rank, int segment, int step) {
  Run& run = at(rank).runs[static_cast<size_t>(segment)];
  run.done[static_cast<size_t>(step)] = 1;
  while (run.done_prefix < static_cast<int>(run.done.size()) && run.done[static_cast<size_t>(run.done_prefix)]) {
    run.done_prefix++;
  }
  wake(issuer(rank));
  finish(rank);
}

void Checker::finish(int rank) {
  Rank& self = at(rank);
  const int steps = static_cast<int>(plan(rank).steps.size());
  while (self.finished < options_.segments && self.runs[static_cast<size_t>(self.finished)].done_prefix == steps) {
    show_written(rank, self.finished);
    self.finished++;
    if (plan(rank).needs_window()) wake_issuers();
  }
}

// Ends a rank's call: its results must be right at that moment, and its buffers are the caller's from then on, which
// poison stands for.
bool Checker::return_to_caller(int rank) {
  Rank& self = at(rank);
  if (self.returned || self.finished < options_.segments) return false;
  if (plan(rank).exposes_user_memory && !std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& other) {
        return other.finished == options_.segments;
      })) {
    return false;
  }
  self.returned = true;
  compare_outputs(rank);
  for (const Space space : {Space::kInput, Space::kOutput}) {
    for (Cell& owned : self.cells[static_cast<size_t>(space)]) owned.value = {kPoison};
  }
  return true;
}

bool Checker::move(size_t actor) {
  const size_t n = static_cast<size_t>(n_);
  if (actor < n) {
    const int rank = static_cast<int>(actor);
    return try_issue(rank) || return_to_caller(rank);
  }
  if (actor < 2 * n) return complete_local(static_cast<int>(actor - n));
  return move_channel(channels_[actor - 2 * n]);
}

std::string Checker::where_stuck() const {
  for (int r = 0; r < n_; r++) {
    const Rank& rank = at(r);
    if (rank.returned) continue;
    if (rank.cursor.done()) {
      return fmt::format("deadlock: rank {} waits for its last steps", r);
    }
    return fmt::format("deadlock: rank {} segment {} waits before step {}: {}", r, rank.cursor.segment(),
                       rank.cursor.step(), to_string(step_of(r, static_cast<int>(rank.cursor.step()))));
  }
  for (const Channel& channel : channels_) {
    if (!channel.sends.empty()) return fmt::format("rank {} never receives from rank {}", channel.to, channel.from);
  }
  return "";
}

std::string Checker::run() {
  while (fault_.empty()) {
    std::vector<size_t>& awake = fast_awake_.empty() ? slow_awake_ : fast_awake_;
    if (awake.empty()) return where_stuck();
    const size_t pick = random_() % awake.size();
    const size_t actor = awake[pick];
    if (move(actor)) continue;
    awake_[actor] = 0;
    awake[pick] = awake.back();
    awake.pop_back();
  }
  return fault_;
}

std::string describe(const Algorithm& algorithm, int ranks, int root, int in_place, const CheckOptions& options) {
  static constexpr std::array<const char*, 3> kPlaces = {"out of place", "in place", "every other rank in place"};
  return fmt::format("{} {} on {} ranks, root {}, {}, seed {}{}{}: ", algorithm.name, name_of(algorithm.collective),
                     ranks, root, kPlaces[static_cast<size_t>(in_place)], options.seed,
                     options.eager ? ", eager" : ", rendezvous", options.tight ? ", tight" : "");
}

}  // namespace

std::string check(std::span<const Plan> plans, const CheckOptions& options) { return Checker(plans, options).run(); }

std::string check_algorithm(const Algorithm& algorithm, int ranks, int root, int orders, const Placement* placement) {
  for (int in_place = 0; in_place < 3; in_place++) {
    // Peers read symmetric buffers where they are in place themselves, so that all ranks are, or none.
    if (in_place == 2 && algorithm.needs == Needs::kSymmetric) continue;
    std::vector<Plan> plans;
    for (int rank = 0; rank < ranks; rank++) {
      const bool here_in_place = in_place == 1 || (in_place == 2 && rank % 2 == 0);
      plans.push_back(build_plan(algorithm, {rank, ranks, root, here_in_place, placement}));
    }
    for (int order = 0; order < orders; order++) {
      for (const bool eager : {false, true}) {
        for (const bool tight : {false, true}) {
          CheckOptions options;
          options.seed = static_cast<uint32_t>(order);
          options.eager = eager;
          options.tight = tight;
          std::string fault = check(plans, options);
          if (fault.empty()) continue;
          const std::string placed = placement != nullptr ? "placed " + to_string(*placement) + ": " : "";
          return describe(algorithm, ranks, root, in_place, options) + placed + fault;
        }
      }
    }
  }
  return "";
}

}  // namespace peal
