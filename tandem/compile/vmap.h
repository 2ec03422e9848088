#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/autograd/callable.h"

namespace tandem {

/// Among the in_dims of vmap: an argument that is the same for all samples.
inline constexpr std::nullopt_t none = std::nullopt;
/// By argument: the dimension that the samples lie along. Empty: dimension 0 of every argument.
using InDims = std::vector<std::optional<int64_t>>;

namespace detail {

variable_list vmap_list(const autograd::TensorFunction& fn, const variable_list& args,
                        const InDims& in_dims, int64_t out_dim);

template <class F>
struct Vmap {
  F fn;
  InDims in_dims;
  int64_t out_dim;

  using Result = autograd::detail::ResultOf<F>;
  Result run(const variable_list& args) const {
    return autograd::detail::from_list<Result>(
        vmap_list(autograd::tensor_function(fn), args, in_dims, out_dim));
  }
};

// Takes exactly as many tensors as fn, so that it can itself be transformed again.
template <class F, class Indices>
class Vmapped;
template <class F, size_t... I>
class Vmapped<F, std::index_sequence<I...>> : Vmap<F> {
 public:
  explicit Vmapped(Vmap<F> v) : Vmap<F>(std::move(v)) {}
  typename Vmap<F>::Result operator()(autograd::detail::TensorRef<I>... args) const {
    return this->run({args...});
  }
};
template <class F>
class Vmapped<F, std::index_sequence<>> : Vmap<F> {
 public:
  explicit Vmapped(Vmap<F> v) : Vmap<F>(std::move(v)) {}
  typename Vmap<F>::Result operator()(const variable_list& args) const { return this->run(args); }
};

}  // namespace detail

/// The function that runs fn for many samples at once: fn is written for one sample, and the result
/// has a dimension more than fn's, `out_dim`, along which the samples lie.
///
///   auto norms = vmap([](const Tensor& x) { return x.norm(); });       // of each row
///   auto scores = vmap([](const Tensor& x, const Tensor& w) { return dot(x, w); }, {0, none});
///
/// fn takes tensors, or a list of them, and returns a tensor, a list or a tuple. It is run once, on
/// tensors without values that have a sample's shape; looking at a value in it is an Error. Each op
/// then runs once for all samples. Gradients flow through the call, to arguments and to what fn
/// takes from outside, and it can be nested, compiled and differentiated. Random numbers differ
/// between samples. fn may write in place to its batched arguments, and to tensors from outside
/// what is the same for all samples.
template <class F>
auto vmap(F fn, InDims in_dims = {}, int64_t out_dim = 0) {
  using Indices = std::make_index_sequence<autograd::detail::arity<F>()>;
  return detail::Vmapped<F, Indices>({std::move(fn), std::move(in_dims), out_dim});
}

/// Names of the ops that have run one sample after the other inside a vmap of this process, because
/// there is no way to run them for all at once.
std::vector<std::string> vmap_fallbacks();

}  // namespace tandem
