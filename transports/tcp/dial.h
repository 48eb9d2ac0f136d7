// One socket's way to its peer: tries the peer's addresses in turn, and again, until one of them is the peer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "transports/handshake.h"
#include "transports/socket.h"

namespace peal {

class TcpDial {
 public:
  enum class State { kTrying, kReached, kGivenUp };

  // Gives up when every address has answered for two seconds that nobody of the job is there (the peer's process is
  // gone), or when none could be connected to for `patience_ms`. A peer that is there but busy is waited for.
  TcpDial(std::vector<SocketAddress> places, const JobKey& key, const Hello& hello, int peer, int64_t patience_ms);

  State advance() noexcept;
  // Of the try under way; -1 between two. `fd_changed()` answers true once for each new one.
  int fd() const noexcept { return handshake_ ? handshake_->fd() : -1; }
  bool fd_changed() noexcept { return std::exchange(fd_changed_, false); }

  // kReached:
  Socket take_socket() noexcept { return handshake_->take_socket(); }
  const SocketAddress& place() const noexcept { return places_[at_]; }
  // kGivenUp: each address with its reason.
  std::string why() const;
  bool is_other_build() const noexcept { return is_other_build_; }

 private:
  enum class Answer { kNone, kSilent, kUnreachable, kNobody };

  void start() noexcept;
  State judge_try() noexcept;
  State next(Answer answer, const std::string& why) noexcept;
  bool is_connected() const noexcept;
  int64_t try_ms() const noexcept;

  std::vector<SocketAddress> places_;
  JobKey key_;
  Hello hello_;
  int peer_;
  Deadline patience_;
  std::optional<Deadline> nobody_until_;  // set at the first round in which nobody was there
  std::optional<Handshake> handshake_;
  Deadline try_until_, pause_until_;
  size_t at_ = 0;
  int round_ = 0;
  bool fd_changed_ = false, is_other_build_ = false;
  std::vector<Answer> answers_;
  std::vector<std::string> whys_;
};

}  // namespace peal
