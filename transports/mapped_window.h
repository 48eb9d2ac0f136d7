// A Window over memory that all members have mapped, however it came to them: what inproc and shm share.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "transports/transport.h"

namespace peal {

// What a member's memory begins with; its data follow on the next page. Zero is its first state.
struct WindowHead {
  Window::Line lines[Window::kLines];
  alignas(128) std::atomic<uint32_t> left{0};  // stored once, by the member when it goes
  // For trying whether its memory can be fetched: what lies at `probe` in process `pid`. Written before it is shared.
  int64_t pid = 0;
  uint64_t probe = 0;
  uint64_t probe_value = 0;

  static constexpr size_t kDataOffset = 4096;
  static size_t bytes_for(size_t bytes) noexcept { return kDataOffset + bytes; }
};
static_assert(sizeof(WindowHead) <= WindowHead::kDataOffset);

class MappedWindow;

// The open windows of one transport. Whichever dies first tells the other.
class MappedWindows {
 public:
  MappedWindows() = default;
  ~MappedWindows();  // leaves every window: the other members see this one gone
  MappedWindows(const MappedWindows&) = delete;
  MappedWindows& operator=(const MappedWindows&) = delete;

  void look() noexcept;               // which members have left?
  void lose_rank(int rank) noexcept;  // known to be dead
  bool empty() const noexcept { return open_.empty(); }

 private:
  friend class MappedWindow;
  std::vector<MappedWindow*> open_;
};

class MappedWindow final : public Window {
 public:
  struct Member {
    int rank = -1;
    std::shared_ptr<std::byte> memory;  // begins with a WindowHead
  };

  // `reach`: kFetch is tried on every member, and is kNone where the system refuses.
  MappedWindow(MappedWindows& owner, std::vector<Member> members, size_t self, size_t bytes, Reach reach);
  ~MappedWindow() override;

  bool fetch(int member, uint64_t remote, void* to, size_t bytes) noexcept override;

 private:
  friend class MappedWindows;
  WindowHead& head(size_t member) const noexcept {
    return *std::launder(reinterpret_cast<WindowHead*>(group_[member].memory.get()));
  }
  void leave() noexcept { head(self_).left.store(1, std::memory_order_release); }
  void look() noexcept;
  void lose_rank(int rank) noexcept;
  bool can_fetch_from_all() noexcept;

  MappedWindows* owner_;
  std::vector<Member> group_;
  size_t self_;
};

}  // namespace peal
