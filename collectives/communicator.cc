#include "collectives/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "base/host.h"
#include "base/log.h"
#include "collectives/communicator_state.h"
#include "collectives/pinning.h"
#include "topology/read.h"
#include "topology/reconcile.h"
#include "transports/bootstrap/bootstrap.h"

namespace peal {

// ---- Work ----

Work::Work(Work&& other) noexcept { *this = std::move(other); }

Work& Work::operator=(Work&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(ticket_, other.ticket_);
  return *this;
}

Work::~Work() {
  try {
    wait();
  } catch (const Error&) {
    // The communicator keeps the failure; its next call throws it.
  }
}

bool Work::done() {
  if (state_ == nullptr) return true;
  if (!state_->done(static_cast<uint32_t>(ticket_))) return false;
  state_->release(static_cast<uint32_t>(ticket_));
  state_ = nullptr;
  return true;
}

void Work::wait() {
  if (CommunicatorState* state = std::exchange(state_, nullptr)) state->wait(static_cast<uint32_t>(ticket_));
}

// ---- SymmetricMemory ----

SymmetricMemory::SymmetricMemory(SymmetricMemory&& other) noexcept { *this = std::move(other); }

SymmetricMemory& SymmetricMemory::operator=(SymmetricMemory&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(id_, other.id_);
  return *this;
}

SymmetricMemory::~SymmetricMemory() {
  if (data_ == nullptr) return;
  state_->wait_for_memory(data_, bytes_);
  give_back();
}

void SymmetricMemory::free() {
  if (data_ == nullptr) return;
  const std::string user = state_->user_of_memory(data_, bytes_);
  if (!user.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("symmetric memory of {} bytes is freed while in use by {}: wait for that first", bytes_, user),
        {state_->rank(), -1, -1});
  }
  give_back();
}

