// Asserts on Peal's errors: the code, and words that the message must have.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace peal::trainer {

template <typename Body>
void expect_error(Body body, ErrorCode code, const std::vector<std::string>& words) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one about " << words.front();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& word : words) EXPECT_THAT(error.what(), ::testing::HasSubstr(word));
  }
}

}  // namespace peal::trainer
