#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "tandem/base/memory.h"
#include "tandem/base/parallel.h"
#include "tandem/kernels/gemm_impl.h"
#include "tandem/kernels/matmul.h"
#include "tandem/kernels/rnn.h"
#include "tandem/kernels/rnn_gates.h"

/// What the two directions of the recurrent kernels share.
namespace tandem::kernels::detail {

/// Memory for the time of a call.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t n)
      : bytes_(static_cast<size_t>(n) * sizeof(T)),
        data_(n > 0 ? static_cast<T*>(memory::detail::allocate_data(bytes_)) : nullptr) {}
  ~Buffer() {
    if (data_) memory::detail::free_data(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  size_t bytes_ = 0;
  T* data_ = nullptr;
};

/// n elements; none of them may be anywhere.
template <class T>
void copy_elements(const T* from, int64_t n, T* to) {
  if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
}

constexpr int64_t gates_of(RnnCell cell) {
  return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1;
}

/// The order of the steps, and where their rows are.
class Steps {
 public:
  explicit Steps(const RnnShape& s) : shape_(s), first_(static_cast<size_t>(s.steps) + 1, 0) {
    for (int64_t t = 0; t < s.steps; ++t) first_[static_cast<size_t>(t) + 1] = first(t) + count(t);
  }
  int64_t rows() const { return first_.back(); }
  int64_t first(int64_t t) const { return first_[static_cast<size_t>(t)]; }
  int64_t count(int64_t t) const {
    if (t < 0 || t >= shape_.steps) return 0;
    return shape_.counts ? shape_.counts[t] : shape_.batch;
  }
  /// Which step is the i-th to run.
  int64_t at(int64_t i) const { return shape_.reverse ? shape_.steps - 1 - i : i; }
  /// The step that ran before t, or runs after it; outside of the range there is none.
  int64_t before(int64_t t) const { return shape_.reverse ? t + 1 : t - 1; }
  int64_t after(int64_t t) const { return shape_.reverse ? t - 1 : t + 1; }
  /// The row of sequence b in the step before t; null if that sequence starts with t.
  template <class T>
  const T* row_before(int64_t t, int64_t b, const T* data, int64_t width) const {
    const int64_t s = before(t);
    return b < count(s) ? data + (first(s) + b) * width : nullptr;
  }

 private:
  const RnnShape& shape_;
  std::vector<int64_t> first_;
};

/// A matrix with k rows and parts * width columns, packed for products with few rows. Columns are
/// worked on in blocks: the same ones of every part, so that all gates of a unit come together.
template <class T>
class PackedMatrix {
 public:
  /// Element (p, j) is b[p * row + j * col].
  PackedMatrix(const T* b, int64_t row, int64_t col, int64_t k, int64_t parts, int64_t width)
      : ops_(panel_ops<T>()),
        k_(k),
        parts_(parts),
        width_(width),
        room_(blocks() * parts * k * cols()) {
    parallel_for(
        0, blocks() * parts, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, k * cols())),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t j = i % parts * width + i / parts * cols();
            ops_.pack(b + j * col, row, col, k, columns(i / parts), room_.get() + i * k * cols());
          }
        });
  }
  int64_t cols() const { return ops_.cols; }
  int64_t blocks() const { return (width_ + cols() - 1) / cols(); }
  /// How many columns of each part a block has.
  int64_t columns(int64_t block) const { return std::min(cols(), width_ - block * cols()); }

  /// acc (+)= a x rows [from, to) of the block: m rows of `parts * cols()` elements.
  void multiply(int64_t m, const T* a, int64_t lda, int64_t from, int64_t to, int64_t block, T* acc,
                bool add) const {
    const int64_t pieces = (to - from + kPanelDepth - 1) / kPanelDepth;
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t begin = (to - from) * i / pieces, end = (to - from) * (i + 1) / pieces;
      for (int64_t g = 0; g < parts_; ++g)
        ops_.multiply(m, end - begin, a + begin, lda,
                      room_.get() + ((block * parts_ + g) * k_ + from + begin) * cols(),
                      acc + g * cols(), parts_ * cols(), add || i > 0);
    }
  }

 private:
  const PanelOps<T>& ops_;
  int64_t k_, parts_, width_;
  Buffer<T> room_;
};

/// The most rows of a step that are worked on at once, and the memory their products need.
constexpr int64_t kMostRows = 60;
constexpr int64_t kMostProducts = kMostRows * 4 * kMostPanelCols;
/// Fewer steps than this are not worth packing the weights for.
constexpr int64_t kFewSteps = 4;

/// Calls fn(block, first row, last row) for parts of a step's n rows and all blocks of units, on
/// several threads if there is enough to multiply. The parts depend on the shape alone.
template <class F>
void each_block(int64_t n, int64_t blocks, int64_t work_per_row, const F& fn) {
  const int64_t chunks = (n + kMostRows - 1) / kMostRows;
  if (chunks == 0) return;
  const int64_t work = std::max<int64_t>(1, (n / chunks + 1) * work_per_row);
  parallel_for(0, blocks * chunks, std::max<int64_t>(1, 65536 / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t chunk = i % chunks;
                   fn(i / chunks, n * chunk / chunks, n * (chunk + 1) / chunks);
                 }
               });
}

}  // namespace tandem::kernels::detail