void SymmetricMemory::give_back() noexcept {
  if (mapped_) {
    state_->free_symmetric(id_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  bytes_ = 0;
}

// ---- Checking arguments ----

namespace {

Error invalid(const std::string& what) { return Error(ErrorCode::kInvalidArgument, what); }

struct Range {
  const char* name;
  const std::byte* begin;
  size_t bytes;
};

Range buffer(const char* name, const void* data, size_t count, DataType type) {
  return {name, static_cast<const std::byte*>(data), count * size_of(type)};
}

void require(const Range& range) {
  if (range.begin == nullptr && range.bytes > 0) {
    throw invalid(fmt::format("{} buffer is null, but {} bytes are to go there", range.name, range.bytes));
  }
}

// In place (recv is `in_place_offset` bytes into send, or the other way round) or apart; nothing between.
void require_apart(const Range& send, const Range& recv, std::ptrdiff_t in_place_offset) {
  require(send);
  require(recv);
  if (send.bytes == 0 || recv.bytes == 0 || recv.begin - send.begin == in_place_offset) return;
  if (send.begin < recv.begin + recv.bytes && recv.begin < send.begin + send.bytes) {
    throw invalid(fmt::format("send buffer [{}, {}) and receive buffer [{}, {}) overlap, but not as in place does",
                              fmt::ptr(send.begin), fmt::ptr(send.begin + send.bytes), fmt::ptr(recv.begin),
                              fmt::ptr(recv.begin + recv.bytes)));
  }
}

void require_rank(const char* what, int rank, int ranks) {
  if (rank < 0 || rank >= ranks) {
    throw invalid(fmt::format("{} is {}, but ranks are 0 to {}", what, rank, ranks - 1));
  }
}

// Elements from a buffer's start to the end of its last block.
size_t extent(const char* what, std::span<const size_t> counts, std::span<const size_t> displacements, int ranks) {
  if (counts.size() != static_cast<size_t>(ranks) || displacements.size() != static_cast<size_t>(ranks)) {
    throw invalid(fmt::format("{}: {} counts and {} displacements given for {} ranks", what, counts.size(),
                              displacements.size(), ranks));
  }
  size_t end = 0;
  for (size_t i = 0; i < counts.size(); i++) {
    if (counts[i] > 0) end = std::max(end, displacements[i] + counts[i]);
  }
  return end;
}

void require_block(const char* what, size_t count, std::span<const size_t> counts, int rank) {
  if (counts[static_cast<size_t>(rank)] != count) {
    throw invalid(fmt::format("{} is {}, but the counts say {} for rank {}", what, count,
                              counts[static_cast<size_t>(rank)], rank));
  }
}

std::ptrdiff_t bytes_at(size_t elements, DataType type) {
  return static_cast<std::ptrdiff_t>(elements * size_of(type));
}

Call checked_all_reduce(const void* send, void* recv, size_t count, DataType type, Reduction reduction) {
  require_apart(buffer("send", send, count, type), buffer("receive", recv, count, type), 0);
  return {Collective::kAllReduce, send, recv, count, type, reduction};
}

Call checked_reduce_scatter(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type,
                            Reduction reduction) {
  const auto n = static_cast<size_t>(state.ranks()), r = static_cast<size_t>(state.rank());
  require_apart(buffer("send", send, n * count, type), buffer("receive", recv, count, type), bytes_at(r * count, type));
  return {Collective::kReduceScatter, send, recv, count, type, reduction};
}

Call checked_all_gather(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type) {
  const auto n = static_cast<size_t>(state.ranks()), r = static_cast<size_t>(state.rank());
  require_apart(buffer("send", send, count, type), buffer("receive", recv, n * count, type),
                -bytes_at(r * count, type));
  return {Collective::kAllGather, send, recv, count, type};
}

Call checked_broadcast(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type,
                       int root) {
  require_rank("root", root, state.ranks());
  const Range to = buffer("receive", recv, count, type);
  if (state.rank() == root) {
    require_apart(buffer("send", send, count, type), to, 0);
  } else {
    require(to);
  }
  return {Collective::kBroadcast, send, recv, count, type, {}, root};
}

Call checked_reduce(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type,
                    Reduction reduction, int root) {
  require_rank("root", root, state.ranks());
  const Range from = buffer("send", send, count, type);
  if (state.rank() == root) {
    require_apart(from, buffer("receive", recv, count, type), 0);
  } else {
    require(from);
  }
  return {Collective::kReduce, send, recv, count, type, reduction, root};
}

Call checked_gather(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type,
                    int root) {
  require_rank("root", root, state.ranks());
  const auto n = static_cast<size_t>(state.ranks()), r = static_cast<size_t>(state.rank());
  const Range from = buffer("send", send, count, type);
  if (state.rank() == root) {
    require_apart(from, buffer("receive", recv, n * count, type), -bytes_at(r * count, type));
  } else {
    require(from);
  }
  return {Collective::kGather, send, recv, count, type, {}, root};
}

Call checked_scatter(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type,
                     int root) {
  require_rank("root", root, state.ranks());
  const auto n = static_cast<size_t>(state.ranks()), r = static_cast<size_t>(state.rank());
  const Range to = buffer("receive", recv, count, type);
  if (state.rank() == root) {
    require_apart(buffer("send", send, n * count, type), to, bytes_at(r * count, type));
  } else {
    require(to);
  }
  return {Collective::kScatter, send, recv, count, type, {}, root};
}

Call checked_all_to_all(const CommunicatorState& state, const void* send, void* recv, size_t count, DataType type) {
  const auto n = static_cast<size_t>(state.ranks());
  require_apart(buffer("send", send, n * count, type), buffer("receive", recv, n * count, type), 0);
  return {Collective::kAllToAll, send, recv, count, type};
}

}  // namespace

// ---- Making ----

namespace {

// Equal on all ranks of a host however they are pinned. Topology never stops a job: what is wrong is said.
std::shared_ptr<const Machine> machine_of(const Settings& settings, int rank) {
  auto machine = std::make_shared<Machine>(machine_or_file(settings.topo_file, Cut::kCgroup));
  if (!settings.topo_file.empty()) {
    keep_what_is_here(*machine, host_named(*machine, host_name()), this_machine().hosts[0]);
  }
  Log log(settings, rank);
  if (rank > 0) return machine;
  for (const Warning& warning : machine->warnings) log.warn(to_string(warning));
  if (!settings.topo_dump_file.empty()) {
    std::ofstream file(settings.topo_dump_file);
    file << to_json(*machine);
    file.close();
    if (!file) log.warn(fmt::format("PEAL_TOPO_DUMP_FILE: can't write '{}'", settings.topo_dump_file));
  }
  return machine;
}

std::unique_ptr<CommunicatorState> join_job(const CommunicatorOptions& options) {
  const Environment environment = process_environment();
  auto settings = std::make_shared<Settings>(options.settings ? *options.settings : Settings::from(environment));
  if (options.rank >= 0) settings->rank = options.rank;
  if (options.size >= 0) settings->size = options.size;
  if (!options.root.empty()) settings->root = options.root;
  if (!options.key.empty()) settings->key = options.key;
  const Launch launch = launch_from(*settings, environment);
  const auto machine = machine_of(*settings, launch.rank);
  if (launch.size == 1) {
    return std::make_unique<CommunicatorState>(0, 1, launch.key, settings, machine,
                                               [](const std::string& mine) { return std::vector<std::string>{mine}; });
  }
  const Deadline deadline = Deadline::after_ms(settings->connect_timeout_ms);
  Bootstrap bootstrap(launch, deadline);
  const auto exchange = [&](const std::string& mine) { return bootstrap.all_gather(mine, deadline); };
  const std::string pinned = pin_to_own_cores(*settings, launch.rank, exchange);
  auto state = std::make_unique<CommunicatorState>(launch.rank, launch.size, launch.key, settings, machine, exchange);
  state->log().info(pinned);
  if (!launch.key_is_secret) {
    state->log().info("connections prove a key derived from the job's public id; set PEAL_KEY to a secret of the job");
  }
  // Nobody goes on before all have opened what they share: a failure on one rank is then seen by all.
  bootstrap.all_gather("", deadline);
  return state;
}

}  // namespace

Communicator::Communicator(CommunicatorOptions options) : state_(join_job(options)) {}
Communicator::Communicator(std::unique_ptr<CommunicatorState> state) : state_(std::move(state)) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

int Communicator::rank() const noexcept { return state_->rank(); }
int Communicator::size() const noexcept { return state_->ranks(); }

// Strings of any length from all ranks, by two all-gathers: lengths, then padded texts.
std::vector<std::string> Communicator::gather_texts(const std::string& mine) {
  const auto n = static_cast<size_t>(size());
  const uint64_t length = mine.size();
  std::vector<uint64_t> lengths(n);
  all_gather(&length, lengths.data(), 1, DataType::kUint64);
  const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string padded = mine, all(n * longest, '\0');
  padded.resize(longest);
  all_gather(padded.data(), all.data(), longest, DataType::kUint8);
  std::vector<std::string> texts;
  for (size_t i = 0; i < n; i++) texts.push_back(all.substr(i * longest, lengths[i]));
  return texts;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  state_->wait_all();
  struct Member {
    int32_t color, key, rank;
  };
  const Member mine{color, key, rank()};
  std::vector<Member> members(static_cast<size_t>(size()));
  all_gather(&mine, members.data(), sizeof(Member), DataType::kUint8);
  std::erase_if(members, [&](const Member& member) { return color < 0 || member.color != color; });
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return std::pair(a.key, a.rank) < std::pair(b.key, b.rank); });

  // All ranks of this communicator take part in the exchanges of every new one, members or not.
  int exchanges = 0;
  const auto exchange = [&](const std::string& text) {
    exchanges++;
    const std::vector<std::string> texts = gather_texts(text);
    std::vector<std::string> chosen;
    for (const Member& member : members) chosen.push_back(texts[static_cast<size_t>(member.rank)]);
    return chosen;
  };
  const auto settings = std::make_shared<Settings>(*state_->shared_settings());
  settings->ring_order.clear();  // it names the ranks of the whole job
  std::unique_ptr<CommunicatorState> state;
  if (color >= 0) {
    const auto self = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.rank == rank(); });
    state =
        std::make_unique<CommunicatorState>(static_cast<int>(self - members.begin()), static_cast<int>(members.size()),
                                            state_->key(), settings, state_->shared_machine(), exchange);
  }
  while (exchanges < CommunicatorState::kExchanges) exchange("");
  return state ? std::unique_ptr<Communicator>(new Communicator(std::move(state))) : nullptr;
}

