#include "transports/tcp/transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transports/tcp.h"

namespace peal {
namespace {

constexpr uint64_t kPollsPerCollect = 16;      // 16 reads of one socket (0.2 us each) to one look at all events
constexpr uint64_t kPollsPerSetup = 8;         // while a dial is under way
constexpr uint64_t kPollsPerListening = 1024;  // strangers' patience ends without an event
constexpr size_t kMostAsked = 2;               // more connections that wait are cheaper to ask through epoll
constexpr int64_t kMostSockets = 16;

uint8_t sockets_of(const Settings& settings) {
  if (settings.nsocks >= 1 && settings.nsocks <= kMostSockets) return static_cast<uint8_t>(settings.nsocks);
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("PEAL_NSOCKS is {}: expected 1 to {}", settings.nsocks, kMostSockets));
}

TcpAddress own_address(const TransportContext& context) {
  if (::sodium_init() < 0) throw Error(ErrorCode::kSystem, "libsodium can't start: no source of random numbers");
  const Settings& settings = *context.settings;
  TcpAddress own;
  ::randombytes_buf(&own.id, sizeof own.id);
  own.sockets = sockets_of(settings);
  own.host_id = context.host_id;
  own.interfaces = choose_addresses(interface_addresses(), settings.socket_ifname, settings.socket_family);
  return own;
}

Socket listen_for(const TransportContext& context) {
  return listen_in_range(parse_family(context.settings->socket_family), context.settings->port_range);
}

std::string interface_list(const TcpAddress& own) {
  std::vector<std::string> words;
  for (const auto& one : own.interfaces) {
    words.push_back(fmt::format("{} {}", one.interface, SocketAddress::ip(one.bytes(), own.port).text()));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

TcpTransport::TcpTransport(const TransportContext& context)
    : context_(context),
      own_(own_address(context)),
      listener_(listen_for(context), context.key, Hello{context.rank, -1, Purpose::kTcp, 0, 0, own_.id}),
      events_(::epoll_create1(EPOLL_CLOEXEC)) {
  own_.port = listener_.address().port();
  epoll_event event{EPOLLIN, {.ptr = nullptr}};
  if (!events_.open() || ::epoll_ctl(events_.fd(), EPOLL_CTL_ADD, listener_.poll_fd(), &event) != 0) {
    throw system_error("tcp: epoll", errno);
  }
  if (context_.log->enabled(LogLevel::kInfo)) {
    context_.log->info(fmt::format("tcp: at {}; {} sockets per connection", interface_list(own_), own_.sockets));
  }
}

TcpTransport::~TcpTransport() {
  for (TcpConnection* connection : connections_) connection->forget_transport();
}

// Measured on loopback of a 2-core machine; networks are slower, and measured by peal-topo.
TransportProperties TcpTransport::properties() const noexcept {
  return {.latency_ns = 15000, .bandwidth_bytes_per_ns = 2, .maps_peer_memory = false, .reads_device_memory = false};
}

bool TcpTransport::reaches(std::string_view from, std::string_view to) const {
  auto one = TcpAddress::decode(from), other = TcpAddress::decode(to);
  return one && other && may_reach(*one, *other);
}

std::unique_ptr<Connection> TcpTransport::connect(const PeerAddress& peer, int channel) {
  auto address = TcpAddress::decode(peer.address);
  if (!address || channel < 0 || peer.rank == context_.rank) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("tcp: can't connect rank {} to rank {} on channel {}: not an address of tcp, a negative "
                            "channel, or the rank itself",
                            context_.rank, peer.rank, channel));
  }
  size_t sockets = std::min(own_.sockets, address->sockets);
  auto connection = std::make_unique<TcpConnection>(*this, context_.rank, peer.rank, channel, sockets);
  connections_.push_back(connection.get());
  // The first socket finds out which of the peer's addresses is the one; the others follow it.
  if (context_.rank < peer.rank) start_dial(*connection, 0, *address, places_to_try(own_, *address));
  for (Arrival& arrival : arrivals_) {
    if (arrival.hello.rank == peer.rank && arrival.hello.channel == channel) seat(*connection, std::move(arrival));
  }
  std::erase_if(arrivals_, [](const Arrival& arrival) { return !arrival.socket.open(); });
  return connection;
}

void TcpTransport::forget(TcpConnection& connection) noexcept {
  std::erase(connections_, &connection);
  std::erase_if(dials_, [&](const auto& dial) { return dial->connection == &connection; });
}

void TcpTransport::progress() noexcept {
  ++polls_;
  bool moved = move_connections();
  bool needs_events = std::ranges::any_of(connections_, [](auto* connection) { return connection->needs_events(); });
  if (polls_ % kPollsPerCollect == 0 || (needs_events && !moved)) {
    collect_events(0);
    move_connections();
  }
  bool is_dialing = !dials_.empty() && polls_ % kPollsPerSetup == 0;
  if (setup_is_due_ || is_dialing || polls_ % kPollsPerListening == 0) drive_setup();
}

bool TcpTransport::move_connections() noexcept {
  auto awaits = [](const TcpConnection* connection) { return connection->awaits_receive(); };
  auto awaiting = static_cast<size_t>(std::ranges::count_if(connections_, awaits));
  bool moved = false;
  for (TcpConnection* connection : connections_) moved |= connection->progress(awaiting <= kMostAsked);
  if (awaiting > kMostAsked && !moved) collect_events(0);
  return moved;
}

void TcpTransport::collect_events(int timeout_us) noexcept {
  std::array<epoll_event, 64> events;
  timespec timeout{timeout_us / 1000000, (timeout_us % 1000000) * 1000L};
  int count = ::epoll_pwait2(events_.fd(), events.data(), events.size(), &timeout, nullptr);
  if (count < 0 && errno == ENOSYS) {  // before Linux 5.11
    count = ::epoll_wait(events_.fd(), events.data(), events.size(), (timeout_us + 999) / 1000);
  }
  for (int i = 0; i < count; ++i) {
    auto* stream = static_cast<TcpStream*>(events[static_cast<size_t>(i)].data.ptr);
    if (stream) {
      stream->notice(events[static_cast<size_t>(i)].events);
    } else {
      setup_is_due_ = true;
    }
  }
}

void TcpTransport::wait(int timeout_us) noexcept {
  bool may_move = std::ranges::any_of(connections_, [](const auto* connection) { return connection->may_move(); });
  if (may_move || setup_is_due_) return;
  // Dials keep their own time, in steps of 10 ms and more.
  collect_events(dials_.empty() ? timeout_us : std::min(timeout_us, 5000));
  setup_is_due_ |= !dials_.empty();
  if (next_host_check_.passed()) check_hosts();
}

void TcpTransport::drive_setup() noexcept {
  setup_is_due_ = false;
  take_guests();
  drive_dials();
  if (next_host_check_.passed()) check_hosts();
}

void TcpTransport::take_guests() noexcept {
  while (auto guest = listener_.poll()) {
    if (!guest->mismatch.empty()) {
      context_.log->warn(fmt::format("tcp: rank {} at {} {}", guest->hello.rank, guest->address, guest->mismatch));
      continue;
    }
    Arrival arrival{std::move(guest->socket), guest->hello, guest->address};
    auto is_meant = [&](const TcpConnection* one) {
      return one->peer() == arrival.hello.rank && one->channel() == arrival.hello.channel;
    };
    auto found = std::ranges::find_if(connections_, is_meant);
    if (found == connections_.end()) {
      arrivals_.push_back(std::move(arrival));
    } else {
      seat(**found, std::move(arrival));
    }
  }
}

// A socket index that is out of range or taken can't come from a peer that follows the rules; it is closed.
void TcpTransport::seat(TcpConnection& connection, Arrival arrival) noexcept {
  size_t index = arrival.hello.index;
  if (index >= connection.sockets() || connection.attached(index) || connection.failure()) {
    arrival.socket.close();
    return;
  }
  attach(connection, index, std::move(arrival.socket), arrival.address);
}

void TcpTransport::attach(TcpConnection& connection, size_t index, Socket socket, const std::string& address) noexcept {
  int fd = socket.fd();
  connection.attach(index, std::move(socket), address);
  watch(fd, &connection.stream(index));
}

// Edge-triggered, so that a socket whose bytes nobody wants yet wakes nobody. Without a stream: somebody is being
// introduced.
void TcpTransport::watch(int fd, TcpStream* stream) noexcept {
  epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.ptr = stream}};
  if (::epoll_ctl(events_.fd(), EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST) {
    ::epoll_ctl(events_.fd(), EPOLL_CTL_MOD, fd, &event);
  }
}

