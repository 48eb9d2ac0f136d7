#include "transports/shm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <vector>

#include "transports/listener.h"
#include "transports/mapped_window.h"
#include "transports/shm_peer.h"

namespace peal {
namespace {

// Looking at the sockets costs a few system calls, so it is done rarely: every kPollsSettled polls of progress() (about
// 0.1 ms of spinning) when nothing is being set up, more often when something is.
constexpr uint32_t kPollsSettled = 4096;
constexpr uint32_t kPollsUnsettled = 64;
constexpr int kNapUs = 50;  // a peer's counter rises in memory, which wakes nobody: so naps are short

constexpr std::string_view kAddressPrefix = "shm:";

// "shm:<host id>/<socket name>", where the name ends in the door's id.
std::string_view host_of(std::string_view address) {
  return address.starts_with(kAddressPrefix) ? address.substr(0, address.rfind('/')) : std::string_view();
}

ShmDoor door_of(std::string_view address) {
  ShmDoor door{std::string(address.substr(address.rfind('/') + 1)), 0};
  constexpr size_t kDigits = 16;
  const char* end = door.socket_name.data() + door.socket_name.size();
  if (door.socket_name.size() > kDigits) std::from_chars(end - kDigits, end, door.id, 16);
  return door;
}

std::string random_socket_name() {
  std::random_device random;
  return fmt::format("peal-shm-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportContext& context);

  std::string_view name() const noexcept override { return "shm"; }
  TransportProperties properties() const noexcept override { return {150, 6, true, false}; }
  std::string address() const override { return address_; }
  bool reaches(std::string_view from, std::string_view to) const override {
    return !host_of(from).empty() && host_of(from) == host_of(to);
  }
  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override;
  std::unique_ptr<Window> open_window(std::span<const PeerAddress> members, int self, uint64_t id, size_t bytes,
                                      Deadline deadline) override;
  void progress() noexcept override;
  void wait(int timeout_us) noexcept override;

 private:
  ShmPeer& peer_at(const PeerAddress& peer);
  void service() noexcept;
  void welcome_guests() noexcept;
  bool nap(int us) noexcept;
  void gather(std::vector<MappedWindow::Member>& group, uint64_t id, size_t bytes, Deadline deadline);
  bool arrived(MappedWindow::Member& member, uint64_t id, size_t bytes);

  const TransportContext context_;
  const size_t capacity_;
  const std::string address_;
  Listener listener_;
  uint32_t polls_left_ = 1;
  bool settled_ = true;
  std::vector<pollfd> watched_;
  std::vector<std::unique_ptr<ShmPeer>> peers_;  // by rank
  RingConnections connections_;  // after peers_, so that peers read "closed" in the rings before their links break
  MappedWindows windows_;
  const uint64_t probe_ = std::random_device()() | uint64_t{std::random_device()()} << 32;  // see WindowHead
};

ShmTransport::ShmTransport(const TransportContext& context)
    : context_(context),
      capacity_(ring_capacity_from(*context.settings)),
      address_(fmt::format("{}{}/{}", kAddressPrefix, context.host_id, random_socket_name())),
      listener_(listen_at(SocketAddress::unix_name(door_of(address_).socket_name)), context.key,
                Hello{context.rank, -1, Purpose::kShm, 0, 0, door_of(address_).id}) {
  for (int i = 0; i < context.ranks; ++i) peers_.push_back(std::make_unique<ShmPeer>());
  watched_.reserve(1 + 2 * peers_.size());  // wait() allocates nothing
}

ShmPeer& ShmTransport::peer_at(const PeerAddress& peer) {
  if (peer.rank < 0 || peer.rank >= context_.ranks || peer.rank == context_.rank) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("shm: rank {} of {} can't connect to rank {}", context_.rank, context_.ranks, peer.rank));
  }
  ShmPeer& known = *peers_[static_cast<size_t>(peer.rank)];
  known.meet(door_of(peer.address), context_.key, context_.rank, peer.rank);
  return known;
}

std::unique_ptr<Connection> ShmTransport::connect(const PeerAddress& peer, int channel) {
  ShmPeer& known = peer_at(peer);
  auto connection =
      std::make_unique<ShmConnection>(connections_, RingConnection::Who{name(), context_.rank, peer.rank, channel});
  known.add(*connection, capacity_);
  polls_left_ = 1;  // dials at the next progress()
  settled_ = false;
  return connection;
}

void ShmTransport::progress() noexcept {
  connections_.advance();
  if (--polls_left_ == 0) service();
}

void ShmTransport::service() noexcept {
  for (auto& peer : peers_) peer->advance_giver();
  welcome_guests();
  settled_ = true;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    peers_[rank]->advance_taker();
    if (peers_[rank]->lost()) windows_.lose_rank(static_cast<int>(rank));
    settled_ = settled_ && peers_[rank]->settled();
  }
  windows_.look();
  polls_left_ = settled_ ? kPollsSettled : kPollsUnsettled;
}

