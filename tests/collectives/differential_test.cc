// Every collective x type x operation x size x place x algorithm, at random, against a reference that is plain loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "collectives/algorithms/catalog.h"
#include "tests/collectives/job.h"
#include "tests/values.h"
#include "transports/registry.h"

namespace peal {
namespace {

using testing::as_held;
using testing::decode;
using testing::encode;

struct Case {
  Collective collective;
  bool variant = false;
  DataType type;
  ReduceOp op;
  int ranks, root;
  bool in_place;
  size_t misalignment;               // bytes
  size_t count;                      // equal blocks, or the whole buffer
  std::vector<size_t> counts, gaps;  // v-variants: by block; all-to-all: by block of the pair (from + to * ranks)

  std::string describe() const {
    return fmt::format("{}{} of {} {}, {}, {} ranks, root {}{}, {} bytes off", name_of(collective), variant ? "_v" : "",
                       count, name_of(type), name_of(op), ranks, root, in_place ? ", in place" : "", misalignment);
  }
};

Case random_case(std::mt19937& random, int ranks) {
  static constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 16, 63, 64, 65, 500, 1000, 4097, 30000};
  Case chosen{};
  chosen.collective = static_cast<Collective>(random() % 8);
  const bool has_variant = chosen.collective != Collective::kAllReduce && chosen.collective != Collective::kBroadcast &&
                           chosen.collective != Collective::kReduce;
  chosen.variant = has_variant && random() % 3 == 0;
  chosen.type = all_data_types()[random() % kDataTypes];
  chosen.op = all_reduce_ops()[random() % kReduceOps];
  chosen.ranks = ranks;
  chosen.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  chosen.in_place = random() % 2;
  chosen.misalignment = random() % 4 == 0 ? random() % 64 : 0;
  chosen.count = kCounts[random() % std::size(kCounts)];
  const auto n = static_cast<size_t>(ranks);
  for (size_t i = 0; i < n * n; i++) {
    chosen.counts.push_back(random() % 3 == 0 ? 0 : random() % 700);
    chosen.gaps.push_back(random() % 5);
  }
  if (chosen.in_place && chosen.collective == Collective::kAllToAll) {  // in place, blocks must match both ways
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < i; j++) chosen.counts[i + j * n] = chosen.counts[j + i * n];
    }
  }
  return chosen;
}

// What rank `rank` contributes at `index` of block `block`: whole numbers that stay exact in every type and order. Sums
// have at most two non-zero terms, products one factor of two.
double input_value(const Case& c, int rank, size_t block, size_t index) {
  const size_t at = block * 7 + index;
  const auto n = static_cast<size_t>(c.ranks), r = static_cast<size_t>(rank);
  if (!reduces(c.collective)) return static_cast<double>((r * 3 + at) % 8);
  switch (c.op) {
    case ReduceOp::kProd:
      return at % n == r ? 2 : 1;
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return static_cast<double>((r * 5 + at) % 8);
    default:
      return at % n == r || (at + 1) % n == r ? 1 : 0;
  }
}

double factor_of(int rank) { return rank % 2 == 0 ? 1 : 2; }

double reduced_value(const Case& c, size_t block, size_t index) {
  double result = input_value(c, 0, block, index);
  if (c.op == ReduceOp::kPremulSum) result *= factor_of(0);
  for (int rank = 1; rank < c.ranks; rank++) {
    const double value = input_value(c, rank, block, index);
    if (c.op == ReduceOp::kProd) result *= value;
    if (c.op == ReduceOp::kMin) result = std::min(result, value);
    if (c.op == ReduceOp::kMax) result = std::max(result, value);
    if (c.op == ReduceOp::kSum || c.op == ReduceOp::kAvg) result += value;
    if (c.op == ReduceOp::kPremulSum) result += value * factor_of(rank);
  }
  return c.op == ReduceOp::kAvg ? as_held(c.type, result / c.ranks) : result;
}

// One side of a call: blocks with gaps between them, which must stay as they were.
struct Side {
  std::vector<size_t> counts, displacements;
  size_t elements = 0;

  void add(size_t gap, size_t count) {
    displacements.push_back(elements + gap);
    counts.push_back(count);
    elements += gap + count;
  }
};

struct Layout {
  Side send, recv;
  bool many_send = false, many_recv = false;
};