// ---- Collectives ----

Work Communicator::start(const Call& call) {
  const uint32_t slot = state_->start(call);
  return state_->grouping() ? Work() : Work(state_.get(), slot);
}

void Communicator::run(const Call& call) { state_->run(call); }

void Communicator::all_reduce(const void* send, void* recv, size_t count, DataType type, Reduction reduction) {
  run(checked_all_reduce(send, recv, count, type, reduction));
}
Work Communicator::all_reduce_async(const void* send, void* recv, size_t count, DataType type, Reduction reduction) {
  return start(checked_all_reduce(send, recv, count, type, reduction));
}

void Communicator::reduce_scatter(const void* send, void* recv, size_t count, DataType type, Reduction reduction) {
  run(checked_reduce_scatter(*state_, send, recv, count, type, reduction));
}
Work Communicator::reduce_scatter_async(const void* send, void* recv, size_t count, DataType type,
                                        Reduction reduction) {
  return start(checked_reduce_scatter(*state_, send, recv, count, type, reduction));
}

void Communicator::all_gather(const void* send, void* recv, size_t count, DataType type) {
  run(checked_all_gather(*state_, send, recv, count, type));
}
Work Communicator::all_gather_async(const void* send, void* recv, size_t count, DataType type) {
  return start(checked_all_gather(*state_, send, recv, count, type));
}

