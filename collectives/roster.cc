#include "collectives/roster.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/host.h"

namespace peal {
namespace {

class Writer {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string text() { return std::string(take(number<uint32_t>())); }

 private:
  std::string_view take(size_t size) {
    if (size > bytes_.size()) throw Error(ErrorCode::kPeerFailed, "a rank sent a truncated roster entry");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

}  // namespace

RosterEntry RosterEntry::here(const Settings& settings) {
  RosterEntry entry;
  entry.host_id = peal::host_id(settings);
  entry.host_name = peal::host_name();
  entry.pid = getpid();
  entry.usable_cores = peal::usable_cores();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    entry.affinity.resize(static_cast<size_t>(cpu / 64 + 1));
    entry.affinity.back() |= uint64_t{1} << (cpu % 64);
  }
  return entry;
}

std::string RosterEntry::encode() const {
  Writer writer;
  writer.text(host_id);
  writer.text(host_name);
  writer.number(pid);
  writer.number(usable_cores);
  writer.number(static_cast<uint32_t>(affinity.size()));
  for (const uint64_t word : affinity) writer.number(word);
  writer.number(static_cast<uint32_t>(reaches.size()));
  for (const Reach& reach : reaches) {
    writer.text(reach.transport);
    writer.text(reach.address);
    writer.number(reach.properties.latency_ns);
    writer.number(reach.properties.bandwidth_bytes_per_ns);
    writer.number(reach.properties.maps_peer_memory);
    writer.number(reach.properties.reads_device_memory);
  }
  return writer.take();
}

RosterEntry RosterEntry::decode(std::string_view bytes) {
  Reader reader(bytes);
  RosterEntry entry;
  entry.host_id = reader.text();
  entry.host_name = reader.text();
  entry.pid = reader.number<int64_t>();
  entry.usable_cores = std::max<int32_t>(1, reader.number<int32_t>());
  const auto words = reader.number<uint32_t>();
  for (uint32_t i = 0; i < words; i++) entry.affinity.push_back(reader.number<uint64_t>());
  const auto count = reader.number<uint32_t>();
  for (uint32_t i = 0; i < count; i++) {
    Reach reach;
    reach.transport = reader.text();
    reach.address = reader.text();
    reach.properties.latency_ns = reader.number<double>();
    reach.properties.bandwidth_bytes_per_ns = reader.number<double>();
    reach.properties.maps_peer_memory = reader.number<bool>();
    reach.properties.reads_device_memory = reader.number<bool>();
    entry.reaches.push_back(std::move(reach));
  }
  return entry;
}

int Roster::local_ranks(int rank) const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(),
                                        [&](const RosterEntry& entry) { return entry.host_id == at(rank).host_id; }));
}

double Roster::ranks_per_core(int rank) const {
  std::vector<uint64_t> together;
  int quota = 1 << 20;
  for (const RosterEntry& entry : entries_) {
    if (entry.host_id != at(rank).host_id) continue;
    together.resize(std::max(together.size(), entry.affinity.size()));
    int own = 0;
    for (size_t i = 0; i < entry.affinity.size(); i++) {
      together[i] |= entry.affinity[i];
      own += std::popcount(entry.affinity[i]);
    }
    if (entry.usable_cores < own) quota = std::min(quota, entry.usable_cores);
  }
  int cores = 0;
  for (const uint64_t word : together) cores += std::popcount(word);
  return static_cast<double>(local_ranks(rank)) / std::clamp(cores, 1, quota);
}

}  // namespace peal
