#include "transports/registry.h"

#include <gmock/gmock.h>

namespace peal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Registry : public ::testing::Test {
 protected:
  Registry() : log_(settings_, 0) {
    context_.host_id = "here";
    context_.settings = &settings_;
    context_.log = &log_;
  }
  std::vector<std::string> names(std::string_view list) {
    std::vector<std::string> names;
    for (const auto& transport : create_transports(list, context_).transports) names.emplace_back(transport->name());
    return names;
  }
  std::string refusal(std::string_view list, ErrorCode code) {
    try {
      create_transports(list, context_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    ADD_FAILURE() << list << " was accepted";
    return "";
  }

  Settings settings_;
  Log log_;
  TransportContext context_;
};

TEST_F(Registry, TheDefaultIsEveryDefaultTransportInOrder) {
  std::vector<std::string> expected;
  for (const TransportEntry& entry : transport_entries()) {
    if (entry.by_default && !entry.why_not(context_)) expected.emplace_back(entry.name);
  }
  EXPECT_EQ(names(""), expected);
  EXPECT_EQ(expected.front(), "inproc");
}

TEST_F(Registry, TheListOrdersAndWraps) {
  EXPECT_EQ(names("traced:inproc"), std::vector<std::string>{"traced:inproc"});
  EXPECT_EQ(names("traced:faulty:inproc"), std::vector<std::string>{"traced:faulty:inproc"});
  EXPECT_EQ(names("faulty:inproc,inproc"), (std::vector<std::string>{"faulty:inproc", "inproc"}));
}

TEST_F(Registry, AnExclusionLeavesTheOthers) {
  EXPECT_THAT(names(""), Contains("inproc"));
  std::vector<std::string> rest = names("");
  std::erase(rest, "inproc");
  if (rest.empty()) GTEST_SKIP() << "this machine can use inproc alone";
  EXPECT_EQ(names("^inproc"), rest);
}

TEST_F(Registry, WhatIsNotTakenHasAReason) {
  TransportChoice choice = create_transports("inproc", context_);
  EXPECT_EQ(choice.not_taken.size(), transport_entries().size() - 1);
  for (const std::string& line : choice.not_taken) EXPECT_THAT(line, HasSubstr(": not asked for"));
}

TEST_F(Registry, UnknownWordsAreRefusedWithTheValidOnes) {
  std::string message = refusal("inproc,smh", ErrorCode::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("\"smh\""));
  for (const TransportEntry& entry : transport_entries()) EXPECT_THAT(message, HasSubstr(std::string(entry.name)));
  EXPECT_THAT(refusal("inprok", ErrorCode::kInvalidArgument), HasSubstr("did you mean inproc?"));
  EXPECT_THAT(refusal("traced:nothing", ErrorCode::kInvalidArgument), HasSubstr("\"nothing\""));
  EXPECT_THAT(refusal("^nothing", ErrorCode::kInvalidArgument), HasSubstr("\"nothing\""));
  EXPECT_THAT(refusal("inproc,", ErrorCode::kInvalidArgument), HasSubstr("empty"));
  EXPECT_THAT(refusal("inproc,inproc", ErrorCode::kInvalidArgument), HasSubstr("twice"));
}

TEST_F(Registry, NamesAndExclusionsDontMix) {
  EXPECT_THAT(refusal("inproc,^inproc", ErrorCode::kInvalidArgument), HasSubstr("not both"));
}

TEST_F(Registry, NothingLeftIsAnErrorThatSaysWhy) {
  std::string all;
  for (const TransportEntry& entry : transport_entries()) all += (all.empty() ? "^" : ",^") + std::string(entry.name);
  EXPECT_THAT(refusal(all, ErrorCode::kUnsupported), HasSubstr(all));
}

TEST_F(Registry, AWrongSettingIsAnErrorNotAReason) {
  settings_.buffer_size = 5;
  EXPECT_THAT(refusal("inproc", ErrorCode::kInvalidArgument), HasSubstr("PEAL_BUFFSIZE"));
  settings_.buffer_size = 65536;
  settings_.fault = "agian=1";
  EXPECT_THAT(refusal("faulty:inproc", ErrorCode::kInvalidArgument), HasSubstr("agian"));
}

}  // namespace
}  // namespace peal
