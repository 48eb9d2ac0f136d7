// How two processes of a job make sure of each other before either believes a length. Non-blocking: one state machine
// over one stream socket, the same for AF_UNIX and TCP.
//
//   dialer -> acceptor   opening  28 bytes: magic, protocol, version, build, 16-byte nonce
//   acceptor -> dialer   opening, hello (20), proof (16)
//   dialer -> acceptor   hello, proof
//   acceptor -> dialer   welcome   1 byte
//
// A proof is BLAKE2b-128, keyed by the job's key, over the sender's role and every byte of the conversation so far: so
// both nonces, both hellos and both builds. A replay fails because the nonces differ; a reflection because the roles
// differ and because a dialer says whom it expects. An acceptor reads 64 bytes at most before it knows its dialer.
// The welcome tells the dialer that what it sends from now on will be read; until then nothing of it is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/api.h"
#include "transports/socket.h"
#include "transports/transport.h"

namespace peal {

enum class Purpose : uint8_t { kBootstrap = 1, kTcp = 2, kShm = 3 };

// What each side says of itself; believed once the other side has proved the key.
struct Hello {
  int32_t rank = -1;
  int32_t channel = -1;
  Purpose purpose = Purpose::kBootstrap;
  uint8_t index = 0;    // for the purpose's own use, e.g. which of a connection's sockets
  uint8_t count = 0;    // likewise, e.g. how many sockets
  uint64_t target = 0;  // dialer: random id of the listener it wants (from that one's address); acceptor: its own id
};

// "peal 0.1.0, build 1a2b3c4d": two builds that differ in any source file refuse each other.
PEAL_API std::string build_name();

class PEAL_API Handshake {
 public:
  enum class State { kTalking, kDone, kFailed };
  enum class Failure { kNone, kRefused, kClosed, kNotPeal, kOtherUser, kWrongKey, kUnexpected, kOtherBuild };
  static constexpr size_t kMostBytesFromDialer = 64;

  // `socket` is non-blocking; a dialed one may still be connecting. The acceptor must turn out to be rank
  // `expected_rank` with id mine.target and mine.purpose: anyone else is kUnexpected.
  static Handshake dial(Socket socket, const JobKey& key, const Hello& mine, int expected_rank);
  // A dialer must name mine.purpose and mine.target: anyone else is kUnexpected.
  static Handshake accept(Socket socket, const JobKey& key, const Hello& mine);

  // Moves as far as the socket allows. Allocates only to say why it failed. After kDone or kFailed it stays there.
  State advance() noexcept;
  State state() const noexcept { return state_; }
  // What to wait for while kTalking: room to send, else bytes to read.
  bool wants_to_send() const noexcept { return is_dialer_ == (step_ % 2 == 0); }
  // An acceptor whose dialer has opened as a Peal process does; it may still turn out to be of another job.
  bool has_opened() const noexcept { return !is_dialer_ && step_ > kOpening; }
  // A dialer that has not proved itself yet may give up without the acceptor ever taking it for present.
  bool may_be_abandoned() const noexcept { return is_dialer_ && step_ < kProving; }

  // kDone: the peer and its socket, which no byte beyond the handshake was read from. kFailed with kOtherBuild: the
  // hello of a peer that did prove the key.
  const Hello& peer() const noexcept { return theirs_; }
  Socket take_socket() noexcept { return std::move(socket_); }

  Failure failure() const noexcept { return failure_; }
  const std::string& why() const noexcept { return why_; }  // one line, without the peer's address
  int fd() const noexcept { return socket_.fd(); }

 private:
  enum Step { kOpening, kAnswering, kProving, kWelcoming, kOver };
  static constexpr size_t kOpeningBytes = 28, kHelloBytes = 20, kProofBytes = 16;
  static constexpr size_t kAnswerBytes = kOpeningBytes + kHelloBytes + kProofBytes;
  static constexpr size_t kProvingBytes = kHelloBytes + kProofBytes;
  static_assert(kOpeningBytes + kProvingBytes == kMostBytesFromDialer);

  Handshake(Socket socket, const JobKey& key, const Hello& mine, bool is_dialer, int expected_rank);
  bool step() noexcept;
  bool transfer(size_t bytes, bool sending) noexcept;
  void prepare() noexcept;
  bool check() noexcept;
  bool check_opening(const uint8_t* opening) noexcept;
  bool check_proof(size_t end, bool by_dialer) noexcept;
  bool check_hello(const uint8_t* bytes) noexcept;
  bool check_build(const uint8_t* opening) noexcept;
  void write_opening(uint8_t* to) const noexcept;
  void write_hello(uint8_t* to) const noexcept;
  void write_proof(size_t end, bool by_dialer) noexcept;
  void proof(size_t end, bool by_dialer, uint8_t* to) const noexcept;
  bool fail(Failure failure, const std::string& why) noexcept;

  Socket socket_;
  JobKey key_;
  Hello mine_, theirs_;
  bool is_dialer_;
  int expected_rank_;
  State state_ = State::kTalking;
  Step step_ = kOpening;
  size_t moved_ = 0;  // bytes of the present step's message
  Failure failure_ = Failure::kNone;
  std::string why_;
  // The whole conversation, which proofs are computed over, then the welcome.
  std::array<uint8_t, kOpeningBytes + kAnswerBytes + kProvingBytes + 1> talk_{};
};

}  // namespace peal
