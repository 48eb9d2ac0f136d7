// Communicator: a group of ranks and every collective among them. This is the header that C++ programs include.
//
// Counts are in elements, never bytes. Buffers belong to the caller until the call returned, or until its Work was
// waited for. Every rank of a communicator makes the same calls in the same order with matching arguments; a mismatch
// is an Error(kMismatch) on the ranks that see it. One thread at a time uses a communicator; different communicators
// are independent. In place means: for all_reduce, broadcast, reduce and all_to_all send == recv; for all_gather and
// gather send == recv + rank * count; for reduce_scatter and scatter recv == send + rank * count. Any other overlap is
// refused. Every call throws Error(kInvalidArgument) for arguments that can't be right before anything is sent, and the
// sticky failure of the communicator once there is one. A count of zero is legal and does nothing (but the order of
// calls still counts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/api.h"
#include "base/data_type.h"
#include "base/error.h"
#include "base/reduce.h"
#include "base/settings.h"

namespace peal {

// Explicit answers to "who am I"; what is left at its default comes from the environment
// (transports/bootstrap/launch.h).
struct CommunicatorOptions {
  int rank = -1;
  int size = -1;
  std::string root;  // host:port, [ipv6]:port or unix:NAME
  std::string key;   // as PEAL_KEY
  // Settings of this communicator; by default those of the environment, read now.
  std::shared_ptr<const Settings> settings;
};

struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  // kPremulSum: this rank's own factor
  Reduction() = default;
  Reduction(ReduceOp reduce_op, double own_factor = 1) : op(reduce_op), factor(own_factor) {}  // NOLINT: implicit
};

class CommunicatorState;
struct Call;

// An operation under way. Waiting for it also drives all others of its communicator. Movable; destroying one that is
// not done waits for it.
class PEAL_API Work {
 public:
  Work() = default;
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  ~Work();

  bool done();  // makes progress; throws the failure if there is one
  void wait();  // throws Error: the operation's failure, or kTimeout after PEAL_TIMEOUT without an end

 private:
  friend class Communicator;
  Work(CommunicatorState* state, uint64_t ticket) : state_(state), ticket_(ticket) {}
  CommunicatorState* state_ = nullptr;
  uint64_t ticket_ = 0;
};

// Memory that every rank on this host maps: a collective on it moves no byte twice. Owns the mapping.
class PEAL_API SymmetricMemory {
 public:
  SymmetricMemory() = default;
  SymmetricMemory(SymmetricMemory&&) noexcept;
  SymmetricMemory& operator=(SymmetricMemory&&) noexcept;
  ~SymmetricMemory();
  void* data() const noexcept { return data_; }
  size_t bytes() const noexcept { return bytes_; }
  bool mapped_by_peers() const noexcept {
    return mapped_;
  }  // false: ordinary memory, since no transport maps all ranks

  // Gives the memory back now. Throws Error(kInvalidArgument) while an operation of this rank on it is under way, and
  // changes nothing; the destructor waits for such operations instead.
  void free();

 private:
  friend class Communicator;
  friend class CommunicatorState;
  void give_back() noexcept;
  CommunicatorState* state_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;
  uint64_t id_ = 0;
};

class PEAL_API Communicator {
 public:
  // Collective over all ranks of the job. Throws Error (bootstrap.h lists what can go wrong); names who is missing.
  explicit Communicator(CommunicatorOptions options = {});
  ~Communicator();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;

  int rank() const noexcept;
  int size() const noexcept;

  // ---- Blocking collectives; each has a twin in ...async form that returns Work. Shapes in elements. ----
  // recv[count] = reduction over ranks of send[count].
  void all_reduce(const void* send, void* recv, size_t count, DataType type, Reduction reduction = {});
  // send[size * count]; recv[count] = block `rank` of the reduction.
  void reduce_scatter(const void* send, void* recv, size_t count, DataType type, Reduction reduction = {});
  // send[count]; recv[size * count], rank r's block at r * count.
  void all_gather(const void* send, void* recv, size_t count, DataType type);
  // buffer `recv[count]` on every rank = root's `send[count]`; send is read on the root alone.
  void broadcast(const void* send, void* recv, size_t count, DataType type, int root);
  // root's recv[count] = reduction; recv is written on the root alone (may be null elsewhere).
  void reduce(const void* send, void* recv, size_t count, DataType type, Reduction reduction, int root);
  // send[count]; root's recv[size * count] (may be null elsewhere).
  void gather(const void* send, void* recv, size_t count, DataType type, int root);
  // root's send[size * count] (may be null elsewhere); recv[count].
  void scatter(const void* send, void* recv, size_t count, DataType type, int root);
  // send[size * count], recv[size * count]: block i of send goes to rank i, block i of recv comes from rank i.
  void all_to_all(const void* send, void* recv, size_t count, DataType type);
  // Returns on no rank before all have called it.
  void barrier();