void Communicator::broadcast(const void* send, void* recv, size_t count, DataType type, int root) {
  run(checked_broadcast(*state_, send, recv, count, type, root));
}
Work Communicator::broadcast_async(const void* send, void* recv, size_t count, DataType type, int root) {
  return start(checked_broadcast(*state_, send, recv, count, type, root));
}

void Communicator::reduce(const void* send, void* recv, size_t count, DataType type, Reduction reduction, int root) {
  run(checked_reduce(*state_, send, recv, count, type, reduction, root));
}
Work Communicator::reduce_async(const void* send, void* recv, size_t count, DataType type, Reduction reduction,
                                int root) {
  return start(checked_reduce(*state_, send, recv, count, type, reduction, root));
}

void Communicator::gather(const void* send, void* recv, size_t count, DataType type, int root) {
  run(checked_gather(*state_, send, recv, count, type, root));
}
Work Communicator::gather_async(const void* send, void* recv, size_t count, DataType type, int root) {
  return start(checked_gather(*state_, send, recv, count, type, root));
}

void Communicator::scatter(const void* send, void* recv, size_t count, DataType type, int root) {
  run(checked_scatter(*state_, send, recv, count, type, root));
}
Work Communicator::scatter_async(const void* send, void* recv, size_t count, DataType type, int root) {
  return start(checked_scatter(*state_, send, recv, count, type, root));
}

void Communicator::all_to_all(const void* send, void* recv, size_t count, DataType type) {
  run(checked_all_to_all(*state_, send, recv, count, type));
}
Work Communicator::all_to_all_async(const void* send, void* recv, size_t count, DataType type) {
  return start(checked_all_to_all(*state_, send, recv, count, type));
}

// One byte from everybody to everybody: algorithms/dissemination.cc says why.
void Communicator::barrier() { run(state_->barrier_call()); }
Work Communicator::barrier_async() { return start(state_->barrier_call()); }

// ---- v-variants ----

void Communicator::all_gather_v(const void* send, size_t send_count, void* recv, std::span<const size_t> recv_counts,
                                std::span<const size_t> recv_displacements, DataType type) {
  const size_t all = extent("all_gather_v", recv_counts, recv_displacements, size());
  require_block("all_gather_v: send_count", send_count, recv_counts, rank());
  require_apart(buffer("send", send, send_count, type), buffer("receive", recv, all, type),
                -bytes_at(recv_displacements[static_cast<size_t>(rank())], type));
  Call call{Collective::kAllGather, send, recv, send_count, type};
  call.variant = true;
  call.recv_counts = recv_counts;
  call.recv_displacements = recv_displacements;
  run(call);
}

