// How ranks meet: who am I (launch.h), where is rank 0, and one all-gather of small strings among all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "transports/bootstrap/launch.h"

namespace peal {

// Connects all ranks through rank 0 (a star of authenticated sockets) for the time of start-up.
class Bootstrap {
 public:
  // Rank 0 listens at launch.root, the others connect to it, with retries until the deadline. Every connection proves
  // knowledge of launch.key both ways before anything else. Throws Error: kTimeout naming the ranks that never came
  // (every rank's message says so, not only rank 0's); kMismatch when two ranks have one number, when sizes differ
  // between ranks, or when builds differ (both named); kInvalidArgument for a root that can't be parsed; kSystem for a
  // port in use.
  Bootstrap(const Launch& launch, Deadline deadline);
  ~Bootstrap();
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  // Everybody's string in rank order. Collective: all ranks call it equally often.
  std::vector<std::string> all_gather(const std::string& mine, Deadline deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace peal
