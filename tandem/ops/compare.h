#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

// Questions answered element by element: the results are bool tensors. Shapes broadcast.
Tensor eq(const Tensor& x, const Tensor& y);
Tensor eq(const Tensor& x, const Scalar& y);
Tensor ne(const Tensor& x, const Tensor& y);
Tensor ne(const Tensor& x, const Scalar& y);
Tensor lt(const Tensor& x, const Tensor& y);
Tensor lt(const Tensor& x, const Scalar& y);
Tensor le(const Tensor& x, const Tensor& y);
Tensor le(const Tensor& x, const Scalar& y);
Tensor gt(const Tensor& x, const Tensor& y);
Tensor gt(const Tensor& x, const Scalar& y);
Tensor ge(const Tensor& x, const Tensor& y);
Tensor ge(const Tensor& x, const Scalar& y);
inline Tensor greater(const Tensor& x, const Tensor& y) { return x.gt(y); }
inline Tensor greater(const Tensor& x, const Scalar& y) { return x.gt(y); }
inline Tensor greater_equal(const Tensor& x, const Tensor& y) { return x.ge(y); }
inline Tensor greater_equal(const Tensor& x, const Scalar& y) { return x.ge(y); }
inline Tensor less(const Tensor& x, const Tensor& y) { return x.lt(y); }
inline Tensor less(const Tensor& x, const Scalar& y) { return x.lt(y); }
inline Tensor less_equal(const Tensor& x, const Tensor& y) { return x.le(y); }
inline Tensor less_equal(const Tensor& x, const Scalar& y) { return x.le(y); }
inline Tensor not_equal(const Tensor& x, const Tensor& y) { return x.ne(y); }
inline Tensor not_equal(const Tensor& x, const Scalar& y) { return x.ne(y); }
Tensor logical_and(const Tensor& x, const Tensor& y);
Tensor logical_or(const Tensor& x, const Tensor& y);
Tensor logical_xor(const Tensor& x, const Tensor& y);
Tensor bitwise_and(const Tensor& x, const Tensor& y);
Tensor bitwise_and(const Tensor& x, const Scalar& y);
Tensor bitwise_or(const Tensor& x, const Tensor& y);
Tensor bitwise_or(const Tensor& x, const Scalar& y);
Tensor bitwise_xor(const Tensor& x, const Tensor& y);
Tensor bitwise_xor(const Tensor& x, const Scalar& y);
inline Tensor __and__(const Tensor& x, const Tensor& y) { return x.bitwise_and(y); }
inline Tensor __or__(const Tensor& x, const Tensor& y) { return x.bitwise_or(y); }
inline Tensor __xor__(const Tensor& x, const Tensor& y) { return x.bitwise_xor(y); }
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);
Tensor isreal(const Tensor& x);
Tensor signbit(const Tensor& x);
Tensor logical_not(const Tensor& x);
Tensor bitwise_not(const Tensor& x);
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_left_shift(const Tensor& x, const Scalar& y);
Tensor bitwise_right_shift(const Tensor& x, const Scalar& y);
Tensor bitwise_and(const Scalar& x, const Tensor& y);
Tensor bitwise_or(const Scalar& x, const Tensor& y);
Tensor bitwise_xor(const Scalar& x, const Tensor& y);
Tensor bitwise_left_shift(const Scalar& x, const Tensor& y);
Tensor bitwise_right_shift(const Scalar& x, const Tensor& y);
/// |x - y| <= atol + rtol |y|, element by element.
Tensor isclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
bool allclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
/// True iff shapes and all values are equal; dtypes need not be.
bool equal(const Tensor& x, const Tensor& y);
inline bool is_same_size(const Tensor& x, const Tensor& y) { return x.sizes() == y.sizes(); }
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }
inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline int64_t numel(const Tensor& x) { return x.numel(); }
/// The dtype that arithmetic on both would have.
DType result_type(const Tensor& x, const Tensor& y);
DType result_type(const Tensor& x, const Scalar& y);
DType result_type(const Scalar& x, const Tensor& y);
/// Which of the elements are among `test_elements` (are not, if `invert`).
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false,
            bool invert = false);
Tensor isin(const Tensor& elements, const Scalar& test_element, bool assume_unique = false,
            bool invert = false);
Tensor isin(const Scalar& element, const Tensor& test_elements, bool assume_unique = false,
            bool invert = false);

Tensor operator==(const Tensor& x, const Tensor& y);
Tensor operator==(const Tensor& x, const Scalar& y);
Tensor operator==(const Scalar& x, const Tensor& y);
Tensor operator!=(const Tensor& x, const Tensor& y);
Tensor operator!=(const Tensor& x, const Scalar& y);
Tensor operator!=(const Scalar& x, const Tensor& y);
Tensor operator<(const Tensor& x, const Tensor& y);
Tensor operator<(const Tensor& x, const Scalar& y);
Tensor operator<(const Scalar& x, const Tensor& y);
Tensor operator<=(const Tensor& x, const Tensor& y);
Tensor operator<=(const Tensor& x, const Scalar& y);
Tensor operator<=(const Scalar& x, const Tensor& y);
Tensor operator>(const Tensor& x, const Tensor& y);
Tensor operator>(const Tensor& x, const Scalar& y);
Tensor operator>(const Scalar& x, const Tensor& y);
Tensor operator>=(const Tensor& x, const Tensor& y);
Tensor operator>=(const Tensor& x, const Scalar& y);
Tensor operator>=(const Scalar& x, const Tensor& y);
Tensor operator&(const Tensor& x, const Tensor& y);
Tensor operator&(const Tensor& x, const Scalar& y);
Tensor operator&(const Scalar& x, const Tensor& y);
Tensor operator|(const Tensor& x, const Tensor& y);
Tensor operator|(const Tensor& x, const Scalar& y);
Tensor operator|(const Scalar& x, const Tensor& y);
Tensor operator^(const Tensor& x, const Tensor& y);
Tensor operator^(const Tensor& x, const Scalar& y);
Tensor operator^(const Scalar& x, const Tensor& y);

}  // namespace tandem
