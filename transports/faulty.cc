#include "transports/faulty.h"

#include <charconv>
#include <chrono>
#include <random>

#include "transports/wrapping.h"

namespace peal {
namespace {

using Clock = std::chrono::steady_clock;

template <typename Number>
void parse_number(std::string_view key, std::string_view value, Number least, Number most, Number& result) {
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc() && end == value.data() + value.size() && result >= least && result <= most) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("PEAL_FAULT: {} is \"{}\": expected a number from {} to {}", key, value, least, most));
}

void parse_fault(std::string_view word, Faults& faults) {
  size_t equals = std::min(word.find('='), word.size());
  std::string_view key = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  if (key == "again") return parse_number(key, value, 0.0, 1.0, faults.again);
  if (key == "stall") return parse_number(key, value, 0.0, 1.0, faults.stall);
  if (key == "delay") return parse_number<int64_t>(key, value, 0, 1'000'000'000, faults.delay_us);
  if (key == "fail_after") return parse_number<uint64_t>(key, value, 0, kMost, faults.fail_after);
  if (key == "seed") return parse_number<uint64_t>(key, value, 0, kMost, faults.seed);
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("PEAL_FAULT: \"{}\" is unknown: expected again=, stall=, delay=, fail_after= or seed=", word));
}

// The same seed gives the same faults.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  bool hit(double probability) noexcept {
    return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::mt19937_64 random_;
};

class FaultyConnection final : public WrappingConnection {
 public:
  FaultyConnection(std::vector<WrappingConnection*>& live, std::unique_ptr<Connection> inner, const Faults& faults,
                   Dice& dice, ErrorSite site)
      : WrappingConnection(live, std::move(inner)), faults_(faults), dice_(dice), site_(site) {}

  Post post_send(const void* data, size_t bytes) noexcept override {
    return post(bytes, [&] { return inner()->post_send(data, bytes); });
  }
  Post post_recv(void* data, size_t bytes) noexcept override {
    return post(bytes, [&] { return inner()->post_recv(data, bytes); });
  }

  void follow() noexcept override {
    if (failure()) return;
    follow_failure();
    if (faults_.delay_us == 0) return show(inner()->sends_done(), inner()->recvs_done());
    if (withheld_ && Clock::now() >= show_at_) {
      show(withheld_sends_, withheld_recvs_);
      withheld_ = false;
    }
    if (!withheld_ && (inner()->sends_done() != sends_done_ || inner()->recvs_done() != recvs_done_)) withhold();
  }

 private:
  template <typename Forward>
  Post post(size_t bytes, const Forward& forward) noexcept {
    if (failure()) return Post::kFailed;
    if (dice_.hit(faults_.again)) return Post::kAgain;
    if (bytes > faults_.fail_after - posted_) return break_connection();
    Post answer = forward();
    if (answer == Post::kPosted) posted_ += bytes;
    follow();
    return failure() ? Post::kFailed : answer;
  }

  Post break_connection() noexcept {
    fail(Error(ErrorCode::kPeerFailed,
               fmt::format("rank {}: injected fault: the connection to rank {} breaks after {} of fail_after={} bytes",
                           site_.rank, site_.peer, posted_, faults_.fail_after),
               site_));
    close_inner();
    return Post::kFailed;
  }

  void show(uint64_t sends, uint64_t recvs) noexcept {
    sends_done_ = sends;
    recvs_done_ = recvs;
  }
  void withhold() noexcept {
    withheld_ = true;
    withheld_sends_ = inner()->sends_done();
    withheld_recvs_ = inner()->recvs_done();
    show_at_ = Clock::now() + std::chrono::microseconds(faults_.delay_us);
  }

  const Faults& faults_;
  Dice& dice_;
  ErrorSite site_;
  uint64_t posted_ = 0;
  bool withheld_ = false;
  uint64_t withheld_sends_ = 0;
  uint64_t withheld_recvs_ = 0;
  Clock::time_point show_at_;
};

class FaultyTransport final : public WrappingTransport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, const TransportContext& context)
      : WrappingTransport("faulty:", std::move(inner)),
        rank_(context.rank),
        faults_(parse_faults(context.settings->fault)),
        dice_(faults_.seed + static_cast<uint64_t>(context.rank)) {}

  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override {
    return std::make_unique<FaultyConnection>(live(), inner().connect(peer, channel), faults_, dice_,
                                              ErrorSite{rank_, peer.rank, -1});
  }
  void progress() noexcept override {
    if (!dice_.hit(faults_.stall)) WrappingTransport::progress();
  }

 private:
  int rank_;
  Faults faults_;
  Dice dice_;
};

}  // namespace

Faults parse_faults(std::string_view text) {
  Faults faults;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    parse_fault(text.substr(0, comma), faults);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return faults;
}

std::unique_ptr<Transport> wrap_faulty(std::unique_ptr<Transport> inner, const TransportContext& context) {
  return std::make_unique<FaultyTransport>(std::move(inner), context);
}

}  // namespace peal
