// Start-up as every rank but 0 sees it: one authenticated socket to rank 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "transports/bootstrap/launch.h"
#include "transports/bootstrap/message_socket.h"
#include "transports/handshake.h"

namespace peal {

class PeerSide {
 public:
  PeerSide(const Launch& launch, Deadline deadline);
  std::vector<std::string> all_gather(const std::string& mine, Deadline deadline);

 private:
  void connect(Deadline deadline);
  bool try_once(const SocketAddress& address, Deadline deadline);
  void send(const Message& message, Deadline deadline);
  Message receive(MessageKind expected, Deadline deadline);
  [[noreturn]] void fail(ErrorCode code, const std::string& what) const;

  Launch launch_;
  std::optional<MessageSocket> socket_;
  bool queue_is_full_ = false;  // of the last try
  std::string last_refusal_;
  std::string last_answer_;  // says more than a refusal: somebody was there, but not the job's rank 0
};

}  // namespace peal
