#include "collectives/communicator_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/host.h"
#include "collectives/path_costs.h"

namespace peal {
namespace {

constexpr int kPointToPointChannel = 0;
constexpr int kFirstLaneChannel = 1;
constexpr int kDefaultSpins = 2000;
// Of a small operation before the general way of waiting, which looks after everything else too, takes over.
constexpr int kQuickYields = 64;

std::vector<RosterEntry> exchange_roster(const Settings& settings, const Machine& machine,
                                         const TransportChoice& choice, const std::vector<std::string>& names,
                                         const CommunicatorState::Exchange& exchange) {
  RosterEntry mine = RosterEntry::here(settings, machine);
  for (size_t i = 0; i < choice.transports.size(); i++) {
    const Transport& transport = *choice.transports[i];
    mine.reaches.push_back({names[i], transport.address(), transport.properties()});
  }
  std::vector<RosterEntry> entries;
  for (const std::string& bytes : exchange(mine.encode())) entries.push_back(RosterEntry::decode(bytes));
  return entries;
}

// Where every rank reads all the others' lines, one by one, a plan that shares the work out is faster from some 2 KiB
// of them (all-reduce of 4 KiB, by lines and by two_shot: 2 ranks 1.8 and 1.25 us, 4 ranks of 2 cores 9 and 4, 8 ranks
// 25 and 8.4).
size_t small_limit(Collective collective, int ranks, size_t wanted) {
  constexpr size_t kMostRead = 2048, kAlwaysSmall = 512;
  if (collective == Collective::kBroadcast || collective == Collective::kScatter) {
    return std::min(wanted, SmallExchange::kMostBytes);
  }
  return std::min(wanted, std::max(kMostRead / static_cast<size_t>(ranks - 1), kAlwaysSmall));
}

}  // namespace

CommunicatorState::CommunicatorState(int rank, int ranks, const JobKey& key, std::shared_ptr<const Settings> settings,
                                     std::shared_ptr<const Machine> machine, const Exchange& exchange)
    : rank_(rank),
      ranks_(ranks),
      key_(key),
      settings_(std::move(settings)),
      machine_(std::move(machine)),
      log_(*settings_, rank) {
  for (const std::string& sentence : settings_->unknown) log_.warn(sentence);
  const AlgorithmFilter checked_before_anybody_waits(settings_->algo);
  context_ = {rank, ranks, peal::host_id(*settings_), key_, settings_.get(), &log_};
  TransportChoice choice = create_transports(settings_->transport, context_);
  for (const std::string& reason : choice.not_taken) log_.info("transport not taken: " + reason);
  std::vector<std::string> names;
  for (const auto& transport : choice.transports) names.emplace_back(transport->name());

  Roster roster(exchange_roster(*settings_, *machine_, choice, names, exchange));
  placement_ = roster.placement();
  endpoint_ = std::make_unique<Endpoint>(rank, std::move(roster), std::move(choice.transports));

  const Deadline deadline = Deadline::after_ms(settings_->connect_timeout_ms);
  if (ranks > 1) window_ = endpoint_->open_window(GroupWindow::kSmallBytes + settings_->window_size, deadline);

  PathCosts paths = PathCosts::of(*endpoint_, *machine_);
  paths.reaches_buffers = window_ != nullptr && window_->reach() != Window::Reach::kNone;
  for (const std::string& bytes : exchange(paths.encode())) paths.worsen(PathCosts::decode(bytes));
  const auto reach = paths.reaches_buffers ? window_->reach() : Window::Reach::kNone;

  const Roster& all = endpoint_->roster();
  JobShape job{ranks, machine_costs(all.places(), paths, all.most_ranks_per_core()), window_ != nullptr, reach,
               placement_};
  planner_ =
      std::make_unique<Planner>(rank, std::move(job), settings_->algo, static_cast<int>(settings_->channels),
                                settings_->segment_size, settings_->tune, parse_streaming(settings_->streaming), log_);
  point_to_point_.emplace(*endpoint_, works_, kPointToPointChannel);
  executor_.emplace(*endpoint_, window_.get(), works_, kFirstLaneChannel, *planner_);

  for (int c = 0; c < kCollectives && window_ != nullptr; c++) {
    const auto collective = static_cast<Collective>(c);
    const char* plan = collective == Collective::kAllReduce ? "one_shot" : "direct";
    if (planner_->selector().allows(find_algorithm(collective, plan))) {
      small_limits_[static_cast<size_t>(c)] = small_limit(collective, ranks, settings_->small_size);
    }
  }

  const bool crowded = endpoint_->roster().ranks_per_core(rank) > 1;
  spins_ = settings_->spin_count >= 0 ? static_cast<int>(settings_->spin_count) : (crowded ? 0 : kDefaultSpins);
  if (log_.enabled(LogLevel::kInfo)) {
    log_.info("this rank is at: " + to_string(endpoint_->roster().at(rank).place));
    log_.info("ring order and groups: " + to_string(placement_));
    for (int peer = 0; peer < ranks; peer++) {
      if (peer != rank) log_.info(fmt::format("rank {} is reached by {}", peer, endpoint_->transport_name(peer)));
    }
    log_.info(fmt::format("mapped memory of all ranks: {}; {} polls before yielding", window_ ? "yes" : "no", spins_));
  }
  if (settings_->progress_thread) thread_ = std::thread([this] { drive_in_background(); });
}

CommunicatorState::~CommunicatorState() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

// ---- Driving ----

std::unique_lock<std::mutex> CommunicatorState::drive() {
  return thread_.joinable() ? std::unique_lock(drive_mutex_) : std::unique_lock<std::mutex>();
}

bool CommunicatorState::advance() noexcept {
  const bool collectives_moved = executor_->advance(), messages_moved = point_to_point_->advance();
  const bool moved = collectives_moved || messages_moved;
  if (!moved) endpoint_->progress();
  return moved;
}

// With a progress thread, a transport may not be slept on: another thread may be driving it.
Idle CommunicatorState::make_idle() { return Idle(thread_.joinable() ? nullptr : endpoint_.get(), spins_); }

void CommunicatorState::drive_in_background() {
  Idle idle(nullptr, 0);
  while (!stopping_) {
    bool moved = false;
    {
      const std::unique_lock lock(drive_mutex_);
      moved = advance();
      if (!moved && idle.time_to_look()) {
        executor_->look();
        point_to_point_->look();
      }
    }
    if (moved) {
      idle.moved();
    } else {
      idle.pause();
    }
  }
}

void CommunicatorState::throw_if_failed() {
  if (!failure_) {
    const Error* error = executor_->failure() != nullptr ? executor_->failure() : point_to_point_->failure();
    if (aborted_) {
      const std::unique_lock lock(abort_mutex_);
      failure_.emplace(ErrorCode::kAborted, fmt::format("rank {} aborted: {}", rank_, abort_reason_));
    } else if (error != nullptr) {
      ErrorSite site = error->site();
      site.rank = rank_;
      failure_.emplace(
          error->code(),
          fmt::format("rank {} (host {}, pid {}): {}; waiting for {}", rank_, host_name(), getpid(), error->what(),
                      executor_->idle() ? point_to_point_->waiting_for() : executor_->waiting_for()),
          site);
    }
  }
  if (failure_) throw *failure_;
}

void CommunicatorState::look(Deadline::Clock::time_point& moved_at, bool moved) {
  const auto now = Deadline::Clock::now();
  if (moved) moved_at = now;
  executor_->look();
  point_to_point_->look();
  throw_if_failed();
  const auto elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - moved_at).count();
  if (elapsed_ms <= settings_->timeout_ms) return;
  failure_.emplace(ErrorCode::kTimeout,
                   fmt::format("rank {} (host {}, pid {}): nothing moved for {} ms (PEAL_TIMEOUT); waiting for {}",
                               rank_, host_name(), getpid(), elapsed_ms,
                               executor_->idle() ? point_to_point_->waiting_for() : executor_->waiting_for()),
                   ErrorSite{rank_, -1, -1});
  throw *failure_;
}

