// A critical path of thousands of messages in a few lines: messages of one kind that follow each other are one line,
// and what repeats is said once.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collectives/simulate.h"
#include "tools/sim/job.h"

namespace peal::sim {

// Messages of one kind, each begun by what arrived with the one before.
struct Stretch {
  int messages = 0;
  PathKind kind = PathKind::kSelf;
  int from = 0, to = 0;   // the first message's ranks
  std::string narrowest;  // the first message's link
  // Nanoseconds since the message before the first one arrived; of all `messages`.
  double latency_ns = 0, transfer_ns = 0, queue_ns = 0, core_ns = 0;
};

struct Repeated {
  int times = 1;
  std::vector<Stretch> stretches;  // sums over all times; ranks and link of the first time
};

using PassageOf = std::function<Passage(int from, int to)>;

// In the order of the path. Pure; the sums of all stretches are what the last message's `until` says.
std::vector<Repeated> folded(std::span<const PathMessage> messages, const PassageOf& passage_of);

// One line per stretch, figures per time in microseconds.
std::string to_string(const std::vector<Repeated>& path);

}  // namespace peal::sim
