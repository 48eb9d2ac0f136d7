// What is tcp's own: addresses, interfaces, several sockets, strangers at the port, peers that are busy or gone. Two
// transports driven by one thread, so that each test says exactly who moves when.
#include "transports/tcp.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>

#include "tests/transports/job.h"
#include "transports/listener.h"
#include "transports/tcp/address.h"
#include "transports/tcp/stream.h"

namespace peal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One rank of a job of `ranks`, in this thread.
struct Side {
  explicit Side(int rank, Settings its_settings = {}, const std::string& host = "one host", int key = 1)
      : settings(std::move(its_settings)), log(settings, rank) {
    context.rank = rank;
    context.ranks = 2;
    context.host_id = host;
    context.key.fill(static_cast<uint8_t>(key));
    context.settings = &settings;
    context.log = &log;
    transport = create_tcp(context);
  }
  std::unique_ptr<Connection> connect(int rank, const std::string& address, int channel = 0) {
    return transport->connect({rank, address}, channel);
  }
  TcpAddress address() const { return *TcpAddress::decode(transport->address()); }

  Settings settings;
  Log log;
  TransportContext context;
  std::unique_ptr<Transport> transport;
};

bool drive(std::initializer_list<Side*> sides, const std::function<bool()>& condition, int64_t limit_ms = 20000) {
  Deadline deadline = Deadline::after_ms(limit_ms);
  while (!condition()) {
    for (Side* side : sides) {
      side->transport->progress();
      side->transport->wait(50);
    }
    if (deadline.passed()) return condition();
  }
  return true;
}

// A message from one side to the other and one back.
void expect_exchange(Side& left, Side& right, Connection& from_left, Connection& from_right, size_t bytes) {
  std::vector<std::byte> out = testing::message(0, bytes, bytes), back = testing::message(1, bytes, bytes);
  std::vector<std::byte> in(bytes), answer(bytes);
  uint64_t lefts = from_left.recvs_done() + 1, rights = from_right.recvs_done() + 1;
  ASSERT_EQ(from_left.post_recv(answer.data(), bytes), Post::kPosted);
  ASSERT_EQ(from_right.post_recv(in.data(), bytes), Post::kPosted);
  ASSERT_EQ(from_left.post_send(out.data(), bytes), Post::kPosted);
  ASSERT_EQ(from_right.post_send(back.data(), bytes), Post::kPosted);
  EXPECT_TRUE(drive({&left, &right}, [&] {
    return (from_left.recvs_done() == lefts && from_right.recvs_done() == rights) || from_left.failure() ||
           from_right.failure();
  }));
  if (from_left.failure()) FAIL() << from_left.failure()->what();
  if (from_right.failure()) FAIL() << from_right.failure()->what();
  EXPECT_EQ(in, out);
  EXPECT_EQ(answer, back);
}

struct Pair {
  explicit Pair(const Settings& settings = {}, const Settings& other = {}) : left(0, settings), right(1, other) {
    connect();
  }
  void connect() {
    from_left = left.connect(1, right.transport->address());
    from_right = right.connect(0, left.transport->address());
  }
  Side left, right;
  std::unique_ptr<Connection> from_left, from_right;
};

Settings with(const std::function<void(Settings&)>& change) {
  Settings settings;
  change(settings);
  return settings;
}

