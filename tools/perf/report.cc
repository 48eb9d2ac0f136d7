#include "tools/perf/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "topology/read.h"

namespace peal::perf {
namespace {

std::string op_name(const CollectiveCase& what, const Row& row) {
  return what.reduces() ? std::string(name_of(row.shape.op)) : "none";
}

// "two_shot", or where in place takes another one "two_shot/symmetric".
std::string algorithms_of(const Row& row) {
  const std::string& first = row.out_of_place.algorithm;
  return row.in_place && row.in_place->algorithm != first ? first + "/" + row.in_place->algorithm : first;
}

int root_shown(const CollectiveCase& what, const Row& row) { return what.rooted() ? row.shape.root : -1; }

constexpr size_t kBandwidthBytes = 1 << 20;

// Four or so digits whatever the size, in `width` columns.
std::string number(double value, int width) {
  const int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

std::string human(size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); unit++) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

nlohmann::json to_json(const Timing& timing) {
  nlohmann::json json = {
      {"time_us", timing.us}, {"algbw", timing.algbw}, {"busbw", timing.busbw}, {"cpu_us", timing.cpu_us}};
  json["algorithm"] = timing.algorithm;
  json["wrong"] = timing.wrong ? nlohmann::json(*timing.wrong) : nlohmann::json(nullptr);
  if (timing.least_us) {
    json["min_us"] = *timing.least_us;
    json["median_us"] = *timing.median_us;
    json["p99_us"] = *timing.p99_us;
    json["max_us"] = *timing.largest_us;
  }
  return json;
}

}  // namespace

Report::Report(const CollectiveCase& what, const Options& options, FILE* out)
    : case_(what), options_(options), out_(out), live_(isatty(STDERR_FILENO) != 0) {}

void Report::heading(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print(out_, "# {}\n", line);
  const std::string extra = std::string(options_.cpu_time ? "     cpu" : "");
  const std::string group = std::string(options_.cpu_time ? 35 + 8 : 35, ' ');
  const std::string place = case_.has_in_place() ? "in-place" : "";
  fmt::print(out_, "#\n# {:>12} {:>12} {:>9} {:>7} {:>6}   {:<{}}   {}\n", "", "", "", "", "", "out-of-place",
             group.size(), place);
  const std::string columns = fmt::format("{:>9} {:>8} {:>8}{} {:>7}", "time", "algbw", "busbw", extra, "#wrong");
  fmt::print(out_, "# {:>12} {:>12} {:>9} {:>7} {:>6} {} {}  {}\n", "size", "count", "type", "redop", "root", columns,
             columns, "algorithm, transport");
  const std::string units =
      fmt::format("{:>9} {:>8} {:>8}{} {:>7}", "(us)", "(GB/s)", "(GB/s)", options_.cpu_time ? "    (us)" : "", "");
  fmt::print(out_, "# {:>12} {:>12} {:>9} {:>7} {:>6} {} {}\n", "(B)", "(elements)", "", "", "", units, units);
  std::fflush(out_);
}

void Report::measuring(size_t bytes, DataType type) {
  if (!live_) return;
  fmt::print(stderr, "\r\033[K# measuring {} of {} ...", human(bytes), name_of(type));
  std::fflush(stderr);
}

std::string Report::cells(const Timing& timing) const {
  std::string text = fmt::format("{} {} {}", number(timing.us, 9), number(timing.algbw, 8), number(timing.busbw, 8));
  if (options_.cpu_time) text += number(timing.cpu_us, 8);
  return text + fmt::format(" {:>7}", timing.wrong ? fmt::format("{}", *timing.wrong) : "N/A");
}

void Report::print_distribution(const char* place, const Timing& timing) {
  if (!timing.least_us) return;
  fmt::print(out_, "#   {}: least {:.2f} us, median {:.2f}, p99 {:.2f}, largest {:.2f}\n", place, *timing.least_us,
             *timing.median_us, *timing.p99_us, *timing.largest_us);
}

void Report::add(const Row& row) {
  if (live_) fmt::print(stderr, "\r\033[K");
  const std::string none =
      fmt::format("{:>9} {:>8} {:>8}{} {:>7}", "N/A", "N/A", "N/A", options_.cpu_time ? "     N/A" : "", "N/A");
  const std::string stamp =
      options_.timestamps ? fmt::format("  {:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))) : "";
  fmt::print(out_, "  {:>12} {:>12} {:>9} {:>7} {:>6} {} {}  {}{}{}{}\n", row.shape.bytes, row.shape.count,
             name_of(row.shape.type), op_name(case_, row), root_shown(case_, row), cells(row.out_of_place),
             row.in_place ? cells(*row.in_place) : none, algorithms_of(row),
             row.out_of_place.algorithm.empty() ? "" : ", ", row.transport, stamp);
  if (options_.per_iteration) {
    print_distribution("out-of-place", row.out_of_place);
    if (row.in_place) print_distribution("in-place", *row.in_place);
  }
  std::fflush(out_);
  wrong_ += row.out_of_place.wrong.value_or(0);
  if (row.in_place) wrong_ += row.in_place->wrong.value_or(0);
  rows_.push_back(row);
}

double Report::average_busbw() const {
  double sum = 0;
  size_t timings = 0;
  for (const Row& row : rows_) {
    sum += row.out_of_place.busbw;
    timings++;
    if (row.in_place) {
      sum += row.in_place->busbw;
      timings++;
    }
  }
  return timings == 0 ? 0 : sum / static_cast<double>(timings);
}

size_t Report::cached_up_to(size_t cache_bytes) const {
  size_t largest = 0;
  for (const Row& row : rows_) {
    if (row.touched_bytes <= cache_bytes) largest = std::max(largest, row.shape.bytes);
  }
  return largest;
}

// Bandwidth above what memory could give is no wonder where the buffers never leave the cache; but it must be said.
void Report::print_note_on_caches() const {
  size_t cache_bytes = 0;
  const Machine machine = discover_machine();
  for (const int cache : last_level_caches(machine.hosts[0])) {
    cache_bytes += machine.hosts[0].objects[static_cast<size_t>(cache)].bytes;
  }
  const size_t cached = cached_up_to(cache_bytes);
  if (cached < kBandwidthBytes) return;  // what is small is about latency anyway
  fmt::print(out_,
             "# Note: up to {} all buffers fit in the caches ({}), whose bandwidth is shown, not memory's: --fresh\n",
             human(cached), human(cache_bytes));
}

void Report::finish() {
  if (options_.checks > 0) {
    fmt::print(out_, "# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED");
  }
  fmt::print(out_, "# Avg bus bandwidth    : {:.4f}\n", average_busbw());
  print_note_on_caches();
  std::fflush(out_);
}

std::string Report::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::json one = {{"size", row.shape.bytes},         {"count", row.shape.count},
                          {"type", name_of(row.shape.type)}, {"redop", op_name(case_, row)},
                          {"root", root_shown(case_, row)},  {"algorithm", algorithms_of(row)},
                          {"transport", row.transport},      {"out_of_place", to_json(row.out_of_place)}};
    one["in_place"] = row.in_place ? to_json(*row.in_place) : nlohmann::json(nullptr);
    rows.push_back(one);
  }
  return nlohmann::json{{"program", std::string(case_.name()) + "_perf"},
                        {"build", describe_build()},
                        {"ranks", rows_.empty() ? 0 : rows_[0].shape.ranks},
                        {"rows", rows},
                        {"wrong", wrong_},
                        {"avg_busbw", average_busbw()}}
      .dump(2);
}

std::string Report::csv() const {
  std::string text = "size,count,type,redop,root,algorithm,transport,place,time_us,algbw,busbw,wrong\n";
  for (const Row& row : rows_) {
    const auto line = [&](const char* place, const Timing& timing) {
      text += fmt::format("{},{},{},{},{},{},{},{},{:.4f},{:.5f},{:.5f},{}\n", row.shape.bytes, row.shape.count,
                          name_of(row.shape.type), op_name(case_, row), root_shown(case_, row), timing.algorithm,
                          row.transport, place, timing.us, timing.algbw, timing.busbw,
                          timing.wrong ? fmt::format("{}", *timing.wrong) : "");
    };
    line("out_of_place", row.out_of_place);
    if (row.in_place) line("in_place", *row.in_place);
  }
  return text;
}

}  // namespace peal::perf
