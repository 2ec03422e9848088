// Distinct elements and slices. How many there are depends on the values.
#include <cstring>

#include "tandem/core/apply.h"
#include "tandem/kernels/index.h"
#include "tandem/kernels/sort.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct UniqueAttrs {
  int64_t dim;  // -1: of the flattened tensor
  bool consecutive, inverse, counts;
  TANDEM_FIELDS(dim, consecutive, inverse, counts)
};

Tensor whole_numbers(const std::vector<int64_t>& v, IntArrayRef sizes) {
  Tensor t = empty(sizes, kLong);
  if (!v.empty()) std::memcpy(t.data_ptr(), v.data(), v.size() * sizeof(int64_t));
  return t;
}

void unique_outputs(const KernelArgs& a, Tensor* outputs) {
  const auto& attrs = a.attrs<UniqueAttrs>();
  const Array& x = a.in();
  const kernels::Unique u = attrs.dim >= 0 ? kernels::unique_slices(x, attrs.dim, attrs.consecutive)
                            : attrs.consecutive ? kernels::unique_consecutive(x)
                                                : kernels::unique(x);
  const int64_t n = static_cast<int64_t>(u.first.size());
  const Tensor first = whole_numbers(u.first, {n});
  const Array index = first.impl()->array();
  if (attrs.dim >= 0) {
    Dims sizes = x.shape();
    sizes[static_cast<size_t>(attrs.dim)] = n;
    outputs[0] = empty(sizes, x.dtype);
    kernels::index(x, {attrs.dim}, &index, outputs[0].impl()->array());
    outputs[1] = attrs.inverse ? whole_numbers(u.inverse, {x.sizes[attrs.dim]}) : empty({0}, kLong);
  } else {
    outputs[0] = empty({n}, x.dtype);
    const Array out = outputs[0].impl()->array();
    const int64_t size = static_cast<int64_t>(size_of(x.dtype));
    for (int64_t i = 0; i < n; ++i) {
      int64_t rest = u.first[static_cast<size_t>(i)], offset = 0;
      for (int d = x.ndim - 1; d >= 0; --d) {
        offset += rest % x.sizes[d] * x.strides[d];
        rest /= x.sizes[d];
      }
      std::memcpy(static_cast<char*>(out.data) + i * size,
                  static_cast<const char*>(x.data) + offset * size, static_cast<size_t>(size));
    }
    outputs[1] = attrs.inverse ? whole_numbers(u.inverse, x.shape()) : empty({0}, kLong);
  }
  outputs[2] = attrs.counts ? whole_numbers(u.counts, {n}) : empty({0}, kLong);
}

}  // namespace

TANDEM_OP(kUnique) = {
    .name = "unique",
    .infer = nullptr,
    .dynamic = unique_outputs,
    .outputs = 3,
    .attrs = attrs_of<UniqueAttrs>,
    .inputs = 1,
};

namespace {

std::tuple<Tensor, Tensor, Tensor> three(const Tensor& x, const UniqueAttrs& attrs) {
  auto [values, inverse, counts] = apply_n<3>(kUnique, {x}, attrs);
  return {std::move(values), std::move(inverse), std::move(counts)};
}

std::tuple<Tensor, Tensor, Tensor> slices(const char* name, const Tensor& x, int64_t dim,
                                          bool consecutive, bool inverse, bool counts) {
  dim = wrap_dim(name, dim, x.dim());
  if (x.dim() == 0) return three(x, {-1, consecutive, inverse, counts});
  if (x.size(dim) == 0) {
    // Nothing to choose from; other dimensions of 0 leave slices that are all alike.
    TANDEM_CHECK(x.numel() == 0, name, ": the tensor has no elements along dimension ", dim);
  }
  return three(x, {dim, consecutive, inverse, counts});
}

}  // namespace

std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool, bool return_inverse) {
  auto [values, inverse, counts] = three(x, {-1, false, return_inverse, false});
  return {values, inverse};
}
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool, bool return_inverse,
                                            bool return_counts) {
  return three(x, {-1, false, return_inverse, return_counts});
}
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, bool,
                                              bool return_inverse, bool return_counts) {
  return slices("unique_dim", x, dim, false, return_inverse, return_counts);
}
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse,
                                                      bool return_counts,
                                                      std::optional<int64_t> dim) {
  if (dim) return slices("unique_consecutive", x, *dim, true, return_inverse, return_counts);
  return three(x, {-1, true, return_inverse, return_counts});
}
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& x, int64_t dim,
                                                          bool return_inverse, bool return_counts) {
  return slices("unique_dim_consecutive", x, dim, true, return_inverse, return_counts);
}

}  // namespace tandem
