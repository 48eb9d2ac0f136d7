// Messages go as UCP tagged sends; UCX keeps those of one endpoint and tag in order, so that the k-th send meets the
// k-th receive. One endpoint per peer serves all channels. A closing connection says goodbye under a tag of its own:
// over shared memory UCX would notice a dead process, but not a worker destroyed in one that lives on.
#include "transports/ucx.h"

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace peal {
namespace {

constexpr int64_t kCloseMs = 1000;  // what closing may wait for a peer that makes no progress
constexpr std::string_view kAddressPrefix = "ucx:";

constexpr ucp_tag_t kGoodbye = ucp_tag_t{1} << 63;
ucp_tag_t tag_for(int channel, int sender) noexcept {
  return static_cast<ucp_tag_t>(channel) << 32 | static_cast<uint32_t>(sender);
}

void check(ucs_status_t status, std::string_view what) {
  if (status == UCS_OK) return;
  throw Error(ErrorCode::kSystem, fmt::format("ucx: {}: {}", what, ucs_status_string(status)));
}

// A tagged operation under way, or one that was done at once.
struct Request {
  void* handle = nullptr;
  size_t bytes = 0;

  ucs_status_t status() const noexcept { return handle ? ucp_request_check_status(handle) : UCS_OK; }
  void free() noexcept {
    if (handle) ucp_request_free(handle);
    handle = nullptr;
  }
};

// The operations of one direction that have not been counted as done, first in first out.
class Requests {
 public:
  static constexpr uint32_t kCapacity = 64;

  bool empty() const noexcept { return begin_ == end_; }
  bool full() const noexcept { return end_ - begin_ == kCapacity; }
  Request& front() noexcept { return requests_[begin_ % kCapacity]; }
  void push(Request request) noexcept { requests_[end_++ % kCapacity] = request; }
  void pop() noexcept {
    front().free();
    ++begin_;
  }
  bool all_ended() const noexcept {
    for (uint32_t i = begin_; i != end_; ++i) {
      if (requests_[i % kCapacity].status() == UCS_INPROGRESS) return false;
    }
    return true;
  }
  void cancel(ucp_worker_h worker) noexcept {
    for (uint32_t i = begin_; i != end_; ++i) {
      if (requests_[i % kCapacity].status() == UCS_INPROGRESS)
        ucp_request_cancel(worker, requests_[i % kCapacity].handle);
    }
  }

 private:
  std::array<Request, kCapacity> requests_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

struct Peer {
  ucp_ep_h endpoint = nullptr;
  ucs_status_t error = UCS_OK;  // set by UCX when the peer is dead or unreachable
};

void on_endpoint_error(void* peer, ucp_ep_h, ucs_status_t status) { static_cast<Peer*>(peer)->error = status; }

class UcxConnection;

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const TransportContext& context);
  ~UcxTransport() override;

  std::string_view name() const noexcept override { return "ucx"; }
  TransportProperties properties() const noexcept override { return {1500, 4, false, false}; }
  std::string address() const override { return address_; }
  bool reaches(std::string_view from, std::string_view to) const override {
    return from.starts_with(kAddressPrefix) && to.starts_with(kAddressPrefix);
  }
  std::unique_ptr<Connection> connect(const PeerAddress& peer, int channel) override;
  void progress() noexcept override;

 private:
  friend class UcxConnection;
  void open_context();
  void open_worker();
  Peer& peer_at(std::string_view address);
  void close_endpoint(Peer& peer, unsigned flags) noexcept;
  void free_ended_goodbyes() noexcept;
  void swallow_goodbyes() noexcept;
  template <typename Condition>
  void progress_until(Deadline deadline, const Condition& condition) noexcept {
    while (!condition() && !deadline.passed()) ucp_worker_progress(worker_);
  }

  TransportContext context_;
  ucp_context_h ucp_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  std::map<std::string, Peer, std::less<>> peers_;  // by address; entries don't move
  std::vector<UcxConnection*> live_;
  std::vector<Request> goodbyes_;  // of connections that are gone; they use no one's buffer
  std::vector<Request> closing_;   // endpoints
};

class UcxConnection final : public Connection {
 public:
  UcxConnection(UcxTransport& owner, Peer& peer, int peer_rank, int channel)
      : owner_(owner), peer_(peer), peer_rank_(peer_rank), channel_(channel) {
    owner_.live_.push_back(this);
    goodbye_ = receive(nullptr, 0, kGoodbye);
  }
  ~UcxConnection() override;

  Post post_send(const void* data, size_t bytes) noexcept override;
  Post post_recv(void* data, size_t bytes) noexcept override;
  void settle() noexcept;

 private:
  Request send(const void* data, size_t bytes, ucp_tag_t flags) noexcept;
  Request receive(void* data, size_t bytes, ucp_tag_t flags) noexcept;
  void settle_sends() noexcept;
  void settle_recvs() noexcept;
  void accept(Request request, Requests& queue) noexcept;
  bool peer_gone() const noexcept { return peer_.error != UCS_OK || goodbye_.status() != UCS_INPROGRESS; }
  void lose_peer(ucs_status_t status, std::string_view direction) noexcept;

  UcxTransport& owner_;
  Peer& peer_;
  int peer_rank_;
  int channel_;
  Requests sends_;
  Requests recvs_;
  Request goodbye_;
};

Request UcxConnection::send(const void* data, size_t bytes, ucp_tag_t flags) noexcept {
  ucp_request_param_t parameters{};
  ucp_tag_t tag = tag_for(channel_, owner_.context_.rank) | flags;
  return {ucp_tag_send_nbx(peer_.endpoint, data, bytes, tag, &parameters), bytes};
}

Request UcxConnection::receive(void* data, size_t bytes, ucp_tag_t flags) noexcept {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // always a request, so that its length can be asked for
  ucp_tag_t tag = tag_for(channel_, peer_rank_) | flags;
  return {ucp_tag_recv_nbx(owner_.worker_, data, bytes, tag, ~ucp_tag_t{0}, &parameters), bytes};
}

void UcxConnection::accept(Request request, Requests& queue) noexcept {
  if (UCS_PTR_IS_ERR(request.handle)) return lose_peer(UCS_PTR_STATUS(request.handle), "posting");
  queue.push(request);
}

Post UcxConnection::post_send(const void* data, size_t bytes) noexcept {
  if (!failure() && peer_gone()) lose_peer(peer_.error, "send");
  if (failure()) return Post::kFailed;
  if (sends_.full()) return Post::kAgain;
  accept(send(data, bytes, 0), sends_);
  settle_sends();
  return failure() ? Post::kFailed : Post::kPosted;
}

Post UcxConnection::post_recv(void* data, size_t bytes) noexcept {
  if (failure()) return Post::kFailed;
  if (recvs_.full()) return Post::kAgain;
  accept(receive(data, bytes, 0), recvs_);
  settle_recvs();
  return failure() ? Post::kFailed : Post::kPosted;
}

void UcxConnection::settle() noexcept {
  if (failure()) return;
  bool gone = peer_gone();  // before looking at receives: what came before the goodbye counts
  settle_recvs();
  settle_sends();
  if (gone && !failure() && !(recvs_.empty() && sends_.empty())) {
    lose_peer(peer_.error, recvs_.empty() ? "send" : "receive");
  }
}

void UcxConnection::settle_sends() noexcept {
  while (!failure() && !sends_.empty()) {
    ucs_status_t status = sends_.front().status();
    if (status == UCS_INPROGRESS) return;
    if (status != UCS_OK) return lose_peer(status, "send");
    sends_.pop();
    ++sends_done_;
  }
}

void UcxConnection::settle_recvs() noexcept {
  while (!failure() && !recvs_.empty()) {
    ucp_tag_recv_info_t info{};
    ucs_status_t status = ucp_tag_recv_request_test(recvs_.front().handle, &info);
    if (status == UCS_INPROGRESS) return;
    if (status == UCS_OK && info.length != recvs_.front().bytes) status = UCS_ERR_MESSAGE_TRUNCATED;
    if (status != UCS_OK) return lose_peer(status, "receive");
    recvs_.pop();
    ++recvs_done_;
  }
}

void UcxConnection::lose_peer(ucs_status_t status, std::string_view direction) noexcept {
  std::string why = status == UCS_OK                      ? "the peer closed the connection"
                    : status == UCS_ERR_MESSAGE_TRUNCATED ? "the peer's message has another size than the receive"
                                                          : ucs_status_string(status);
  fail(Error(ErrorCode::kPeerFailed,
             fmt::format("rank {} lost rank {} over ucx, channel {}, with {} sent and {} received here, in {}: {}",
                         owner_.context_.rank, peer_rank_, channel_, sends_done_, recvs_done_, direction, why),
             ErrorSite{owner_.context_.rank, peer_rank_, -1}));
}

// Buffers must not be touched once this returns: what can't be cancelled (a rendezvous under way) is given kCloseMs to
// end, then the endpoint is torn down, which ends it, at the price of the peer's other channels.
UcxConnection::~UcxConnection() {
  std::erase(owner_.live_, this);
  if (peer_.error == UCS_OK && peer_.endpoint && goodbye_.status() == UCS_INPROGRESS) {
    Request goodbye = send(nullptr, 0, kGoodbye);
    if (!UCS_PTR_IS_ERR(goodbye.handle)) owner_.goodbyes_.push_back(goodbye);
  }
  ucp_request_cancel(owner_.worker_, goodbye_.handle);
  auto ended = [&] { return sends_.all_ended() && recvs_.all_ended() && goodbye_.status() != UCS_INPROGRESS; };
  recvs_.cancel(owner_.worker_);
  sends_.cancel(owner_.worker_);
  owner_.progress_until(Deadline::after_ms(peer_gone() ? kCloseMs / 10 : kCloseMs), ended);
  if (!ended()) {
    owner_.close_endpoint(peer_, UCP_EP_CLOSE_FLAG_FORCE);
    owner_.progress_until(Deadline::after_ms(kCloseMs), ended);
  }
  for (; !sends_.empty(); sends_.pop()) continue;
  for (; !recvs_.empty(); recvs_.pop()) continue;
  goodbye_.free();
}

void UcxTransport::open_context() {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "reading UCX_* settings");
  ucp_config_modify(config, "KEEPALIVE_INTERVAL", "100ms");  // when a killed process is noticed; UCX's own is 20 s
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  parameters.features = UCP_FEATURE_TAG;
  parameters.estimated_num_eps = static_cast<size_t>(context_.ranks);
  ucs_status_t status = ucp_init(&parameters, config, &ucp_);
  ucp_config_release(config);
  check(status, "ucp_init");
}

