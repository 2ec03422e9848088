// The recurrent layers cell by cell.
#include "tandem/ops/ops.h"
#include "tandem/ops/rnn_op.h"

namespace tandem {
namespace {

using kernels::RnnCell;

/// Padded values of packed ones and back, without looking at the sizes; of padded values nothing.
class Ragged {
 public:
  Ragged(const Tensor& sizes, int64_t batch, int64_t rows) : sizes_(sizes), batch_(batch) {
    if (!sizes.defined()) return;
    const auto longs = TensorOptions().dtype(kLong).device(sizes.device());
    const Tensor end = sizes.cumsum(0), first = end - sizes;
    const Tensor columns = arange(batch, longs), all = arange(rows, longs);
    spread_ = (first.unsqueeze(1) + columns).clamp_max(rows - 1).flatten();
    const Tensor step = searchsorted(end, all, false, true);
    gather_ = step * batch + all - first.index_select(0, step);
    mask_ = (columns < sizes.unsqueeze(1)).unsqueeze(2);
  }
  Tensor padded(const Tensor& x) const {
    if (!sizes_.defined() || !x.defined()) return x;
    return x.index_select(-2, spread_).unflatten(-2, {sizes_.size(0), batch_});
  }
  Tensor packed(const Tensor& x) const {
    if (!sizes_.defined() || !x.defined()) return x;
    return x.flatten(-3, -2).index_select(-2, gather_);
  }
  /// `yes` for the sequences that have step t, `no` for those that have ended.
  Tensor pick(int64_t t, const Tensor& yes, const Tensor& no) const {
    return sizes_.defined() ? where(mask_[t], yes, no) : yes;
  }
  Tensor or_zero(int64_t t, const Tensor& x) const {
    return sizes_.defined() ? where(mask_[t], x, 0) : x;
  }

