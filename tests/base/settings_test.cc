#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"

namespace peal {
namespace {

using ::testing::HasSubstr;

std::string error_of(const Environment& environment) {
  try {
    Settings::from(environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    char name[] = "/tmp/peal-settings-XXXXXX";
    const int file = mkstemp(name);
    close(file);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Settings, DefaultsWithoutAnything) {
  const Settings settings = Settings::from({});
  EXPECT_EQ(settings.rank, -1);
  EXPECT_EQ(settings.timeout_ms, 1800000);
  EXPECT_FALSE(settings.progress_thread);
  EXPECT_TRUE(settings.unknown.empty());
}

TEST(Settings, ValuesOfEveryType) {
  const Settings settings = Settings::from({{"PEAL_RANK", "3"},
                                            {"PEAL_TRANSPORT", "shm,tcp"},
                                            {"PEAL_BUFFSIZE", "1.5M"},
                                            {"PEAL_PROGRESS_THREAD", "yes"},
                                            {"HOME", "/root"}});
  EXPECT_EQ(settings.rank, 3);
  EXPECT_EQ(settings.transport, "shm,tcp");
  EXPECT_EQ(settings.buffer_size, 1572864U);
  EXPECT_TRUE(settings.progress_thread);
  EXPECT_TRUE(settings.unknown.empty()) << "variables of others are none of our business";
}

TEST(Settings, WrongValuesNameVariableValueAndWhatIsLegal) {
  EXPECT_THAT(error_of({{"PEAL_RANK", "two"}}), HasSubstr("PEAL_RANK='two': expected a whole number"));
  EXPECT_THAT(error_of({{"PEAL_NSOCKS", "0"}}), HasSubstr("from 1 to 64"));
  EXPECT_THAT(error_of({{"PEAL_BUFFSIZE", "4Q"}}), HasSubstr("expected bytes"));
  EXPECT_THAT(error_of({{"PEAL_PROGRESS_THREAD", "maybe"}}), HasSubstr("PEAL_PROGRESS_THREAD='maybe'"));
  EXPECT_THAT(error_of({{"PEAL_TIMEOUT", "99999999999999999999"}}), HasSubstr("PEAL_TIMEOUT"));
}

TEST(Settings, AMisspeltVariableIsReportedWithTheNearest) {
  const Settings settings = Settings::from({{"PEAL_TIMOUT", "5"}, {"PEAL_XYZZY_PLUGH", "5"}});
  ASSERT_EQ(settings.unknown.size(), 2U);
  EXPECT_EQ(settings.unknown[0], "PEAL_TIMOUT is no setting of Peal; did you mean PEAL_TIMEOUT?");
  EXPECT_EQ(settings.unknown[1], "PEAL_XYZZY_PLUGH is no setting of Peal");
}

TEST(Settings, TheEnvironmentWinsOverTheConfFile) {
  const TemporaryFile file("# comment\n\nPEAL_NSOCKS = 3\nCHANNELS=4\n");
  const Environment environment = {{"PEAL_CONF_FILE", file.path()}, {"PEAL_CHANNELS", "2"}};
  const Settings settings = Settings::from(environment);
  EXPECT_EQ(settings.nsocks, 3);
  EXPECT_EQ(settings.channels, 2);
  for (const SettingRow& row : setting_rows(environment)) {
    if (row.name == "PEAL_NSOCKS") {
      EXPECT_EQ(row.source, file.path());
    }
    if (row.name == "PEAL_CHANNELS") {
      EXPECT_EQ(row.source, "environment");
    }
    if (row.name == "PEAL_TIMEOUT") {
      EXPECT_EQ(row.source, "default");
    }
  }
}

TEST(Settings, ConfFileErrorsNameFileAndLine) {
  const TemporaryFile no_value("PEAL_NSOCKS=2\nnonsense\n"), unknown("PEAL_NSOCK=2\n");
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", no_value.path()}}), HasSubstr(no_value.path() + ":2: expected NAME=value"));
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", unknown.path()}}), HasSubstr(":1: PEAL_NSOCK is no setting"));
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", "/nonexistent/file"}}), HasSubstr("/nonexistent/file"));
}

TEST(Settings, TheKeyIsNeverShown) {
  for (const SettingRow& row : setting_rows({{"PEAL_KEY", "hush"}})) {
    EXPECT_EQ(row.value.find("hush"), std::string::npos);
    if (row.name == "PEAL_KEY") {
      EXPECT_EQ(row.value, "set");
    }
  }
}

TEST(ParseBytes, BinarySuffixesAndFractions) {
  EXPECT_EQ(parse_bytes("8"), 8U);
  EXPECT_EQ(parse_bytes("64k"), 65536U);
  EXPECT_EQ(parse_bytes("1MiB"), 1048576U);
  EXPECT_EQ(parse_bytes("0.5G"), 536870912U);
  for (const char* wrong : {"", "M", "-1", "1.2.3", "5X", "1e3", "999999999T"}) {
    EXPECT_THROW(parse_bytes(wrong), Error) << wrong;
  }
}

TEST(Nearest, WithinAThirdOfTheWord) {
  const std::vector<std::string> words = {"ring", "binomial", "double_tree"};
  EXPECT_EQ(nearest("rign", words), "ring");
  EXPECT_EQ(nearest("binomal", words), "binomial");
  EXPECT_EQ(nearest("quicksort", words), "");
}

TEST(Log, LinesNameHostProcessRankAndLevel) {
  const TemporaryFile file("");
  Settings settings;
  settings.debug = "INFO";
  settings.debug_file = file.path() + ".%r.%p";
  const std::string path = file.path() + ".7." + std::to_string(getpid());
  {
    Log log(settings, 7);
    EXPECT_TRUE(log.enabled(LogLevel::kInfo));
    EXPECT_FALSE(log.enabled(LogLevel::kTrace));
    log.warn("careful");
    log.write(LogLevel::kTrace, "unseen");
  }
  std::ifstream lines(path);
  std::string line, more;
  std::getline(lines, line);
  EXPECT_EQ(line, host_name() + " " + std::to_string(getpid()) + " [7] WARN careful");
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

TEST(Host, UsableCoresFollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(Host, IdComesFromTheSettingOrTheKernel) {
  Settings settings;
  EXPECT_GT(host_id(settings).size(), 30U);
  EXPECT_EQ(host_id(settings), host_id(settings));
  settings.host_id = "mine";
  EXPECT_EQ(host_id(settings), "mine");
}

}  // namespace
}  // namespace peal