void ShmTransport::welcome_guests() noexcept {
  while (auto guest = listener_.poll()) {
    if (!guest->mismatch.empty()) {
      context_.log->warn(fmt::format("shm: {}", guest->mismatch));
    } else if (int rank = guest->hello.rank; rank >= 0 && rank < context_.ranks && rank != context_.rank) {
      peers_[static_cast<size_t>(rank)]->accept(std::move(guest->socket));
    }
  }
}

void ShmTransport::wait(int timeout_us) noexcept {
  if (nap(std::min(timeout_us, kNapUs)) || !settled_) service();
  windows_.look();
}

// Until a socket has something to say (true) or the time is over.
bool ShmTransport::nap(int us) noexcept {
  watched_.clear();
  watched_.push_back({listener_.poll_fd(), POLLIN, 0});
  for (const auto& peer : peers_) {
    if (peer->lost()) continue;
    for (int fd : {peer->giver_fd(), peer->taker_fd()}) {
      if (fd >= 0) watched_.push_back({fd, POLLIN, 0});
    }
  }
  timespec timeout{0, us * 1000};
  return ::ppoll(watched_.data(), watched_.size(), &timeout, nullptr) > 0;
}

std::unique_ptr<Window> ShmTransport::open_window(std::span<const PeerAddress> members, int self, uint64_t id,
                                                  size_t bytes, Deadline deadline) {
  auto mine = std::make_shared<ShmSegment>(ShmSegment::create(WindowHead::bytes_for(bytes)));
  auto* head = new (mine->data()) WindowHead;
  head->pid = ::getpid();
  head->probe = reinterpret_cast<uint64_t>(&probe_);
  head->probe_value = probe_;
  std::vector<MappedWindow::Member> group(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    group[i].rank = members[i].rank;
    if (std::cmp_equal(i, self)) continue;
    peer_at(members[i]).give({ShmNote::kWindow, 0, id, mine->bytes()}, *mine);
  }
  mine->close_fd();
  group[static_cast<size_t>(self)].memory = {mine, mine->data()};
  gather(group, id, bytes, deadline);
  return std::make_unique<MappedWindow>(windows_, std::move(group), static_cast<size_t>(self), bytes,
                                        Window::Reach::kFetch);
}

// Waits until every member's memory is here and this rank's is with every member.
void ShmTransport::gather(std::vector<MappedWindow::Member>& group, uint64_t id, size_t bytes, Deadline deadline) {
  for (;; nap(kNapUs)) {
    service();
    std::vector<int> missing;
    std::string lost;
    for (auto& member : group) {
      if (member.rank == context_.rank || arrived(member, id, bytes)) continue;
      const ShmPeer& peer = *peers_[static_cast<size_t>(member.rank)];
      missing.push_back(member.rank);
      if (peer.lost()) lost = fmt::format("rank {} {}", member.rank, peer.how_lost());
    }
    if (missing.empty()) return;
    if (lost.empty() && !deadline.passed()) continue;
    std::string why = lost.empty() ? fmt::format("rank {} did not come in time", fmt::join(missing, ", ")) : lost;
    throw Error(lost.empty() ? ErrorCode::kTimeout : ErrorCode::kPeerFailed,
                fmt::format("rank {}: window {} of {} bytes over shm: {}", context_.rank, id, bytes, why),
                ErrorSite{context_.rank, missing.front(), -1});
  }
}

bool ShmTransport::arrived(MappedWindow::Member& member, uint64_t id, size_t bytes) {
  ShmPeer& peer = *peers_[static_cast<size_t>(member.rank)];
  if (!member.memory) {
    auto segment = peer.take_window(id, WindowHead::bytes_for(bytes));
    if (segment) member.memory = {segment, segment->data()};
  }
  return member.memory && peer.all_given();
}

}  // namespace

std::optional<std::string> shm_why_not(const TransportContext&) {
  try {
    ShmSegment::create(4096);
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

std::unique_ptr<Transport> create_shm(const TransportContext& context) {
  return std::make_unique<ShmTransport>(context);
}

}  // namespace peal
