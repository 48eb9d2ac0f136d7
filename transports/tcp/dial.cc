#include "transports/tcp/dial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peal {
namespace {

constexpr int64_t kNobodyMs = 2000;

bool is_answer_of_somebody_else(Handshake::Failure failure) {
  using Failure = Handshake::Failure;
  return failure == Failure::kNotPeal || failure == Failure::kWrongKey || failure == Failure::kUnexpected;
}

}  // namespace

TcpDial::TcpDial(std::vector<SocketAddress> places, const JobKey& key, const Hello& hello, int peer,
                 int64_t patience_ms)
    : places_(std::move(places)),
      key_(key),
      hello_(hello),
      peer_(peer),
      patience_(Deadline::after_ms(patience_ms)),
      try_until_(Deadline::after_ms(0)),
      pause_until_(Deadline::after_ms(0)),
      answers_(places_.size(), Answer::kNone),
      whys_(places_.size(), "not tried") {}

TcpDial::State TcpDial::advance() noexcept {
  if (!handshake_) {
    if (!pause_until_.passed()) return State::kTrying;
    start();
    if (!handshake_) return next(errno == ECONNREFUSED ? Answer::kNobody : Answer::kUnreachable, std::strerror(errno));
  }
  switch (handshake_->advance()) {
    case Handshake::State::kDone:
      return State::kReached;
    case Handshake::State::kFailed:
      return judge_try();
    case Handshake::State::kTalking:
      break;
  }
  if (!try_until_.passed() || !handshake_->may_be_abandoned()) return State::kTrying;
  if (!is_connected()) return next(Answer::kUnreachable, "no answer");
  // Connected but silent: most likely the peer, busy with something else. Others are worth a look in the meantime.
  if (places_.size() == 1) return State::kTrying;
  return next(Answer::kSilent, "connected, no answer yet");
}

void TcpDial::start() noexcept {
  int error = 0;
  Socket socket = dial(places_[at_], error);
  errno = error;
  if (error) return;
  handshake_.emplace(Handshake::dial(std::move(socket), key_, hello_, peer_));
  try_until_ = Deadline::after_ms(try_ms());
  fd_changed_ = true;
}

TcpDial::State TcpDial::judge_try() noexcept {
  auto failure = handshake_->failure();
  std::string why = handshake_->why();
  if (failure == Handshake::Failure::kOtherBuild) {
    is_other_build_ = true;
    whys_[at_] = why;
    return State::kGivenUp;
  }
  bool refused = failure == Handshake::Failure::kRefused && why == std::strerror(ECONNREFUSED);
  bool nobody = refused || is_answer_of_somebody_else(failure);
  bool closed = failure == Handshake::Failure::kClosed;  // its listener had no patience: it will, another time
  return next(nobody ? Answer::kNobody : closed ? Answer::kSilent : Answer::kUnreachable, why);
}

TcpDial::State TcpDial::next(Answer answer, const std::string& why) noexcept {
  answers_[at_] = answer;
  whys_[at_] = why;
  handshake_.reset();
  at_ = (at_ + 1) % places_.size();
  if (at_ != 0) return State::kTrying;
  // A round is over. 10 ms, doubling up to 640 ms, before the next.
  pause_until_ = Deadline::after_ms(int64_t{10} << std::min(round_++, 6));
  bool all_nobody = std::ranges::all_of(answers_, [](Answer one) { return one == Answer::kNobody; });
  if (!all_nobody) nobody_until_.reset();
  if (all_nobody && !nobody_until_) nobody_until_ = Deadline::after_ms(kNobodyMs);
  if (all_nobody && nobody_until_->passed()) return State::kGivenUp;
  bool any_there = std::ranges::any_of(answers_, [](Answer one) { return one == Answer::kSilent; });
  return !any_there && patience_.passed() ? State::kGivenUp : State::kTrying;
}

bool TcpDial::is_connected() const noexcept { return SocketAddress::peer_of(handshake_->fd()).family() != AF_UNSPEC; }

// A lost SYN is sent again after 1 s and 3 s.
int64_t TcpDial::try_ms() const noexcept { return int64_t{1500} << std::min(round_, 4); }

std::string TcpDial::why() const {
  std::string all;
  for (size_t i = 0; i < places_.size(); ++i) {
    all += fmt::format("{}{}: {}", i ? "; " : "", places_[i].text(), whys_[i]);
  }
  return all;
}

}  // namespace peal
