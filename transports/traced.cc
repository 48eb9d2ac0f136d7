#include "transports/traced.h"

#include <array>

namespace peal {
namespace {

// Operations of one direction: how many were posted, and the sizes of those that may be under way.
struct Posted {
  static constexpr uint64_t kMost = 1024;
  std::array<size_t, kMost> bytes{};
  uint64_t count = 0;
};

class TracedConnection final : public WrappingConnection {
 public:
  TracedConnection(std::vector<WrappingConnection*>& live, std::unique_ptr<Connection> inner, int peer, int channel,
                   Log& log, Traffic& traffic)
      : WrappingConnection(live, std::move(inner)), peer_(peer), channel_(channel), log_(log), traffic_(traffic) {}

  Post post_send(const void* data, size_t bytes) noexcept override {
    return post("send", sends_, sends_done_, bytes, [&] { return inner()->post_send(data, bytes); });
  }
  Post post_recv(void* data, size_t bytes) noexcept override {
    return post("recv", recvs_, recvs_done_, bytes, [&] { return inner()->post_recv(data, bytes); });
  }

  void follow() noexcept override {
    for (; sends_done_ < inner()->sends_done(); ++sends_done_) {
      size_t bytes = complete("send", sends_, sends_done_);
      ++traffic_.sends;
      traffic_.bytes_sent += bytes;
    }
    for (; recvs_done_ < inner()->recvs_done(); ++recvs_done_) {
      size_t bytes = complete("recv", recvs_, recvs_done_);
      ++traffic_.recvs;
      traffic_.bytes_received += bytes;
    }
    if (failure() || !inner()->failure()) return;
    follow_failure();
    if (log_.enabled(LogLevel::kTrace)) log_.write(LogLevel::kTrace, failure()->what());
  }

 private:
  template <typename Forward>
  Post post(std::string_view what, Posted& posted, uint64_t done, size_t bytes, const Forward& forward) noexcept {
    if (posted.count - done == Posted::kMost) return Post::kAgain;
    Post answer = forward();
    if (answer == Post::kPosted) {
      say("posted", what, posted.count, bytes);
      posted.bytes[posted.count++ % Posted::kMost] = bytes;
    }
    follow();
    return answer;
  }

  size_t complete(std::string_view what, const Posted& posted, uint64_t index) noexcept {
    size_t bytes = posted.bytes[index % Posted::kMost];
    say("done", what, index, bytes);
    return bytes;
  }

  void say(std::string_view event, std::string_view what, uint64_t index, size_t bytes) noexcept {
    if (!log_.enabled(LogLevel::kTrace)) return;
    log_.write(LogLevel::kTrace,
               fmt::format("{} {} {} peer {} channel {} bytes {}", event, what, index, peer_, channel_, bytes));
  }

  int peer_;
  int channel_;
  Log& log_;
  Traffic& traffic_;
  Posted sends_;
  Posted recvs_;
};

}  // namespace

TracedTransport::TracedTransport(std::unique_ptr<Transport> inner, const TransportContext& context)
    : WrappingTransport("traced:", std::move(inner)),
      log_(*context.log),
      traffic_(static_cast<size_t>(context.ranks)) {}

std::unique_ptr<Connection> TracedTransport::connect(const PeerAddress& peer, int channel) {
  return std::make_unique<TracedConnection>(live(), inner().connect(peer, channel), peer.rank, channel, log_,
                                            traffic_.at(static_cast<size_t>(peer.rank)));
}

std::unique_ptr<Transport> wrap_traced(std::unique_ptr<Transport> inner, const TransportContext& context) {
  return std::make_unique<TracedTransport>(std::move(inner), context);
}

}  // namespace peal
