#include "trainer/checkpoint/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace peal::trainer {

namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw system_error("open " + path, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write_all(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = write(fd_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) throw system_error("write " + path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(wrote));
    }
  }
  void sync() const {
    if (fsync(fd_) != 0) throw system_error("fsync " + path_, errno);
  }
  // Some file systems report a full disk only here.
  void close_checked() {
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) throw system_error("close " + path_, errno);
  }

 private:
  std::string path_;
  int fd_;
};

void write_and_sync(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  for (std::span<const std::byte> piece : pieces) file.write_all(piece);
  file.sync();
  file.close_checked();
}

}  // namespace

void write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  const std::string temporary = path + ".tmp";
  try {
    write_and_sync(temporary, pieces);
    if (rename(temporary.c_str(), path.c_str()) != 0) throw system_error("rename to " + path, errno);
  } catch (const Error&) {
    unlink(temporary.c_str());
    throw;
  }
  const auto folder = std::filesystem::path(path).parent_path();
  Descriptor(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace peal::trainer
