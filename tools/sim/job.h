// A job on a machine that need not exist: where its ranks sit, what joins them, and whether few of them stand for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/catalog.h"
#include "collectives/simulate.h"
#include "topology/path.h"
#include "topology/places.h"
#include "topology/routes.h"

namespace peal::sim {

enum class Spread {
  kBlock,        // host by host
  kInterleaved,  // one host after the other for each rank
  kRandom,       // the places of kBlock, shuffled
};

struct Seating {
  Spread spread = Spread::kBlock;
  uint64_t seed = 0;  // of kRandom
};

enum class Folding { kWherePossible, kNever };

// What a message between two ranks passes.
struct Passage {
  PathKind kind = PathKind::kSelf;
  std::string narrowest;  // link
};

// Figures for what no machine file tells. A GPU's memory moves 1,000 GB/s and more (A100 1,555, H100 3,350: NVIDIA's
// data sheets), and beginning a step there takes about as long as launching a kernel.
inline constexpr double kGpuCopyBytesPerNs = 1000;
inline constexpr double kGpuStepNs = 2000;
inline constexpr double kCoreBytesPerNs = 12;  // a core that copies

class Job {
 public:
  // Ranks on the machine's GPUs, in the order of each host's ring; where it has none, on its cores, each of which also
  // moves the bytes of its rank's messages. Throws Error(kInvalidArgument) for more ranks than GPUs or cores.
  Job(const Machine& machine, int ranks, Seating seating, Folding folding);

  int ranks() const { return ranks_; }
  const Placement& placement() const { return placement_; }
  bool on_gpus() const { return on_gpus_; }

  // Throws Error(kInvalidArgument) where an algorithm maps memory, and kUnsupported where the plans of all ranks
  // together would be too large to be held.
  Simulated run(const Algorithm& algorithm, double bytes, double segment_bytes, Detail detail = Detail::kTimes);
  // Of the last run.
  int simulated_ranks() const { return simulated_ranks_; }
  std::string link_name(int link) const { return routes_->name_of(link); }
  Passage passage(int from, int to) const;
  double link_bytes_per_ns(int link) const { return links_.bytes_per_ns[static_cast<size_t>(link)]; }

 private:
  void seat(const std::vector<std::vector<int>>& seats, Seating seating);
  void place(const Machine& machine);
  MessageWay way(int from, int to) const;
  int folded(int link) const;
  void build(const Algorithm& algorithm);

  std::shared_ptr<const Routes> routes_;
  int ranks_;
  Folding folding_;
  bool on_gpus_ = false;
  std::vector<Location> seats_;  // by rank
  Placement placement_;
  SharedLinks links_;
  MachineCosts costs_;
  int period_ = 0;  // ranks of a host where all hosts are alike, filled and in blocks; 0: no fold
  bool symmetric_ = false, fold_ = false;  // of `built_`: could the first host's ranks stand for all? Do they?
  const Algorithm* built_ = nullptr;
  std::vector<Plan> plans_;
  int simulated_ranks_ = 0;
};

}  // namespace peal::sim
