#pragma once

#include <functional>

#include "tandem/base/small_vector.h"
#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/core/scalar.h"

namespace tandem {

class AttrReader;

/// What is known of a value before it is computed.
struct TensorType {
  Dims sizes;
  DType dtype = DType::Undefined;
  Device device;
  bool weak = false;  // True iff it stands for a C++ number, which never widens a tensor's dtype.

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.device == b.device && a.sizes == b.sizes;
  }
};
/// "float32 [2, 3]"
std::ostream& operator<<(std::ostream& out, const TensorType& t);
/// As in the text of a graph: like <<, and says "weak" where it stands for a number.
void print_type(std::ostream& out, const TensorType& t);
/// Reads what print_type wrote.
void read_field(AttrReader& in, TensorType& t);

/// Collects operands and says which dtype their result has, by LibTorch's rules: tensors with
/// dimensions decide first, then 0-d tensors, then plain numbers.
class Promotion {
 public:
  void add(const TensorType& t) { add(t.dtype, t.sizes.empty(), t.weak); }
  void add(DType dtype, bool is_0d, bool weak) {
    DType& slot = weak ? number_ : is_0d ? scalar_ : array_;
    slot = promote_types(slot, weak && is_floating(dtype) ? default_real_dtype() : dtype);
  }
  DType result() const;

 private:
  DType array_ = DType::Undefined, scalar_ = DType::Undefined, number_ = DType::Undefined;
};

}  // namespace tandem

template <>
struct std::hash<tandem::TensorType> {
  size_t operator()(const tandem::TensorType& t) const;
};
