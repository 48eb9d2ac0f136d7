// The worked example of docs/adding_a_transport.md: a whole transport in a page, kept true by being compiled and run.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transports/transport.h"

namespace peal {
namespace {

// [example]
// Ranks of one process trade messages through queues behind a lock. Slow, and complete.
struct Mail {
  std::mutex mutex;
  std::map<std::string, std::deque<std::string>> queues;  // by "from>to/channel"
};

class MailConnection final : public Connection {
 public:
  MailConnection(Mail& mail, std::string out, std::string in) : mail_(mail), out_(std::move(out)), in_(std::move(in)) {}

  Post post_send(const void* data, size_t bytes) noexcept override {
    const std::lock_guard lock(mail_.mutex);
    mail_.queues[out_].emplace_back(static_cast<const char*>(data), bytes);  // eager: the bytes are ours now
    sends_done_++;
    return Post::kPosted;
  }

  Post post_recv(void* data, size_t bytes) noexcept override {
    posted_.push_back({data, bytes});
    progress();
    return Post::kPosted;
  }

  void progress() noexcept {
    const std::lock_guard lock(mail_.mutex);
    auto& queue = mail_.queues[in_];
    while (!posted_.empty() && !queue.empty()) {
      if (queue.front().size() != posted_.front().bytes) {
        return fail(Error(ErrorCode::kPeerFailed, "a message of " + std::to_string(queue.front().size()) +
                                                      " bytes met a "
                                                      "receive of " +
                                                      std::to_string(posted_.front().bytes)));
      }
      if (posted_.front().bytes > 0) std::memcpy(posted_.front().data, queue.front().data(), posted_.front().bytes);
      queue.pop_front();
      posted_.pop_front();
      recvs_done_++;
    }
  }

 private:
  struct Receive {
    void* data;
    size_t bytes;
  };
  Mail& mail_;
  std::string out_, in_;
  std::deque<Receive> posted_;
};

class MailTransport final : public Transport {
 public:
  MailTransport(Mail& mail, int rank) : mail_(mail), address_(std::to_string(rank)) {}

  std::string_view name() const noexcept override { return "mail"; }
  TransportProperties properties() const noexcept override { return {.latency_ns = 500, .bandwidth_bytes_per_ns = 2}; }
  std::string address() const override { return address_; }
  bool reaches(std::string_view, std::string_view) const override { return true; }

  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override {
    const std::string there(peer.address), suffix = "/" + std::to_string(channel);
    auto connection =
        std::make_unique<MailConnection>(mail_, address_ + ">" + there + suffix, there + ">" + address_ + suffix);
    made_.push_back(connection.get());  // connections are destroyed before their transport, all at once
    return connection;
  }

  void progress() noexcept override {
    for (MailConnection* connection : made_) connection->progress();
  }

 private:
  Mail& mail_;
  std::string address_;
  std::vector<MailConnection*> made_;
};
// [example]

TEST(ExampleTransport, CarriesMessagesInOrderBothWays) {
  Mail mail;
  const auto run = [&](int rank) {
    MailTransport transport(mail, rank);
    const std::string there = std::to_string(1 - rank);
    const auto connection = transport.connect({1 - rank, there}, 0);
    std::vector<int> in(1000);
    for (int i = 0; i < 1000; i++) {
      const int out = rank * 10000 + i;
      ASSERT_EQ(connection->post_send(&out, sizeof(out)), Post::kPosted);
      ASSERT_EQ(connection->post_recv(&in[static_cast<size_t>(i)], sizeof(int)), Post::kPosted);
    }
    while (connection->recvs_done() < 1000) transport.progress();
    EXPECT_EQ(connection->sends_done(), 1000U);
    for (int i = 0; i < 1000; i++) ASSERT_EQ(in[static_cast<size_t>(i)], (1 - rank) * 10000 + i);
    EXPECT_EQ(connection->failure(), nullptr);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST(ExampleTransport, ASizeThatDisagreesIsAFailure) {
  Mail mail;
  MailTransport a(mail, 0), b(mail, 1);
  const auto there = a.connect({1, "1"}, 0), here = b.connect({0, "0"}, 0);
  char bytes[8] = {};
  there->post_send(bytes, 8);
  here->post_recv(bytes, 4);
  ASSERT_NE(here->failure(), nullptr);
  EXPECT_STREQ(here->failure()->what(), "a message of 8 bytes met a receive of 4");
}

}  // namespace
}  // namespace peal
