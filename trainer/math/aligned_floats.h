// An owned array of floats on a cache-line boundary, zeroed; never grows.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace peal::trainer {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(size_t size) : size_(size) {
    if (size == 0) return;
    const size_t bytes = (size * sizeof(float) + kAlign - 1) / kAlign * kAlign;
    data_.reset(static_cast<float*>(std::aligned_alloc(kAlign, bytes)));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
  }

  float* data() const noexcept { return data_.get(); }
  size_t size() const noexcept { return size_; }

 private:
  static constexpr size_t kAlign = 64;
  struct Free {
    void operator()(float* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<float[], Free> data_;
  size_t size_ = 0;
};

}  // namespace peal::trainer
