// Products of many samples at once: one larger product where the other operand is the same for all.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

/// op(x) x op(y) where inputs i and j are x and y, matrices in each sample.
Tensor product(const BatchArgs& a, int i, int j, bool tx, bool ty) {
  const Tensor &x = a.in(i), &y = a.in(j);
  if (a.batched[i] && !a.batched[j] && !tx) {
    const int64_t m = x.size(1);
    const Tensor rows = mm_form(x.reshape({a.size * m, x.size(2)}), y, false, ty);
    return rows.view({a.size, m, rows.size(1)});
  }
  return bmm_form(a.batched[i] ? x : x.unsqueeze(0), a.batched[j] ? y : y.unsqueeze(0), tx, ty);
}

Tensor scaled(const Tensor& x, double factor) {
  if (factor == 1) return x;
  return is_floating(x.dtype()) ? x * factor : x * static_cast<int64_t>(factor);
}

}  // namespace

void mm_batch(const BatchArgs& a) {
  const auto& f = a.attrs<MatmulAttrs>();
  a.outputs[0] = product(a, 0, 1, f.trans_a, f.trans_b);
}

void addmm_batch(const BatchArgs& a) {
  const auto& f = a.attrs<AddmmAttrs>();
  const bool same_rows = !a.batched[0] && (sample_dim(a) < 2 || a.in().size(0) == 1);
  if (same_rows && a.batched[1] && !a.batched[2] && !f.trans_a) {
    const Tensor& x = a.in(1);
    const Tensor rows =
        apply(a.op, {a.in(), x.reshape({a.size * x.size(1), x.size(2)}), a.in(2)}, f);
    a.outputs[0] = rows.view({a.size, x.size(1), rows.size(1)});
    return;
  }
  Tensor result;
  if (a.batched[1] || a.batched[2])
    result = product(a, 1, 2, f.trans_a, f.trans_b);
  else
    result = mm_form(a.in(1), a.in(2), f.trans_a, f.trans_b).unsqueeze(0);
  const Tensor input = aligned(a, 0, 2);
  // As in the kernel, a factor of 0 keeps even nan out.
  result = f.beta == 0 ? scaled(result, f.alpha) : scaled(input, f.beta) + scaled(result, f.alpha);
  a.outputs[0] =
      result.size(0) == a.size ? result : result.expand({a.size, result.size(1), result.size(2)});
}

void bmm_batch(const BatchArgs& a) {
  const auto& f = a.attrs<MatmulAttrs>();
  const int64_t nx = sample_sizes(a, 0)[0], ny = sample_sizes(a, 1)[0];
  const int64_t n = nx == 1 ? ny : nx;
  if (a.batched[0] && !a.batched[1] && !f.trans_a) {
    // All samples' rows below each other.
    const Tensor& x = a.in(0);
    const int64_t m = x.size(2);
    const Tensor rows = x.transpose(0, 1).reshape({nx, a.size * m, x.size(3)});
    const Tensor r = bmm_form(rows, a.in(1), false, f.trans_b);
    a.outputs[0] = r.view({n, a.size, m, r.size(2)}).transpose(0, 1);
    return;
  }
  const auto flat = [&](int i) {
    const Tensor& x = a.in(i);
    if (!a.batched[i] && x.size(0) == 1) return x;
    const int64_t rows = x.size(-2), cols = x.size(-1);
    return a.sample(i).expand({a.size, n, rows, cols}).reshape({a.size * n, rows, cols});
  };
  const Tensor r = bmm_form(flat(0), flat(1), f.trans_a, f.trans_b);
  a.outputs[0] = r.view({a.size, n, r.size(1), r.size(2)});
}

void dot_batch(const BatchArgs& a) {
  const Tensor &x = a.in(0), &y = a.in(1);
  Tensor r;
  if (a.batched[0] && a.batched[1])
    r = bmm_form(x.unsqueeze(1), y.unsqueeze(1), false, true);
  else
    r = a.batched[0] ? mm_form(x, y.unsqueeze(1), false, false)
                     : mm_form(y, x.unsqueeze(1), false, false);
  a.outputs[0] = r.view({a.size});
}

}  // namespace tandem
