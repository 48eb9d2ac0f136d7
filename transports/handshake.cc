#include "transports/handshake.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "transports/build_id.h"

namespace peal {
namespace {

constexpr uint8_t kMagic[4] = {'P', 'E', 'A', 'L'};
constexpr uint8_t kProtocol = 1;
constexpr uint8_t kWelcome = 'w';
constexpr size_t kNonceAt = 12, kNonceBytes = 16;
static_assert(crypto_generichash_BYTES_MIN <= 16 && crypto_generichash_KEYBYTES_MAX >= 32);

// Integers travel with the low byte first.
template <typename T>
uint8_t* put(uint8_t* to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) *to++ = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  return to;
}

template <typename T>
const uint8_t* take(const uint8_t* from, T& value) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof value; ++i) bits |= uint64_t{*from++} << (8 * i);
  value = static_cast<T>(bits);
  return from;
}

std::string name_of_build(const BuildId& build) {
  return fmt::format("peal {}.{}.{}, build {:08x}", build.version[0], build.version[1], build.version[2], build.hash);
}

BuildId build_in(const uint8_t* opening) {
  BuildId build{{opening[5], opening[6], opening[7]}, 0};
  take(opening + 8, build.hash);
  return build;
}

// A Unix socket's other end runs as this user. TCP sockets have no such answer and pass.
bool is_same_user(int fd) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (SocketAddress::local_of(fd).family() != AF_UNIX) return true;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == ::geteuid();
}

}  // namespace

std::string build_name() { return name_of_build(kThisBuild); }

Handshake Handshake::dial(Socket socket, const JobKey& key, const Hello& mine, int expected_rank) {
  return {std::move(socket), key, mine, true, expected_rank};
}

Handshake Handshake::accept(Socket socket, const JobKey& key, const Hello& mine) {
  return {std::move(socket), key, mine, false, -1};
}

Handshake::Handshake(Socket socket, const JobKey& key, const Hello& mine, bool is_dialer, int expected_rank)
    : socket_(std::move(socket)), key_(key), mine_(mine), is_dialer_(is_dialer), expected_rank_(expected_rank) {
  if (::sodium_init() < 0) throw Error(ErrorCode::kSystem, "libsodium can't start: no source of random numbers");
  if (!is_same_user(socket_.fd())) {
    fail(Failure::kOtherUser, "a process of another user");
    return;
  }
  prepare();
}

Handshake::State Handshake::advance() noexcept {
  while (state_ == State::kTalking && step()) {
  }
  return state_;
}

// One message in one direction; false when it must wait or all is over.
bool Handshake::step() noexcept {
  static constexpr size_t kBytes[] = {kOpeningBytes, kAnswerBytes, kProvingBytes, 1};
  bool sending = wants_to_send();
  if (!transfer(kBytes[step_], sending)) return false;
  if (!sending && !check()) return false;
  // Only now that the acceptor has this side's proof too and can believe the difference.
  if (is_dialer_ && step_ == kProving && !check_build(talk_.data() + kOpeningBytes)) return false;
  moved_ = 0;
  step_ = static_cast<Step>(step_ + 1);
  if (step_ == kOver) {
    state_ = State::kDone;
    return false;
  }
  prepare();
  return true;
}

