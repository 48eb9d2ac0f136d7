#include "base/error.h"

#include <fmt/format.h>

#include <cstring>

namespace peal {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kSystem:
      return "system error";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kPeerFailed:
      return "peer failed";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kAborted:
      return "aborted";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown error";
}

Error::Error(ErrorCode code, const std::string& what, ErrorSite site)
    : std::runtime_error(what), code_(code), site_(site) {}

Error system_error(const std::string& what, int error_number) {
  return Error(ErrorCode::kSystem, fmt::format("{}: {}", what, std::strerror(error_number)));
}

}  // namespace peal