Layout layout_of(const Case& c, int rank) {
  const auto n = static_cast<size_t>(c.ranks), r = static_cast<size_t>(rank);
  const bool all_to_all = c.collective == Collective::kAllToAll;
  Layout layout;
  layout.many_recv = c.collective == Collective::kAllGather || c.collective == Collective::kGather || all_to_all;
  layout.many_send = c.collective == Collective::kReduceScatter || c.collective == Collective::kScatter || all_to_all;
  for (size_t i = 0; i < n; i++) {
    const size_t gap = c.variant ? c.gaps[i] : 0;
    if (layout.many_send) layout.send.add(gap, c.variant ? c.counts[all_to_all ? r + i * n : i] : c.count);
    if (layout.many_recv) layout.recv.add(gap, c.variant ? c.counts[all_to_all ? i + r * n : i] : c.count);
  }
  const size_t own = c.variant ? c.counts[r] : c.count;
  if (!layout.many_send) layout.send.add(0, own);
  if (!layout.many_recv) layout.recv.add(0, own);
  return layout;
}

class Buffer {
 public:
  Buffer(DataType type, size_t elements, size_t misalignment)
      : type_(type),
        bytes_(elements * size_of(type) + misalignment + 64, std::byte{0x2b}),
        data_(&bytes_[misalignment]) {}
  std::byte* data() { return data_; }
  std::byte* at(size_t element) { return data_ + element * size_of(type_); }

 private:
  DataType type_;
  std::vector<std::byte> bytes_;
  std::byte* data_;
};

void call(Communicator& communicator, const Case& c, const Layout& layout, const void* send, void* recv) {
  const Reduction reduction(c.op, factor_of(communicator.rank()));
  const Side &from = layout.send, &to = layout.recv;
  switch (c.collective) {
    case Collective::kAllReduce:
      return communicator.all_reduce(send, recv, c.count, c.type, reduction);
    case Collective::kBroadcast:
      return communicator.broadcast(send, recv, c.count, c.type, c.root);
    case Collective::kReduce:
      return communicator.reduce(send, recv, c.count, c.type, reduction, c.root);
    case Collective::kReduceScatter:
      return c.variant ? communicator.reduce_scatter_v(send, from.counts, from.displacements, recv, to.counts[0],
                                                       c.type, reduction)
                       : communicator.reduce_scatter(send, recv, c.count, c.type, reduction);
    case Collective::kAllGather:
      return c.variant ? communicator.all_gather_v(send, from.counts[0], recv, to.counts, to.displacements, c.type)
                       : communicator.all_gather(send, recv, c.count, c.type);
    case Collective::kGather:
      return c.variant ? communicator.gather_v(send, from.counts[0], recv, to.counts, to.displacements, c.type, c.root)
                       : communicator.gather(send, recv, c.count, c.type, c.root);
    case Collective::kScatter:
      return c.variant
                 ? communicator.scatter_v(send, from.counts, from.displacements, recv, to.counts[0], c.type, c.root)
                 : communicator.scatter(send, recv, c.count, c.type, c.root);
    case Collective::kAllToAll:
      return c.variant ? communicator.all_to_all_v(send, from.counts, from.displacements, recv, to.counts,
                                                   to.displacements, c.type)
                       : communicator.all_to_all(send, recv, c.count, c.type);
    case Collective::kBarrier:
      return communicator.barrier();
  }
}

// What block `block` of the receive buffer must hold at `index`.
double expected_value(const Case& c, int rank, size_t block, size_t index) {
  const auto r = static_cast<size_t>(rank);
  switch (c.collective) {
    case Collective::kBroadcast:
      return input_value(c, c.root, 0, index);
    case Collective::kReduceScatter:
      return reduced_value(c, r, index);
    case Collective::kAllGather:
    case Collective::kGather:
      return input_value(c, static_cast<int>(block), 0, index);
    case Collective::kScatter:
      return input_value(c, c.root, r, index);
    case Collective::kAllToAll:
      return input_value(c, static_cast<int>(block), r, index);
    default:
      return reduced_value(c, 0, index);
  }
}