template <class Ended>
void CommunicatorState::drive_until(Ended ended) {
  Idle idle = make_idle();
  auto moved_at = Deadline::Clock::time_point();
  bool moved_since = true;
  for (;;) {
    {
      const auto lock = drive();
      if (ended()) return;
      if (advance()) {
        idle.moved();
        moved_since = true;
        continue;
      }
      if (executor_->failure() != nullptr || point_to_point_->failure() != nullptr) throw_if_failed();
      if (idle.time_to_look()) {
        look(moved_at, moved_since);
        moved_since = false;
      }
    }
    idle.pause();
  }
}

void CommunicatorState::wait(uint32_t slot) {
  if (!thread_.joinable() && point_to_point_->idle()) executor_->hurry_small(spins_, kQuickYields);
  drive_until([&] {
    if (!works_.done(slot)) return false;
    works_.close(slot);
    return true;
  });
}

bool CommunicatorState::done(uint32_t slot) {
  const auto lock = drive();
  if (works_.done(slot)) return true;
  advance();
  throw_if_failed();
  return works_.done(slot);
}

void CommunicatorState::release(uint32_t slot) {
  const auto lock = drive();
  works_.close(slot);
}

void CommunicatorState::progress() {
  const auto lock = drive();
  advance();
  throw_if_failed();
}

