// Rank 0's part of start-up: lets all others in, says when all are here, gathers and hands out. Whatever goes wrong is
// told to everybody who came before it is thrown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "transports/bootstrap/launch.h"
#include "transports/bootstrap/message_socket.h"
#include "transports/listener.h"

namespace peal {

class RootSide {
 public:
  RootSide(const Launch& launch, Deadline deadline);
  std::vector<std::string> all_gather(const std::string& mine, Deadline deadline);

 private:
  struct Member {
    MessageSocket socket;
    bool joined = false;
    std::optional<std::string> gathered;
  };

  void meet(Listener& listener, Deadline deadline);
  void take(Guest guest);
  void read_join(Member& member, int rank, Deadline& deadline);
  void read_gathered(Member& member, int rank, Deadline& deadline);
  void send_to_all(const std::string& encoded, Deadline deadline);
  void wait_for_traffic(const Listener* listener, int64_t limit_ms);
  template <typename Predicate>
  std::string ranks_where(Predicate predicate) const;
  [[noreturn]] void fail(ErrorCode code, const std::string& what, int peer = -1);
  [[noreturn]] void fail_missing(const Listener& listener);

  Launch launch_;
  std::vector<std::optional<Member>> members_;  // by rank; none at 0
  std::vector<MessageSocket> turned_away_;      // told of the failure that they caused
};

}  // namespace peal
