#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// The elements of an array side by side in row-major order, as values of one dtype: the array's
/// own memory where it is like that already, otherwise a converted copy.
class Packed {
 public:
  Packed(const Array& a, DType dtype);
  ~Packed();
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  const void* data_;
  size_t bytes_ = 0;  // of the copy; 0: there is none
};

/// Memory to write the elements of an array to in that manner; the array's own if possible. What
/// was written reaches the array with commit().
class PackedOutput {
 public:
  PackedOutput(const Array& a, DType dtype);
  ~PackedOutput();
  PackedOutput(const PackedOutput&) = delete;
  PackedOutput& operator=(const PackedOutput&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void commit();

 private:
  const Array& array_;
  DType dtype_;
  void* data_;
  size_t bytes_ = 0;
};

}  // namespace tandem::kernels