  // ---- v-variants: block i has counts[i] elements at displacements[i] elements from the buffer's start. ----
  // `recv_counts` and displacements are equal on all ranks for all_gather_v and reduce_scatter_v (send_counts there).
  void all_gather_v(const void* send, size_t send_count, void* recv, std::span<const size_t> recv_counts,
                    std::span<const size_t> recv_displacements, DataType type);
  void reduce_scatter_v(const void* send, std::span<const size_t> send_counts,
                        std::span<const size_t> send_displacements, void* recv, size_t recv_count, DataType type,
                        Reduction reduction = {});
  // counts and displacements are read on the root alone.
  void gather_v(const void* send, size_t send_count, void* recv, std::span<const size_t> recv_counts,
                std::span<const size_t> recv_displacements, DataType type, int root);
  void scatter_v(const void* send, std::span<const size_t> send_counts, std::span<const size_t> send_displacements,
                 void* recv, size_t recv_count, DataType type, int root);
  // send_counts[j] here must equal recv_counts[here] on rank j.
  void all_to_all_v(const void* send, std::span<const size_t> send_counts, std::span<const size_t> send_displacements,
                    void* recv, std::span<const size_t> recv_counts, std::span<const size_t> recv_displacements,
                    DataType type);

  // ---- Point to point. The k-th send to a peer meets the peer's k-th receive from here; sizes must agree. Large
  // messages flow in segments; several sends and receives can be under way at once in both directions. Peer == own rank
  // is legal when send and receive are both issued before waiting. ----
  void send(const void* data, size_t count, DataType type, int peer);
  void recv(void* data, size_t count, DataType type, int peer);
  void sendrecv(const void* send, size_t send_count, int to, void* recv, size_t recv_count, int from, DataType type);

  Work all_reduce_async(const void* send, void* recv, size_t count, DataType type, Reduction reduction = {});
  Work reduce_scatter_async(const void* send, void* recv, size_t count, DataType type, Reduction reduction = {});
  Work all_gather_async(const void* send, void* recv, size_t count, DataType type);
  Work broadcast_async(const void* send, void* recv, size_t count, DataType type, int root);
  Work reduce_async(const void* send, void* recv, size_t count, DataType type, Reduction reduction, int root);
  Work gather_async(const void* send, void* recv, size_t count, DataType type, int root);
  Work scatter_async(const void* send, void* recv, size_t count, DataType type, int root);
  Work all_to_all_async(const void* send, void* recv, size_t count, DataType type);
  Work barrier_async();
  Work send_async(const void* data, size_t count, DataType type, int peer);
  Work recv_async(void* data, size_t count, DataType type, int peer);

  // ---- Grouped calls: what is called (in async form) between the two is started by group_end(), which returns one
  // Work for all; the Works returned in between are already covered by it. Groups don't nest. ----
  void group_begin();
  Work group_end();

  // Moves everything that can move, without blocking: for callers that compute while Work is under way.
  void progress();

  // Collective: ranks of equal color >= 0 form a new communicator, ordered by (key, rank). A negative color takes part
  // in none and gets a null pointer.
  std::unique_ptr<Communicator> split(int color, int key);

  // Collective: `bytes` (equal on all ranks) of symmetric memory, zeroed, page-aligned. Using it in a collective, all
  // ranks must use the same offset into it. Freed by its destructor, which must run before the communicator's;
  // collective too in that no rank may be inside a collective on it.
  SymmetricMemory allocate(size_t bytes);

  // From any thread: every wait of this communicator, now or later, throws kAborted with `reason`.
  void abort(const std::string& reason);

  // What was chosen for each peer and why, for logs and peal-info: one line each.
  std::vector<std::string> describe() const;

  // Cores that this rank may keep busy: those that the ranks of its host may use together, shared out evenly; at
  // least 1.
  int cores() const;
  // The algorithm's name that a call would take, e.g. "ring", and the transports it would use, e.g. "shm". `collective`
  // is "all_reduce" or "all_to_all_v" and the like; `symmetric`: all buffers lie in symmetric memory.
  std::string algorithm_for(std::string_view collective, size_t bytes, bool symmetric = false) const;
  // How many more calls like this try different ways before the ranks settle on one (PEAL_TUNE); 0: they have, for now.
  int calls_to_settle(std::string_view collective, size_t bytes, bool symmetric = false) const;
  std::string transports_in_use() const;
  // The transport that serves messages to `peer`, e.g. "shm"; "" for this rank itself.
  std::string transport_to(int peer) const;

 private:
  explicit Communicator(std::unique_ptr<CommunicatorState> state);
  std::vector<std::string> gather_texts(const std::string& mine);
  void run(const Call& call);
  Work start(const Call& call);
  std::unique_ptr<CommunicatorState> state_;
};

}  // namespace peal
