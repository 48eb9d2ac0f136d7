#include "ranks.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include "transports/bootstrap/launch.h"

namespace peal::trainer {

namespace {

CommunicatorOptions options_for(int rank, int ranks, const std::string& root) {
  CommunicatorOptions options;
  options.rank = rank;
  options.size = ranks;
  options.root = root;
  options.key = "a key for tests";
  return options;
}

// In the child: never returns.
[[noreturn]] void be_rank(int rank, int ranks, const std::string& root, const RankBody& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(60);  // a hang must not outlive the test
  try {
    Communicator communicator(options_for(rank, ranks, root));
    body(communicator);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", rank, error.what());
    std::fflush(stderr);
    _exit(1);
  }
  _exit(0);
}

}  // namespace

void run_as_threads(int ranks, const RankBody& body) {
  auto settings = std::make_shared<Settings>(Settings::from(process_environment()));
  settings->transport = "inproc";
  const std::string root = random_unix_root();
  std::vector<std::exception_ptr> failures(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CommunicatorOptions options = options_for(rank, ranks, root);
        options.settings = settings;
        Communicator communicator(options);
        body(communicator);
      } catch (...) {
        failures[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void run_as_processes(int ranks, const RankBody& body) {
  const std::string root = random_unix_root();
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) be_rank(rank, ranks, root, body);
    children.push_back(child);
  }
  std::string failed;
  for (size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (status != 0) failed += fmt::format(" {} (status {:#x})", rank, status);
  }
  if (!failed.empty()) throw std::runtime_error("failed ranks:" + failed);
}

}  // namespace peal::trainer
