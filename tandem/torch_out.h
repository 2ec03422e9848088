#pragma once

/// The forms of functions that write into a tensor that is there already: exp_out(out, x). They
/// compute and then copy, so `out` may be one of the arguments.

#include <initializer_list>
#include <tuple>

#include "tandem/ops/ops.h"

namespace tandem {

namespace detail {
inline Tensor& copy_to_out(Tensor& out, const Tensor& result) {
  NoGradGuard no_grad;
  if (!(out.sizes() == result.sizes())) out.resize_(result.sizes());
  return out.copy_(result);
}
inline void check_out(const char* name, const Tensor& out, TensorList inputs) {
  if (!GradMode::is_enabled()) return;
  bool needs_grad = out.requires_grad();
  for (const Tensor& x : inputs) needs_grad = needs_grad || x.requires_grad();
  TANDEM_CHECK(!needs_grad, name,
               "(): functions with out=... arguments don't support automatic differentiation, but "
               "one of the arguments requires grad.");
}
template <class F>
Tensor& write_out(const char* name, Tensor& out, TensorList inputs, const F& compute) {
  check_out(name, out, inputs);
  const Tensor result = compute();
  TANDEM_CHECK_TYPE(can_cast(result.dtype(), out.dtype()), name, ": result type ", result.dtype(),
                    " can't be cast to the desired output type ", out.dtype());
  return copy_to_out(out, result);
}
}  // namespace detail

#define TANDEM_OUT(name)                                                          \
  inline Tensor& name##_out(Tensor& out, const Tensor& x) {                       \
    return detail::write_out(#name, out, {x}, [&] { return ::tandem::name(x); }); \
  }
TANDEM_OUT(abs)
TANDEM_OUT(acos)
TANDEM_OUT(acosh)
TANDEM_OUT(asin)
TANDEM_OUT(asinh)
TANDEM_OUT(atan)
TANDEM_OUT(atanh)
TANDEM_OUT(bitwise_not)
TANDEM_OUT(ceil)
TANDEM_OUT(cos)
TANDEM_OUT(cosh)
TANDEM_OUT(digamma)
TANDEM_OUT(erf)
TANDEM_OUT(erfc)
TANDEM_OUT(erfinv)
TANDEM_OUT(exp)
TANDEM_OUT(exp2)
TANDEM_OUT(expm1)
TANDEM_OUT(floor)
TANDEM_OUT(frac)
TANDEM_OUT(lgamma)
TANDEM_OUT(log)
TANDEM_OUT(log10)
TANDEM_OUT(log1p)
TANDEM_OUT(log2)
TANDEM_OUT(logical_not)
TANDEM_OUT(neg)
TANDEM_OUT(reciprocal)
TANDEM_OUT(round)
TANDEM_OUT(rsqrt)
TANDEM_OUT(sigmoid)
TANDEM_OUT(sign)
TANDEM_OUT(sin)
TANDEM_OUT(sinh)
TANDEM_OUT(sqrt)
TANDEM_OUT(square)
TANDEM_OUT(tan)
TANDEM_OUT(tanh)
TANDEM_OUT(trunc)
#undef TANDEM_OUT

#define TANDEM_OUT(name)                                                                \
  inline Tensor& name##_out(Tensor& out, const Tensor& x, const Tensor& y) {            \
    return detail::write_out(#name, out, {x, y}, [&] { return ::tandem::name(x, y); }); \
  }
TANDEM_OUT(atan2)
TANDEM_OUT(bitwise_and)
TANDEM_OUT(bitwise_or)
TANDEM_OUT(bitwise_xor)
TANDEM_OUT(bmm)
TANDEM_OUT(div)
TANDEM_OUT(dot)
TANDEM_OUT(eq)
TANDEM_OUT(fmod)
TANDEM_OUT(ge)
TANDEM_OUT(gt)
TANDEM_OUT(le)
TANDEM_OUT(logaddexp)
TANDEM_OUT(logical_and)
TANDEM_OUT(logical_or)
TANDEM_OUT(lt)
TANDEM_OUT(matmul)
TANDEM_OUT(maximum)
TANDEM_OUT(minimum)
TANDEM_OUT(mm)
TANDEM_OUT(mul)
TANDEM_OUT(mv)
TANDEM_OUT(ne)
TANDEM_OUT(pow)
TANDEM_OUT(remainder)
#undef TANDEM_OUT

#define TANDEM_OUT(name)                                                             \
  inline Tensor& name##_out(Tensor& out, const Tensor& x, const Scalar& y) {         \
    return detail::write_out(#name, out, {x}, [&] { return ::tandem::name(x, y); }); \
  }
TANDEM_OUT(bitwise_and)
TANDEM_OUT(bitwise_or)
TANDEM_OUT(bitwise_xor)
TANDEM_OUT(eq)
TANDEM_OUT(fmod)
TANDEM_OUT(ge)
TANDEM_OUT(gt)
TANDEM_OUT(le)
TANDEM_OUT(lt)
TANDEM_OUT(ne)
TANDEM_OUT(pow)
TANDEM_OUT(remainder)
#undef TANDEM_OUT

inline Tensor& add_out(Tensor& out, const Tensor& x, const Tensor& y, const Scalar& alpha = 1) {
  return detail::write_out("add", out, {x, y}, [&] { return add(x, y, alpha); });
}
inline Tensor& sub_out(Tensor& out, const Tensor& x, const Tensor& y, const Scalar& alpha = 1) {
  return detail::write_out("sub", out, {x, y}, [&] { return sub(x, y, alpha); });
}
inline Tensor& addmm_out(Tensor& out, const Tensor& x, const Tensor& a, const Tensor& b,
                         const Scalar& beta = 1, const Scalar& alpha = 1) {
  return detail::write_out("addmm", out, {x, a, b}, [&] { return addmm(x, a, b, beta, alpha); });
}
inline Tensor& linear_out(Tensor& out, const Tensor& x, const Tensor& weight,
                          const std::optional<Tensor>& bias = std::nullopt) {
  return detail::write_out("linear", out, {x, weight, bias && bias->defined() ? *bias : x},
                           [&] { return linear(x, weight, bias); });
}
inline Tensor& clamp_out(Tensor& out, const Tensor& x, const std::optional<Scalar>& min,
                         const std::optional<Scalar>& max = std::nullopt) {
  return detail::write_out("clamp", out, {x}, [&] { return clamp(x, min, max); });
}
inline Tensor& softmax_out(Tensor& out, const Tensor& x, int64_t dim,
                           std::optional<DType> dtype = std::nullopt) {
  return detail::write_out("softmax", out, {x}, [&] { return softmax(x, dim, dtype); });
}

inline Tensor& sum_out(Tensor& out, const Tensor& x, OptionalIntArrayRef dim, bool keepdim = false,
                       std::optional<DType> dtype = std::nullopt) {
  return detail::write_out("sum", out, {x}, [&] { return sum(x, dim, keepdim, dtype); });
}
inline Tensor& mean_out(Tensor& out, const Tensor& x, OptionalIntArrayRef dim, bool keepdim = false,
                        std::optional<DType> dtype = std::nullopt) {
  return detail::write_out("mean", out, {x}, [&] { return mean(x, dim, keepdim, dtype); });
}
inline Tensor& argmax_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim = std::nullopt,
                          bool keepdim = false) {
  return detail::write_out("argmax", out, {x}, [&] { return argmax(x, dim, keepdim); });
}
inline Tensor& argmin_out(Tensor& out, const Tensor& x, std::optional<int64_t> dim = std::nullopt,
                          bool keepdim = false) {
  return detail::write_out("argmin", out, {x}, [&] { return argmin(x, dim, keepdim); });
}
inline std::tuple<Tensor&, Tensor&> max_out(Tensor& values, Tensor& indices, const Tensor& x,
                                            int64_t dim, bool keepdim = false) {
  std::tuple<Tensor, Tensor> both;
  detail::write_out("max", values, {x}, [&] { return std::get<0>(both = max(x, dim, keepdim)); });
  return {values, detail::copy_to_out(indices, std::get<1>(both))};
}
inline std::tuple<Tensor&, Tensor&> min_out(Tensor& values, Tensor& indices, const Tensor& x,
                                            int64_t dim, bool keepdim = false) {
  std::tuple<Tensor, Tensor> both;
  detail::write_out("min", values, {x}, [&] { return std::get<0>(both = min(x, dim, keepdim)); });
  return {values, detail::copy_to_out(indices, std::get<1>(both))};
}

inline Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return detail::write_out("cat", out, tensors, [&] { return cat(tensors, dim); });
}
inline Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim = 0) {
  return detail::write_out("stack", out, tensors, [&] { return stack(tensors, dim); });
}

// Those that make a tensor take the dtype of the one that they write into.
inline Tensor& zeros_out(Tensor& out, IntArrayRef size) {
  detail::check_out("zeros", out, {});
  return detail::copy_to_out(out, zeros(size, out.options()));
}
inline Tensor& ones_out(Tensor& out, IntArrayRef size) {
  detail::check_out("ones", out, {});
  return detail::copy_to_out(out, ones(size, out.options()));
}
inline Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& value) {
  detail::check_out("full", out, {});
  return detail::copy_to_out(out, full(size, value, out.options()));
}
inline Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  detail::check_out("arange", out, {});
  return detail::copy_to_out(out, arange(start, end, step));
}
inline Tensor& arange_out(Tensor& out, const Scalar& end) { return arange_out(out, 0, end, 1); }

}  // namespace tandem
