// What every contestant of bench/compare.sh does: all are started once, then each waits, asleep, for its turn, measures
// the case that it is told, and says how long it took. So contestants alternate within fractions of a second, and what
// the machine does meanwhile meets all alike.
//
// A contestant's rank r reads its turns from the FIFO <folder>/<name>.<r>, one line each:
//   COLLECTIVE TYPE BYTES PLACE MEMORY BUFFERS TOUCHED ITERATIONS      e.g. all_reduce float 65536 in ordinary 1 0 500
// and answers to <folder>/<name>.answers: RANK NANOSECONDS CPU_NANOSECONDS VERDICT, per operation.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace turns {

struct Turn {
  std::string collective, type;
  size_t bytes = 0;  // of the larger side, as nccl-tests count
  bool in_place = false;
  bool symmetric = false;
  size_t buffers = 1;  // used one after the other: 1 stays in the caches as far as it fits
  bool touched = false;
  int iterations = 1;

  size_t element() const { return type == "bfloat16" ? 2 : 4; }
  bool whole() const {
    return collective == "all_reduce" || collective == "broadcast" || collective == "reduce" ||
           collective == "ping_pong" || collective == "floor";
  }
  // As most interfaces count: of one rank's block where a side has one block per rank.
  size_t count(int ranks) const { return bytes / element() / (whole() ? 1 : static_cast<size_t>(ranks)); }
};

class Contestant {
 public:
  int rank = 0, ranks = 1;

  virtual ~Contestant() = default;
  virtual void barrier() = 0;
  // False: it has no such operation. In place the side with one block lies inside the other one.
  virtual bool run(const Turn& turn, std::byte* send, std::byte* recv) = 0;
  // Before an iteration counts: how many calls are needed to warm up.
  virtual int warm_up(const Turn&) { return 2; }
  virtual std::byte* allocate(size_t bytes, bool symmetric) {
    (void)symmetric;
    void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == nullptr) throw std::runtime_error("no memory");
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  virtual void release(std::byte* memory) { std::free(memory); }
};

// Only this thread: a contestant's own threads stay where it put them.
inline void pin(int rank) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0 || CPU_COUNT(&usable) < 2) return;
  int wanted = rank % CPU_COUNT(&usable);
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET(core, &usable) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

class Buffers {
 public:
  Buffers(Contestant& contestant, const Turn& turn) : contestant_(contestant), turn_(turn) {
    for (size_t i = 0; i < turn.buffers * (turn.in_place ? 1 : 2); i++) {
      memory_.push_back(contestant.allocate(turn.bytes, turn.symmetric));
    }
  }
  ~Buffers() {
    for (std::byte* memory : memory_) contestant_.release(memory);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::byte* large_send(size_t i) const { return memory_[i % turn_.buffers]; }
  std::byte* large_recv(size_t i) const { return memory_[(turn_.in_place ? 0 : turn_.buffers) + i % turn_.buffers]; }
  std::byte* send(size_t i) const { return large_send(i) + (one_block("all_gather", "gather") ? own_block() : 0); }
  std::byte* recv(size_t i) const { return large_recv(i) + (one_block("reduce_scatter", "scatter") ? own_block() : 0); }

 private:
  bool one_block(const char* a, const char* b) const {
    return turn_.in_place && (turn_.collective == a || turn_.collective == b);
  }
  size_t own_block() const {
    return static_cast<size_t>(contestant_.rank) * turn_.count(contestant_.ranks) * turn_.element();
  }

  Contestant& contestant_;
  const Turn& turn_;
  std::vector<std::byte*> memory_;
};

struct Clocks {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  double cpu_ns = used();

  static double used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
  }
  double wall_since() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - wall).count();
  }
};

struct Answer {
  double ns = 0, cpu_ns = 0;
  std::string verdict = "ok";
};

