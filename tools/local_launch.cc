#include "tools/local_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/settings.h"
#include "topology/places.h"
#include "topology/read.h"
#include "transports/bootstrap/launch.h"

namespace peal {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTimeToReport{1000};  // after a rank failed, before the others get SIGTERM
constexpr milliseconds kTimeToEnd{3000};     // after SIGTERM, before SIGKILL
constexpr int kNotStarted = 127;             // as shells have it

class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File() { close(); }
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

struct Pipe {
  File read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("making a pipe (--prefix takes two a rank; ulimit -n)", errno);
    read = File(ends[0]);
    write = File(ends[1]);
  }
};

// Message to the guardian: a process group to watch, or minus one that ended. False when the guardian is gone.
bool tell(int guardian, pid_t group) {
  return send(guardian, &group, sizeof(group), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(group));
}

// Passes a rank's output on, line by line, so that lines of different ranks never mix.
class PrefixedOutput {
 public:
  PrefixedOutput(File from, int to, int rank) : from_(std::move(from)), to_(to), prefix_(fmt::format("[{}] ", rank)) {
    fcntl(from_.number(), F_SETFL, O_NONBLOCK);
  }
  int file() const { return from_.number(); }

  void pass_on() {
    char buffer[4096];
    for (ssize_t got; (got = read(from_.number(), buffer, sizeof(buffer))) != -1 || errno == EINTR;) {
      if (got > 0) pending_.append(buffer, static_cast<size_t>(got));
      if (got == 0) {
        if (!pending_.empty() && pending_.back() != '\n') pending_ += '\n';
        from_.close();
      }
      write_lines();
      if (got == 0) return;
    }
  }

 private:
  void write_lines() {
    std::string out;
    for (size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1)) {
      out += prefix_;
      out.append(pending_, 0, end + 1);
    }
    for (size_t done = 0; done < out.size();) {
      const ssize_t wrote = write(to_, out.data() + done, out.size() - done);
      if (wrote < 0 && errno != EINTR) return;  // nobody reads any more
      if (wrote > 0) done += static_cast<size_t>(wrote);
    }
  }

  File from_;
  int to_;
  std::string prefix_, pending_;
};

struct Rank {
  pid_t process = -1;  // and its process group; -1 once it ended
};

// What a rank's process does between fork and exec. Only async-signal-safe calls from here on.
struct Child {
  std::vector<std::string> environment;
  std::vector<char*> arguments, variables;
  pid_t launcher;
  sigset_t signals;
  std::optional<cpu_set_t> processors;
  bool reads_input;
  int output = -1, errors = -1;
  int guardian, not_started;
};

[[noreturn]] void become_rank(Child& child) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.launcher) _exit(128 + SIGKILL);  // it died before we asked to be told
  // The guardian hears of the group before anything runs in it: a launcher killed right after fork() leaves nothing.
  const pid_t group = getpid();
  if (!tell(child.guardian, group)) _exit(128 + SIGKILL);
  sigprocmask(SIG_SETMASK, &child.signals, nullptr);
  if (child.processors) sched_setaffinity(0, sizeof(*child.processors), &*child.processors);
  if (!child.reads_input) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
  }
  if (child.output >= 0) dup2(child.output, STDOUT_FILENO);
  if (child.errors >= 0) dup2(child.errors, STDERR_FILENO);
  execvpe(child.arguments[0], child.arguments.data(), child.variables.data());
  const int error = errno;
  if (write(child.not_started, &error, sizeof(error)) != sizeof(error)) _exit(1);
  _exit(kNotStarted);
}

// Cores of each rank's own, out of those that the launcher may use; none where there are not enough or the user wants
// none: then the kernel chooses.
std::vector<cpu_set_t> share_out_cores(int ranks) {
  std::vector<cpu_set_t> shares;
  if (ranks == 1 || Settings::from(process_environment()).affinity == "none") return shares;
  const Host host = std::move(discover_machine().hosts[0]);
  if (static_cast<size_t>(ranks) > objects_of(host, ObjectKind::kCore).size()) return shares;
  for (int rank = 0; rank < ranks; rank++) {
    cpu_set_t& share = shares.emplace_back();
    CPU_ZERO(&share);
    for (const int cpu : share_of_cpus(host, rank, ranks)) CPU_SET(static_cast<size_t>(cpu), &share);
  }
  return shares;
}

