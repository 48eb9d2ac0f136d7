// The folder of real machines beside the project, which is not part of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace peal {

// PEAL_TOPOLOGIES, else where it lies beside a checkout. Empty: it is not there.
inline std::string shared_machines() {
  const char* given = std::getenv("PEAL_TOPOLOGIES");
  const std::filesystem::path folder =
      given != nullptr ? given : std::string(PEAL_SOURCE_DIR) + "/../shared/topologies";
  std::error_code error;
  return std::filesystem::exists(folder / "nccl", error) ? folder.string() : "";
}

}  // namespace peal

#define PEAL_NEEDS_SHARED_MACHINES()                                                                       \
  const std::string folder = shared_machines();                                                            \
  if (folder.empty()) GTEST_SKIP() << "no folder of real machines: set PEAL_TOPOLOGIES to where they are"; \
  static_assert(true)
