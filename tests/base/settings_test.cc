#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

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

TEST(Settings, WordsOutsideTheListOfLegalOnes) {
  EXPECT_THAT(error_of({{"PEAL_SIMD", "avx3"}}), HasSubstr("PEAL_SIMD='avx3': expected one of avx512, avx2, portable"));
  EXPECT_THAT(error_of({{"PEAL_SOCKET_FAMILY", "inet"}}), HasSubstr("one of AF_INET, AF_INET6"));
  EXPECT_EQ(Settings::from({{"PEAL_SIMD", ""}}).simd, "") << "empty is the default";
  EXPECT_EQ(Settings::from({{"PEAL_DEBUG", "TRACE"}}).debug, "TRACE");
}

TEST(Settings, TheEndsOfARangeAreLegal) {
  EXPECT_EQ(Settings::from({{"PEAL_NSOCKS", "1"}}).nsocks, 1);
  EXPECT_EQ(Settings::from({{"PEAL_NSOCKS", "64"}}).nsocks, 64);
  EXPECT_THAT(error_of({{"PEAL_NSOCKS", "65"}}), HasSubstr("from 1 to 64"));
  EXPECT_THAT(error_of({{"PEAL_BUFFSIZE", "4095"}}), HasSubstr("PEAL_BUFFSIZE='4095': expected 4096 to 1073741824"));
  EXPECT_THAT(error_of({{"PEAL_RANK", "-2"}}), HasSubstr("PEAL_RANK='-2'"));
}

TEST(Settings, EveryDefaultIsALegalValue) {
  Environment environment;
  for (const SettingRow& row : setting_rows({})) {
    if (!row.initial.empty()) environment[row.name] = row.initial;
  }
  EXPECT_GT(environment.size(), 10U);
  EXPECT_NO_THROW(Settings::from(environment));
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
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", "/nonexistent/file"}}), HasSubstr("'/nonexistent/file': No such file"));
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", "/proc"}}), HasSubstr("'/proc': Is a directory"));
  const TemporaryFile no_name("=2\n"), nested("# first\nCONF_FILE=other\n"), value("\n\nTIMEOUT = soon\n");
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", no_name.path()}}), HasSubstr(":1: expected NAME=value, found '=2'"));
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", nested.path()}}), HasSubstr(":2: a conf file can't name another"));
  EXPECT_THAT(error_of({{"PEAL_CONF_FILE", value.path()}}),
              HasSubstr(value.path() + ":3: PEAL_TIMEOUT='soon': expected a whole number"));
}

TEST(Settings, ConfFilesMayBeEmptyEndWithoutANewlineAndSayThingsTwice) {
  const TemporaryFile empty(""), odd("NSOCKS=3\r\n  ROOT = host:1=2  \nNSOCKS=5");
  EXPECT_EQ(Settings::from({{"PEAL_CONF_FILE", empty.path()}}).nsocks, 2);
  const Settings settings = Settings::from({{"PEAL_CONF_FILE", odd.path()}});
  EXPECT_EQ(settings.nsocks, 5) << "the last one counts";
  EXPECT_EQ(settings.root, "host:1=2");
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
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993U) << "whole numbers don't go through a double";
  for (const char* wrong : {"", "M", "-1", "1.2.3", "5X", "1e3", "1.5.K", ".", "K", "1KB2", "999999999T",
                            "18446744073709551616", "8388608T"}) {
    EXPECT_THROW(parse_bytes(wrong), Error) << wrong;
  }
}

TEST(Nearest, WithinAThirdOfTheWord) {
  const std::vector<std::string> words = {"ring", "binomial", "double_tree"};
  EXPECT_EQ(nearest("rign", words), "ring");
  EXPECT_EQ(nearest("binomal", words), "binomial");
  EXPECT_EQ(nearest("quicksort", words), "");
}

}  // namespace
}  // namespace peal