std::string refusal(const Settings& settings, ErrorCode code) {
  try {
    Side side(0, settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

class Sockets : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Sockets, OneQueueFeedsAll) {
  Pair pair(with([](Settings& s) { s.nsocks = GetParam().first; }),
            with([](Settings& s) { s.nsocks = GetParam().second; }));
  for (size_t bytes : {size_t{8}, size_t{100000}, kChunkBytes, kChunkBytes + 1, size_t{20} << 20, size_t{0}}) {
    expect_exchange(pair.left, pair.right, *pair.from_left, *pair.from_right, bytes);
  }
}

std::string sockets_name(const ::testing::TestParamInfo<std::pair<int, int>>& info) {
  return fmt::format("{}and{}", info.param.first, info.param.second);
}
INSTANTIATE_TEST_SUITE_P(All, Sockets,
                         ::testing::Values(std::pair(1, 1), std::pair(2, 2), std::pair(4, 4), std::pair(1, 3),
                                           std::pair(8, 2)),
                         sockets_name);

TEST(Tcp, EitherFamily) {
  for (const char* family : {"AF_INET", "AF_INET6"}) {
    Settings settings = with([&](Settings& s) { s.socket_family = family; });
    Pair pair(settings, settings);
    for (const auto& one : pair.left.address().interfaces) EXPECT_EQ(one.ip_size, family[7] ? 16 : 4);
    expect_exchange(pair.left, pair.right, *pair.from_left, *pair.from_right, 1 << 20);
  }
}

// Not loopback, where this machine has anything else.
TEST(Tcp, RanksOnTwoHostsUseNoLoopback) {
  Side left(0, {}, "one host"), right(1, {}, "another");
  auto places = places_to_try(left.address(), right.address());
  if (places.empty()) GTEST_SKIP() << "this machine has loopback alone";
  EXPECT_TRUE(left.transport->reaches(left.transport->address(), right.transport->address()));
  auto from_left = left.connect(1, right.transport->address());
  auto from_right = right.connect(0, left.transport->address());
  expect_exchange(left, right, *from_left, *from_right, 1000);
}

TEST(Tcp, PortsOfTheRangeAlone) {
  Socket probe = listen_in_range(AF_UNSPEC, "");
  uint16_t port = SocketAddress::local_of(probe.fd()).port();
  Settings settings = with([&](Settings& s) { s.port_range = fmt::format("{}-{}", port, port); });
  EXPECT_THAT(refusal(settings, ErrorCode::kSystem),
              AllOf(HasSubstr(fmt::format("PEAL_PORT_RANGE={0}-{0}", port)), HasSubstr("in use")));
  probe.close();
  EXPECT_EQ(Side(0, settings).address().port, port);
}

TEST(Tcp, SettingsThatCantBe) {
  EXPECT_THAT(refusal(with([](Settings& s) { s.nsocks = 0; }), ErrorCode::kInvalidArgument), HasSubstr("PEAL_NSOCKS"));
  EXPECT_THAT(refusal(with([](Settings& s) { s.socket_family = "ipv6"; }), ErrorCode::kInvalidArgument),
              HasSubstr("AF_INET6"));
  EXPECT_THAT(refusal(with([](Settings& s) { s.socket_ifname = "=nosuch"; }), ErrorCode::kInvalidArgument),
              AllOf(HasSubstr("nosuch"), HasSubstr("lo")));
  EXPECT_THAT(refusal(with([](Settings& s) { s.port_range = "9-1"; }), ErrorCode::kInvalidArgument),
              HasSubstr("PEAL_PORT_RANGE"));
}

TEST(Tcp, StrangersAtThePortChangeNothing) {
  Pair pair;
  SocketAddress door = SocketAddress::numeric("127.0.0.1", pair.right.address().port).at(0);
  std::mt19937 random(3);
  std::vector<Socket> strangers;
  for (int i = 0; i < 200; ++i) {
    int error = 0;
    strangers.push_back(dial(door, error));
    ASSERT_EQ(error, 0) << std::strerror(error);
    std::string garbage(random() % 100, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (i % 3) ::send(strangers.back().fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    if (i % 5 == 0) strangers.back().close();
  }
  expect_exchange(pair.left, pair.right, *pair.from_left, *pair.from_right, 1 << 20);
}

TEST(Tcp, AnotherKeyIsToldToTheDialer) {
  Side left(0, {}, "one host", 1), right(1, {}, "one host", 2);
  auto from_left = left.connect(1, right.transport->address());
  auto from_right = right.connect(0, left.transport->address());
  EXPECT_TRUE(drive({&left, &right}, [&] { return from_left->failure() != nullptr; }));
  EXPECT_EQ(from_left->failure()->code(), ErrorCode::kPeerFailed);
  EXPECT_THAT(from_left->failure()->what(), AllOf(HasSubstr("rank 1"), HasSubstr("PEAL_KEY")));
  EXPECT_EQ(from_right->failure(), nullptr);
}

// An address that was given out twice: its port now belongs to another transport of the same job.
TEST(Tcp, AnotherTransportOfTheJobIsNotTakenForThePeer) {
  Side left(0), right(1), other(1);
  TcpAddress wrong = right.address();
  wrong.port = other.address().port;
  auto from_left = left.connect(1, wrong.encode());
  EXPECT_TRUE(drive({&left, &other}, [&] { return from_left->failure() != nullptr; }));
  EXPECT_THAT(from_left->failure()->what(), HasSubstr("not who was meant"));
}

TEST(Tcp, APeerThatIsGoneBeforeItWasReachedIsNamed) {
  Side left(0);
  std::string address;
  uint16_t port = 0;
  {
    Side right(1);
    address = right.transport->address();
    port = right.address().port;
  }
  auto from_left = left.connect(1, address);
  uint64_t word = 0;
  EXPECT_EQ(from_left->post_send(&word, 8), Post::kPosted);
  EXPECT_TRUE(drive(
      {&left}, [&] { return from_left->failure() != nullptr; }, 5000));
  EXPECT_EQ(from_left->failure()->code(), ErrorCode::kPeerFailed);
  EXPECT_EQ(from_left->failure()->site().peer, 1);
  EXPECT_THAT(from_left->failure()->what(),
              AllOf(HasSubstr("rank 1"), HasSubstr(fmt::format("127.0.0.1:{}", port)), HasSubstr("refused")));
}

// The peer's kernel answers the dial, its process has other things to do: for longer than a listener's patience.
TEST(Tcp, ABusyPeerIsWaitedFor) {
  Pair pair;
  std::vector<std::byte> out = testing::message(0, 0, 100000), in(100000);
  EXPECT_EQ(pair.from_left->post_send(out.data(), out.size()), Post::kPosted);
  drive(
      {&pair.left}, [] { return false; }, Listener::kPatienceMs + 500);
  EXPECT_EQ(pair.from_left->failure(), nullptr);
  EXPECT_EQ(pair.from_right->post_recv(in.data(), in.size()), Post::kPosted);
  EXPECT_TRUE(drive({&pair.left, &pair.right}, [&] { return pair.from_right->recvs_done() == 1; }));
  EXPECT_EQ(in, out);
}

// Each side is away for longer than the other's patience, in turns; nothing is lost or doubled.
TEST(Tcp, BothBusyInTurns) {
  Pair pair;
  std::vector<std::byte> out = testing::message(0, 0, 1000), in(1000);
  EXPECT_EQ(pair.from_left->post_send(out.data(), out.size()), Post::kPosted);
  EXPECT_EQ(pair.from_right->post_recv(in.data(), in.size()), Post::kPosted);
  drive(
      {&pair.left}, [] { return false; }, 20);
  drive(
      {&pair.right}, [] { return false; }, Listener::kPatienceMs + 300);
  drive(
      {&pair.left}, [] { return false; }, 20);
  drive(
      {&pair.right}, [] { return false; }, 20);
  EXPECT_TRUE(drive({&pair.left, &pair.right}, [&] { return pair.from_right->recvs_done() == 1; }));
  EXPECT_EQ(in, out);
}

TEST(Tcp, ConnectMayComeMuchLaterThanThePeers) {
  Side left(0), right(1);
  auto from_left = left.connect(1, right.transport->address());
  uint64_t out = 77, in = 0;
  EXPECT_EQ(from_left->post_send(&out, 8), Post::kPosted);
  EXPECT_TRUE(drive({&left, &right}, [&] { return from_left->sends_done() == 1; }));
  auto from_right = right.connect(0, left.transport->address());
  EXPECT_EQ(from_right->post_recv(&in, 8), Post::kPosted);
  EXPECT_TRUE(drive({&left, &right}, [&] { return from_right->recvs_done() == 1; }));
  EXPECT_EQ(in, 77u);
}

TEST(Tcp, SizesThatDifferAreNamed) {
  Pair pair;
  char out[100] = {}, in[60] = {};
  EXPECT_EQ(pair.from_left->post_send(out, sizeof out), Post::kPosted);
  EXPECT_EQ(pair.from_right->post_recv(in, sizeof in), Post::kPosted);
  EXPECT_TRUE(drive({&pair.left, &pair.right}, [&] { return pair.from_right->failure() != nullptr; }));
  EXPECT_EQ(pair.from_right->failure()->code(), ErrorCode::kMismatch);
  EXPECT_THAT(pair.from_right->failure()->what(), AllOf(HasSubstr("100 bytes"), HasSubstr("60")));
}

TEST(Tcp, AnIdleRankSleeps) {
  Pair pair;
  expect_exchange(pair.left, pair.right, *pair.from_left, *pair.from_right, 100);
  uint64_t word = 0, other = 0;
  EXPECT_EQ(pair.from_right->post_recv(&word, 8), Post::kPosted);
  // A chunk that nobody wants yet doesn't keep its receiver awake either.
  EXPECT_EQ(pair.from_right->post_send(&other, 8), Post::kPosted);
  drive(
      {&pair.left, &pair.right}, [] { return false; }, 50);
  for (Side* side : {&pair.left, &pair.right}) {
    Deadline before = Deadline::after_ms(60);
    for (int i = 0; i < 3; ++i) {
      side->transport->progress();
      side->transport->wait(20000);
    }
    EXPECT_LE(before.left_ms(), 20) << "two of three waits must have slept";
  }
}

TEST(TcpAddress, SurvivesItsEncodingAndNothingElseDoes) {
  TcpAddress address{0x1234567890abcdef, 4711, 3, "host", {}};
  address.interfaces.push_back({"eth0", {10, 1, 2, 3}, 4, 24, false, false});
  address.interfaces.push_back({"eth0", {0xfd, 1, 2, 3}, 16, 64, false, false});
  std::string bytes = address.encode();
  auto same = TcpAddress::decode(bytes);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->encode(), bytes);
  EXPECT_EQ(same->host_id, "host");
  for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(TcpAddress::decode(bytes.substr(0, cut))) << cut;
  EXPECT_FALSE(TcpAddress::decode(bytes + "x"));
}

TEST(TcpAddress, StaysBelowTheLimit) {
  TcpAddress address{1, 2, 3, std::string(1000, 'h'), {}};
  address.interfaces.resize(1000, {"eth0", {0xfd}, 16, 64, false, false});
  EXPECT_LE(address.encode().size(), 4096u);
  EXPECT_TRUE(TcpAddress::decode(address.encode()));
}

std::vector<std::string> texts(const std::vector<SocketAddress>& places) {
  std::vector<std::string> words;
  for (const auto& place : places) words.push_back(place.text());
  return words;
}

TEST(TcpAddress, NearestPlacesFirst) {
  InterfaceAddress loopback{"lo", {127, 0, 0, 1}, 4, 8, true, false};
  TcpAddress one{1, 80, 1, "a", {{"eth0", {10, 0, 0, 1}, 4, 24, false, false}, loopback}};
  TcpAddress other{2, 81, 1, "b", {}};
  other.interfaces = {{"eth0", {192, 168, 0, 2}, 4, 24, false, false},
                      {"ib0", {10, 0, 0, 2}, 4, 24, false, false},
                      {"eth1", {0xfd, 1}, 16, 64, false, false},
                      loopback};
  EXPECT_THAT(texts(places_to_try(one, other)), ElementsAre("10.0.0.2:81", "192.168.0.2:81"));
  other.host_id = "a";
  EXPECT_THAT(texts(places_to_try(one, other)), ElementsAre("127.0.0.1:81", "10.0.0.2:81", "192.168.0.2:81"));
}

TEST(TcpAddress, ReachIsSymmetric) {
  TcpAddress four{1, 80, 1, "a", {{"eth0", {10, 0, 0, 1}, 4, 24, false, false}}};
  TcpAddress six{2, 80, 1, "b", {{"eth0", {0xfd}, 16, 64, false, false}}};
  TcpAddress loopback_alone{3, 80, 1, "c", {{"lo", {127, 0, 0, 1}, 4, 8, true, false}}};
  EXPECT_TRUE(may_reach(four, four));
  EXPECT_TRUE(may_reach(loopback_alone, loopback_alone));
  for (const auto& [one, other] : {std::pair(four, six), std::pair(four, loopback_alone)}) {
    EXPECT_FALSE(may_reach(one, other));
    EXPECT_FALSE(may_reach(other, one));
  }
}

const std::vector<InterfaceAddress> kMachine = {
    {"lo", {127, 0, 0, 1}, 4, 8, true, false},       {"docker0", {172, 17, 0, 1}, 4, 16, false, false},
    {"eth0", {10, 0, 0, 1}, 4, 24, false, false},    {"eth0", {0xfd}, 16, 64, false, false},
    {"eth1", {169, 254, 3, 3}, 4, 16, false, false}, {"vpn7", {10, 8, 0, 1}, 4, 24, false, true},
    {"ib0", {10, 1, 0, 1}, 4, 24, false, false},
};

std::vector<std::string> chosen(const std::string& names, const std::string& family = "AF_INET",
                                const std::vector<InterfaceAddress>& machine = kMachine) {
  std::vector<std::string> words;
  for (const auto& one : choose_addresses(machine, names, family)) words.push_back(one.interface);
  return words;
}

TEST(Interfaces, RealNetworksByDefault) {
  EXPECT_THAT(chosen(""), ElementsAre("eth0", "ib0", "lo"));
  EXPECT_THAT(chosen("", ""), ElementsAre("eth0", "eth0", "ib0", "lo"));
  EXPECT_THAT(chosen("", "AF_INET6"), ElementsAre("eth0"));
}

TEST(Interfaces, WhatIsAskedForIsTaken) {
  EXPECT_THAT(chosen("eth,docker"), ElementsAre("docker0", "eth0", "eth1"));
  EXPECT_THAT(chosen("=ib0,vpn7"), ElementsAre("vpn7", "ib0"));
  EXPECT_THAT(chosen("^lo,docker,vpn"), ElementsAre("eth0", "eth1", "ib0"));
  EXPECT_THROW(chosen("=eth"), Error);
  EXPECT_THROW(chosen("", "v4"), Error);
}

// As in a network namespace made of veth pairs.
TEST(Interfaces, SecondChoicesWhenThereIsNothingElse) {
  EXPECT_THAT(
      chosen("", "", {{"lo", {127, 0, 0, 1}, 4, 8, true, false}, {"veth0", {10, 9, 0, 1}, 4, 24, false, false}}),
      ElementsAre("veth0", "lo"));
  EXPECT_THAT(chosen("", "", {{"lo", {127, 0, 0, 1}, 4, 8, true, false}}), ElementsAre("lo"));
}

// Two sockets of one connection with their far ends in the test's hand.
struct TwoStreams {
  TwoStreams() {
    for (int i = 0; i < 2; ++i) {
      int ends[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      streams[i].attach(Socket(ends[0]));
      far[i] = Socket(ends[1]);
    }
  }
  void write(int index, uint64_t message, uint64_t offset, uint64_t total, const std::string& bytes) {
    ChunkHeader header{message, offset, total, static_cast<uint32_t>(bytes.size()), 0};
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    all += bytes;
    ASSERT_EQ(::send(far[index].fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    streams[index].assume_readable();
  }
  void receive() {
    for (auto& stream : streams) stream.receive_into(queue);
  }
  TcpStream streams[2];
  Socket far[2];
  ReceiveQueue queue;
};

TEST(TcpStream, ALaterMessageOnAnotherSocketBlocksNothing) {
  TwoStreams two;
  char first[6] = {}, second[2] = {};
  two.write(1, 1, 0, 2, "cd");
  two.write(0, 0, 3, 6, "def");
  two.queue.post(first, sizeof first);
  two.receive();
  EXPECT_EQ(two.queue.done(), 0u);
  two.write(0, 0, 0, 6, "abc");
  two.receive();
  EXPECT_EQ(two.queue.done(), 1u);
  EXPECT_EQ(std::string(first, 6), "abcdef");
  two.queue.post(second, sizeof second);
  two.receive();
  EXPECT_EQ(two.queue.done(), 2u);
  EXPECT_EQ(std::string(second, 2), "cd");
}

TEST(TcpStream, ALaterMessageThatIsCompleteFirstWaitsForItsTurn) {
  TwoStreams two;
  char first[3] = {}, second[2] = {};
  two.queue.post(first, sizeof first);
  two.queue.post(second, sizeof second);
  two.write(1, 1, 0, 2, "cd");
  two.receive();
  EXPECT_EQ(two.queue.done(), 0u);
  two.write(0, 0, 0, 3, "abc");
  two.receive();
  EXPECT_EQ(two.queue.done(), 2u);
}

TEST(TcpStream, ChunksThatMakeNoSenseEndIt) {
  struct Wrong {
    uint64_t message, offset, total;
    std::string bytes;
    TcpStream::End end;
  };
  for (const Wrong& wrong :
       {Wrong{0, 0, 5, "abcd", TcpStream::End::kOtherSize}, Wrong{0, 2, 4, "abcd", TcpStream::End::kBroken},
        Wrong{0, ~uint64_t{0} - 1, 4, "ab", TcpStream::End::kBroken}, Wrong{0, 0, 4, "", TcpStream::End::kBroken}}) {
    TwoStreams two;
    char buffer[4];
    two.queue.post(buffer, sizeof buffer);
    two.write(0, wrong.message, wrong.offset, wrong.total, wrong.bytes);
    two.receive();
    EXPECT_EQ(two.streams[0].end(), wrong.end) << wrong.offset;
  }
  TwoStreams again;
  char buffer[1];
  again.queue.post(buffer, 1);
  again.write(0, 0, 0, 1, "x");
  again.write(0, 0, 0, 1, "x");
  again.receive();
  EXPECT_EQ(again.streams[0].end(), TcpStream::End::kBroken) << "message 0 came twice";
}

}  // namespace
}  // namespace peal
