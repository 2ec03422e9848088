#include "tandem/core/apply.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/reduction_op.h"
#include "tandem/ops/view.h"

namespace tandem {

// The opposite of broadcasting, which is what backward needs of it: dimensions that were repeated
// to get from `sizes` to the input's shape are summed.
TANDEM_OP(kSumTo) = {
    .name = "sum_to_size",
    .infer =
        [](const InferArgs& a) {
          const Dims& wanted = a.attrs<SumToAttrs>().sizes;
          bool fits = wanted.size() <= a.in().sizes.size();
          const size_t extra = fits ? a.in().sizes.size() - wanted.size() : 0;
          for (size_t d = 0; d < wanted.size() && fits; ++d)
            fits = wanted[d] == a.in().sizes[extra + d] || wanted[d] == 1;
          TANDEM_CHECK_SHAPE(fits, "sum_to_size: size {", wanted, "} is not expandable to size {",
                             a.in().sizes, "}.");
          a.out().sizes = wanted;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const Array& in = a.in();
          Array out = a.out();
          const int extra = in.ndim - out.ndim;
          SmallVector<bool, 8> reduced(static_cast<size_t>(in.ndim), true);
          Dims sizes(static_cast<size_t>(in.ndim), 1), strides(static_cast<size_t>(in.ndim), 0);
          for (int d = 0; d < out.ndim; ++d) {
            reduced[extra + d] = out.sizes[d] != in.sizes[extra + d];
            sizes[extra + d] = out.sizes[d];
            strides[extra + d] = out.strides[d];
          }
          out.sizes = sizes.data();
          out.strides = strides.data();
          out.ndim = in.ndim;
          kernels::reduce(kernels::ReduceFn::Sum, in, reduced.data(), out);
        },
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad().expand(a.input_type().sizes)}; },
    .attrs = attrs_of<SumToAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const Dims& wanted = a.attrs<SumToAttrs>().sizes;
          Dims sizes{a.size};
          sizes.resize(static_cast<size_t>(1 + sample_dim(a)) - wanted.size(), 1);
          sizes.append(wanted.begin(), wanted.end());
          a.outputs[0] = a.in().sum_to_size(sizes).reshape(batched_sizes(a, wanted));
        },
    .inputs = 1,
};

Tensor Tensor::sum_to_size(IntArrayRef size) const {
  if (sizes() == size) return *this;
  return apply(kSumTo, {*this}, SumToAttrs{size});
}

}  // namespace tandem