void UcxTransport::open_worker() {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(ucp_worker_create(ucp_, &parameters, &worker_), "ucp_worker_create");
  ucp_address_t* bytes = nullptr;
  size_t length = 0;
  check(ucp_worker_get_address(worker_, &bytes, &length), "ucp_worker_get_address");
  address_ = std::string(kAddressPrefix) + std::string(reinterpret_cast<const char*>(bytes), length);
  ucp_worker_release_address(worker_, bytes);
}

UcxTransport::UcxTransport(const TransportContext& context) : context_(context) {
  open_context();
  try {
    open_worker();
  } catch (...) {
    if (worker_) ucp_worker_destroy(worker_);
    ucp_cleanup(ucp_);
    throw;
  }
}

UcxTransport::~UcxTransport() {
  for (auto& [address, peer] : peers_) close_endpoint(peer, peer.error == UCS_OK ? 0 : UCP_EP_CLOSE_FLAG_FORCE);
  auto all_ended = [](const std::vector<Request>& requests) {
    return std::ranges::all_of(requests, [](const Request& r) { return r.status() != UCS_INPROGRESS; });
  };
  progress_until(Deadline::after_ms(kCloseMs), [&] { return all_ended(closing_) && all_ended(goodbyes_); });
  swallow_goodbyes();
  for (Request& request : closing_) request.free();
  for (Request& request : goodbyes_) request.free();
  ucp_worker_destroy(worker_);
  ucp_cleanup(ucp_);
}

