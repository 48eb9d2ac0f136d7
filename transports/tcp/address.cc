#include "transports/tcp/address.h"

#include <algorithm>

namespace peal {
namespace {

constexpr uint8_t kVersion = 1;

// Low byte first, as everything that travels.
void put(std::string& to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

// Reads fixed-size numbers; once the text is too short, everything else is zero and ok() false.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  uint64_t number(size_t bytes) {
    std::string_view piece = text(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < piece.size(); ++i) value |= uint64_t{static_cast<uint8_t>(piece[i])} << (8 * i);
    return value;
  }
  std::string_view text(size_t bytes) {
    ok_ = ok_ && bytes <= text_.size();
    if (!ok_) return {};
    std::string_view piece = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return piece;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

bool is_on_subnet(const InterfaceAddress& one, const InterfaceAddress& other) {
  if (one.ip_size != other.ip_size || one.prefix_bits != other.prefix_bits) return false;
  for (size_t bit = 0; bit < one.prefix_bits && bit < 8u * one.ip_size; bit += 8) {
    size_t bits = std::min<size_t>(8, one.prefix_bits - bit);
    if ((one.ip[bit / 8] ^ other.ip[bit / 8]) >> (8 - bits)) return false;
  }
  return true;
}

// Smaller is better.
int distance(const TcpAddress& from, const InterfaceAddress& place) {
  if (place.is_loopback) return 0;
  auto shares_subnet = [&](const InterfaceAddress& own) { return !own.is_loopback && is_on_subnet(own, place); };
  return std::ranges::any_of(from.interfaces, shares_subnet) ? 1 : 2;
}

}  // namespace

std::string TcpAddress::encode() const {
  std::string bytes;
  put(bytes, kVersion, 1);
  put(bytes, id, 8);
  put(bytes, port, 2);
  put(bytes, sockets, 1);
  put(bytes, std::min<size_t>(host_id.size(), 255), 1);
  bytes += host_id.substr(0, 255);
  size_t count = std::min(interfaces.size(), kMostInterfaces);
  put(bytes, count, 1);
  for (const auto& one : std::span(interfaces).first(count)) {
    put(bytes, one.is_loopback, 1);
    put(bytes, one.prefix_bits, 1);
    put(bytes, one.ip_size, 1);
    bytes.append(reinterpret_cast<const char*>(one.ip.data()), one.ip_size);
  }
  return bytes;
}

std::optional<TcpAddress> TcpAddress::decode(std::string_view bytes) {
  Reader reader(bytes);
  TcpAddress address;
  if (reader.number(1) != kVersion) return std::nullopt;
  address.id = reader.number(8);
  address.port = static_cast<uint16_t>(reader.number(2));
  address.sockets = static_cast<uint8_t>(reader.number(1));
  address.host_id = reader.text(reader.number(1));
  for (uint64_t count = reader.number(1); count > 0 && reader.ok(); --count) {
    InterfaceAddress one;
    one.is_loopback = reader.number(1) != 0;
    one.prefix_bits = static_cast<uint8_t>(reader.number(1));
    one.ip_size = static_cast<uint8_t>(reader.number(1));
    if (one.ip_size != 4 && one.ip_size != 16) return std::nullopt;
    std::string_view ip = reader.text(one.ip_size);
    std::copy(ip.begin(), ip.end(), one.ip.begin());
    address.interfaces.push_back(one);
  }
  if (!reader.at_end() || address.sockets == 0) return std::nullopt;
  return address;
}

std::vector<SocketAddress> places_to_try(const TcpAddress& from, const TcpAddress& to) {
  bool is_same_host = from.host_id == to.host_id;
  std::vector<SocketAddress> places;
  for (int wanted : {0, 1, 2}) {
    for (const auto& place : to.interfaces) {
      bool has_family = std::ranges::any_of(from.interfaces, [&](auto& own) { return own.ip_size == place.ip_size; });
      bool is_usable = has_family && (is_same_host || !place.is_loopback);
      if (is_usable && distance(from, place) == wanted) places.push_back(SocketAddress::ip(place.bytes(), to.port));
    }
  }
  return places;
}

bool may_reach(const TcpAddress& one, const TcpAddress& other) {
  return !places_to_try(one, other).empty() && !places_to_try(other, one).empty();
}

}  // namespace peal
