#include "tools/perf/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/settings.h"
#include "base/version.h"

namespace peal::perf {
namespace {

[[noreturn]] void invalid(const std::string& option, const std::string& what) {
  throw CLI::ValidationError(option, what);
}

size_t bytes_of(const std::string& option, const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    invalid(option, fmt::format("'{}' is not {}", text, error.what()));
  }
}

// An option that may stand alone ("-C") or with 0 or 1, as nccl-tests wants it.
void add_switch(CLI::App& app, const std::string& names, bool* target, const std::string& help) {
  app.add_option_function<std::string>(
         names,
         [target, names](const std::string& text) {
           if (!text.empty() && text != "0" && text != "1") invalid(names, fmt::format("'{}' is not 0 or 1", text));
           *target = text != "0";
         },
         help)
      ->expected(0, 1)
      ->type_name("[0|1]");
}

void add_bytes(CLI::App& app, const std::string& names, size_t* target, const std::string& help) {
  app.add_option_function<std::string>(
         names, [target, names](const std::string& text) { *target = bytes_of(names, text); }, help)
      ->type_name("BYTES");
}

template <class T, class Parse>
void add_list(CLI::App& app, const std::string& names, std::vector<T>* target, std::vector<T> all, Parse parse,
              const std::string& help) {
  app.add_option_function<std::string>(
         names,
         [=](const std::string& word) {
           if (word == "all") {
             *target = all;
             return;
           }
           try {
             *target = {parse(word)};
           } catch (const Error& error) {
             invalid(names, error.what());
           }
         },
         help)
      ->type_name("NAME|all");
}

// int16 and uint16 are Peal's own: "all" stays what it means in nccl-tests plus those two.
std::vector<DataType> every_type() { return {all_data_types().begin(), all_data_types().end()}; }
std::vector<ReduceOp> every_op() { return {all_reduce_ops().begin(), all_reduce_ops().end()}; }

void add_sweep(CLI::App& app, Options* o) {
  add_bytes(app, "-b,--minbytes", &o->min_bytes, "smallest size, e.g. 8 or 1.5M (32M)");
  add_bytes(app, "-e,--maxbytes", &o->max_bytes, "largest size (32M)");
  add_bytes(app, "-i,--stepbytes", &o->step_bytes, "added from size to size (1M)");
  app.add_option("-f,--stepfactor", o->step_factor, "factor from size to size; wins over -i");
  app.add_option("-n,--iters", o->iterations, "timed iterations (20)")->check(CLI::Range(1, 1 << 30));
  app.add_option("-w,--warmup_iters", o->warmup, "iterations before (1)")->check(CLI::NonNegativeNumber);
  app.add_option("-m,--agg_iters", o->aggregated, "operations per iteration, waited for together (1)")
      ->check(CLI::Range(1, 4096));
  app.add_option("-N,--run_cycles", o->cycles, "times to go through all sizes; 0: for ever (1)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-c,--check", o->checks, "checked iterations; 0: none (1)")->check(CLI::NonNegativeNumber);
  add_list(app, "-o,--op", &o->ops, every_op(), parse_reduce_op, "sum prod min max avg mulsum (sum)");
  add_list(app, "-d,--datatype", &o->types, every_type(), parse_data_type, "element type (float)");
  app.add_option("-r,--root", o->root, "root of rooted collectives; -1: all, in turn (0)")
      ->check(CLI::Range(-1, 1 << 20));
}

void add_running(CLI::App& app, Options* o, int* gpus) {
  app.add_option("--ranks", o->ranks, "start this many ranks on this host")->check(CLI::Range(1, 4096));
  app.add_option("-t,--nthreads", o->threads, "ranks as threads of each process (1)")->check(CLI::Range(1, 1024));
  app.add_option("-g,--ngpus", *gpus, "devices per thread: only 1 on host memory")->check([](const std::string& text) {
    return text == "1" ? ""
                       : fmt::format("{}: buffers are in host memory, one per thread, so that only 1 is legal", text);
  });
  app.add_option("-z,--blocking", o->blocking, "1: blocking calls; 0: asynchronous ones, then waiting (0)");
  app.add_option_function<int>(
         "-a,--average", [o](int which) { o->average = static_cast<Average>(which); },
         "time shown: 0 rank 0's, 1 mean, 2 least, 3 largest of all ranks (1)")
      ->check(CLI::Range(0, 3));
  app.add_option("-T,--timeout", o->timeout_s, "seconds for everything; then exit code 4")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-R,--local_register", o->local_register, "0, 1: ordinary memory; 2: symmetric memory (0)")
      ->check(CLI::Range(0, 2));
  add_bytes(app, "-u,--unalign", &o->unalign, "buffers start this many bytes off (0)");
  app.add_flag("--isolated", o->isolated, "a barrier before each iteration, which is timed alone");
  app.add_flag("--fresh", o->fresh, "other buffers each iteration, out of a pool larger than most caches");
  app.add_option("--min_busbw", o->min_busbw, "GB/s: less on average is exit code 7");
}

void add_reporting(CLI::App& app, Options* o) {
  add_switch(app, "-C,--report_cputime", &o->cpu_time, "a column of CPU time per operation");
  add_switch(app, "-S,--report_timestamps", &o->timestamps, "a column of the time of day");
  add_switch(app, "-I,--per_iter_timing", &o->per_iteration, "a line of least, median, p99 and largest time");
  add_switch(app, "-M,--memory", &o->memory, "resident memory at the end");
  app.add_flag("--json", o->json, "results as JSON on standard output, the table on standard error");
  app.add_option("-J,--output_file", o->output_file, "results as JSON in this file");
  app.add_flag("--csv", o->csv, "results as CSV on standard output, the table on standard error");
  app.add_option("--plot", o->plot_file, "a drawing (SVG) of bus bandwidth and time over size");
}

void check_together(const Options& options) {
  if (options.min_bytes > options.max_bytes) {
    invalid("-b", fmt::format("minbytes {} is more than maxbytes {}", options.min_bytes, options.max_bytes));
  }
  if (options.step_factor != 0 && options.step_factor <= 1) {
    invalid("-f", fmt::format("stepfactor {} is not more than 1: sizes would never grow", options.step_factor));
  }
  if (options.step_factor == 0 && options.step_bytes == 0) invalid("-i", "stepbytes 0: sizes would never grow");
  if (options.json && options.csv) invalid("--csv", "not together with --json: both want standard output");
}

}  // namespace

std::vector<size_t> Options::sizes() const {
  std::vector<size_t> all;
  for (size_t size = min_bytes; size <= max_bytes;) {
    all.push_back(size);
    const size_t next =
        step_factor > 1 ? static_cast<size_t>(static_cast<double>(size) * step_factor) : size + step_bytes;
    size = std::max(next, size + 1);
  }
  return all;
}

bool parse_options(int argc, char** argv, const std::string& program, Options* options, int* exit_code) {
  CLI::App app("Measures and checks a collective, size by size.", program);
  int gpus = 1;
  add_sweep(app, options);
  add_running(app, options, &gpus);
  add_reporting(app, options);
  app.set_version_flag("--version", std::string(describe_build()));
  try {
    app.parse(argc, argv);
    check_together(*options);
    return true;
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kInvalidUsage;
    return false;
  }
}

}  // namespace peal::perf
