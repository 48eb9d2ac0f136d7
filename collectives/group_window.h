// How a group uses the memory that all its ranks have mapped: which line and which bytes serve what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/fingerprint.h"
#include "collectives/plan.h"
#include "transports/transport.h"

namespace peal {

// Lines of a member's segment, each written by its owner alone.
struct WindowLines {
  static constexpr size_t kPublished = 0;  // and the next kWindowTurns - 1, by turn: see mapped_lane.h
  static constexpr size_t kFinished = kPublished + kWindowTurns;
  static constexpr size_t kSmallFinished = kFinished + 1;  // see small_exchange.h
  static constexpr size_t kDeclared = kFinished + 2;       // what the rank is doing now
};
static_assert(WindowLines::kDeclared < Window::kLines);

// One rank's view of the group's window. Segments that went through it are counted alike on every rank.
struct GroupWindow {
  Window* window = nullptr;  // null: the group has none
  int rank = 0;
  uint64_t epoch = 0;

  // Where slots begin: what lies before is small_exchange.h's.
  static constexpr size_t kSmallBytes = 5 * 4096;

  size_t slot_bytes() const noexcept { return window->bytes() - kSmallBytes; }
  std::byte* slots(int member) const noexcept { return window->data(member) + kSmallBytes; }
  Window::Line& line(int member, size_t index) const noexcept { return window->line(member, index); }

  // Says what this rank begins, for peers that wait in vain. Costs some stores to a line that nobody else looks at.
  void declare(const std::array<uint64_t, 4>& words) noexcept {
    Window::Line& line = window->line(rank, WindowLines::kDeclared);
    const uint64_t version = line.counter.load(std::memory_order_relaxed);
    line.counter.store(version + 1, std::memory_order_relaxed);  // odd: being written
    for (size_t i = 0; i < words.size(); i++) line.words[i].store(words[i], std::memory_order_release);
    line.counter.store(version + 2, std::memory_order_release);
  }

  // What `member` began last; nothing while it is just writing it, or before its first.
  std::optional<std::array<uint64_t, 4>> declared(int member) const noexcept {
    const Window::Line& line = window->line(member, WindowLines::kDeclared);
    const uint64_t version = line.counter.load(std::memory_order_acquire);
    if (version == 0 || version % 2 != 0) return std::nullopt;
    std::array<uint64_t, 4> words{};
    // Who sees a word of the next version sees that the counter is odd, or further on.
    for (size_t i = 0; i < words.size(); i++) words[i] = line.words[i].load(std::memory_order_acquire);
    if (line.counter.load(std::memory_order_relaxed) != version) return std::nullopt;
    return words;
  }

  // The rank whose call of the same number is another than `words`, or -1. For ranks that wait: whichever way the two
  // calls would have met, they can't.
  int rank_at_odds(const std::array<uint64_t, 4>& words) const noexcept {
    for (int member = 0; member < window->members(); member++) {
      if (member == rank) continue;
      const auto theirs = declared(member);
      if (theirs && Fingerprint::of(*theirs).sequence == Fingerprint::of(words).sequence && *theirs != words) {
        return member;
      }
    }
    return -1;
  }
};

}  // namespace peal
