#pragma once

#include <vector>

#include "tandem/kernels/map.h"

namespace tandem::kernels {

/// The elements of an array in the compute type, row-major: where they lie if they lie so, else
/// copied.
template <class T>
class Flat {
 public:
  explicit Flat(const Array& a) : Flat(a, true) {}
  /// Memory for results, which finish() brings where they belong.
  static Flat result(const Array& a) { return Flat(a, false); }

  T* get() const { return data_; }
  T operator[](int64_t i) const { return data_[i]; }
  void finish() const {
    if (data_ != a_.data) copy(flat(), a_);
  }

 private:
  Flat(const Array& a, bool read)
      : a_(a), strides_(contiguous_strides(a.shape())), data_(static_cast<T*>(a.data)) {
    if (a.dtype == dtype_v<T> && a.contiguous) return;
    memory_.resize(static_cast<size_t>(a.numel));
    data_ = memory_.data();
    if (read) copy(a_, flat());
  }
  Array flat() const {
    return {data_, a_.sizes, strides_.data(), a_.numel, a_.ndim, dtype_v<T>, true};
  }

  const Array a_;
  const Dims strides_;
  std::vector<T> memory_;
  T* data_;
};

}  // namespace tandem::kernels
