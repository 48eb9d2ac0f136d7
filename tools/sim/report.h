// What peal-sim tells of its results: a table, JSON, curves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectives/simulate.h"
#include "tools/sim/critical_path.h"

namespace peal::sim {

struct Row {
  std::string algorithm;
  int ranks = 0, simulated_ranks = 0;
  double bytes = 0, segment_bytes = 0, algbw = 0, busbw = 0;
  Simulated result;
  std::string busiest;         // link
  double busiest_share = 0;    // of the time
  std::vector<Repeated> path;  // critical; empty unless asked for
};

void print_header();
void print_row(const Row& row);
nlohmann::json json_of(const Row& row);

// Bus bandwidth and time, over sizes or over ranks, as SVG. `title` in words.
std::string curves_of(const std::string& title, bool over_ranks, const std::vector<Row>& rows);

}  // namespace peal::sim
