#include "tools/perf/collective_case.h"

#include <algorithm>
#include <array>
#include <memory>

namespace peal::perf {
namespace {

size_t ranks_of(const Shape& shape) { return static_cast<size_t>(shape.ranks); }
size_t rank_of(const Shape& shape) { return static_cast<size_t>(shape.rank); }

Reduction reduction_of(const Shape& shape) { return Reduction(shape.op, Pattern::factor(shape.rank)); }

Blocks one_block(size_t count) { return {{count}, {0}, count}; }

Blocks block_each(const std::vector<size_t>& counts) {
  Blocks blocks;
  for (const size_t count : counts) {
    blocks.displacements.push_back(blocks.elements);
    blocks.counts.push_back(count);
    blocks.elements += count;
  }
  return blocks;
}

Blocks block_each(const Shape& shape) { return block_each(std::vector<size_t>(ranks_of(shape), shape.count)); }

void fit_whole(Shape& shape, size_t bytes) {
  shape.count = bytes / size_of(shape.type);
  shape.bytes = shape.count * size_of(shape.type);
}

void fit_blocks(Shape& shape, size_t bytes) {
  shape.count = bytes / size_of(shape.type) / ranks_of(shape);
  shape.bytes = shape.count * ranks_of(shape) * size_of(shape.type);
}

double blocks_factor(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

// ---- Whole buffers ----

class Whole : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;
  double bus_factor(int ranks) const override { return ranks > 1 ? 1 : 0; }
  void fit(Shape& shape, size_t bytes) const override { fit_whole(shape, bytes); }
  Blocks sent(const Shape& shape) const override { return one_block(shape.count); }
  Blocks received(const Shape& shape) const override { return one_block(shape.count); }
  std::ptrdiff_t in_place_offset(const Shape&) const override { return 0; }
};

class AllReduce : public Whole {
 public:
  AllReduce() : Whole("all_reduce", "all_reduce") {}
  bool reduces() const override { return true; }
  double bus_factor(int ranks) const override { return 2 * blocks_factor(ranks); }
  Tile expected(const Shape&, const Pattern& pattern, size_t) const override { return pattern.reduced(0); }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.all_reduce_async(send, recv, s.count, s.type, reduction_of(s));
  }
};

class Broadcast : public Whole {
 public:
  Broadcast() : Whole("broadcast", "broadcast") {}
  bool rooted() const override { return true; }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t) const override {
    return pattern.input(shape.root, 0);
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.broadcast_async(send, recv, s.count, s.type, s.root);
  }
};

class Reduce : public Whole {
 public:
  Reduce() : Whole("reduce", "reduce") {}
  bool reduces() const override { return true; }
  bool rooted() const override { return true; }
  Blocks received(const Shape& shape) const override {
    return shape.rank == shape.root ? one_block(shape.count) : Blocks{};
  }
  Tile expected(const Shape&, const Pattern& pattern, size_t) const override { return pattern.reduced(0); }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.reduce_async(send, recv, s.count, s.type, reduction_of(s), s.root);
  }
};

// Every rank sends to the next one.
class SendRecv : public Whole {
 public:
  SendRecv() : Whole("sendrecv", "") {}
  bool has_in_place() const override { return false; }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t) const override {
    return pattern.input((shape.rank + shape.ranks - 1) % shape.ranks, 0);
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    c.group_begin();
    c.recv(recv, s.count, s.type, (s.rank + s.ranks - 1) % s.ranks);
    c.send(send, s.count, s.type, (s.rank + 1) % s.ranks);
    return c.group_end();
  }
};

// ---- Blocks ----

class Blocked : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;
  double bus_factor(int ranks) const override { return blocks_factor(ranks); }
  void fit(Shape& shape, size_t bytes) const override { fit_blocks(shape, bytes); }
};

class AllGather : public Blocked {
 public:
  AllGather() : Blocked("all_gather", "all_gather") {}
  Blocks sent(const Shape& shape) const override { return one_block(shape.count); }
  Blocks received(const Shape& shape) const override { return block_each(shape); }
  std::ptrdiff_t in_place_offset(const Shape& s) const override {
    return static_cast<std::ptrdiff_t>(rank_of(s) * s.count);
  }
  Tile expected(const Shape&, const Pattern& pattern, size_t block) const override {
    return pattern.input(static_cast<int>(block), 0);
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.all_gather_async(send, recv, s.count, s.type);
  }
};

class Gather : public Blocked {
 public:
  Gather() : Blocked("gather", "gather") {}
  bool rooted() const override { return true; }
  Blocks sent(const Shape& shape) const override { return one_block(shape.count); }
  Blocks received(const Shape& shape) const override { return shape.rank == shape.root ? block_each(shape) : Blocks{}; }
  std::ptrdiff_t in_place_offset(const Shape& s) const override {
    return s.rank == s.root ? static_cast<std::ptrdiff_t>(rank_of(s) * s.count) : 0;
  }
  Tile expected(const Shape&, const Pattern& pattern, size_t block) const override {
    return pattern.input(static_cast<int>(block), 0);
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.gather_async(send, recv, s.count, s.type, s.root);
  }
};