void Communicator::reduce_scatter_v(const void* send, std::span<const size_t> send_counts,
                                    std::span<const size_t> send_displacements, void* recv, size_t recv_count,
                                    DataType type, Reduction reduction) {
  const size_t all = extent("reduce_scatter_v", send_counts, send_displacements, size());
  require_block("reduce_scatter_v: recv_count", recv_count, send_counts, rank());
  require_apart(buffer("send", send, all, type), buffer("receive", recv, recv_count, type),
                bytes_at(send_displacements[static_cast<size_t>(rank())], type));
  Call call{Collective::kReduceScatter, send, recv, recv_count, type, reduction};
  call.variant = true;
  call.send_counts = send_counts;
  call.send_displacements = send_displacements;
  run(call);
}

void Communicator::gather_v(const void* send, size_t send_count, void* recv, std::span<const size_t> recv_counts,
                            std::span<const size_t> recv_displacements, DataType type, int root) {
  require_rank("root", root, size());
  Call call{Collective::kGather, send, recv, send_count, type, {}, root};
  call.variant = true;
  call.counts_known = false;
  if (rank() == root) {
    const size_t all = extent("gather_v", recv_counts, recv_displacements, size());
    require_block("gather_v: send_count", send_count, recv_counts, rank());
    require_apart(buffer("send", send, send_count, type), buffer("receive", recv, all, type),
                  -bytes_at(recv_displacements[static_cast<size_t>(rank())], type));
    call.recv_counts = recv_counts;
    call.recv_displacements = recv_displacements;
  } else {
    require(buffer("send", send, send_count, type));
  }
  run(call);
}

void Communicator::scatter_v(const void* send, std::span<const size_t> send_counts,
                             std::span<const size_t> send_displacements, void* recv, size_t recv_count, DataType type,
                             int root) {
  require_rank("root", root, size());
  Call call{Collective::kScatter, send, recv, recv_count, type, {}, root};
  call.variant = true;
  call.counts_known = false;
  if (rank() == root) {
    const size_t all = extent("scatter_v", send_counts, send_displacements, size());
    require_block("scatter_v: recv_count", recv_count, send_counts, rank());
    require_apart(buffer("send", send, all, type), buffer("receive", recv, recv_count, type),
                  bytes_at(send_displacements[static_cast<size_t>(rank())], type));
    call.send_counts = send_counts;
    call.send_displacements = send_displacements;
  } else {
    require(buffer("receive", recv, recv_count, type));
  }
  run(call);
}

void Communicator::all_to_all_v(const void* send, std::span<const size_t> send_counts,
                                std::span<const size_t> send_displacements, void* recv,
                                std::span<const size_t> recv_counts, std::span<const size_t> recv_displacements,
                                DataType type) {
  const size_t out = extent("all_to_all_v: send", send_counts, send_displacements, size());
  const size_t in = extent("all_to_all_v: receive", recv_counts, recv_displacements, size());
  const Range from = buffer("send", send, out, type), to = buffer("receive", recv, in, type);
  require_apart(from, to, 0);
  const bool same_layout = std::equal(send_counts.begin(), send_counts.end(), recv_counts.begin()) &&
                           std::equal(send_displacements.begin(), send_displacements.end(), recv_displacements.begin());
  if (send == recv && send != nullptr && !same_layout) {
    throw invalid("all_to_all_v in place needs equal send and receive counts and displacements");
  }
  require_block("all_to_all_v: the receive count from oneself", recv_counts[static_cast<size_t>(rank())], send_counts,
                rank());
  Call call{Collective::kAllToAll, send, recv, 0, type};
  call.variant = true;
  call.counts_known = false;
  call.send_counts = send_counts;
  call.send_displacements = send_displacements;
  call.recv_counts = recv_counts;
  call.recv_displacements = recv_displacements;
  run(call);
}

// ---- Point to point ----

