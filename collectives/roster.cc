#include "collectives/roster.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/host.h"
#include "topology/reconcile.h"

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

RosterEntry RosterEntry::here(const Settings& settings, const Machine& machine) {
  RosterEntry entry;
  entry.host_id = peal::host_id(settings);
  entry.host_name = peal::host_name();
  entry.pid = getpid();
  entry.usable_cores = peal::usable_cores();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    entry.affinity.resize(static_cast<size_t>(cpu / 64 + 1));
    entry.affinity.back() |= uint64_t{1} << (cpu % 64);
    cpus.push_back(cpu);
  }
  const Host& host = machine.hosts[static_cast<size_t>(host_named(machine, entry.host_name))];
  entry.place = place_on(host, entry.host_id, cpus);
  entry.ring_order = settings.ring_order;
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
  for (const int32_t part :
       {place.package, place.numa, place.cache, place.core, place.gpu, place.gpu_position, place.nic}) {
    writer.number(part);
  }
  writer.text(ring_order);
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
  entry.place.host = entry.host_id;
  Place& place = entry.place;
  for (int* part :
       {&place.package, &place.numa, &place.cache, &place.core, &place.gpu, &place.gpu_position, &place.nic}) {
    *part = reader.number<int32_t>();
  }
  entry.ring_order = reader.text();
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

double Roster::most_ranks_per_core() const {
  double most = 0;
  for (int rank = 0; rank < ranks(); rank++) most = std::max(most, ranks_per_core(rank));
  return most;
}

std::vector<Place> Roster::places() const {
  std::vector<Place> places;
  for (const RosterEntry& entry : entries_) places.push_back(entry.place);
  return places;
}

Placement Roster::placement() const {
  const Placement placement = place_ranks(places());
  for (int rank = 1; rank < ranks(); rank++) {
    if (at(rank).ring_order == at(0).ring_order) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("PEAL_RING_ORDER must be equal on all ranks: it is '{}' on rank 0 and '{}' on rank {}",
                            at(0).ring_order, at(rank).ring_order, rank));
  }
  return at(0).ring_order.empty() ? placement : with_ring(placement, at(0).ring_order);
}

}  // namespace peal