void TcpTransport::start_dial(TcpConnection& connection, size_t index, const TcpAddress& peer,
                              std::vector<SocketAddress> places) {
  if (places.empty()) {
    connection.fail_unreached(ErrorCode::kPeerFailed, "no address of it can be reached from here");
    return;
  }
  Hello hello{context_.rank,
              connection.channel(),
              Purpose::kTcp,
              static_cast<uint8_t>(index),
              static_cast<uint8_t>(connection.sockets()),
              peer.id};
  TcpDial dial(std::move(places), context_.key, hello, connection.peer(), context_.settings->connect_timeout_ms);
  dials_.push_back(std::make_unique<DialUnderWay>(DialUnderWay{std::move(dial), &connection, index, peer}));
  setup_is_due_ = true;
}

void TcpTransport::drive_dials() noexcept {
  for (size_t i = 0; i < dials_.size();) {
    auto under_way = std::move(dials_[i]);
    bool is_over = drive(*under_way);  // which may start others
    if (is_over) {
      dials_.erase(dials_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      dials_[i++] = std::move(under_way);
    }
  }
}

// True when it is over, one way or the other.
bool TcpTransport::drive(DialUnderWay& under_way) noexcept {
  TcpConnection& connection = *under_way.connection;
  TcpDial& dial = under_way.dial;
  if (connection.failure()) return true;
  auto state = dial.advance();
  if (dial.fd_changed() && dial.fd() >= 0) watch(dial.fd(), nullptr);
  if (state == TcpDial::State::kTrying) return false;
  if (state == TcpDial::State::kGivenUp) {
    ErrorCode code = dial.is_other_build() ? ErrorCode::kMismatch : ErrorCode::kPeerFailed;
    connection.fail_unreached(code, fmt::format("can't be reached: {}", dial.why()));
    return true;
  }
  attach(connection, under_way.index, dial.take_socket(), dial.place().text());
  for (size_t index = 1; under_way.index == 0 && index < connection.sockets(); ++index) {
    start_dial(connection, index, under_way.peer, {dial.place()});
  }
  return true;
}

void TcpTransport::check_hosts() noexcept {
  next_host_check_ = Deadline::after_ms(1000);
  for (TcpConnection* connection : connections_) connection->check_host();
}

std::optional<std::string> tcp_why_not(const TransportContext& context) {
  try {
    choose_addresses(interface_addresses(), context.settings->socket_ifname, context.settings->socket_family);
  } catch (const Error& error) {
    // A wrong setting is said by create_tcp(), as the error that it is.
    if (error.code() != ErrorCode::kInvalidArgument) return error.what();
    if (interface_addresses().empty()) return "no network interface is up, not even loopback";
  }
  return std::nullopt;
}

std::unique_ptr<Transport> create_tcp(const TransportContext& context) {
  return std::make_unique<TcpTransport>(context);
}

}  // namespace peal
