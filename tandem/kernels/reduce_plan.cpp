#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

// Joins neighbours whose strides run on, which changes no order.
void push_axis(Axes& axes, Axis a) {
  if (!axes.empty()) {
    Axis& last = axes.back();
    if (last.in == a.in * a.size && last.out == a.out * a.size) {
      last = {last.size * a.size, a.in, a.out};
      return;
    }
  }
  axes.push_back(a);
}

}  // namespace

ReducePlan plan_reduction(const Array& in, const bool* reduced_dims, const Array& out) {
  ReducePlan plan;
  // Find the last group, and the reduced group before it when the last one is kept.
  int d = in.ndim - 1;
  auto skip_ones = [&] {
    while (d >= 0 && in.sizes[d] == 1) --d;
  };
  skip_ones();
  plan.by_columns = d < 0 || !reduced_dims[d];
  int columns_from = in.ndim;
  if (plan.by_columns) {
    while (d >= 0 && (in.sizes[d] == 1 || !reduced_dims[d])) --d;
    columns_from = d + 1;
  }
  while (d >= 0 && (in.sizes[d] == 1 || reduced_dims[d])) --d;
  const int inner_from = d + 1;

  for (int i = 0; i < in.ndim; ++i) {
    if (in.sizes[i] == 1) continue;
    const bool reduced = reduced_dims[i];
    const Axis axis = {in.sizes[i], in.strides[i], reduced ? 0 : out.strides[i]};
    if (i >= columns_from) {
      push_axis(plan.columns, axis);
      plan.n_columns *= axis.size;
    } else if (i >= inner_from) {
      push_axis(plan.inner, axis);
      plan.n_inner *= axis.size;
    } else if (reduced) {
      push_axis(plan.outer, axis);
      plan.n_outer *= axis.size;
    } else {
      push_axis(plan.kept, axis);
      plan.n_kept *= axis.size;
    }
  }
  return plan;
}

}  // namespace tandem::kernels
