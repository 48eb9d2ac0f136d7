#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "base/settings.h"

namespace peal {
namespace {

TEST(Log, LinesNameHostProcessRankAndLevel) {
  const std::string base = ::testing::TempDir() + "peal-log-" + std::to_string(getpid());
  Settings settings;
  settings.debug = "INFO";
  settings.debug_file = base + ".%r.%p.%h.%x.%";
  const std::string path = base + ".7." + std::to_string(getpid()) + "." + host_name() + ".%x.%";
  {
    Log log(settings, 7);
    EXPECT_TRUE(log.enabled(LogLevel::kInfo));
    EXPECT_FALSE(log.enabled(LogLevel::kTrace));
    log.warn("careful {} %v");
    log.write(LogLevel::kTrace, "unseen");
  }
  std::ifstream lines(path);
  std::string line, more;
  std::getline(lines, line);
  EXPECT_EQ(line, host_name() + " " + std::to_string(getpid()) + " [7] WARN careful {} %v");
  EXPECT_FALSE(std::getline(lines, more)) << more;
  std::remove(path.c_str());
}

TEST(Log, BadSettingsAreRefused) {
  Settings settings;
  settings.debug = "LOUD";
  EXPECT_THROW(Log(settings, 0), Error);
  settings.debug = "WARN";
  settings.debug_file = "/proc/no/such/directory";
  EXPECT_THROW(Log(settings, 0), Error);
}

TEST(Log, GoesToStandardErrorByDefault) {
  Log log(Settings(), 3);
  ::testing::internal::CaptureStderr();
  log.warn("look");
  log.info("unseen: the default level is WARN");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            host_name() + " " + std::to_string(getpid()) + " [3] WARN look\n");
}

}  // namespace
}  // namespace peal