class Launcher {
 public:
  explicit Launcher(const LocalLaunch& launch);
  ~Launcher();
  int run();

 private:
  void start();
  void wait_for_all();
  void start_guardian();
  void start_rank(int rank, const std::string& root, const std::string& key);
  void reap();
  void ended(Rank& rank);
  std::string how_it_ended(int status) const;
  void handle_signal();
  void signal_all(int signal);
  void escalate();
  int wait_ms() const;
  bool all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.process < 0; });
  }

  const LocalLaunch& launch_;
  std::vector<cpu_set_t> shares_;  // by rank, or empty
  sigset_t before_{};
  File signals_;
  std::vector<Rank> ranks_;
  std::vector<PrefixedOutput> outputs_;
  Pipe not_started_;  // errno of exec() in a rank; the program is the same for all
  File guardian_;     // our end: the guardian learns each rank's group, and our death from its closing
  pid_t guardian_process_ = -1;
  std::optional<int> result_;
  std::optional<Clock::time_point> terminate_at_, kill_at_;
};

Launcher::Launcher(const LocalLaunch& launch) : launch_(launch), shares_(share_out_cores(launch.ranks)) {
  sigset_t mine;
  sigemptyset(&mine);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&mine, signal);
  sigprocmask(SIG_BLOCK, &mine, &before_);
  signals_ = File(signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_.number() < 0) throw system_error("signalfd", errno);
  fcntl(not_started_.read.number(), F_SETFL, O_NONBLOCK);
}

void Launcher::start() {
  start_guardian();
  const std::string root = random_unix_root(), key = random_key_text();
  for (int rank = 0; rank < launch_.ranks; rank++) start_rank(rank, root, key);
}

Launcher::~Launcher() {
  signal_all(SIGKILL);
  guardian_.close();
  if (guardian_process_ > 0) waitpid(guardian_process_, nullptr, 0);
  for (const Rank& rank : ranks_) {
    if (rank.process > 0) waitpid(rank.process, nullptr, 0);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

// The guardian outlives the launcher by a moment: it hears of process groups, and when no launcher is left at the other
// end kills them all, with whatever the ranks started.
[[noreturn]] void guard(int launcher) {
  setsid();  // a Ctrl-C is not for it
  std::vector<pid_t> groups;
  pid_t group;
  while (recv(launcher, &group, sizeof(group), 0) == sizeof(group)) {
    if (group > 0) groups.push_back(group);
    if (group < 0) std::erase(groups, -group);
  }
  for (const pid_t alive : groups) kill(-alive, SIGKILL);
  _exit(0);
}

void Launcher::start_guardian() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("socketpair", errno);
  guardian_ = File(ends[0]);
  const File theirs(ends[1]);
  guardian_process_ = fork();
  if (guardian_process_ < 0) throw system_error("fork", errno);
  if (guardian_process_ > 0) return;
  guardian_.close();
  guard(theirs.number());
}

void Launcher::start_rank(int rank, const std::string& root, const std::string& key) {
  Child child;
  for (const auto& [name, value] : process_environment()) {
    if (name == "PEAL_RANK" || name == "PEAL_SIZE" || name == "PEAL_ROOT" || name == "PEAL_KEY") continue;
    child.environment.push_back(name + "=" + value);
  }
  for (const std::string& variable : {fmt::format("PEAL_RANK={}", rank), fmt::format("PEAL_SIZE={}", launch_.ranks),
                                      "PEAL_ROOT=" + root, "PEAL_KEY=" + key}) {
    child.environment.push_back(variable);
  }
  for (std::string& variable : child.environment) child.variables.push_back(variable.data());
  child.variables.push_back(nullptr);
  for (const std::string& argument : launch_.command) child.arguments.push_back(const_cast<char*>(argument.c_str()));
  child.arguments.push_back(nullptr);
  child.launcher = getpid();
  child.signals = before_;
  if (!shares_.empty()) child.processors = shares_[static_cast<size_t>(rank)];
  child.reads_input = rank == 0 && isatty(STDIN_FILENO) == 0;
  child.guardian = guardian_.number();
  child.not_started = not_started_.write.number();
  std::optional<Pipe> output, errors;
  if (launch_.prefix) {
    child.output = output.emplace().write.number();
    child.errors = errors.emplace().write.number();
  }
  const pid_t process = fork();
  if (process < 0) throw system_error(fmt::format("fork of rank {} of {}", rank, launch_.ranks), errno);
  if (process == 0) become_rank(child);
  setpgid(process, process);  // both sides do it: whoever comes first
  ranks_.push_back({process});
  if (launch_.prefix) {
    outputs_.emplace_back(std::move(output->read), STDOUT_FILENO, rank);
    outputs_.emplace_back(std::move(errors->read), STDERR_FILENO, rank);
  }
}

void Launcher::signal_all(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.process > 0) kill(-rank.process, signal);
  }
}

