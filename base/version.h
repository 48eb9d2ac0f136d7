// Which build this is, for people. (What ranks compare is transports/build_id.h.)
#pragma once

#include <string_view>

#include "base/api.h"

namespace peal {

PEAL_API std::string_view version() noexcept;         // "0.1.0"
PEAL_API std::string_view describe_build() noexcept;  // "0.1.0+67b93e8 GNU-12.2.0 Release"

}  // namespace peal
