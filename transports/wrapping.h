// What the wrappers (faulty, traced) share: a transport and connections that hand everything on to those they wrap, and
// copy the wrapped completions and failures up.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transports/transport.h"

namespace peal {

class WrappingConnection : public Connection {
 public:
  WrappingConnection(std::vector<WrappingConnection*>& live, std::unique_ptr<Connection> inner)
      : live_(live), inner_(std::move(inner)) {
    live_.push_back(this);
  }
  ~WrappingConnection() override { std::erase(live_, this); }

  // Called after whatever may have moved the wrapped connection.
  virtual void follow() noexcept = 0;

 protected:
  // The wrapped connection; null once closed.
  Connection* inner() noexcept { return inner_.get(); }
  void close_inner() noexcept { inner_.reset(); }
  void follow_failure() noexcept {
    if (inner_->failure()) fail(*inner_->failure());
  }

 private:
  std::vector<WrappingConnection*>& live_;
  std::unique_ptr<Connection> inner_;
};

class WrappingTransport : public Transport {
 public:
  WrappingTransport(std::string_view prefix, std::unique_ptr<Transport> inner)
      : name_(fmt::format("{}{}", prefix, inner->name())), inner_(std::move(inner)) {}

  std::string_view name() const noexcept override { return name_; }
  TransportProperties properties() const noexcept override { return inner_->properties(); }
  std::string address() const override { return inner_->address(); }
  bool reaches(std::string_view from, std::string_view to) const override { return inner_->reaches(from, to); }
  std::unique_ptr<Window> open_window(std::span<const PeerAddress> members, int self, uint64_t id, size_t bytes,
                                      Deadline deadline) override {
    return inner_->open_window(members, self, id, bytes, deadline);
  }
  void register_memory(void* data, size_t bytes) override { inner_->register_memory(data, bytes); }
  void deregister_memory(void* data) override { inner_->deregister_memory(data); }
  void progress() noexcept override {
    inner_->progress();
    for (WrappingConnection* connection : live_) connection->follow();
  }
  void wait(int timeout_us) noexcept override { inner_->wait(timeout_us); }

 protected:
  Transport& inner() noexcept { return *inner_; }
  std::vector<WrappingConnection*>& live() noexcept { return live_; }

 private:
  std::string name_;
  std::unique_ptr<Transport> inner_;
  std::vector<WrappingConnection*> live_;
};

}  // namespace peal
