// Memory without a name that processes share: a memfd, reserved in full and sealed against resizing, so that touching
// it can neither run out of memory nor fault. It is gone when the last process that maps it is.
#pragma once

#include <cstddef>

namespace peal {

class ShmSegment {
 public:
  // Throws Error(kSystem) with what is needed, what there is and what to do, when memory is short.
  static ShmSegment create(size_t bytes);

  // Maps what a peer created; takes over `fd`. Throws Error(kPeerFailed) when it is not a sealed segment of `bytes`.
  static ShmSegment adopt(int fd, size_t bytes);

  ShmSegment() = default;
  ~ShmSegment();
  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&& other) noexcept;

  std::byte* data() const noexcept { return data_; }  // page-aligned; zero when created
  size_t bytes() const noexcept { return bytes_; }
  int fd() const noexcept { return fd_; }  // to be passed on; -1 once closed
  void close_fd() noexcept;                // the mapping stays

 private:
  ShmSegment(int fd, size_t bytes) noexcept : bytes_(bytes), fd_(fd) {}
  void map();

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
};

}  // namespace peal