bool Handshake::transfer(size_t bytes, bool sending) noexcept {
  static constexpr size_t kStarts[] = {0, kOpeningBytes, kOpeningBytes + kAnswerBytes,
                                       kOpeningBytes + kAnswerBytes + kProvingBytes};
  while (moved_ < bytes) {
    uint8_t* at = talk_.data() + kStarts[step_] + moved_;
    ssize_t moved = sending ? ::send(socket_.fd(), at, bytes - moved_, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : ::recv(socket_.fd(), at, bytes - moved_, MSG_DONTWAIT);
    if (moved > 0) {
      moved_ += static_cast<size_t>(moved);
      continue;
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EAGAIN) return false;
    if (moved == 0 || errno == EPIPE || errno == ECONNRESET) return fail(Failure::kClosed, "closed the connection");
    return fail(Failure::kRefused, std::strerror(errno));
  }
  return true;
}

// Writes this side's next message into the conversation, if the next one is its own.
void Handshake::prepare() noexcept {
  if (!wants_to_send()) return;
  constexpr size_t kAnswerAt = kOpeningBytes, kProvingAt = kOpeningBytes + kAnswerBytes;
  if (step_ == kOpening) write_opening(talk_.data());
  if (step_ == kAnswering) {
    write_opening(talk_.data() + kAnswerAt);
    write_hello(talk_.data() + kAnswerAt + kOpeningBytes);
    write_proof(kAnswerAt + kOpeningBytes + kHelloBytes, false);
  }
  if (step_ == kProving) {
    write_hello(talk_.data() + kProvingAt);
    write_proof(kProvingAt + kHelloBytes, true);
  }
  if (step_ == kWelcoming) talk_.back() = kWelcome;
}

// Judges the message that has just arrived in full.
bool Handshake::check() noexcept {
  constexpr size_t kAnswerAt = kOpeningBytes, kProvingAt = kOpeningBytes + kAnswerBytes;
  if (step_ == kOpening) return check_opening(talk_.data());
  if (step_ == kAnswering) {
    return check_opening(talk_.data() + kAnswerAt) && check_proof(kAnswerAt + kOpeningBytes + kHelloBytes, false) &&
           check_hello(talk_.data() + kAnswerAt + kOpeningBytes);
  }
  if (step_ == kProving) {
    return check_proof(kProvingAt + kHelloBytes, true) && check_hello(talk_.data() + kProvingAt) &&
           check_build(talk_.data());
  }
  return talk_.back() == kWelcome || fail(Failure::kNotPeal, "broke the handshake's protocol");
}

bool Handshake::check_opening(const uint8_t* opening) noexcept {
  if (std::memcmp(opening, kMagic, sizeof kMagic) != 0) return fail(Failure::kNotPeal, "not a Peal process");
  if (opening[4] == kProtocol) return true;
  return fail(Failure::kNotPeal, fmt::format("speaks protocol {} ({}), this is protocol {} ({})", opening[4],
                                             name_of_build(build_in(opening)), kProtocol, build_name()));
}

bool Handshake::check_proof(size_t end, bool by_dialer) noexcept {
  uint8_t expected[kProofBytes];
  proof(end, by_dialer, expected);
  if (::sodium_memcmp(expected, talk_.data() + end, kProofBytes) == 0) return true;
  return fail(Failure::kWrongKey, "doesn't know this job's key (PEAL_KEY differs, or it belongs to another job)");
}

bool Handshake::check_hello(const uint8_t* bytes) noexcept {
  bytes = take(bytes, theirs_.rank);
  bytes = take(bytes, theirs_.channel);
  bytes = take(bytes, theirs_.purpose);
  bytes = take(bytes, theirs_.index);
  bytes = take(bytes, theirs_.count);
  take(bytes + 1, theirs_.target);
  if (theirs_.purpose != mine_.purpose || theirs_.target != mine_.target) {
    return fail(Failure::kUnexpected, "belongs to this job but is not who was meant (an address used twice)");
  }
  if (!is_dialer_ || theirs_.rank == expected_rank_) return true;
  return fail(Failure::kUnexpected, fmt::format("is rank {}, expected rank {}", theirs_.rank, expected_rank_));
}

bool Handshake::check_build(const uint8_t* opening) noexcept {
  BuildId other = build_in(opening);
  if (other.hash == kThisBuild.hash && std::memcmp(other.version, kThisBuild.version, 3) == 0) return true;
  return fail(Failure::kOtherBuild, fmt::format("runs {}, this is {}: all ranks of a job must run the same build",
                                                name_of_build(other), build_name()));
}

void Handshake::write_opening(uint8_t* to) const noexcept {
  std::memcpy(to, kMagic, sizeof kMagic);
  to[4] = kProtocol;
  std::memcpy(to + 5, kThisBuild.version, 3);
  put(to + 8, kThisBuild.hash);
  ::randombytes_buf(to + kNonceAt, kNonceBytes);
}

void Handshake::write_hello(uint8_t* to) const noexcept {
  to = put(to, mine_.rank);
  to = put(to, mine_.channel);
  to = put(to, static_cast<uint8_t>(mine_.purpose));
  to = put(to, mine_.index);
  to = put(to, mine_.count);
  to = put(to, uint8_t{0});
  put(to, mine_.target);
}

void Handshake::write_proof(size_t end, bool by_dialer) noexcept { proof(end, by_dialer, talk_.data() + end); }

void Handshake::proof(size_t end, bool by_dialer, uint8_t* to) const noexcept {
  crypto_generichash_state state;
  const uint8_t role = by_dialer ? 'd' : 'a';
  ::crypto_generichash_init(&state, key_.data(), key_.size(), kProofBytes);
  ::crypto_generichash_update(&state, &role, 1);
  ::crypto_generichash_update(&state, talk_.data(), end);
  ::crypto_generichash_final(&state, to, kProofBytes);
}

bool Handshake::fail(Failure failure, const std::string& why) noexcept {
  state_ = State::kFailed;
  failure_ = failure;
  why_ = why;
  return false;
}

}  // namespace peal