// An all-reduce of known numbers, once: a contestant that is fast and wrong is not fast.
inline std::string check(Contestant& contestant, const Turn& turn, const Buffers& buffers) {
  if (turn.collective != "all_reduce" || turn.type != "float") return "ok";
  auto* numbers = reinterpret_cast<float*>(buffers.large_send(0));
  const size_t count = turn.bytes / sizeof(float);
  for (size_t i = 0; i < count; i++) numbers[i] = static_cast<float>(contestant.rank + 1) + static_cast<float>(i % 97);
  contestant.run(turn, buffers.send(0), buffers.recv(0));
  const auto n = static_cast<float>(contestant.ranks);
  const auto* sums = reinterpret_cast<const float*>(buffers.large_recv(0));
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += sums[i] != n * (n + 1) / 2 + n * static_cast<float>(i % 97);
  contestant.barrier();
  std::memset(buffers.large_send(0), 0, turn.bytes);
  return wrong == 0 ? "ok" : "wrong";
}

inline void write_all(std::byte* data, size_t bytes, size_t i) { std::memset(data, static_cast<int>(i & 1), bytes); }

inline void read_all(const std::byte* data, size_t bytes) {
  uint64_t sum = 0, word = 0;
  for (size_t at = 0; at + sizeof(word) <= bytes; at += sizeof(word)) {
    std::memcpy(&word, data + at, sizeof(word));
    sum += word;
  }
  volatile uint64_t sink = sum;
  (void)sink;
}

// With `calls`: what a program does that computes its input and uses its result; without: the same without the call.
inline double touched_ns(Contestant& contestant, const Turn& turn, const Buffers& buffers, bool calls) {
  contestant.barrier();
  const Clocks clocks;
  for (int i = 0; i < turn.iterations; i++) {
    const auto turn_number = static_cast<size_t>(i);
    write_all(buffers.large_send(turn_number), turn.bytes, turn_number);
    if (calls) contestant.run(turn, buffers.send(turn_number), buffers.recv(turn_number));
    read_all(buffers.large_recv(turn_number), turn.bytes);
  }
  return clocks.wall_since() / turn.iterations;
}

inline Answer measure(Contestant& contestant, const Turn& turn) {
  const Buffers buffers(contestant, turn);
  Answer answer;
  if (!contestant.run(turn, buffers.send(0), buffers.recv(0))) return {0, 0, "absent"};
  answer.verdict = check(contestant, turn, buffers);
  const int warm_up = contestant.warm_up(turn);
  for (int i = 0; i < warm_up; i++) {
    contestant.run(turn, buffers.send(static_cast<size_t>(i)), buffers.recv(static_cast<size_t>(i)));
  }
  if (turn.touched) {
    const double alone = touched_ns(contestant, turn, buffers, false);
    answer.ns = touched_ns(contestant, turn, buffers, true) - alone;
    return answer;
  }
  contestant.barrier();
  const Clocks clocks;
  for (int i = 0; i < turn.iterations; i++) {
    contestant.run(turn, buffers.send(static_cast<size_t>(i)), buffers.recv(static_cast<size_t>(i)));
  }
  answer.ns = clocks.wall_since() / turn.iterations;
  answer.cpu_ns = (Clocks::used() - clocks.cpu_ns) / turn.iterations;
  contestant.barrier();
  return answer;
}

inline Turn parse(const std::string& line) {
  Turn turn;
  std::string place, memory;
  std::istringstream words(line);
  words >> turn.collective >> turn.type >> turn.bytes >> place >> memory >> turn.buffers >> turn.touched >>
      turn.iterations;
  if (!words) throw std::runtime_error("not a turn: " + line);
  turn.in_place = place == "in";
  turn.symmetric = memory == "symmetric";
  return turn;
}

// Until the FIFO ends.
inline void serve(Contestant& contestant, const std::string& name_in_folder) {
  pin(contestant.rank);
  std::ifstream turns(name_in_folder + "." + std::to_string(contestant.rank));
  const int answers = ::open((name_in_folder + ".answers").c_str(), O_WRONLY);
  if (!turns || answers < 0) throw std::runtime_error("no FIFOs at " + name_in_folder);
  std::string line;
  while (std::getline(turns, line)) {
    const Answer answer = measure(contestant, parse(line));
    char text[128];
    const int length = std::snprintf(text, sizeof(text), "%d %.1f %.1f %s\n", contestant.rank, answer.ns, answer.cpu_ns,
                                     answer.verdict.c_str());
    if (::write(answers, text, static_cast<size_t>(length)) != length) break;  // one write: lines don't mix
  }
  ::close(answers);
}

}  // namespace turns
