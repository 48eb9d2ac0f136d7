#include "transports/shm_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "transports/require_memory.h"

namespace peal {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

ShmSegment ShmSegment::create(size_t bytes) {
  require_memory("shm", bytes);
  int fd = ::memfd_create("peal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw system_error("shm: memfd_create", errno);
  ShmSegment segment(fd, bytes);
  // fallocate sets the size and reserves every page: without it a full machine is noticed by SIGBUS at the first touch.
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) throw no_memory("shm", bytes, errno);
  if (::fcntl(fd, F_ADD_SEALS, kSeals) != 0) throw system_error("shm: sealing a memfd", errno);
  segment.map();
  return segment;
}

ShmSegment ShmSegment::adopt(int fd, size_t bytes) {
  ShmSegment segment(fd, bytes);
  struct stat status {};
  int seals = ::fcntl(fd, F_GET_SEALS);
  if (::fstat(fd, &status) != 0 || seals < 0 || (seals & kSeals) != kSeals ||
      std::cmp_not_equal(status.st_size, bytes)) {
    throw Error(ErrorCode::kPeerFailed,
                fmt::format("shm: a peer handed over {} bytes with seals {:#x}, expected {} with {:#x}", status.st_size,
                            seals, bytes, kSeals));
  }
  segment.map();
  return segment;
}

// Populated at once: a page fault costs about as much as an 8-byte all-reduce.
void ShmSegment::map() {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
  if (memory == MAP_FAILED) throw no_memory("shm", bytes_, errno);
  data_ = static_cast<std::byte*>(memory);
}

ShmSegment::~ShmSegment() {
  if (data_) ::munmap(data_, bytes_);
  close_fd();
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), fd_(std::exchange(other.fd_, -1)) {}

ShmSegment& ShmSegment::operator=(ShmSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
  return *this;
}

void ShmSegment::close_fd() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace peal
