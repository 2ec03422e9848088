#pragma once

#include <cstdlib>
#include <new>

namespace tandem {

/// Memory that is kept from one use to the next. When more is asked for than there is, what lies in
/// it is given up.
class GrowingBuffer {
 public:
  /// Addresses are multiples of `alignment`, a power of two.
  constexpr explicit GrowingBuffer(size_t alignment) : alignment_(alignment) {}
  ~GrowingBuffer() { std::free(data_); }
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  void* get(size_t bytes) {
    if (bytes <= size_) return data_;
    std::free(data_);
    size_ = 0;
    data_ = std::aligned_alloc(alignment_, (bytes + alignment_ - 1) / alignment_ * alignment_);
    if (!data_) throw std::bad_alloc();
    size_ = bytes;
    return data_;
  }

 private:
  const size_t alignment_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tandem
