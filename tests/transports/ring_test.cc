#include "transports/ring.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "transports/ring_connection.h"

namespace peal {
namespace {

struct OwnedRing {
  explicit OwnedRing(size_t capacity)
      : memory(static_cast<std::byte*>(::operator new (RingPair::bytes_for(capacity), std::align_val_t{kRingLine}))),
        pair{memory, capacity} {
    pair.create();
  }
  ~OwnedRing() { ::operator delete (memory, std::align_val_t{kRingLine}); }
  std::byte* memory;
  RingPair pair;
};

TEST(Ring, TakesWhatFitsAndGivesWhatIsThere) {
  OwnedRing ring(16);
  RingWriter writer = ring.pair.writer(true);
  RingReader reader = ring.pair.reader(false);
  std::vector<std::byte> data(20, std::byte{7}), got(20);
  EXPECT_EQ(reader.read(got.data(), 1), 0u);
  EXPECT_EQ(writer.write(data.data(), 20), 16u);
  EXPECT_EQ(writer.write(data.data(), 1), 0u);
  EXPECT_EQ(reader.read(got.data(), 5), 5u);
  EXPECT_EQ(writer.write(data.data(), 20), 5u);
  EXPECT_EQ(reader.read(got.data(), 20), 16u);
  EXPECT_EQ(reader.read(got.data(), 20), 0u);
}

// Writes and reads need not match: what a read takes may be several writes, or a part of one.
TEST(Ring, ReadsMayCutShortWritesAnywhere) {
  OwnedRing ring(256);
  RingWriter writer = ring.pair.writer(true);
  RingReader reader = ring.pair.reader(false);
  std::array<std::byte, 100> data{}, got{};
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i + 1);
  auto write = [&, at = size_t{0}](size_t bytes) mutable {
    ASSERT_EQ(writer.write(data.data() + at, bytes), bytes);
    at += bytes;
  };
  auto expect = [&, at = size_t{0}](size_t bytes) mutable {
    ASSERT_EQ(reader.read(got.data(), bytes), bytes);
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<ptrdiff_t>(bytes),
                           data.begin() + static_cast<ptrdiff_t>(at)));
    at += bytes;
  };
  write(8), expect(8);             // one write, one read
  write(4), write(4), expect(8);   // the last write is a part of what is read
  write(8), expect(3), expect(5);  // the read is a part of the last write
  write(60), expect(20), expect(40);
}

TEST(Ring, TheTwoDirectionsOfAPairAreApart) {
  OwnedRing ring(16);
  std::array<std::byte, 16> lower{std::byte{1}}, upper{std::byte{2}}, got{};
  EXPECT_EQ(ring.pair.writer(true).write(lower.data(), 1), 1u);
  EXPECT_EQ(ring.pair.writer(false).write(upper.data(), 1), 1u);
  EXPECT_EQ(ring.pair.reader(true).read(got.data(), 1), 1u);
  EXPECT_EQ(got[0], upper[0]);
  EXPECT_EQ(ring.pair.reader(false).read(got.data(), 1), 1u);
  EXPECT_EQ(got[0], lower[0]);
}

TEST(Ring, LeavingIsSeenByTheOtherEndAlone) {
  OwnedRing ring(16);
  RingWriter writer = ring.pair.writer(true);
  RingReader reader = ring.pair.reader(false);
  writer.leave();
  EXPECT_TRUE(reader.writer_left());
  EXPECT_FALSE(writer.reader_left());
  reader.leave();
  EXPECT_TRUE(writer.reader_left());
}

// A stream of pseudo-random bytes in random pieces through a small ring, so that every wrap is met.
TEST(Ring, AStreamBetweenThreadsArrivesWhole) {
  constexpr size_t kTotal = 1 << 20;
  OwnedRing ring(256);
  std::vector<std::byte> data(kTotal), got(kTotal);
  std::mt19937 random(3);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  auto pass = [](size_t total, uint32_t seed, const auto& move) {
    std::mt19937 pieces(seed);
    for (size_t done = 0; done < total;) {
      size_t moved = move(done, std::min<size_t>(pieces() % 300, total - done));
      if (moved == 0) std::this_thread::yield();
      done += moved;
    }
  };
  std::thread reading([&] {
    RingReader reader = ring.pair.reader(false);
    pass(kTotal, 1, [&](size_t at, size_t bytes) { return reader.read(got.data() + at, bytes); });
  });
  RingWriter writer = ring.pair.writer(true);
  pass(kTotal, 2, [&](size_t at, size_t bytes) { return writer.write(data.data() + at, bytes); });
  reading.join();
  EXPECT_EQ(got, data);
}

TEST(RingCapacity, MustBeAPowerOfTwo) {
  Settings settings;
  EXPECT_EQ(ring_capacity_from(settings), settings.buffer_size);
  for (uint64_t bad : {uint64_t{0}, uint64_t{1000}, uint64_t{2048}, uint64_t{65537}, uint64_t{1} << 40}) {
    settings.buffer_size = bad;
    try {
      ring_capacity_from(settings);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("PEAL_BUFFSIZE is " + std::to_string(bad)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace peal