// A peer that can't be reached is the peer's failure, not this call's: the connection carries it.
Peer& UcxTransport::peer_at(std::string_view address) {
  if (auto found = peers_.find(address); found != peers_.end()) return found->second;
  Peer& peer = peers_[std::string(address)];
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data() + kAddressPrefix.size());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler = {on_endpoint_error, &peer};
  ucs_status_t status = ucp_ep_create(worker_, &parameters, &peer.endpoint);
  if (status != UCS_OK) peer.error = status;
  return peer;
}

void UcxTransport::close_endpoint(Peer& peer, unsigned flags) noexcept {
  if (!peer.endpoint) return;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = flags;
  void* request = ucp_ep_close_nbx(peer.endpoint, &parameters);
  if (request && !UCS_PTR_IS_ERR(request)) closing_.push_back({request, 0});
  peer.endpoint = nullptr;
  if (peer.error == UCS_OK) peer.error = UCS_ERR_CANCELED;
}

std::unique_ptr<Connection> UcxTransport::connect(const PeerAddress& peer, int channel) {
  return std::make_unique<UcxConnection>(*this, peer_at(peer.address), peer.rank, channel);
}

void UcxTransport::progress() noexcept {
  ucp_worker_progress(worker_);
  for (UcxConnection* connection : live_) connection->settle();
  if (!goodbyes_.empty()) free_ended_goodbyes();
}

// Those that came for connections already gone: UCX would warn of each when the worker is destroyed.
void UcxTransport::swallow_goodbyes() noexcept {
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h message = ucp_tag_probe_nb(worker_, kGoodbye, kGoodbye, 1, &info)) {
    ucp_request_param_t parameters{};
    Request request{ucp_tag_msg_recv_nbx(worker_, nullptr, 0, message, &parameters), 0};
    if (!UCS_PTR_IS_ERR(request.handle)) request.free();
  }
}

void UcxTransport::free_ended_goodbyes() noexcept {
  std::erase_if(goodbyes_, [](Request& request) {
    if (request.status() == UCS_INPROGRESS) return false;
    request.free();
    return true;
  });
}

}  // namespace

std::optional<std::string> ucx_why_not(const TransportContext&) { return std::nullopt; }

std::unique_ptr<Transport> create_ucx(const TransportContext& context) {
  return std::make_unique<UcxTransport>(context);
}

}  // namespace peal
