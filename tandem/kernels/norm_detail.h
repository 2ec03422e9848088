#pragma once

#include <algorithm>

#include "tandem/base/parallel.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/norm_simd.h"
#include "tandem/kernels/reduce_load.h"
#include "tandem/kernels/reduce_plan.h"

/// Shared by the norm_*.cpp files.
namespace tandem::kernels {

/// An array whose elements lie in row-major order: itself, or a copy.
class Contiguous {
 public:
  explicit Contiguous(const Array& a)
      : strides_(a.contiguous ? Dims() : contiguous_strides(a.shape())),
        memory_(a.contiguous ? 0 : a.numel * static_cast<int64_t>(size_of(a.dtype))),
        array_(a) {
    if (a.contiguous) return;
    array_.data = memory_.get();
    array_.strides = strides_.data();
    array_.contiguous = true;
    copy(a, array_);
  }
  Contiguous(const Contiguous&) = delete;
  Contiguous& operator=(const Contiguous&) = delete;
  const Array& get() const { return array_; }

 private:
  Dims strides_;
  Scratch<char> memory_;
  Array array_;
};

/// Runs of elements that are worked on at once: they are converted, if at all, within the
/// first-level cache.
inline constexpr int64_t kNormRun = 2048;

/// Reads runs of a contiguous array in the compute type.
template <class C>
class RunReader {
 public:
  explicit RunReader(const Array& a) : a_(a), direct_(a.dtype == dtype_v<C>) {}
  /// Elements [from, from + n), n <= kNormRun; `buffer` has room for them.
  const C* read(int64_t from, int64_t n, C* buffer) const {
    if (direct_) return a_.ptr<const C>() + from;
    load(a_.dtype, at(a_, from), 1, n, buffer);
    return buffer;
  }
  bool direct() const { return direct_; }

 private:
  const Array& a_;
  bool direct_;
};

/// Where a run of results goes: to the array itself, or to the buffer, from which put() stores it.
template <class C>
class RunWriter {
 public:
  explicit RunWriter(const Array& a) : a_(a), direct_(a.dtype == dtype_v<C>) {}
  C* place(int64_t from, C* buffer) const { return direct_ ? a_.ptr<C>() + from : buffer; }
  void put(int64_t from, int64_t n, const C* buffer) const {
    if (!direct_) store(a_.dtype, at_mutable(a_, from), 1, n, buffer);
  }

 private:
  const Array& a_;
  bool direct_;
};

/// All elements of a small array (at most one dimension counts) in the compute type.
template <class C>
struct Numbers {
  explicit Numbers(const Array& a) : memory(a.numel), n(a.numel) {
    const Contiguous c(a);
    load(a.dtype, c.get().data, 1, a.numel, memory.get());
  }
  /// n times the same number.
  Numbers(int64_t count, C value) : memory(count), n(count) {
    std::fill_n(memory.get(), count, value);
  }
  C& operator[](int64_t i) const { return memory[i]; }
  const C* get() const { return memory.get(); }
  Scratch<C> memory;
  int64_t n;
};

/// Weights, or the same number for every element.
template <class C>
Numbers<C> weights(const Array* w, int64_t n, C otherwise) {
  return w ? Numbers<C>(*w) : Numbers<C>(n, otherwise);
}

/// Calls fn with a value of the compute type of a floating dtype.
template <class F>
void dispatch_real(DType t, F&& fn) {
  if (t == kDouble) return fn(double());
  fn(float());
}

}  // namespace tandem::kernels