void CommunicatorState::wait_all() {
  drive_until([&] { return executor_->idle() && point_to_point_->idle(); });
}

void CommunicatorState::abort(const std::string& reason) {
  const std::unique_lock lock(abort_mutex_);
  if (aborted_) return;
  abort_reason_ = reason;
  aborted_ = true;
}

// ---- Starting ----

uint32_t CommunicatorState::open_slot() {
  if (!group_) return works_.open(1);
  works_.add(*group_);
  return *group_;
}

void CommunicatorState::begin_group() {
  if (group_) throw Error(ErrorCode::kInvalidArgument, "group_begin inside a group: groups don't nest");
  const auto lock = drive();
  group_ = works_.open(0);
}

uint32_t CommunicatorState::end_group() {
  if (!group_) throw Error(ErrorCode::kInvalidArgument, "group_end without group_begin");
  return *std::exchange(group_, std::nullopt);
}

const CommunicatorState::SymmetricRegion* CommunicatorState::symmetric_region(const void* data,
                                                                              size_t bytes) const noexcept {
  for (const SymmetricRegion& region : symmetric_) {
    const std::byte* base = region.bases[static_cast<size_t>(rank_)];
    const auto* begin = static_cast<const std::byte*>(data);
    if (begin >= base && begin + bytes <= base + region.window->bytes()) return &region;
  }
  return nullptr;
}

// What holds a call's input and output, where both lie in symmetric memory: which is the same on all ranks for
// collectives that give every rank both.
std::pair<const CommunicatorState::SymmetricRegion*, const CommunicatorState::SymmetricRegion*>
CommunicatorState::symmetric_regions(const Call& call) const noexcept {
  const bool both = call.collective == Collective::kAllReduce || call.collective == Collective::kReduceScatter ||
                    call.collective == Collective::kAllGather || call.collective == Collective::kAllToAll;
  if (symmetric_.empty() || !both || call.variant) return {};
  const size_t block = call.count * size_of(call.type), all = block * static_cast<size_t>(ranks_);
  const bool blocks_in = call.collective == Collective::kReduceScatter || call.collective == Collective::kAllToAll;
  const bool blocks_out = call.collective == Collective::kAllGather || call.collective == Collective::kAllToAll;
  const SymmetricRegion* source = symmetric_region(call.send, blocks_in ? all : block);
  const SymmetricRegion* target = symmetric_region(call.recv, blocks_out ? all : block);
  if (source == nullptr || target == nullptr) return {};
  return {source, target};
}

