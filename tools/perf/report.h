// What a person or a program reads: the table, JSON and CSV.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tools/perf/measure.h"

namespace peal::perf {

class Report {
 public:
  // The table goes to `out`; `heading` lines are printed with "# " before them.
  Report(const CollectiveCase& what, const Options& options, FILE* out);

  void heading(const std::vector<std::string>& lines);
  void add(const Row& row);
  void measuring(size_t bytes, DataType type);  // a passing line, on a terminal only
  void finish();

  uint64_t wrong() const { return wrong_; }
  double average_busbw() const;
  const std::vector<Row>& rows() const { return rows_; }

  std::string json() const;
  std::string csv() const;

 private:
  std::string cells(const Timing& timing) const;
  size_t cached_up_to(size_t cache_bytes) const;
  void print_note_on_caches() const;
  void print_distribution(const char* place, const Timing& timing);

  const CollectiveCase& case_;
  const Options& options_;
  FILE* out_;
  bool live_;
  std::vector<Row> rows_;
  uint64_t wrong_ = 0;
};

}  // namespace peal::perf
