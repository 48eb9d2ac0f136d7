// The *_perf programs: one source, installed under each collective's name.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/settings.h"
#include "base/version.h"
#include "tools/local_launch.h"
#include "tools/perf/measure.h"
#include "tools/perf/memory_limit.h"
#include "tools/perf/options.h"
#include "tools/perf/plot_svg.h"
#include "tools/perf/report.h"
#include "transports/bootstrap/launch.h"

namespace peal::perf {
namespace {

constexpr int kInternal = 1, kTimedOut = 4, kWrong = 7;

int exit_code_of(const Error& error) {
  if (error.code() == ErrorCode::kInvalidArgument) return kInvalidUsage;
  return error.code() == ErrorCode::kTimeout ? kTimedOut : kInternal;
}

// -T bounds everything, also what hangs where no deadline is looked at.
void arm_timeout(int seconds) {
  if (seconds == 0) return;
  signal(SIGALRM, [](int) {
    static constexpr char kText[] = "timed out (-T)\n";
    if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(kTimedOut + 1);
    _exit(kTimedOut);
  });
  alarm(static_cast<unsigned>(seconds));
}

std::vector<std::string> heading(const Communicator& communicator, const CollectiveCase& what, const Options& options) {
  std::vector<std::string> lines = {
      fmt::format("{}_perf, Peal {}, {} ranks, {} thread(s) a process", what.name(), describe_build(),
                  communicator.size(), options.threads),
      fmt::format("minbytes {} maxbytes {} {} iters {} warmup {} agg {} check {}{}{}{}", options.min_bytes,
                  options.max_bytes,
                  options.step_factor > 1 ? fmt::format("factor {}", options.step_factor)
                                          : fmt::format("step {}", options.step_bytes),
                  options.iterations, options.warmup, options.aggregated, options.checks,
                  options.isolated ? " isolated" : "", options.fresh ? " fresh buffers" : " one pair of buffers",
                  options.local_register == 2 ? " in symmetric memory" : "")};
  for (const std::string& line : communicator.describe()) lines.push_back(line);
  return lines;
}

void print_memory(FILE* out) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(out, "# Peak resident memory : {:.1f} MiB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::kSystem, fmt::format("can't write '{}'", path));
}

// Before an hour of measuring, not after it.
void require_writable(const std::string& option, const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: can't write '{}': {}", option, path, strerror(errno)));
}

void write_results(const Report& report, const CollectiveCase& what, const Options& options) {
  if (options.json) fmt::print("{}\n", report.json());
  if (options.csv) fmt::print("{}", report.csv());
  if (!options.output_file.empty()) write_file(options.output_file, report.json() + "\n");
  if (!options.plot_file.empty()) write_file(options.plot_file, plot_svg(std::string(what.name()), report.rows()));
}

void sweep(Communicator& communicator, Measurement& measurement, const CollectiveCase& what, const Options& options,
           Report* report) {
  const std::vector<size_t> sizes = what.has_sizes() ? options.sizes() : std::vector<size_t>{0};
  const std::vector<DataType> types = what.has_sizes() ? options.types : std::vector<DataType>{DataType::kUint8};
  const std::vector<ReduceOp> ops = what.reduces() ? options.ops : std::vector<ReduceOp>{ReduceOp::kSum};
  std::vector<int> roots = {what.rooted() ? options.root : 0};
  if (roots[0] < 0) {
    roots.clear();
    for (int root = 0; root < communicator.size(); root++) roots.push_back(root);
  }
  for (const DataType type : types) {
    for (const ReduceOp op : ops) {
      for (const int root : roots) {
        for (const size_t size : sizes) {
          if (report != nullptr) report->measuring(size, type);
          const Row row = measurement.measure(type, op, root, size);
          if (report != nullptr) report->add(row);
        }
      }
    }
  }
}

// One rank, from joining the job to its exit code.
int run_rank(const CommunicatorOptions& job, const CollectiveCase& what, const Options& options) {
  Communicator communicator(job);
  if (what.rooted() && options.root >= communicator.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("--root {}: ranks are 0 to {}", options.root, communicator.size() - 1));
  }
  FILE* out = options.json || options.csv ? stderr : stdout;
  std::unique_ptr<Report> report;
  if (communicator.rank() == 0) {
    report = std::make_unique<Report>(what, options, out);
    report->heading(heading(communicator, what, options));
  }
  Measurement measurement(communicator, what, options);
  for (int cycle = 0; options.cycles == 0 || cycle < options.cycles; cycle++) {
    sweep(communicator, measurement, what, options, report.get());
  }
  int code = 0;
  if (report) {
    report->finish();
    if (options.memory) print_memory(out);
    write_results(*report, what, options);
    if (report->wrong() > 0 || report->average_busbw() < options.min_busbw) code = kWrong;
  }
  communicator.broadcast(&code, &code, 1, DataType::kInt32, 0);
  return code;
}

// An error becomes a line and an exit code.
template <class Do>
int guarded(const CollectiveCase& what, Do action) {
  try {
    return action();
  } catch (const Error& error) {
    fmt::print(stderr, "{}_perf: {}\n", what.name(), error.what());
    return exit_code_of(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}_perf: {}\n", what.name(), error.what());
    return kInternal;
  }
}

// Whether --ranks N is for this process to do, or was done by a launcher.
bool starts_ranks(const Options& options, const Launch& launch) {
  if (options.ranks == 0) return false;
  if (launch.source == "alone") return true;
  if (launch.size == options.ranks) return false;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("--ranks {} in a job that {} says has {} ranks", options.ranks, launch.source, launch.size));
}

