#include "tandem/ops/map_op.h"

#include "tandem/kernels/map.h"

namespace tandem {
namespace {

void infer_shape(const InferArgs& a) {
  TensorType& out = a.out();
  out.sizes = a.in(0).sizes;
  for (int i = 1; i < a.n_inputs; ++i)
    if (!(a.in(i).sizes == out.sizes) && !a.in(i).sizes.empty())
      out.sizes = broadcast_shapes(a.op.name, out.sizes, a.in(i).sizes);
}

DType promoted(const InferArgs& a) {
  const TensorType& first = a.in(0);
  if (a.n_inputs == 1 ||
      (a.n_inputs == 2 && first.dtype == a.in(1).dtype && !first.weak && !a.in(1).weak))
    return first.weak && is_floating(first.dtype) ? default_real_dtype() : first.dtype;
  Promotion p;
  for (int i = 0; i < a.n_inputs; ++i) p.add(a.in(i));
  return p.result();
}

}  // namespace

void infer_map(const InferArgs& a) {
  infer_shape(a);
  a.out().dtype = promoted(a);
}

void infer_map_float(const InferArgs& a) {
  infer_shape(a);
  const DType t = promoted(a);
  a.out().dtype = is_floating(t) ? t : default_real_dtype();
}

namespace {
void check_supported(bool supported, const InferArgs& a) {
  TANDEM_CHECK_TYPE(supported, a.op.name, ": \"", a.op.name, "_cpu\" not implemented for '",
                    a.out().dtype, "'");
}
}  // namespace

void infer_map_number(const InferArgs& a) {
  infer_map(a);
  check_supported(a.out().dtype != kBool, a);
}

void infer_map_real(const InferArgs& a) {
  infer_map(a);
  check_supported(is_floating(a.out().dtype), a);
}

void infer_map_whole(const InferArgs& a) {
  infer_map(a);
  check_supported(isIntegralType(a.out().dtype), a);
}

void infer_map_truth(const InferArgs& a) {
  infer_shape(a);
  promoted(a);
  a.out().dtype = kBool;
}

void map_kernel(const KernelArgs& a) {
  // A truth value is computed in the type of what is compared, anything else in the type it has.
  DType compute = a.out().dtype;
  if (compute == kBool) {
    Promotion p;
    for (int i = 0; i < a.n_inputs; ++i) p.add(a.in(i).dtype, a.in(i).ndim == 0, a.in(i).weak);
    compute = p.result();
  }
  kernels::MapParams params;
  if (a.attr_ref.data) {
    const auto& m = a.attrs<MapAttrs>();
    params = {m.a, m.b, m.c};
  }
  kernels::map(a.op.map, a.inputs, a.n_inputs, a.out(), compute, params);
}

}  // namespace tandem