class ReduceScatter : public Blocked {
 public:
  ReduceScatter() : Blocked("reduce_scatter", "reduce_scatter") {}
  bool reduces() const override { return true; }
  Blocks sent(const Shape& shape) const override { return block_each(shape); }
  Blocks received(const Shape& shape) const override { return one_block(shape.count); }
  std::ptrdiff_t in_place_offset(const Shape& s) const override {
    return -static_cast<std::ptrdiff_t>(rank_of(s) * s.count);
  }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t) const override {
    return pattern.reduced(rank_of(shape));
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.reduce_scatter_async(send, recv, s.count, s.type, reduction_of(s));
  }
};

class Scatter : public Blocked {
 public:
  Scatter() : Blocked("scatter", "scatter") {}
  bool rooted() const override { return true; }
  Blocks sent(const Shape& shape) const override { return shape.rank == shape.root ? block_each(shape) : Blocks{}; }
  Blocks received(const Shape& shape) const override { return one_block(shape.count); }
  std::ptrdiff_t in_place_offset(const Shape& s) const override {
    return s.rank == s.root ? -static_cast<std::ptrdiff_t>(rank_of(s) * s.count) : 0;
  }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t) const override {
    return pattern.input(shape.root, rank_of(shape));
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.scatter_async(send, recv, s.count, s.type, s.root);
  }
};

class AllToAll : public Blocked {
 public:
  AllToAll() : Blocked("alltoall", "all_to_all") {}
  Blocks sent(const Shape& shape) const override { return block_each(shape); }
  Blocks received(const Shape& shape) const override { return block_each(shape); }
  std::ptrdiff_t in_place_offset(const Shape&) const override { return 0; }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t block) const override {
    return pattern.input(static_cast<int>(block), rank_of(shape));
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    return c.all_to_all_async(send, recv, s.count, s.type);
  }
};

// Blocks of a half, one and one and a half times the even share, equal both ways between two ranks.
class AllToAllV : public Blocked {
 public:
  AllToAllV() : Blocked("alltoallv", "all_to_all_v") {}
  Blocks sent(const Shape& shape) const override {
    std::vector<size_t> counts;
    for (size_t peer = 0; peer < ranks_of(shape); peer++) {
      counts.push_back(shape.count / 2 * ((rank_of(shape) + peer) % 3) + (shape.count + 1) / 2);
    }
    return block_each(counts);
  }
  Blocks received(const Shape& shape) const override { return sent(shape); }
  std::ptrdiff_t in_place_offset(const Shape&) const override { return 0; }
  Tile expected(const Shape& shape, const Pattern& pattern, size_t block) const override {
    return pattern.input(static_cast<int>(block), rank_of(shape));
  }
  Work start(Communicator& c, const Shape& s, const void* send, void* recv) const override {
    const Blocks blocks = sent(s);
    c.all_to_all_v(send, blocks.counts, blocks.displacements, recv, blocks.counts, blocks.displacements, s.type);
    return {};
  }
};

class Barrier : public Whole {
 public:
  Barrier() : Whole("barrier", "barrier") {}
  bool has_sizes() const override { return false; }
  bool has_in_place() const override { return false; }
  double bus_factor(int) const override { return 0; }
  void fit(Shape& shape, size_t) const override { shape.count = shape.bytes = 0; }
  Tile expected(const Shape&, const Pattern& pattern, size_t) const override { return pattern.input(0, 0); }
  Work start(Communicator& c, const Shape&, const void*, void*) const override { return c.barrier_async(); }
};

}  // namespace

const CollectiveCase* find_case(std::string_view program) {
  static const AllReduce all_reduce;
  static const AllGather all_gather;
  static const ReduceScatter reduce_scatter;
  static const Broadcast broadcast;
  static const Reduce reduce;
  static const AllToAll all_to_all;
  static const AllToAllV all_to_all_v;
  static const Gather gather;
  static const Scatter scatter;
  static const SendRecv sendrecv;
  static const Barrier barrier;
  static const std::array<const CollectiveCase*, 11> kCases = {&all_reduce, &all_gather, &reduce_scatter, &broadcast,
                                                               &reduce,     &all_to_all, &all_to_all_v,   &gather,
                                                               &scatter,    &sendrecv,   &barrier};
  for (const CollectiveCase* each : kCases) {
    if (program == std::string(each->name()) + "_perf") return each;
  }
  return nullptr;
}

}  // namespace peal::perf
