// Who gets in, who doesn't, and what strangers cost.
#include "transports/handshake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "transports/build_id.h"
#include "transports/listener.h"
#include "transports/pass_files.h"

namespace peal {
namespace {

using State = Handshake::State;
using Failure = Handshake::Failure;
using ::testing::AllOf;
using ::testing::HasSubstr;

const JobKey kKey = [] {
  JobKey key;
  key.fill(0x42);
  return key;
}();
const Hello kDialer{3, 7, Purpose::kShm, 1, 2, 0xfeedfacecafebeef};
const Hello kAcceptor{0, 0, Purpose::kShm, 0, 0, 0xfeedfacecafebeef};

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    left = Socket(fds[0]);
    right = Socket(fds[1]);
  }
  Socket left, right;
};

void talk(Handshake& one, Handshake& other) {
  for (int i = 0; i < 8; ++i) {
    one.advance();
    other.advance();
  }
}

std::string read_all(int fd) {
  char bytes[256];
  ssize_t got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return {bytes, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

void write_all(int fd, const std::string& bytes) {
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

TEST(Handshake, BothSidesLearnWhoTheOtherIs) {
  Pair pair;
  auto dialer = Handshake::dial(std::move(pair.left), kKey, kDialer, 0);
  auto acceptor = Handshake::accept(std::move(pair.right), kKey, kAcceptor);
  talk(dialer, acceptor);
  ASSERT_EQ(dialer.state(), State::kDone) << dialer.why();
  ASSERT_EQ(acceptor.state(), State::kDone) << acceptor.why();
  EXPECT_EQ(acceptor.peer().rank, 3);
  EXPECT_EQ(acceptor.peer().channel, 7);
  EXPECT_EQ(acceptor.peer().index, 1);
  EXPECT_EQ(acceptor.peer().count, 2);
  EXPECT_EQ(acceptor.peer().target, kDialer.target);
  EXPECT_EQ(dialer.peer().rank, 0);
}

TEST(Handshake, LeavesWhatFollowsInTheSocket) {
  Pair pair;
  auto dialer = Handshake::dial(std::move(pair.left), kKey, kDialer, 0);
  auto acceptor = Handshake::accept(std::move(pair.right), kKey, kAcceptor);
  talk(dialer, acceptor);
  Socket left = dialer.take_socket(), right = acceptor.take_socket();
  write_all(left.fd(), "data");
  write_all(right.fd(), "other");
  EXPECT_EQ(read_all(right.fd()), "data");
  EXPECT_EQ(read_all(left.fd()), "other");
}

TEST(Handshake, AnotherKeyIsRefusedByTheDialerFirst) {
  Pair pair;
  JobKey other = kKey;
  other[31] ^= 1;
  auto dialer = Handshake::dial(std::move(pair.left), other, kDialer, 0);
  auto acceptor = Handshake::accept(std::move(pair.right), kKey, kAcceptor);
  talk(dialer, acceptor);
  EXPECT_EQ(dialer.failure(), Failure::kWrongKey);
  EXPECT_THAT(dialer.why(), HasSubstr("PEAL_KEY"));
  EXPECT_EQ(acceptor.state(), State::kTalking);  // it has seen no proof, so it believes nothing
  dialer.take_socket().close();
  EXPECT_EQ(acceptor.advance(), State::kFailed);
}

// A whole recorded conversation of a true dialer, sent again: the acceptor's fresh nonce makes its proof worthless.
TEST(Handshake, AReplayFails) {
  Pair dial_pair, accept_pair;
  auto dialer = Handshake::dial(std::move(dial_pair.left), kKey, kDialer, 0);
  auto acceptor = Handshake::accept(std::move(accept_pair.right), kKey, kAcceptor);
  std::string recorded;
  for (int i = 0; i < 4; ++i) {
    dialer.advance();
    std::string from_dialer = read_all(dial_pair.right.fd());
    recorded += from_dialer;
    if (!from_dialer.empty()) write_all(accept_pair.left.fd(), from_dialer);
    acceptor.advance();
    std::string from_acceptor = read_all(accept_pair.left.fd());
    if (!from_acceptor.empty()) write_all(dial_pair.right.fd(), from_acceptor);
  }
  ASSERT_EQ(acceptor.state(), State::kDone);
  ASSERT_EQ(recorded.size(), Handshake::kMostBytesFromDialer);

  Pair again;
  auto second = Handshake::accept(std::move(again.right), kKey, kAcceptor);
  write_all(again.left.fd(), recorded);
  EXPECT_EQ(second.advance(), State::kFailed);
  EXPECT_EQ(second.failure(), Failure::kWrongKey);
}

// The dialer's own bytes, or its own listener's answer, sent back to it.
TEST(Handshake, AReflectionFails) {
  Pair mirror;
  auto dialer = Handshake::dial(std::move(mirror.left), kKey, kDialer, 0);
  dialer.advance();
  std::string opening = read_all(mirror.right.fd());
  write_all(mirror.right.fd(), opening + std::string(36, 'x'));
  EXPECT_EQ(dialer.advance(), State::kFailed);
  EXPECT_EQ(dialer.failure(), Failure::kWrongKey);

  Pair relay;
  Hello own_listener = kDialer;
  auto victim = Handshake::dial(std::move(relay.left), kKey, kDialer, 0);
  auto own = Handshake::accept(std::move(relay.right), kKey, own_listener);
  talk(victim, own);
  EXPECT_EQ(victim.failure(), Failure::kUnexpected);
  EXPECT_THAT(victim.why(), HasSubstr("is rank 3, expected rank 0"));
  EXPECT_NE(own.state(), State::kDone);
}

TEST(Handshake, AnotherPurposeOrListenerIsRefused) {
  for (Hello wrong : {Hello{3, 7, Purpose::kTcp, 1, 2, kDialer.target}, Hello{3, 7, Purpose::kShm, 1, 2, 1}}) {
    Pair pair;
    auto dialer = Handshake::dial(std::move(pair.left), kKey, wrong, 0);
    auto acceptor = Handshake::accept(std::move(pair.right), kKey, kAcceptor);
    talk(dialer, acceptor);
    EXPECT_EQ(dialer.failure(), Failure::kUnexpected);
    EXPECT_NE(acceptor.state(), State::kDone);
  }
}

// Every single bit of what a dialer says is covered by its proof or by a check of its own.
TEST(Handshake, NoBitOfADialerMayChange) {
  for (size_t bit = 0; bit < Handshake::kMostBytesFromDialer * 8; ++bit) {
    Pair dial_pair, accept_pair;
    auto dialer = Handshake::dial(std::move(dial_pair.left), kKey, kDialer, 0);
    auto acceptor = Handshake::accept(std::move(accept_pair.right), kKey, kAcceptor);
    size_t passed = 0;
    for (int i = 0; i < 4; ++i) {
      dialer.advance();
      std::string bytes = read_all(dial_pair.right.fd());
      if (bit / 8 >= passed && bit / 8 < passed + bytes.size()) {
        bytes[bit / 8 - passed] = static_cast<char>(bytes[bit / 8 - passed] ^ (1 << bit % 8));
      }
      passed += bytes.size();
      if (!bytes.empty()) write_all(accept_pair.left.fd(), bytes);
      acceptor.advance();
      std::string answer = read_all(accept_pair.left.fd());
      if (!answer.empty()) write_all(dial_pair.right.fd(), answer);
    }
    EXPECT_NE(acceptor.state(), State::kDone) << "bit " << bit;
    EXPECT_NE(dialer.state(), State::kDone) << "bit " << bit;
  }
}

TEST(Handshake, GarbageAndSilenceAreNotPeal) {
  Pair pair;
  auto acceptor = Handshake::accept(std::move(pair.right), kKey, kAcceptor);
  EXPECT_EQ(acceptor.advance(), State::kTalking);
  write_all(pair.left.fd(), "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
  EXPECT_EQ(acceptor.advance(), State::kFailed);
  EXPECT_EQ(acceptor.failure(), Failure::kNotPeal);
}

// A peer of the job that runs another build, written out by hand: it proves the key, so it is believed and named.
struct OtherBuild {
  explicit OtherBuild(Socket its_socket) : socket(std::move(its_socket)) {}

  std::string opening() const {
    std::string bytes = {'P', 'E', 'A', 'L', 1, 9, 8, 7, 4, 3, 2, 1};
    return bytes + std::string(16, 'n');
  }
  static std::string hello(const Hello& hello) {
    std::string bytes;
    auto put = [&](uint64_t value, int count) {
      for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
    };
    put(static_cast<uint32_t>(hello.rank), 4);
    put(static_cast<uint32_t>(hello.channel), 4);
    put(static_cast<uint64_t>(hello.purpose), 1);
    put(hello.index, 1);
    put(hello.count, 1);
    put(0, 1);
    put(hello.target, 8);
    return bytes;
  }
  static std::string proof(char role, const std::string& talk) {
    std::string all = role + talk;
    std::string hash(16, '\0');
    ::crypto_generichash(reinterpret_cast<uint8_t*>(hash.data()), hash.size(),
                         reinterpret_cast<const uint8_t*>(all.data()), all.size(), kKey.data(), kKey.size());
    return hash;
  }
  Socket socket;
};

TEST(Handshake, AnotherBuildIsRefusedByBothAndBothAreNamed) {
  Pair dialed;
  OtherBuild acceptor(std::move(dialed.right));
  auto dialer = Handshake::dial(std::move(dialed.left), kKey, kDialer, 0);
  dialer.advance();
  std::string talk = read_all(acceptor.socket.fd()), answer = acceptor.opening() + OtherBuild::hello(kAcceptor);
  write_all(acceptor.socket.fd(), answer + OtherBuild::proof('a', talk + answer));
  EXPECT_EQ(dialer.advance(), State::kFailed);
  EXPECT_EQ(dialer.failure(), Failure::kOtherBuild);
  EXPECT_THAT(dialer.why(), AllOf(HasSubstr("peal 9.8.7, build 01020304"), HasSubstr(build_name())));
  EXPECT_EQ(read_all(acceptor.socket.fd()).size(), 36u) << "the acceptor must get the proof too";

  Pair accepted;
  OtherBuild other(std::move(accepted.left));
  auto here = Handshake::accept(std::move(accepted.right), kKey, kAcceptor);
  write_all(other.socket.fd(), other.opening());
  here.advance();
  talk = other.opening() + read_all(other.socket.fd());
  std::string hello = OtherBuild::hello(kDialer);
  write_all(other.socket.fd(), hello + OtherBuild::proof('d', talk + hello));
  EXPECT_EQ(here.advance(), State::kFailed);
  EXPECT_EQ(here.failure(), Failure::kOtherBuild);
  EXPECT_EQ(here.peer().rank, 3);
  EXPECT_THAT(here.why(), AllOf(HasSubstr("peal 9.8.7, build 01020304"), HasSubstr(build_name())));
}

TEST(Handshake, NamesThisBuild) {
  EXPECT_EQ(build_name(), fmt::format("peal {}.{}.{}, build {:08x}", kThisBuild.version[0], kThisBuild.version[1],
                                      kThisBuild.version[2], kThisBuild.hash));
}

std::string fresh_name() { return fmt::format("peal-handshake-test-{}-{}", ::getpid(), ::random()); }

SocketAddress loopback(const char* host, const Listener& listener) {
  return SocketAddress::numeric(host, listener.address().port()).at(0);
}

struct Door {
  std::string name;
  Listener listener;
  SocketAddress address;
};

Door unix_door() {
  SocketAddress address = SocketAddress::unix_name(fresh_name());
  return {"unix", Listener(listen_at(address), kKey, kAcceptor), address};
}

Door tcp_door(const char* host) {
  Listener listener(listen_in_range(AF_UNSPEC, ""), kKey, kAcceptor);
  SocketAddress address = loopback(host, listener);
  return {host, std::move(listener), address};
}

std::vector<Door> doors() {
  std::vector<Door> doors;
  doors.push_back(unix_door());
  doors.push_back(tcp_door("127.0.0.1"));
  doors.push_back(tcp_door("::1"));
  return doors;
}

Socket dial_now(const SocketAddress& address) {
  int error = 0;
  Socket socket = dial(address, error);
  EXPECT_EQ(error, 0) << std::strerror(error);
  return socket;
}

template <typename Condition>
bool within(int64_t limit_ms, Condition condition) {
  for (Deadline deadline = Deadline::after_ms(limit_ms); !deadline.passed(); ::usleep(200)) {
    if (condition()) return true;
  }
  return condition();
}

std::optional<Guest> welcome(Listener& listener, Handshake& dialer) {
  std::optional<Guest> guest;
  within(5000, [&] {
    if (!guest) guest = listener.poll();
    return dialer.advance() != State::kTalking && guest;
  });
  return guest;
}

TEST(Listener, LetsTheJobsOwnIn) {
  for (Door& door : doors()) {
    auto dialer = Handshake::dial(dial_now(door.address), kKey, kDialer, 0);
    auto guest = welcome(door.listener, dialer);
    EXPECT_EQ(dialer.state(), State::kDone) << door.name << ": " << dialer.why();
    ASSERT_TRUE(guest) << door.name;
    EXPECT_EQ(guest->hello.rank, 3);
    EXPECT_EQ(guest->mismatch, "");
    EXPECT_EQ(door.listener.strangers_dropped(), 0u);
  }
}

TEST(Listener, IsQuietWhenNothingHappens) {
  Door door = unix_door();
  pollfd waiting{door.listener.poll_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);
  auto dialer = Handshake::dial(dial_now(door.address), kKey, kDialer, 0);
  EXPECT_EQ(::poll(&waiting, 1, 1000), 1);
  EXPECT_TRUE(welcome(door.listener, dialer));
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);  // guests are their host's business
}

TEST(Listener, StrangersChangeNothingButACounter) {
  for (Door& door : doors()) {
    dial_now(door.address);  // a port scan: connects and goes
    Socket garbage = dial_now(door.address);
    within(1000, [&] { return ::send(garbage.fd(), std::string(300, 'z').data(), 300, MSG_NOSIGNAL) == 300; });
    EXPECT_TRUE(within(2000, [&] { return !door.listener.poll() && door.listener.strangers_dropped() == 2; }));
    EXPECT_THAT(door.listener.last_dropped(), ::testing::AnyOf(HasSubstr("not a Peal"), HasSubstr("closed")));
    auto dialer = Handshake::dial(dial_now(door.address), kKey, kDialer, 0);
    EXPECT_TRUE(welcome(door.listener, dialer)) << door.name;
  }
}

TEST(Listener, AFloodOfSilentOnesDoesNotKeepTheJobOut) {
  Door door = tcp_door("127.0.0.1");
  std::vector<Socket> silent;
  for (size_t i = 0; i < 3 * Listener::kMostStrangers; ++i) {
    silent.push_back(dial_now(door.address));
    EXPECT_FALSE(door.listener.poll());
  }
  auto dialer = Handshake::dial(dial_now(door.address), kKey, kDialer, 0);
  EXPECT_TRUE(welcome(door.listener, dialer));
  EXPECT_GE(door.listener.strangers_dropped(), 2 * Listener::kMostStrangers);
}

TEST(Listener, SlowOnesAreDroppedAfterTwoSeconds) {
  Door door = tcp_door("127.0.0.1");
  Socket slow = dial_now(door.address);
  EXPECT_TRUE(within(1000, [&] { return ::send(slow.fd(), "PEAL", 4, MSG_NOSIGNAL) == 4; }));
  Deadline start = Deadline::after_ms(Listener::kPatienceMs);
  EXPECT_FALSE(door.listener.poll());
  EXPECT_TRUE(within(4000, [&] { return !door.listener.poll() && door.listener.strangers_dropped() == 1; }));
  EXPECT_LE(start.left_ms(), 10);
  EXPECT_THAT(door.listener.last_dropped(), HasSubstr("in time"));
}

TEST(Listener, PortRangeExhaustedNamesTheRange) {
  Socket taken = listen_in_range(AF_INET, "");
  uint16_t port = SocketAddress::local_of(taken.fd()).port();
  std::string range = fmt::format("{}-{}", port, port);
  try {
    listen_in_range(AF_INET, range);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kSystem);
    EXPECT_THAT(error.what(), HasSubstr("PEAL_PORT_RANGE=" + range));
    EXPECT_THAT(error.what(), HasSubstr("in use"));
  }
}

TEST(Listener, PortRangesThatCantBeRead) {
  for (const char* range : {"x", "20-10", "0-5", "1-99999", "10-", "-10", "10-20x"}) {
    try {
      listen_in_range(AF_INET, range);
      FAIL() << range;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << range;
      EXPECT_THAT(error.what(), HasSubstr(fmt::format("\"{}\"", range)));
    }
  }
}

TEST(PassFiles, AFileArrivesWithItsBytes) {
  Pair pair;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Socket read_end(ends[0]), write_end(ends[1]);
  std::array<std::byte, 16> out, in;
  out.fill(std::byte{9});
  int files[] = {write_end.fd()};
  std::vector<Socket> got;
  EXPECT_EQ(receive_files(pair.right, in, got), Passed::kAgain);
  EXPECT_EQ(send_files(pair.left, out, files), Passed::kAll);
  EXPECT_EQ(receive_files(pair.right, in, got), Passed::kAll);
  EXPECT_EQ(in, out);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(::write(got[0].fd(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.fd(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  pair.left.close();
  EXPECT_EQ(receive_files(pair.right, in, got), Passed::kClosed);
}

TEST(PassFiles, AnotherSizeIsAnError) {
  Pair pair;
  std::array<std::byte, 8> out{};
  std::array<std::byte, 16> in;
  std::vector<Socket> got;
  EXPECT_EQ(send_files(pair.left, out, {}), Passed::kAll);
  EXPECT_THROW(receive_files(pair.right, in, got), Error);
}

}  // namespace
}  // namespace peal
