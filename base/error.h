// The one exception type. Set-up and misuse throw it where they happen; the data path never throws: it stores its first
// failure in the communicator, and the wait that sees it throws that.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/api.h"

namespace peal {

// Values are part of the C API (peal.h) and never change.
enum class ErrorCode {
  kInvalidArgument = 1,  // a call, setting, file or flag that can't be right, whoever's machine it is on
  kSystem = 2,           // the operating system refused (errno text is in what())
  kTimeout = 3,          // a deadline passed; what() says who is missing
  kPeerFailed = 4,       // a peer died, closed or broke the protocol
  kMismatch = 5,         // ranks called different things; what() holds both ranks' arguments
  kAborted = 6,          // abort() was called on this communicator
  kUnsupported = 7,      // legal, but this build or machine can't do it
  kInternal = 8,         // a bug in Peal
};

PEAL_API std::string_view name_of(ErrorCode code) noexcept;

// Where a failure was seen; -1 means "does not apply".
struct ErrorSite {
  int rank = -1;
  int peer = -1;
  int step = -1;  // index of the plan's step
};

class PEAL_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what, ErrorSite site = {});
  ErrorCode code() const noexcept { return code_; }
  ErrorSite site() const noexcept { return site_; }

 private:
  ErrorCode code_;
  ErrorSite site_;
};

// "what: strerror(errno)" as an Error of code kSystem.
PEAL_API Error system_error(const std::string& what, int error_number);

}  // namespace peal
