// What each *_perf program measures: sizes, bandwidth factors, contents, and the call itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/plan.h"
#include "tools/perf/pattern.h"

namespace peal::perf {

// One line of the table, from one rank's point of view.
struct Shape {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  int ranks = 1, rank = 0;
  size_t bytes = 0;  // the larger of what is sent and received
  size_t count = 0;  // as shown: per rank where there are blocks
};

// A buffer's blocks, one or one per rank.
struct Blocks {
  std::vector<size_t> counts, displacements;
  size_t elements = 0;
};

class CollectiveCase {
 public:
  virtual ~CollectiveCase() = default;
  CollectiveCase(std::string_view name, std::string_view collective) : name_(name), collective_(collective) {}

  std::string_view name() const { return name_; }              // "all_reduce"
  std::string_view collective() const { return collective_; }  // in Communicator::algorithm_for's words, or ""
  virtual bool reduces() const { return false; }
  virtual bool rooted() const { return false; }
  virtual bool has_in_place() const { return true; }
  virtual bool has_sizes() const { return true; }
  virtual double bus_factor(int ranks) const = 0;

  // Sets shape.count and shape.bytes to what really is measured for `bytes`.
  virtual void fit(Shape& shape, size_t bytes) const = 0;
  virtual Blocks sent(const Shape& shape) const = 0;
  virtual Blocks received(const Shape& shape) const = 0;  // none where nothing is
  // Where in the receive buffer (elements) the send buffer begins when in place, or the other way round when negative.
  virtual std::ptrdiff_t in_place_offset(const Shape& shape) const = 0;
  // What block `block` of the receive buffer must hold.
  virtual Tile expected(const Shape& shape, const Pattern& pattern, size_t block) const = 0;
  virtual Work start(Communicator& communicator, const Shape& shape, const void* send, void* recv) const = 0;

 private:
  std::string_view name_, collective_;
};

// By program name ("all_reduce_perf"), or nullptr.
const CollectiveCase* find_case(std::string_view program);

}  // namespace peal::perf