 private:
  Tensor sizes_, spread_, gather_, mask_;
  int64_t batch_;
};

Tensor times(const Tensor& x, const Tensor& weight) { return x.matmul(weight.mT()); }
Tensor at(const Tensor& x, int64_t t) { return x.select(-3, t); }
Tensor joined(const std::vector<Tensor>& steps) {
  return steps.empty() ? Tensor() : stack(steps, -3);
}
std::vector<Tensor> parts(const Tensor& x, int64_t n) { return x.chunk(n, -1); }

struct Order {
  int64_t steps;
  bool reverse;
  int64_t at(int64_t i) const { return reverse ? steps - 1 - i : i; }
};

}  // namespace

RnnResults rnn_composite(RnnCell cell, const RnnTensors& in, bool reverse) {
  const Ragged ragged(in.sizes, in.h0.size(-2), in.gx.size(-2));
  const Tensor gx = ragged.padded(in.gx);
  const Order order{gx.size(-3), reverse};
  const auto n = static_cast<size_t>(order.steps);
  const bool lstm = cell == RnnCell::lstm, gru = cell == RnnCell::gru;
  std::vector<Tensor> ys(n), gates(lstm || gru ? n : 0), cells(lstm ? n : 0);
  Tensor h = in.h0, c = in.c0;
  for (int64_t i = 0; i < order.steps; ++i) {
    const int64_t t = order.at(i);
    const auto slot = static_cast<size_t>(t);
    Tensor products = times(h, in.w_hh);
    if (in.b_hh.defined()) products = products + in.b_hh.unsqueeze(-2);
    Tensor y, after;
    if (lstm) {
      const auto g = parts(at(gx, t) + products, 4);
      const Tensor use = g[0].sigmoid(), forget = g[1].sigmoid(), fresh = g[2].tanh();
      const Tensor show = g[3].sigmoid();
      after = forget * c + use * fresh;
      y = show * after.tanh();
      if (in.w_hr.defined()) y = times(y, in.w_hr);
      gates[slot] = cat({use, forget, fresh, show}, -1);
      cells[slot] = after;
      c = ragged.pick(t, after, c);
    } else if (gru) {
      const auto x = parts(at(gx, t), 3), p = parts(products, 3);
      const Tensor reset = (x[0] + p[0]).sigmoid(), update = (x[1] + p[1]).sigmoid();
      const Tensor fresh = (x[2] + reset * p[2]).tanh();
      y = (h - fresh) * update + fresh;
      gates[slot] = cat({reset, update, fresh, p[2]}, -1);
    } else {
      const Tensor g = at(gx, t) + products;
      y = cell == RnnCell::relu ? g.relu() : g.tanh();
    }
    ys[slot] = y;
    h = ragged.pick(t, y, h);
  }
  return {ragged.packed(joined(ys)), h, c, ragged.packed(joined(gates)),
          ragged.packed(joined(cells))};
}

RnnGrads rnn_composite_backward(RnnCell cell, const RnnGradInputs& in, bool reverse) {
  const Ragged ragged(in.sizes, in.h0.size(-2), in.y.size(-2));
  const Tensor dy = ragged.padded(in.dy), y = ragged.padded(in.y);
  const Tensor gates = ragged.padded(in.gates), cells = ragged.padded(in.cells);
  const Tensor dgates = ragged.padded(in.dgates), dcells = ragged.padded(in.dcells);
  const Order order{y.size(-3), reverse};
  const auto n = static_cast<size_t>(order.steps);
  const bool lstm = cell == RnnCell::lstm, gru = cell == RnnCell::gru;

  // The states that each step started from.
  std::vector<Tensor> h_before(n), c_before(lstm ? n : 0);
  Tensor h = in.h0, c = in.c0;
  for (int64_t i = 0; i < order.steps; ++i) {
    const int64_t t = order.at(i);
    const auto slot = static_cast<size_t>(t);
    h_before[slot] = h;
    h = ragged.pick(t, at(y, t), h);
    if (!lstm) continue;
    c_before[slot] = c;
    c = ragged.pick(t, at(cells, t), c);
  }

  std::vector<Tensor> dgx(n), dnew(gru ? n : 0);
  Tensor dh = in.dhn, dc = in.dcn, dw_hr;
  for (int64_t i = order.steps - 1; i >= 0; --i) {
    const int64_t t = order.at(i);
    const auto slot = static_cast<size_t>(t);
    const Tensor all = ragged.or_zero(t, dh + at(dy, t));
    // With the gradients by what was kept, which only a second differentiation has.
    const auto kept = [&](const Tensor& x, int64_t part, const Tensor& g) {
      return g.defined() ? x + parts(at(g, t), 4)[static_cast<size_t>(part)] : x;
    };
    if (lstm) {
      const auto g = parts(at(gates, t), 4);
      const Tensor bent = at(cells, t).tanh();
      Tensor state = all;
      if (in.w_hr.defined()) {
        state = all.matmul(in.w_hr);
        const Tensor part = all.mT().matmul(g[3] * bent);
        dw_hr = dw_hr.defined() ? dw_hr + part : part;
      }
      Tensor da = dc + state * g[3] * (1 - bent * bent);
      if (dcells.defined()) da = da + at(dcells, t);
      dgx[slot] = cat({kept(da * g[2], 0, dgates) * ((1 - g[0]) * g[0]),
                       kept(da * c_before[slot], 1, dgates) * ((1 - g[1]) * g[1]),
                       kept(da * g[0], 2, dgates) * (1 - g[2] * g[2]),
                       kept(state * bent, 3, dgates) * ((1 - g[3]) * g[3])},
                      -1);
      dgx[slot] = ragged.or_zero(t, dgx[slot]);
      dc = ragged.pick(t, da * g[1], dc);
      dh = ragged.pick(t, dgx[slot].matmul(in.w_hh), dh);
    } else if (gru) {
      const auto g = parts(at(gates, t), 4);
      const Tensor& before = h_before[slot];
      const Tensor dfresh = kept(all * (1 - g[1]), 2, dgates) * (1 - g[2] * g[2]);
      const Tensor dupdate = kept(all * (before - g[2]), 1, dgates) * ((1 - g[1]) * g[1]);
      const Tensor dreset = kept(dfresh * g[3], 0, dgates) * ((1 - g[0]) * g[0]);
      const Tensor part = ragged.or_zero(t, kept(dfresh * g[0], 3, dgates));
      dgx[slot] = ragged.or_zero(t, cat({dreset, dupdate, dfresh}, -1));
      dnew[slot] = part;
      const Tensor back = cat({dgx[slot].narrow(-1, 0, 2 * part.size(-1)), part}, -1);
      dh = ragged.pick(t, all * g[1] + back.matmul(in.w_hh), dh);
    } else {
      const Tensor out = at(y, t);
      dgx[slot] = cell == RnnCell::relu ? where(out <= 0, 0, all) : all * (1 - out * out);
      dh = ragged.pick(t, dgx[slot].matmul(in.w_hh), dh);
    }
  }
  const Tensor dg = joined(dgx), dn = joined(dnew);
  const Tensor rows = gru ? cat({dg.narrow(-1, 0, 2 * dn.size(-1)), dn}, -1) : dg;
  const Tensor before = joined(h_before);
  return {ragged.packed(dg),
          ragged.packed(dn),
          dh,
          dc,
          rows.flatten(-3, -2).mT().matmul(before.flatten(-3, -2)),
          dw_hr};
}

}  // namespace tandem
