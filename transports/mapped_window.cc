#include "transports/mapped_window.h"

#include <sys/uio.h>

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

MappedWindow::MappedWindow(MappedWindows& owner, std::vector<Member> members, size_t self, size_t bytes, Reach reach)
    : owner_(&owner), group_(std::move(members)), self_(self) {
  bytes_ = bytes;
  for (size_t i = 0; i < group_.size(); ++i) {
    lines_.push_back(head(i).lines);
    data_.push_back(group_[i].memory.get() + WindowHead::kDataOffset);
  }
  owner.open_.push_back(this);
  reach_ = reach == Reach::kFetch && !can_fetch_from_all() ? Reach::kNone : reach;
}

// Containers and hardened kernels refuse (Yama, seccomp, other users), or show other processes under the same number.
bool MappedWindow::can_fetch_from_all() noexcept {
  for (size_t i = 0; i < group_.size(); ++i) {
    uint64_t value = 0;
    if (i == self_) continue;
    if (!fetch(static_cast<int>(i), head(i).probe, &value, sizeof(value)) || value != head(i).probe_value) return false;
  }
  return true;
}

bool MappedWindow::fetch(int member, uint64_t remote, void* to, size_t bytes) noexcept {
  const auto pid = static_cast<pid_t>(head(static_cast<size_t>(member)).pid);
  auto* local = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const iovec here{local, bytes}, there{reinterpret_cast<void*>(remote), bytes};  // NOLINT: another process's address
    const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    local += got;
    remote += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
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
