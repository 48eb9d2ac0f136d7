// What a collective would cost on a machine: all ranks' plans run against clocks instead of transports. Selection
// compares algorithms with it, tools show it.
//
// Model: a rank owns one core, which copies, reduces, and moves the bytes of its own messages (shared memory and
// sockets are driven by the CPU); a message arrives `latency` after it began to be sent, and ends no earlier than both
// sides have moved it. Lanes of a rank share its core. More ranks than cores share them evenly.
//
// With `links` a message passes all links of its way at once, at the speed of the narrowest; each link serves one
// message after the other, in the order in which they are ready, and is free again when its own speed has moved the
// bytes. With `mover_bytes_per_ns` the cores of both sides move them, at the same time; without, bytes move by
// themselves, as with GPUs and RDMA, and the core only begins steps.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/api.h"
#include "collectives/plan.h"

namespace peal {

struct PathCost {
  double latency_ns = 1000;
  double bytes_per_ns = 1;
};

struct MessageWay {
  double latency_ns = 0;
  std::vector<int> links;  // numbers of SharedLinks::bytes_per_ns, each once
};

struct SharedLinks {
  std::vector<double> bytes_per_ns;
  std::function<MessageWay(int from, int to)> way;
};

struct MachineCosts {
  std::function<PathCost(int from, int to)> path;
  const SharedLinks* links = nullptr;  // not null: instead of `path`
  double mover_bytes_per_ns = 0;       // with links: a core that moves its messages' bytes; 0: it need not
  double copy_bytes_per_ns = 12;
  double reduce_bytes_per_ns = 8;  // of result, for each source
  double fetch_ns = 600;           // a system call that reads a peer's memory
  double fetch_bytes_per_ns = 12;  // and its bytes
  double mapped_latency_ns = 150;  // from a publish to its sight by a reader
  double step_ns = 40;
  double ranks_per_core = 1;
  double handover_ns = 2000;  // with more ranks than cores: until the peer gets the core
};

struct ExecutionShape {
  double bytes = 0;  // of the larger buffer, all chunks together
  int channels = 1;
  double segment_bytes = 0;  // of all chunks together; 0: one segment
  bool fetches = false;      // peers' buffers are read by system calls
};

// A job that looks the same from every `period`-th rank: rank r does what rank r % period does, with every peer moved
// by the same distance (folds() in fold_job.h checks that). The plans of its first `period` ranks stand for all. Given
// all plans, ranks that stand for each other take turns, so that both ways give the same result; what is needed besides
// is that step_ns is not 0 and that no two messages between like ranks, moved by whole periods, share a link.
struct Fold {
  int ranks = 0;   // of the whole job; 0: it is not known to be such a job
  int period = 0;  // divides ranks
};

// Nanoseconds until the last rank is done. Exact in the model for up to kSimulatedSegments segments a lane; beyond that
// the steady state of the last ones is continued. `plans`: one for each rank, in order.
PEAL_API double simulate(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape);

inline constexpr int kSimulatedSegments = 4;

// What the chain of steps and messages that ended last consists of.
struct CriticalPath {
  int messages = 0;
  int last_message = -1;   // index in Simulated::path of its last message; -1: none, or not asked for
  double latency_ns = 0;   // of its messages, handovers included
  double transfer_ns = 0;  // its messages' bytes on the way
  double queue_ns = 0;     // its messages behind others on links
  double core_ns = 0;      // copying, reducing, beginning steps, and waiting for the core
};

// A message on the critical path.
struct PathMessage {
  int from = 0, to = 0;  // ranks; of a job that folds, `from` stands for those like it
  double arrives_ns = 0;
  CriticalPath until;  // what the path consists of up to there; its last_message is this message
};

enum class Detail { kTimes, kPath };

struct Simulated {
  double ns = 0;
  CriticalPath critical;          // of the segments that were simulated
  std::vector<double> link_ns;    // by link: how long it moved bytes; all segments
  double simulated_share = 1;     // of all segments: `critical` is of these alone
  std::vector<PathMessage> path;  // of `critical`, first to last; empty unless asked for
};

// The same with all that is known of it. `plans`: of all ranks, or of the first `period` of a job that folds; then a
// message's way begins at one of these ranks, and links of other hosts go by the numbers of those that they are like.
PEAL_API Simulated simulate_in_detail(std::span<const Plan> plans, const MachineCosts& costs,
                                      const ExecutionShape& shape, Fold fold = {}, Detail detail = Detail::kTimes);

}  // namespace peal
