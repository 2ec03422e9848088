#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

#include "tandem/base/parallel.h"
#include "tandem/kernels/reduce_load.h"

/// How a reduction walks its input; shared by the reduce_*.cpp files.
///
/// Note: the canonical order
/// Dimensions of extent 1 are dropped and neighbours of one kind (kept, reduced) are taken
/// together.
/// * If the last group is reduced, its elements form a segment; segments are cut into blocks of
/// kBlock.
/// * If the last group is kept, its elements are columns and the reduced group before it are the
/// rows;
///   rows are cut into blocks of kRowBlock. Few columns are widened: several rows lie side by side
///   in one wide row, and the copies are folded in halves at the end.
/// The partial results of the blocks, in row-major order of the other reduced groups, are combined
/// by a binary counter: block 0 with 1, 2 with 3, then those two, and so on. Any run of 2^k blocks
/// can therefore be worked out on its own.
namespace tandem::kernels {

struct Axis {
  int64_t size, in, out;  // extent and strides
};
using Axes = SmallVector<Axis, 6>;

inline constexpr int64_t kBlock = 4096;
inline constexpr int64_t kRowBlock = 64;
/// A parallel grain handles at least about so many elements.
inline constexpr int64_t kGrainElements = 32768;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Levels that a binary counter needs for n pushes.
inline int counter_levels(int64_t n) { return 64 - std::countl_zero(static_cast<uint64_t>(n)); }

struct ReducePlan {
  Axes kept;     // all but the columns
  Axes outer;    // reduced groups before the segment or the rows
  Axes inner;    // the segment, or the rows
  Axes columns;  // empty when the last group is reduced
  bool by_columns = false;
  int64_t n_kept = 1, n_outer = 1, n_inner = 1, n_columns = 1;
  int64_t reduced() const { return n_outer * n_inner; }
};

ReducePlan plan_reduction(const Array& in, const bool* reduced_dims, const Array& out);

/// Where the element with the given row-major number lies.
inline int64_t offset_of(const Array& a, int64_t number) {
  if (a.contiguous) return number;
  int64_t offset = 0;
  for (int d = a.ndim - 1; d >= 0; --d) {
    offset += number % a.sizes[d] * a.strides[d];
    number /= a.sizes[d];
  }
  return offset;
}

/// Offsets (in, out) of the i-th index of a group.
class AxesWalk {
 public:
  explicit AxesWalk(const Axes& axes) {
    for (const Axis& a : axes) {
      sizes_.push_back(a.size);
      in_.push_back(a.in);
      out_.push_back(a.out);
    }
    index_.resize(axes.size(), 0);
  }
  void seek(int64_t linear) {
    in = out = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      index_[d] = linear % sizes_[d];
      linear /= sizes_[d];
      in += index_[d] * in_[d];
      out += index_[d] * out_[d];
    }
  }
  void next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      in += in_[d];
      out += out_[d];
      if (++index_[d] < sizes_[d]) return;
      in -= sizes_[d] * in_[d];
      out -= sizes_[d] * out_[d];
      index_[d] = 0;
    }
  }
  int64_t in = 0, out = 0;

 private:
  Dims sizes_, in_, out_, index_;
};

inline bool unit_stride(const Axes& axes) {
  return axes.empty() || (axes.size() == 1 && axes[0].in == 1);
}

/// Calls fn(offset, stride, n) for the runs that make up elements [from, from + count) of a group.
template <class F>
void for_runs(const Axes& axes, int64_t from, int64_t count, const F& fn) {
  if (axes.empty()) {
    if (count > 0) fn(int64_t{0}, int64_t{1}, int64_t{1});
    return;
  }
  if (axes.size() == 1) {
    fn(from * axes[0].in, axes[0].in, count);
    return;
  }
  const Axis& last = axes.back();
  Axes head(axes.begin(), axes.end() - 1);
  AxesWalk walk(head);
  int64_t row = from / last.size, at = from % last.size;
  walk.seek(row);
  while (count > 0) {
    const int64_t n = std::min(count, last.size - at);
    fn(walk.in + at * last.in, last.in, n);
    count -= n;
    at = 0;
    walk.next();
  }
}

/// Rows [from, from + n) of columns [first, first + width) side by side in `to`, whatever the
/// strides. fetch(offset, stride, count, to) reads a run.
template <class C, class Fetch>
void pack_tile(const ReducePlan& plan, int64_t base, int64_t from, int64_t n, int64_t first,
               int64_t width, C* to, const Fetch& fetch) {
  const bool down =
      !plan.inner.empty() && !plan.columns.empty() && plan.inner.back().in < plan.columns.back().in;
  if (!down) {
    for_runs(plan.inner, from, n, [&](int64_t row, int64_t step, int64_t rows) {
      for (int64_t r = 0; r < rows; ++r)
        for_runs(plan.columns, first, width, [&](int64_t offset, int64_t stride, int64_t count) {
          fetch(base + row + r * step + offset, stride, count, to);
          to += count;
        });
    });
    return;
  }
  // The rows are nearer to each other than the columns: read down, write across.
  C column[kRowBlock];
  for_runs(plan.columns, first, width, [&](int64_t offset, int64_t stride, int64_t count) {
    for (int64_t c = 0; c < count; ++c, ++to) {
      C* p = column;
      for_runs(plan.inner, from, n, [&](int64_t row, int64_t step, int64_t rows) {
        fetch(base + offset + c * stride + row, step, rows, p);
        p += rows;
      });
      for (int64_t r = 0; r < n; ++r) to[r * width] = column[r];
    }
  });
}

/// A binary counter of scalar partial results.
template <class T, class Join>
class Cascade {
 public:
  explicit Cascade(Join join) : join_(join) {}
  void push(T value) {
    int level = 0;
    for (uint64_t bits = count_; bits & 1; bits >>= 1, ++level) value = join_(stack_[level], value);
    stack_[level] = value;
    ++count_;
  }
  T finish(T if_empty) const {
    if (count_ == 0) return if_empty;
    T value{};
    bool any = false;
    for (int level = 0; level < 63; ++level) {
      if (!(count_ >> level & 1)) continue;
      value = any ? join_(stack_[level], value) : stack_[level];
      any = true;
    }
    return value;
  }

 private:
  Join join_;
  uint64_t count_ = 0;
  T stack_[63];
};

/// What n elements that lie in a row give: block(first, count) for each of their blocks, joined in
/// the canonical order.
template <class T, class Join, class Block>
T by_blocks(int64_t n, Join join, const Block& block) {
  if (n <= kBlock) return block(0, n);
  Cascade<T, Join> cascade(join);
  for (int64_t i = 0; i < n; i += kBlock) cascade.push(block(i, std::min(kBlock, n - i)));
  return cascade.finish({});
}

/// Scratch memory aligned for vectors; freed with its owner.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : data_(static_cast<T*>(
            ::operator new(static_cast<size_t>(n) * sizeof(T) + 1, std::align_val_t(64)))) {}
  ~Scratch() { ::operator delete(data_, std::align_val_t(64)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

}  // namespace tandem::kernels
