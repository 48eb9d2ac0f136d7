// One connection between two pinned processes: half the round trip of a message, and a stream of messages one way.
// connection_bench --benchmark_filter=shm
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "transports/registry.h"

namespace peal {
namespace {

void pin_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

// One side: a transport and its connection to the other side, which it meets over a socket pair.
struct Side {
  Side(int rank, const std::string& word, int meeting) : log(settings, rank) {
    pin_to(rank);
    TransportContext context;
    context.rank = rank;
    context.ranks = 2;
    context.host_id = "bench";
    context.settings = &settings;
    context.log = &log;
    transport = std::move(create_transports(word, context).transports.at(0));
    std::string mine = transport->address(), theirs(4096, '\0');
    if (::send(meeting, mine.data(), mine.size(), 0) < 0) std::abort();
    theirs.resize(static_cast<size_t>(::recv(meeting, theirs.data(), theirs.size(), 0)));
    connection = transport->connect({1 - rank, theirs}, 0);
  }
  void drive_until(const uint64_t target_sends, const uint64_t target_recvs) {
    while (connection->sends_done() < target_sends || connection->recvs_done() < target_recvs) {
      transport->progress();
      if (connection->failure()) throw *connection->failure();
    }
  }

  Settings settings;
  Log log;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Connection> connection;
  uint64_t sent = 0, received = 0;
};

void send(Side& side, const std::vector<std::byte>& data) {
  while (side.connection->post_send(data.data(), data.size()) == Post::kAgain) side.transport->progress();
  ++side.sent;
}
void receive(Side& side, std::vector<std::byte>& data) {
  while (side.connection->post_recv(data.data(), data.size()) == Post::kAgain) side.transport->progress();
  ++side.received;
}

// Runs `other` as rank 1 in a forked process until killed, and `body` here as rank 0.
void with_other_process(const std::string& word, const std::function<void(Side&)>& other,
                        const std::function<void(Side&)>& body) {
  int meeting[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, meeting) != 0) std::abort();
  pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      Side side(1, word, meeting[1]);
      other(side);
    } catch (const Error&) {  // the other side has measured enough and closed
    }
    ::_exit(0);
  }
  {
    Side side(0, word, meeting[0]);
    body(side);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(meeting[0]);
  ::close(meeting[1]);
}

void ping_pong(benchmark::State& state, const std::string& word) {
  size_t bytes = static_cast<size_t>(state.range(0));
  std::vector<std::byte> out(bytes), in(bytes);
  auto echo = [&](Side& side) {
    for (;;) {
      receive(side, in);
      side.drive_until(0, side.received);
      send(side, out);
      side.drive_until(side.sent, 0);
    }
  };
  with_other_process(word, echo, [&](Side& side) {
    for (auto _ : state) {
      receive(side, in);
      send(side, out);
      side.drive_until(side.sent, side.received);
    }
  });
  double round_trips = static_cast<double>(state.iterations());
  state.counters["one_way"] =
      benchmark::Counter(2 * round_trips, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(2 * state.iterations() * state.range(0));
}

// 64 messages to the other side, then one word back.
void stream(benchmark::State& state, const std::string& word) {
  constexpr int kBurst = 64;
  size_t bytes = static_cast<size_t>(state.range(0));
  std::vector<std::byte> data(bytes), word_back(8);
  auto take = [&](Side& side) {
    for (;;) {
      for (int i = 0; i < kBurst; ++i) receive(side, data);
      side.drive_until(0, side.received);
      send(side, word_back);
      side.drive_until(side.sent, 0);
    }
  };
  with_other_process(word, take, [&](Side& side) {
    for (auto _ : state) {
      for (int i = 0; i < kBurst; ++i) send(side, data);
      receive(side, word_back);
      side.drive_until(side.sent, side.received);
    }
  });
  state.SetBytesProcessed(kBurst * state.iterations() * state.range(0));
}

}  // namespace
}  // namespace peal

int main(int argc, char** argv) {
  for (const auto& entry : peal::transport_entries()) {
    if (entry.name == "inproc") continue;  // two processes
    std::string word(entry.name);
    auto add = [&](const char* what, auto function, std::vector<int64_t> sizes) {
      auto* bench = benchmark::RegisterBenchmark(fmt::format("{}/{}", word, what).c_str(), function, word);
      for (int64_t size : sizes) bench->Arg(size);
      bench->UseRealTime();
    };
    add("ping_pong", peal::ping_pong, {8, 256, 4096, 65536, 1 << 20, 16 << 20});
    add("stream", peal::stream, {8, 4096, 65536, 1 << 20});
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