void run_case(Communicator& communicator, const Case& c) {
  const int rank = communicator.rank();
  const auto r = static_cast<size_t>(rank);
  const Layout layout = layout_of(c, rank);
  const bool rooted = c.collective == Collective::kBroadcast || c.collective == Collective::kReduce ||
                      c.collective == Collective::kGather || c.collective == Collective::kScatter;
  const bool in_place = c.in_place && (!rooted || rank == c.root);
  const bool receives = rank == c.root || (c.collective != Collective::kReduce && c.collective != Collective::kGather);

  Buffer send_buffer(c.type, layout.send.elements, c.misalignment), recv_buffer(c.type, layout.recv.elements, 0);
  std::byte *send = send_buffer.data(), *recv = recv_buffer.data();
  if (in_place && layout.many_send && !layout.many_recv) {
    recv = send_buffer.at(layout.send.displacements[r]);
  } else if (in_place && layout.many_recv && !layout.many_send) {
    send = recv_buffer.at(layout.recv.displacements[r]);
  } else if (in_place) {
    recv = send;
  }
  const size_t element = size_of(c.type);
  for (size_t block = 0; block < layout.send.counts.size(); block++) {
    for (size_t i = 0; i < layout.send.counts[block]; i++) {
      encode(c.type, input_value(c, rank, block, i), send + (layout.send.displacements[block] + i) * element);
    }
  }
  call(communicator, c, layout, send, recv);
  if (!receives) return;
  for (size_t block = 0; block < layout.recv.counts.size(); block++) {
    for (size_t i = 0; i < layout.recv.counts[block]; i++) {
      const double got = decode(c.type, recv + (layout.recv.displacements[block] + i) * element);
      const double want = expected_value(c, rank, block, i);
      if (got != want) {
        throw std::runtime_error(
            fmt::format("{}: rank {} block {} element {} is {}, expected {}", c.describe(), rank, block, i, got, want));
      }
    }
  }
}

// Some algorithm for every collective, by chance, out of those that need no symmetric memory.
std::string random_algorithms(std::mt19937& random, bool windows) {
  std::map<Collective, std::vector<std::string_view>> possible;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.needs == Needs::kConnections || (windows && algorithm.needs != Needs::kSymmetric)) {
      possible[algorithm.collective].push_back(algorithm.name);
    }
  }
  std::string text;
  for (const auto& [collective, names] : possible) {
    // v-variants whose counts not every rank knows can't use mapped memory: leave them another.
    text += fmt::format("{}:{},{};", name_of(collective), names[random() % names.size()], names[0]);
  }
  return text;
}

bool available(const std::string& transport) {
  for (const TransportEntry& entry : transport_entries()) {
    if (entry.name == transport) return true;
  }
  return false;
}

class Differential : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Transports, Differential, ::testing::Values("inproc", "shm", "tcp", "ucx"),
                         [](const auto& test) { return test.param; });

TEST_P(Differential, EveryCollectiveAgreesWithTheReference) {
  if (!available(GetParam())) GTEST_SKIP() << "this build has no transport " << GetParam();
  const bool windows = GetParam() == "inproc" || GetParam() == "shm";
  std::random_device device;
  const char* fixed = std::getenv("PEAL_TEST_SEED");
  const unsigned seed = fixed != nullptr ? static_cast<unsigned>(std::atoi(fixed)) : device();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 random(seed);
  const int jobs = GetParam() == "inproc" ? 40 : 12;
  for (int job = 0; job < jobs; job++) {
    const int ranks = 1 + static_cast<int>(random() % 8);
    const unsigned cases_seed = random();
    Environment settings = {
        {"PEAL_TRANSPORT", GetParam()}, {"PEAL_ALGO", random_algorithms(random, windows)}, {"PEAL_TIMEOUT", "20000"}};
    if (random() % 2) settings["PEAL_CHANNELS"] = std::to_string(1 + random() % 4);
    if (random() % 2) settings["PEAL_SEGMENT"] = std::to_string(1 + random() % 20000);
    if (random() % 4 == 0) settings["PEAL_PROGRESS_THREAD"] = "1";
    if (random() % 4 == 0) settings["PEAL_WINDOW"] = "65536";
    if (random() % 4 == 0) settings["PEAL_BUFFSIZE"] = "4096";
    SCOPED_TRACE(fmt::format("PEAL_TEST_SEED={} job {}: {} ranks, {}", seed, job, ranks, settings["PEAL_ALGO"]));
    try {
      testing::run_job(ranks, settings, [&](Communicator& communicator) {
        std::mt19937 cases(cases_seed);
        for (int i = 0; i < 40; i++) run_case(communicator, random_case(cases, ranks));
      });
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
  }
}

}  // namespace
}  // namespace peal
