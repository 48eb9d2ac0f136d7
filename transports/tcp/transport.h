// Transport over TCP sockets: see tcp.h. Owns the listener, the dials under way and the set of events.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "transports/listener.h"
#include "transports/tcp/address.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/dial.h"
#include "transports/transport.h"

namespace peal {

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TransportContext& context);
  ~TcpTransport() override;

  std::string_view name() const noexcept override { return "tcp"; }
  TransportProperties properties() const noexcept override;
  std::string address() const override { return own_.encode(); }
  bool reaches(std::string_view from, std::string_view to) const override;
  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override;
  void progress() noexcept override;
  void wait(int timeout_us) noexcept override;

  void forget(TcpConnection& connection) noexcept;

 private:
  struct DialUnderWay {
    TcpDial dial;
    TcpConnection* connection;
    size_t index;  // of the socket in the connection
    TcpAddress peer;
  };
  struct Arrival {
    Socket socket;
    Hello hello;
    std::string address;
  };

  bool move_connections() noexcept;
  void collect_events(int timeout_us) noexcept;
  void drive_setup() noexcept;
  void drive_dials() noexcept;
  bool drive(DialUnderWay& under_way) noexcept;
  void take_guests() noexcept;
  void seat(TcpConnection& connection, Arrival arrival) noexcept;
  void check_hosts() noexcept;
  void start_dial(TcpConnection& connection, size_t index, const TcpAddress& peer, std::vector<SocketAddress> places);
  void attach(TcpConnection& connection, size_t index, Socket socket, const std::string& address) noexcept;
  void watch(int fd, TcpStream* stream) noexcept;

  TransportContext context_;
  TcpAddress own_;
  Listener listener_;
  Socket events_;
  std::vector<TcpConnection*> connections_;
  std::vector<std::unique_ptr<DialUnderWay>> dials_;
  std::vector<Arrival> arrivals_;  // authenticated, their connect() has not been called here yet
  uint64_t polls_ = 0;
  bool setup_is_due_ = true;
  Deadline next_host_check_ = Deadline::after_ms(1000);
};

}  // namespace peal
