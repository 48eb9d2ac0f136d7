#include "tools/sim/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace peal::sim {
namespace {

// Longest block of stretches that is looked for as a repetition: a host's way in, through and out.
constexpr size_t kLongestBlock = 8;

std::vector<Stretch> stretches_of(std::span<const PathMessage> messages, const PassageOf& passage_of) {
  std::map<std::pair<int, int>, Passage> known;
  std::vector<Stretch> stretches;
  CriticalPath before;
  for (const PathMessage& message : messages) {
    const auto [found, is_new] = known.try_emplace({message.from, message.to});
    if (is_new) found->second = passage_of(message.from, message.to);
    const Passage& passage = found->second;
    if (stretches.empty() || stretches.back().kind != passage.kind) {
      stretches.push_back({0, passage.kind, message.from, message.to, passage.narrowest});
    }
    Stretch& last = stretches.back();
    last.messages++;
    last.latency_ns += message.until.latency_ns - before.latency_ns;
    last.transfer_ns += message.until.transfer_ns - before.transfer_ns;
    last.queue_ns += message.until.queue_ns - before.queue_ns;
    last.core_ns += message.until.core_ns - before.core_ns;
    before = message.until;
  }
  return stretches;
}

bool alike(const Stretch& a, const Stretch& b) { return a.kind == b.kind && a.messages == b.messages; }

// How often the block of `length` at `begin` stands there, back to back.
int times_at(std::span<const Stretch> all, size_t begin, size_t length) {
  int times = 1;
  for (size_t next = begin + length; next + length <= all.size(); next += length, times++) {
    if (!std::equal(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(begin + length),
                    all.begin() + static_cast<ptrdiff_t>(next), alike)) {
      break;
    }
  }
  return times;
}

void add(Stretch& sum, const Stretch& one) {
  sum.latency_ns += one.latency_ns;
  sum.transfer_ns += one.transfer_ns;
  sum.queue_ns += one.queue_ns;
  sum.core_ns += one.core_ns;
}

std::string line_of(const Stretch& stretch, int times) {
  const auto us = [&](double ns) { return ns / 1e3 / times; };
  return fmt::format("  {:>6}  {:<7} {:>6} -> {:<6} {:>12.2f} {:>12.2f} {:>12.2f} {:>12.2f}  {}\n", stretch.messages,
                     name_of(stretch.kind), stretch.from, stretch.to, us(stretch.latency_ns), us(stretch.transfer_ns),
                     us(stretch.queue_ns), us(stretch.core_ns), stretch.narrowest);
}

}  // namespace

std::vector<Repeated> folded(std::span<const PathMessage> messages, const PassageOf& passage_of) {
  const std::vector<Stretch> all = stretches_of(messages, passage_of);
  std::vector<Repeated> path;
  for (size_t begin = 0; begin < all.size();) {
    size_t length = 1, covered = 1;
    int times = 1;
    for (size_t tried = 2; tried <= kLongestBlock && begin + tried <= all.size(); tried++) {
      const int found = times_at(all, begin, tried);
      if (found < 2 || static_cast<size_t>(found) * tried <= covered) continue;
      times = found;
      length = tried;
      covered = static_cast<size_t>(found) * tried;
    }
    const auto first = all.begin() + static_cast<ptrdiff_t>(begin);
    Repeated block{times, {first, first + static_cast<ptrdiff_t>(length)}};
    for (size_t i = length; i < covered; i++) add(block.stretches[i % length], all[begin + i]);
    path.push_back(std::move(block));
    begin += covered;
  }
  return path;
}

std::string to_string(const std::vector<Repeated>& path) {
  std::string text =
      fmt::format("#   count  kind      first ranks   {:>12} {:>12} {:>12} {:>12}  first's narrowest link\n",
                  "latency (us)", "transfer", "queue", "core");
  for (const Repeated& block : path) {
    if (block.times > 1) text += fmt::format("  {} times, each:\n", block.times);
    for (const Stretch& stretch : block.stretches)
      text += (block.times > 1 ? "  " : "") + line_of(stretch, block.times);
  }
  return text;
}

}  // namespace peal::sim