namespace {

bool one_block(Collective collective, bool input) {
  return input ? collective == Collective::kAllGather || collective == Collective::kGather
               : collective == Collective::kReduceScatter || collective == Collective::kScatter;
}

bool whole_buffer(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce || collective == Collective::kBarrier;
}

void set_map(BlockMap& map, const Call& call, bool input) {
  const auto counts = input ? call.send_counts : call.recv_counts;
  if (!counts.empty()) {
    map.set_given(counts, input ? call.send_displacements : call.recv_displacements);
  } else {
    // A v-variant's side that this rank doesn't know is never touched by its plan.
    map.set_blocks(call.variant && !one_block(call.collective, input) ? 0 : call.count);
  }
}

bool is_in_place(const Call& call, int rank) {
  const size_t element = size_of(call.type);
  const auto* send = static_cast<const std::byte*>(call.send);
  const auto* recv = static_cast<const std::byte*>(call.recv);
  if (send == nullptr || recv == nullptr) return false;
  const auto offset = [&](std::span<const size_t> displacements) {
    const auto r = static_cast<size_t>(rank);
    return (displacements.empty() ? r * call.count : displacements[r]) * element;
  };
  switch (call.collective) {
    case Collective::kAllGather:
      return send == recv + offset(call.recv_displacements);
    case Collective::kGather:
      return rank == call.root && send == recv + offset(call.recv_displacements);
    case Collective::kReduceScatter:
      return recv == send + offset(call.send_displacements);
    case Collective::kScatter:
      return rank == call.root && recv == send + offset(call.send_displacements);
    case Collective::kReduce:
    case Collective::kBroadcast:
      return rank == call.root && send == recv;
    default:
      return send == recv;
  }
}

}  // namespace

void CommunicatorState::fill(Operation& operation, const Call& call, bool in_place) {
  const size_t element = size_of(call.type);
  const auto n = static_cast<size_t>(ranks_);
  size_t bytes = call.count * element * (whole_buffer(call.collective) ? 1 : n);
  if (call.variant && call.counts_known) {
    const auto counts = call.send_counts.empty() ? call.recv_counts : call.send_counts;
    bytes = 0;
    for (const size_t count : counts) bytes += count * element;
  }
  const auto [source, target] = symmetric_regions(call);
  operation.circumstances = {target != nullptr, call.counts_known};
  planner_->choice(call.collective, bytes, operation.circumstances);  // throws here, where the caller is

  operation.small = false;
  operation.collective = call.collective;
  operation.in_place = in_place;
  operation.bytes = bytes;
  operation.input = static_cast<const std::byte*>(call.send);
  operation.output = static_cast<std::byte*>(call.recv);
  operation.type = call.type;
  operation.op = call.reduction.op;
  operation.factor = call.reduction.factor;
  operation.symmetric = {};
  operation.whole_buffer = whole_buffer(call.collective);
  set_map(operation.input_map, call, true);
  set_map(operation.output_map, call, false);

  Fingerprint fingerprint;
  fingerprint.sequence = sequence_;
  fingerprint.count = call.variant ? (call.counts_known ? bytes / element : 0) : call.count;
  fingerprint.root = call.root;
  fingerprint.collective = call.collective;
  fingerprint.type = call.type;
  fingerprint.op = call.reduction.op;
  fingerprint.variant = call.variant;
  if (target != nullptr) {
    operation.symmetric = {source->bases, target->bases};
    // Of the side that begins where it does on every rank: in place the other one lies inside it.
    const bool input_leads = one_block(call.collective, false);
    const std::byte* leading = input_leads ? operation.input : operation.output;
    const auto& bases = input_leads ? source->bases : target->bases;
    fingerprint.symmetric_offset = static_cast<uint64_t>(leading - bases[static_cast<size_t>(rank_)]) + 1;
  }
  operation.fingerprint = fingerprint;
}

uint32_t CommunicatorState::start(const Call& call) {
  const auto lock = drive();
  throw_if_failed();
  if (is_small(call)) {
    fill_small(executor_->prepare(), call);
    const uint32_t slot = executor_->prepare().slot = open_slot();
    sequence_++;
    executor_->submit();
    return slot;
  }
  const bool nothing_to_do = call.count == 0 && !call.variant && call.collective != Collective::kBarrier;
  if (!nothing_to_do) {
    Operation& operation = executor_->prepare();
    fill(operation, call, is_in_place(call, rank_));
    operation.slot = open_slot();
    sequence_++;
    executor_->submit();
    return operation.slot;
  }
  sequence_++;
  return group_ ? *group_ : works_.open(0);
}

bool CommunicatorState::is_small(const Call& call) const noexcept {
  const size_t limit = small_limits_[static_cast<size_t>(call.collective)];
  if (limit == 0 || call.variant || call.count == 0) return false;
  return SmallExchange::contribution(call.collective, ranks_, call.count, size_of(call.type)) <= limit;
}