std::string Launcher::how_it_ended(int status) const {
  int error = 0;
  if (read(not_started_.read.number(), &error, sizeof(error)) == sizeof(error)) {
    return fmt::format("can't start '{}': {}", launch_.command[0], strerror(error));
  }
  if (WIFEXITED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

// `rank` is a zombie still, so that its number can't have become another's while its group is killed.
void Launcher::ended(Rank& rank) {
  kill(-rank.process, SIGKILL);             // what it started and left behind
  tell(guardian_.number(), -rank.process);  // if the guardian is gone, the kernel still kills ranks with the launcher
  int status = 0;
  waitpid(rank.process, &status, 0);
  const pid_t process = std::exchange(rank.process, -1);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 0 || result_) return;
  result_ = code;
  fmt::print(stderr, "rank {} (pid {}) {}\n", &rank - ranks_.data(), process, how_it_ended(status));
  terminate_at_ = Clock::now() + kTimeToReport;
}

void Launcher::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const auto rank =
        std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& each) { return each.process == info.si_pid; });
    if (rank != ranks_.end()) {
      ended(*rank);
    } else {
      waitpid(info.si_pid, nullptr, 0);
      if (info.si_pid == guardian_process_) guardian_process_ = -1;
    }
    info.si_pid = 0;
  }
}

void Launcher::handle_signal() {
  signalfd_siginfo info;
  while (read(signals_.number(), &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    const bool again = kill_at_.has_value();
    if (!result_) result_ = 128 + signal;
    signal_all(again ? SIGKILL : signal);
    kill_at_ = Clock::now() + kTimeToEnd;
  }
  reap();
}

void Launcher::escalate() {
  const auto now = Clock::now();
  if (terminate_at_ && now >= *terminate_at_) {
    signal_all(SIGTERM);
    terminate_at_.reset();
    if (!kill_at_) kill_at_ = now + kTimeToEnd;
  }
  if (kill_at_ && now >= *kill_at_) {
    signal_all(SIGKILL);
    kill_at_ = now + kTimeToEnd;
  }
}

int Launcher::wait_ms() const {
  auto next = Clock::time_point::max();
  if (terminate_at_) next = std::min(next, *terminate_at_);
  if (kill_at_) next = std::min(next, *kill_at_);
  if (next == Clock::time_point::max()) return -1;
  return static_cast<int>(
      std::max<int64_t>(0, std::chrono::duration_cast<milliseconds>(next - Clock::now()).count() + 1));
}

int Launcher::run() {
  start();
  wait_for_all();
  return result_.value_or(0);
}

void Launcher::wait_for_all() {
  while (!all_ended()) {
    std::vector<pollfd> files = {{signals_.number(), POLLIN, 0}};
    for (const PrefixedOutput& output : outputs_) files.push_back({output.file(), POLLIN, 0});
    poll(files.data(), files.size(), wait_ms());
    for (PrefixedOutput& output : outputs_) {
      if (output.file() >= 0) output.pass_on();
    }
    handle_signal();
    escalate();
  }
  for (PrefixedOutput& output : outputs_) {
    if (output.file() >= 0) output.pass_on();
  }
}

}  // namespace

int run_local_ranks(const LocalLaunch& launch) { return Launcher(launch).run(); }

}  // namespace peal
