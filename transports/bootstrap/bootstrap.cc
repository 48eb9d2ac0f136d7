#include "transports/bootstrap/bootstrap.h"

#include <fmt/format.h>

#include <variant>

#include "transports/bootstrap/peer_side.h"
#include "transports/bootstrap/root_side.h"

namespace peal {
namespace {

using Side = std::variant<RootSide, PeerSide>;

Side make_side(const Launch& launch, Deadline deadline) {
  if (launch.size < 1 || launch.rank < 0 || launch.rank >= launch.size) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("rank {} of {}: expected 0 <= rank < size", launch.rank, launch.size));
  }
  if (launch.rank == 0) return Side(std::in_place_type<RootSide>, launch, deadline);
  return Side(std::in_place_type<PeerSide>, launch, deadline);
}

}  // namespace

struct Bootstrap::State {
  Side side;
};

Bootstrap::Bootstrap(const Launch& launch, Deadline deadline)
    : state_(std::make_unique<State>(State{make_side(launch, deadline)})) {}

Bootstrap::~Bootstrap() = default;

std::vector<std::string> Bootstrap::all_gather(const std::string& mine, Deadline deadline) {
  return std::visit([&](auto& side) { return side.all_gather(mine, deadline); }, state_->side);
}

}  // namespace peal
