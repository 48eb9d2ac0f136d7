#include "transports/mapped_window.h"

#include <algorithm>

namespace peal {

MappedWindows::~MappedWindows() {
  for (MappedWindow* window : open_) {
    window->leave();
    window->owner_ = nullptr;
  }
}

void MappedWindows::look() noexcept {
  for (MappedWindow* window : open_) window->look();
}

void MappedWindows::lose_rank(int rank) noexcept {
  for (MappedWindow* window : open_) window->lose_rank(rank);
}

MappedWindow::MappedWindow(MappedWindows& owner, std::vector<Member> members, size_t self, size_t bytes)
    : owner_(&owner), group_(std::move(members)), self_(self) {
  bytes_ = bytes;
  for (size_t i = 0; i < group_.size(); ++i) {
    lines_.push_back(head(i).lines);
    data_.push_back(group_[i].memory.get() + WindowHead::kDataOffset);
  }
  owner.open_.push_back(this);
}

MappedWindow::~MappedWindow() {
  leave();
  if (owner_) std::erase(owner_->open_, this);
}

void MappedWindow::look() noexcept {
  for (size_t i = 0; i < group_.size() && failed_member_ < 0; ++i) {
    if (i != self_ && head(i).left.load(std::memory_order_acquire) != 0) failed_member_ = static_cast<int>(i);
  }
}

void MappedWindow::lose_rank(int rank) noexcept {
  auto found = std::ranges::find(group_, rank, &Member::rank);
  if (failed_member_ < 0 && found != group_.end()) failed_member_ = static_cast<int>(found - group_.begin());
}

}  // namespace peal