int start_ranks(const std::vector<std::string>& command, const Options& options) {
  require_memory_for(Measurement::bytes_needed(options), options.ranks * options.threads);
  LocalLaunch launch;
  launch.ranks = options.ranks;
  launch.command = command;
  launch.command[0] = std::filesystem::read_symlink("/proc/self/exe");
  return run_local_ranks(launch);
}

// -t: each process holds that many ranks, numbered process by process.
int run_threads(const CollectiveCase& what, const Options& options, Settings settings, const Launch& launch) {
  if (options.ranks == 0) require_memory_for(Measurement::bytes_needed(options), options.threads);
  if (options.timeout_s > 0) settings.timeout_ms = std::min<int64_t>(settings.timeout_ms, options.timeout_s * 1000);
  CommunicatorOptions job;
  job.settings = std::make_shared<const Settings>(settings);
  if (options.threads == 1) return run_rank(job, what, options);
  job.size = launch.size * options.threads;
  if (launch.size == 1) {
    job.root = random_unix_root();
    job.key = random_key_text();
  } else {
    job.root = launch.root;
  }
  std::atomic<int> first_code{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < options.threads; thread++) {
    CommunicatorOptions own = job;
    own.rank = launch.rank * options.threads + thread;
    threads.emplace_back([&, own] {
      int none = 0;
      first_code.compare_exchange_strong(none, guarded(what, [&] { return run_rank(own, what, options); }));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first_code;
}

int run(const std::vector<std::string>& command, const CollectiveCase& what, const Options& options) {
  const Environment environment = process_environment();
  const Settings settings = Settings::from(environment);
  const Launch launch = launch_from(settings, environment);
  if (launch.rank == 0) {
    require_writable("--output_file", options.output_file);
    require_writable("--plot", options.plot_file);
  }
  if (starts_ranks(options, launch)) return start_ranks(command, options);
  arm_timeout(options.timeout_s);
  return run_threads(what, options, settings, launch);
}

}  // namespace
}  // namespace peal::perf

int main(int argc, char** argv) {
  using namespace peal::perf;
  const std::string program = std::filesystem::path(argv[0]).filename();
  const CollectiveCase* what = find_case(program);
  if (what == nullptr) {
    fmt::print(stderr, "{}: the program's name says what it measures, e.g. all_reduce_perf\n", program);
    return kInvalidUsage;
  }
  Options options;
  int code = 0;
  if (!parse_options(argc, argv, program, &options, &code)) return code;
  return guarded(*what, [&] { return run({argv, argv + argc}, *what, options); });
}