void CommunicatorState::fill_small(Operation& operation, const Call& call) noexcept {
  operation.small = true;
  operation.input = static_cast<const std::byte*>(call.send);
  operation.output = static_cast<std::byte*>(call.recv);
  operation.type = call.type;
  operation.op = call.reduction.op;
  operation.factor = call.reduction.factor;
  Fingerprint& fingerprint = operation.fingerprint;
  fingerprint = {};
  fingerprint.sequence = sequence_;
  fingerprint.count = call.count;
  fingerprint.root = call.root;
  fingerprint.collective = call.collective;
  fingerprint.type = call.type;
  fingerprint.op = call.reduction.op;
}

void CommunicatorState::run(const Call& call) {
  const bool at_once = is_small(call) && executor_->idle() && point_to_point_->idle() && !group_ && !failure_ &&
                       !thread_.joinable() && !aborted_.load(std::memory_order_relaxed);
  if (!at_once) {
    const uint32_t slot = start(call);
    if (!group_) wait(slot);
    return;
  }
  throw_if_failed();
  Operation& operation = executor_->prepare();
  fill_small(operation, call);
  sequence_++;
  if (executor_->submit_small(spins_, kQuickYields)) return;
  operation.slot = works_.open(1);
  wait(operation.slot);
}

uint32_t CommunicatorState::start_send(const void* data, size_t count, DataType type, int peer) {
  const auto lock = drive();
  throw_if_failed();
  const uint32_t slot = open_slot();
  point_to_point_->send(data, count, type, peer, slot);
  return slot;
}

uint32_t CommunicatorState::start_recv(void* data, size_t count, DataType type, int peer) {
  const auto lock = drive();
  throw_if_failed();
  const uint32_t slot = open_slot();
  point_to_point_->recv(data, count, type, peer, slot);
  return slot;
}

// ---- Symmetric memory ----

SymmetricMemory CommunicatorState::allocate(size_t bytes) {
  wait_all();  // while this rank waits for the others' mappings, it drives nothing else
  const auto lock = drive();
  SymmetricMemory memory;
  SymmetricRegion region{next_symmetric_id_++, nullptr, {}};
  const Deadline deadline = Deadline::after_ms(settings_->connect_timeout_ms);
  if (window_ != nullptr) region.window = endpoint_->open_window(bytes, deadline);
  memory.state_ = this;
  memory.bytes_ = bytes;
  memory.id_ = region.id;
  if (region.window == nullptr) {
    memory.data_ = std::aligned_alloc(4096, (std::max<size_t>(bytes, 1) + 4095) / 4096 * 4096);
    if (memory.data_ == nullptr) {
      throw Error(ErrorCode::kSystem, fmt::format("allocate: no memory for {} bytes", bytes), {rank_, -1, -1});
    }
    std::fill_n(static_cast<std::byte*>(memory.data_), bytes, std::byte{0});
    return memory;
  }
  memory.mapped_ = true;
  for (int member = 0; member < ranks_; member++) region.bases.push_back(region.window->data(member));
  memory.data_ = region.bases[static_cast<size_t>(rank_)];
  symmetric_.push_back(std::move(region));
  return memory;
}

std::string CommunicatorState::user_of_memory(const void* data, size_t bytes) {
  const auto lock = drive();
  const auto* begin = static_cast<const std::byte*>(data);
  const std::string collective = executor_->user_of(begin, begin + bytes);
  return collective.empty() ? point_to_point_->user_of(begin, begin + bytes) : collective;
}

void CommunicatorState::wait_for_memory(const void* data, size_t bytes) noexcept {
  const auto* begin = static_cast<const std::byte*>(data);
  try {
    drive_until([&] {
      return executor_->user_of(begin, begin + bytes).empty() && point_to_point_->user_of(begin, begin + bytes).empty();
    });
  } catch (const std::exception&) {
    // Whoever waits for the operation hears of it.
  }
}

void CommunicatorState::free_symmetric(uint64_t id) noexcept {
  const auto lock = drive();
  std::erase_if(symmetric_, [&](const SymmetricRegion& region) { return region.id == id; });
}

}  // namespace peal