Work Communicator::send_async(const void* data, size_t count, DataType type, int peer) {
  require_rank("peer", peer, size());
  require(buffer("send", data, count, type));
  const uint32_t slot = state_->start_send(data, count, type, peer);
  return state_->grouping() ? Work() : Work(state_.get(), slot);
}

Work Communicator::recv_async(void* data, size_t count, DataType type, int peer) {
  require_rank("peer", peer, size());
  require(buffer("receive", data, count, type));
  const uint32_t slot = state_->start_recv(data, count, type, peer);
  return state_->grouping() ? Work() : Work(state_.get(), slot);
}

void Communicator::send(const void* data, size_t count, DataType type, int peer) {
  send_async(data, count, type, peer).wait();
}

void Communicator::recv(void* data, size_t count, DataType type, int peer) {
  recv_async(data, count, type, peer).wait();
}

void Communicator::sendrecv(const void* send, size_t send_count, int to, void* recv, size_t recv_count, int from,
                            DataType type) {
  require_rank("peer", to, size());
  require_rank("peer", from, size());
  require_apart(buffer("send", send, send_count, type), buffer("receive", recv, recv_count, type),
                std::numeric_limits<std::ptrdiff_t>::min());
  Work receiving = recv_async(recv, recv_count, type, from);
  send_async(send, send_count, type, to).wait();
  receiving.wait();
}

// ---- The rest ----

void Communicator::group_begin() { state_->begin_group(); }
Work Communicator::group_end() { return Work(state_.get(), state_->end_group()); }
void Communicator::progress() { state_->progress(); }
SymmetricMemory Communicator::allocate(size_t bytes) { return state_->allocate(bytes); }
void Communicator::abort(const std::string& reason) { state_->abort(reason); }

std::vector<std::string> Communicator::describe() const {
  std::vector<std::string> lines;
  const Roster& roster = state_->endpoint().roster();
  for (int peer = 0; peer < size(); peer++) {
    const RosterEntry& entry = roster.at(peer);
    lines.push_back(fmt::format("rank {}: host {}, pid {}, {}", peer, entry.host_name, entry.pid,
                                peer == rank() ? "this rank" : "by " + state_->endpoint().transport_name(peer)));
  }
  if (size() > 1) lines.push_back("ring order and groups: " + to_string(state_->placement()));
  return lines;
}

int Communicator::cores() const {
  return std::max(1, static_cast<int>(1 / state_->endpoint().roster().ranks_per_core(rank()) + 1e-9));
}

std::string Communicator::transport_to(int peer) const {
  if (peer < 0 || peer >= size()) throw invalid(fmt::format("peer is {}, but ranks are 0 to {}", peer, size() - 1));
  return peer == rank() ? "" : state_->endpoint().transport_name(peer);
}

namespace {

struct KindOfCall {
  Collective collective;
  Circumstances circumstances;
};

KindOfCall kind_of_call(std::string_view collective, bool symmetric) {
  const bool variant = collective.ends_with("_v");
  if (variant) collective.remove_suffix(2);
  const Collective which = parse_collective(collective);
  // Of the v-variants these two alone know all counts on every rank.
  const bool counts_known = !variant || which == Collective::kAllGather || which == Collective::kReduceScatter;
  return {which, {.symmetric = symmetric && !variant, .same_counts_known = counts_known}};
}

}  // namespace

std::string Communicator::algorithm_for(std::string_view collective, size_t bytes, bool symmetric) const {
  const KindOfCall kind = kind_of_call(collective, symmetric);
  return std::string(state_->planner().choice(kind.collective, bytes, kind.circumstances).algorithm->name);
}

int Communicator::calls_to_settle(std::string_view collective, size_t bytes, bool symmetric) const {
  const KindOfCall kind = kind_of_call(collective, symmetric);
  return state_->planner().calls_to_settle(kind.collective, bytes, kind.circumstances);
}

std::string Communicator::transports_in_use() const {
  std::set<std::string> names;
  for (int peer = 0; peer < size(); peer++) {
    if (peer != rank()) names.insert(state_->endpoint().transport_name(peer));
  }
  return names.empty() ? "self" : fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace peal
