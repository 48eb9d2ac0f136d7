// A file that the user named and that can't be opened: the user's to mend, so an invalid argument (exit code 2), unlike
// a failure while it is read or written.
#pragma once

#include <cstring>
#include <string>

#include "base/error.h"

namespace peal::trainer {

inline Error open_error(const std::string& what, int error_number) {
  return Error(ErrorCode::kInvalidArgument, "can't open " + what + ": " + std::strerror(error_number));
}

}  // namespace peal::trainer
