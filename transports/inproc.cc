#include "transports/inproc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "transports/mapped_window.h"
#include "transports/require_memory.h"
#include "transports/ring_connection.h"

namespace peal {
namespace {

constexpr uint32_t kPollsPerLook = 1024;  // between looks at whether a window's members are still there

std::shared_ptr<std::byte> aligned_memory(size_t bytes) {
  constexpr std::align_val_t kAlignment{4096};
  return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
          [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

std::string random_hex() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

struct PairMeeting {
  std::shared_ptr<std::byte> memory;
  RingPair rings;
};

using PairKey = std::tuple<std::string, std::string, int>;  // lower address, upper address, channel
using WindowKey = std::tuple<std::vector<std::string>, uint64_t, size_t>;
struct WindowMeeting {
  std::vector<MappedWindow::Member> members;  // no memory: not here yet
  size_t taken = 0;                           // members that have seen all of them
};

// Where the ranks of this process meet. The one process-wide state of Peal: two threads that know nothing of each other
// but an address must find the same memory. Nobody can guess an address, so nobody meets by mistake.
struct MeetingPlace {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string, std::less<>> present;  // addresses of the transports that live
  std::map<PairKey, PairMeeting> pairs;        // one side came, the other did not yet
  std::map<WindowKey, WindowMeeting> windows;  // not all members have come

  // Drops what nobody can come for any more. Rings with one living side stay: they may hold bytes for it.
  void forget_the_gone() {
    auto gone = [&](const std::string& address) { return !present.contains(address); };
    std::erase_if(pairs,
                  [&](const auto& pair) { return gone(std::get<0>(pair.first)) && gone(std::get<1>(pair.first)); });
    std::erase_if(windows, [&](const auto& window) { return std::ranges::all_of(std::get<0>(window.first), gone); });
  }
};

MeetingPlace& meeting_place() {
  static MeetingPlace place;
  return place;
}

// The part of an address that all transports of a process share. The pid tells a forked child from its parent.
std::string process_token() {
  static const std::string random = random_hex();
  return fmt::format("inproc:{}:{}", ::getpid(), random);
}

std::string_view process_of(std::string_view address) { return address.substr(0, address.find('/')); }

class InprocTransport final : public Transport {
 public:
  explicit InprocTransport(const TransportContext& context);
  ~InprocTransport() override;

  std::string_view name() const noexcept override { return "inproc"; }
  TransportProperties properties() const noexcept override { return {150, 6, true, false}; }
  std::string address() const override { return address_; }
  bool reaches(std::string_view from, std::string_view to) const override {
    return from.starts_with("inproc:") && process_of(from) == process_of(to);
  }
  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override;
  std::unique_ptr<Window> open_window(std::span<const PeerAddress> members, int self, uint64_t id, size_t bytes,
                                      Deadline deadline) override;
  void progress() noexcept override;
  void wait(int timeout_us) noexcept override;

 private:
  PairMeeting meet(const PeerAddress& peer, int channel, bool lower);

  const TransportContext context_;
  const size_t capacity_;
  const std::string address_ = process_token() + "/" + random_hex();
  uint32_t polls_ = 0;
  RingConnections connections_;
  MappedWindows windows_;
};

InprocTransport::InprocTransport(const TransportContext& context)
    : context_(context), capacity_(ring_capacity_from(*context.settings)) {
  MeetingPlace& place = meeting_place();
  std::lock_guard lock(place.mutex);
  place.present.insert(address_);
}

// Whoever still waits for this transport in the meeting place, or comes later, finds it gone.
InprocTransport::~InprocTransport() {
  MeetingPlace& place = meeting_place();
  std::lock_guard lock(place.mutex);
  place.present.erase(address_);
  place.forget_the_gone();
  place.changed.notify_all();
}

std::unique_ptr<Connection> InprocTransport::connect(const PeerAddress& peer, int channel) {
  auto connection =
      std::make_unique<RingConnection>(connections_, RingConnection::Who{name(), context_.rank, peer.rank, channel});
  bool lower = address_ < peer.address;
  PairMeeting met = meet(peer, channel, lower);
  if (met.memory) {
    connection->attach_out(met.rings.writer(lower), met.memory);
    connection->attach_in(met.rings.reader(lower), met.memory);
  } else {
    connection->peer_died("is gone");
  }
  return connection;
}

// The rings of this pair and channel: the first to come makes them, the second takes them out of the meeting place. No
// memory when the peer's transport is gone already and left nothing.
PairMeeting InprocTransport::meet(const PeerAddress& peer, int channel, bool lower) {
  std::string theirs(peer.address);
  PairKey key = lower ? PairKey{address_, theirs, channel} : PairKey{theirs, address_, channel};
  MeetingPlace& place = meeting_place();
  std::lock_guard lock(place.mutex);
  if (auto found = place.pairs.extract(key)) return std::move(found.mapped());
  if (!place.present.contains(theirs)) return {};
  PairMeeting made;
  made.memory = aligned_memory(RingPair::bytes_for(capacity_));
  made.rings = {made.memory.get(), capacity_};
  made.rings.create();
  place.pairs.emplace(std::move(key), made);
  return made;
}

std::shared_ptr<std::byte> make_window_memory(size_t bytes) {
  require_memory("inproc", WindowHead::bytes_for(bytes));
  std::shared_ptr<std::byte> memory = aligned_memory(WindowHead::bytes_for(bytes));
  std::memset(memory.get(), 0, WindowHead::bytes_for(bytes));  // touches every page, so that later use can't run out
  new (memory.get()) WindowHead;
  return memory;
}

// Ranks of the members whose segment is not there yet. `any_left` tells whether one of them can't come any more.
std::vector<int> missing_ranks(const MeetingPlace& place, const WindowMeeting& meeting,
                               std::span<const PeerAddress> members, bool& any_left) {
  std::vector<int> missing;
  for (size_t i = 0; i < members.size(); ++i) {
    if (meeting.members[i].memory) continue;
    missing.push_back(members[i].rank);
    any_left = any_left || !place.present.contains(members[i].address);
  }
  return missing;
}

std::unique_ptr<Window> InprocTransport::open_window(std::span<const PeerAddress> members, int self, uint64_t id,
                                                     size_t bytes, Deadline deadline) {
  std::shared_ptr<std::byte> mine = make_window_memory(bytes);
  WindowKey key{{}, id, bytes};
  for (const PeerAddress& member : members) std::get<0>(key).emplace_back(member.address);

  MeetingPlace& place = meeting_place();
  std::unique_lock lock(place.mutex);
  WindowMeeting& meeting = place.windows[key];
  meeting.members.resize(members.size());
  meeting.members[static_cast<size_t>(self)] = {context_.rank, mine};
  place.changed.notify_all();

  bool any_left = false;
  std::vector<int> missing;
  auto settled = [&] {
    missing = missing_ranks(place, meeting, members, any_left);
    return missing.empty() || any_left;
  };
  place.changed.wait_for(lock, std::chrono::milliseconds(deadline.left_ms()), settled);
  if (!missing.empty()) {
    std::launder(reinterpret_cast<WindowHead*>(mine.get()))->left = 1;  // for those who come later
    throw Error(any_left ? ErrorCode::kPeerFailed : ErrorCode::kTimeout,
                fmt::format("rank {}: window {} of {} bytes over inproc: rank {} {}", context_.rank, id, bytes,
                            fmt::join(missing, ", "), any_left ? "is gone" : "did not come in time"),
                ErrorSite{context_.rank, missing.front(), -1});
  }
  auto all = meeting.members;
  if (++meeting.taken == members.size()) place.windows.erase(key);
  return std::make_unique<MappedWindow>(windows_, std::move(all), static_cast<size_t>(self), bytes,
                                        Window::Reach::kPointer);
}

void InprocTransport::progress() noexcept {
  connections_.advance();
  if (++polls_ % kPollsPerLook == 0) windows_.look();
}

void InprocTransport::wait(int timeout_us) noexcept {
  windows_.look();
  Transport::wait(timeout_us);
}

}  // namespace

std::optional<std::string> inproc_why_not(const TransportContext&) { return std::nullopt; }

std::unique_ptr<Transport> create_inproc(const TransportContext& context) {
  return std::make_unique<InprocTransport>(context);
}

}  // namespace peal
