#include "transports/listener.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace peal {

Listener::Listener(Socket listening, const JobKey& key, const Hello& mine)
    : listening_(std::move(listening)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      key_(key),
      mine_(mine),
      address_(SocketAddress::local_of(listening_.fd())) {
  epoll_event event{EPOLLIN, {}};
  if (!events_.open() || ::epoll_ctl(events_.fd(), EPOLL_CTL_ADD, listening_.fd(), &event) != 0) {
    throw system_error(fmt::format("waiting for peers at {}", address_.text()), errno);
  }
}

std::optional<Guest> Listener::poll() noexcept {
  accept_all();
  return advance_strangers();
}

void Listener::accept_all() noexcept {
  // A full table's worth at a time: a flood may not keep this loop from returning.
  for (size_t i = 0; i < kMostStrangers; ++i) {
    Socket socket(::accept4(listening_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.open()) {
      admit(std::move(socket));
    } else if ((errno == EMFILE || errno == ENFILE) && !strangers_.empty()) {
      drop(strangers_.front(), "dropped, since this process is out of files");
      strangers_.pop_front();
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

// Ranks speak as soon as they are connected, so their words are there with them: garbage goes at once, and of those who
// wait the silent go first when one more comes.
void Listener::admit(Socket socket) {
  tune_for_messages(socket.fd());
  std::string address = SocketAddress::peer_of(socket.fd()).text();
  epoll_event event{EPOLLIN | EPOLLRDHUP, {}};
  ::epoll_ctl(events_.fd(), EPOLL_CTL_ADD, socket.fd(), &event);
  Stranger stranger{Handshake::accept(std::move(socket), key_, mine_), Deadline::after_ms(kPatienceMs), address};
  if (stranger.handshake.advance() == Handshake::State::kFailed) return drop(stranger, stranger.handshake.why());
  if (strangers_.size() == kMostStrangers) {
    const auto silent = std::find_if(strangers_.begin(), strangers_.end(),
                                     [](const Stranger& one) { return !one.handshake.has_opened(); });
    const auto leaves = silent != strangers_.end() ? silent : strangers_.begin();
    drop(*leaves, "dropped, since too many have connected without a word");
    strangers_.erase(leaves);
  }
  strangers_.push_back(std::move(stranger));
}

void Listener::drop(const Stranger& stranger, const std::string& why) noexcept {
  ++dropped_;
  last_dropped_ = fmt::format("{}: {}", stranger.address, why);
}

std::optional<Guest> Listener::advance_strangers() noexcept {
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    Handshake& handshake = stranger->handshake;
    auto state = handshake.advance();
    if (state == Handshake::State::kTalking && !stranger->patience.passed()) {
      ++stranger;
      continue;
    }
    bool other_build = handshake.failure() == Handshake::Failure::kOtherBuild;
    if (state == Handshake::State::kDone || other_build) {
      Guest guest{handshake.take_socket(), handshake.peer(), stranger->address, handshake.why()};
      ::epoll_ctl(events_.fd(), EPOLL_CTL_DEL, guest.socket.fd(), nullptr);
      strangers_.erase(stranger);
      return guest;
    }
    drop(*stranger, state == Handshake::State::kFailed ? handshake.why() : "didn't introduce itself in time");
    stranger = strangers_.erase(stranger);
  }
  return std::nullopt;
}

}  // namespace peal
