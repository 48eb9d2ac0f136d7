// What every transport must do, as tests over a list of transports. To put a transport under test, add a line to
// conformance_cases() in conformance_test.cc.
#pragma once

#include <algorithm>
#include <ostream>

#include "tests/transports/job.h"

namespace peal::testing {

struct Case {
  std::string word;  // as in PEAL_TRANSPORT
  Mode mode;
};

inline void PrintTo(const Case& one, std::ostream* out) {
  *out << one.word << (one.mode == Mode::kThreads ? " by threads" : " by processes");
}

std::vector<Case> conformance_cases();
std::string case_name(const ::testing::TestParamInfo<Case>& info);

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  // A transport that this build or machine lacks is skipped with the reason printed.
  void SetUp() override;

  JobOptions options(int ranks = 2) const;
  void run(const Body& body) const { run_job(options(), body); }
};

class WindowConformance : public Conformance {
 protected:
  void SetUp() override;  // windows don't apply to transports that never map a peer's memory
};

}  // namespace peal::testing
