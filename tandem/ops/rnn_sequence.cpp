// The ops that run a recurrent layer over whole sequences.
//
// Note: gradients of gradients
// The gradient of a sequence is an op with a kernel of its own. Where it has to be differentiated
// again, the composite in public ops takes its place: it reads the gates and the cells that the
// forward op kept as results, so that what flows back to those reaches the forward op's own rule.
#include <algorithm>
#include <memory>

#include "tandem/core/apply.h"
#include "tandem/core/gradients.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/rnn_op.h"

namespace tandem {
namespace {

using kernels::RnnCell;

constexpr int64_t gates_of(RnnCell cell) {
  return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1;
}
RnnCell cell_of(RnnCell kind, bool relu) { return relu ? RnnCell::relu : kind; }

// Where the inputs are; -1: there is none. kKind is lstm, gru or tanh.
struct Inputs {
  int gx = 0, h0 = 1, c0 = -1, w_hh = -1, b_hh = -1, w_hr = -1, sizes = -1, n = 2;
  Inputs(RnnCell kind, const RnnAttrs& a) {
    if (kind == RnnCell::lstm) c0 = n++;
    w_hh = n++;
    if (a.biased) b_hh = n++;
    if (a.projected) w_hr = n++;
    if (a.packed) sizes = n++;
  }
};
struct BackwardInputs {
  int dy = 0, dhn = 1, dcn = -1, h0, c0 = -1, w_hh, w_hr = -1, y, gates = -1, cells = -1;
  int sizes = -1, n = 2;
  BackwardInputs(RnnCell kind, const RnnBackwardAttrs& a) {
    if (kind == RnnCell::lstm) dcn = n++;
    h0 = n++;
    if (kind == RnnCell::lstm) c0 = n++;
    w_hh = n++;
    if (a.projected) w_hr = n++;
    y = n++;
    if (kind != RnnCell::tanh) gates = n++;
    if (kind == RnnCell::lstm) cells = n++;
    if (a.packed) sizes = n++;
  }
};
struct BackwardOutputs {
  int dgx = 0, dnew = -1, dh0 = -1, dc0 = -1, dw_hh = -1, dw_hr = -1, n = 1;
  BackwardOutputs(RnnCell kind, const RnnBackwardAttrs& a) {
    if (kind == RnnCell::gru) dnew = n++;
    if (a.states) dh0 = n++;
    if (a.states && kind == RnnCell::lstm) dc0 = n++;
    if (a.weights) dw_hh = n++;
    if (a.weights && a.projected) dw_hr = n++;
  }
};

// -- types ------------------------------------------------------------------------------------

Dims with_last(IntArrayRef sizes, int64_t last) {
  Dims r(sizes);
  r.back() = last;
  return r;
}

void check_type(const InferArgs& a, const char* what, int i, IntArrayRef sizes) {
  if (i < 0) return;
  TANDEM_CHECK_SHAPE(IntArrayRef(a.in(i).sizes) == sizes, a.op.name, ": expected ", what,
                     " of shape ", sizes, ", got ", a.in(i).sizes);
  TANDEM_CHECK_TYPE(a.in(i).dtype == a.in().dtype, a.op.name, ": expected ", what, " to be ",
                    a.in().dtype, " as the input, got ", a.in(i).dtype);
}

// Checks what all of these ops share; the extent of a state.
void check_rows(const InferArgs& a, bool packed, int sizes) {
  const TensorType& x = a.in();
  TANDEM_CHECK_TYPE(x.dtype == kFloat || x.dtype == kDouble, a.op.name,
                    ": only float32 and float64 are computed, got ", x.dtype);
  TANDEM_CHECK_SHAPE(x.dim() == (packed ? 2 : 3), a.op.name, ": expected an input of ",
                     packed ? 2 : 3, " dimensions, got ", x.sizes);
  TANDEM_CHECK_SHAPE(packed || x.sizes[0] > 0, a.op.name,
                     ": Expected sequence length to be larger than 0 in RNN");
  if (!packed) return;
  TANDEM_CHECK_SHAPE(a.in(sizes).dim() == 1 && a.in(sizes).sizes[0] > 0, a.op.name,
                     ": expected batch_sizes to be one-dimensional and not empty, got ",
                     a.in(sizes).sizes);
  TANDEM_CHECK_TYPE(a.in(sizes).dtype == kLong, a.op.name,
                    ": expected batch_sizes to be int64, got ", a.in(sizes).dtype);
}

template <RnnCell kKind>
void infer(const InferArgs& a) {
  const auto& attrs = a.attrs<RnnAttrs>();
  const Inputs at(kKind, attrs);
  check_rows(a, attrs.packed, at.sizes);
  const TensorType &gx = a.in(at.gx), &h0 = a.in(at.h0);
  TANDEM_CHECK_SHAPE(h0.dim() == 2, a.op.name, ": expected an initial state [batch, size], got ",
                     h0.sizes);
  const int64_t batch = h0.sizes[0], out = h0.sizes[1];
  int64_t hidden = out;
  if (kKind == RnnCell::lstm) {
    TANDEM_CHECK_SHAPE(a.in(at.c0).dim() == 2, a.op.name,
                       ": expected an initial cell [batch, size], got ", a.in(at.c0).sizes);
    hidden = a.in(at.c0).sizes[1];
  }
  TANDEM_CHECK_SHAPE(attrs.projected || out == hidden, a.op.name, ": the state has ", out,
                     " units and the cell ", hidden, ", but there is no projection");
  const int64_t gates = gates_of(kKind) * hidden;
  TANDEM_CHECK_SHAPE(gx.sizes.back() == gates && (attrs.packed || gx.sizes[1] == batch), a.op.name,
                     ": expected an input of ", gates, " features for a batch of ", batch, ", got ",
                     gx.sizes);
  check_type(a, "the initial state", at.h0, {batch, out});
  check_type(a, "the initial cell", at.c0, {batch, hidden});
  check_type(a, "the recurrent weight", at.w_hh, {gates, out});
  check_type(a, "the recurrent bias", at.b_hh, {gates});
  check_type(a, "the weight of the projection", at.w_hr, {out, hidden});
  const auto give = [&](int k, const Dims& sizes) {
    a.out(k).sizes = sizes;
    a.out(k).dtype = gx.dtype;
  };
  give(0, with_last(gx.sizes, out));
  give(1, {batch, out});
  if (kKind == RnnCell::lstm) {
    give(2, {batch, hidden});
    give(3, with_last(gx.sizes, 4 * hidden));
    give(4, with_last(gx.sizes, hidden));
  } else if (kKind == RnnCell::gru) {
    give(2, with_last(gx.sizes, 4 * hidden));
  }
}

template <RnnCell kKind>
void infer_backward(const InferArgs& a) {
  const auto& attrs = a.attrs<RnnBackwardAttrs>();
  const BackwardInputs at(kKind, attrs);
  const BackwardOutputs to(kKind, attrs);
  check_rows(a, attrs.packed, at.sizes);
  const TensorType &dy = a.in(at.dy), &h0 = a.in(at.h0), &w = a.in(at.w_hh);
  TANDEM_CHECK_SHAPE(h0.dim() == 2 && w.dim() == 2, a.op.name, ": got a state of shape ", h0.sizes,
                     " and a weight of shape ", w.sizes);
  const int64_t batch = h0.sizes[0], out = h0.sizes[1], hidden = w.sizes[0] / gates_of(kKind);
  check_type(a, "the gradient", at.dy, a.in(at.y).sizes);
  check_type(a, "the result", at.y, with_last(dy.sizes, out));
  check_type(a, "the gradient by the last state", at.dhn, {batch, out});
  check_type(a, "the gradient by the last cell", at.dcn, {batch, hidden});
  check_type(a, "the initial state", at.h0, {batch, out});
  check_type(a, "the initial cell", at.c0, {batch, hidden});
  check_type(a, "the recurrent weight", at.w_hh, {gates_of(kKind) * hidden, out});
  check_type(a, "the weight of the projection", at.w_hr, {out, hidden});
  check_type(a, "the gates", at.gates, with_last(dy.sizes, 4 * hidden));
  check_type(a, "the cells", at.cells, with_last(dy.sizes, hidden));
  TANDEM_CHECK_SHAPE((attrs.projected || out == hidden) && (attrs.packed || dy.sizes[1] == batch),
                     a.op.name, ": a gradient of shape ", dy.sizes, " for a state of shape ",
                     h0.sizes);
  const auto give = [&](int k, const Dims& sizes) {
    if (k < 0) return;
    a.out(k).sizes = sizes;
    a.out(k).dtype = dy.dtype;
  };
  give(to.dgx, with_last(dy.sizes, gates_of(kKind) * hidden));
  give(to.dnew, with_last(dy.sizes, hidden));
  give(to.dh0, {batch, out});
  give(to.dc0, {batch, hidden});
  give(to.dw_hh, w.sizes);
  give(to.dw_hr, {out, hidden});
}

template <RnnCell kKind>
int count_backward(AttrRef attrs) {
  return BackwardOutputs(kKind, attrs.as<RnnBackwardAttrs>()).n;
}

// -- kernels ----------------------------------------------------------------------------------

// An input in row-major order, copied if it is not.
class Dense {
 public:
  const void* get(const Array& x) {
    if (x.contiguous) return x.data;
    auto& room = copies_.emplace_back(new char[static_cast<size_t>(x.numel) * size_of(x.dtype)]);
    const Dims strides = contiguous_strides(x.shape());
    Array to = x;
    to.data = room.get();
    to.strides = strides.data();
    to.contiguous = true;
    kernels::copy(x, to);
    return room.get();
  }
  const void* get(const KernelArgs& a, int i) { return i < 0 ? nullptr : get(a.in(i)); }

 private:
  std::vector<std::unique_ptr<char[]>> copies_;
};

// How many sequences each step has, checked against the rows there are.
const int64_t* counts_of(const KernelArgs& a, int i, int64_t batch, Dense& dense) {
  if (i < 0) return nullptr;
  const auto* counts = static_cast<const int64_t*>(dense.get(a, i));
  int64_t rows = 0, before = batch;
  for (int64_t t = 0; t < a.in(i).numel; ++t) {
    TANDEM_CHECK(counts[t] > 0 && counts[t] <= before && (t > 0 || counts[t] == batch), a.op.name,
                 ": batch_sizes must start with the batch of the initial state, ", batch,
                 ", and never grow or reach 0, but batch_sizes[", t, "] is ", counts[t]);
    before = counts[t];
    rows += counts[t];
  }
  TANDEM_CHECK(rows == a.in(0).sizes[0], a.op.name, ": batch_sizes are of ", rows,
               " rows in all, but the packed values have ", a.in(0).sizes[0]);
  return counts;
}

kernels::RnnShape shape_of(const KernelArgs& a, RnnCell kind, bool reverse, bool relu, int h0,
                           int sizes, int64_t hidden, Dense& dense) {
  kernels::RnnShape s;
  s.cell = cell_of(kind, relu);
  s.dtype = a.in(0).dtype;
  s.reverse = reverse;
  s.batch = a.in(h0).sizes[0];
  s.out = a.in(h0).sizes[1];
  s.hidden = hidden;
  s.steps = sizes < 0 ? a.in(0).sizes[0] : a.in(sizes).sizes[0];
  s.counts = counts_of(a, sizes, s.batch, dense);
  return s;
}

template <RnnCell kKind>
void kernel(const KernelArgs& a) {
  const auto& attrs = a.attrs<RnnAttrs>();
  const Inputs at(kKind, attrs);
  Dense dense;
  kernels::RnnForward f;
  static_cast<kernels::RnnShape&>(f) =
      shape_of(a, kKind, attrs.reverse, attrs.relu, at.h0, at.sizes,
               a.in(at.w_hh).sizes[0] / gates_of(kKind), dense);
  f.gx = dense.get(a, at.gx);
  f.h0 = dense.get(a, at.h0);
  f.c0 = dense.get(a, at.c0);
  f.w_hh = dense.get(a, at.w_hh);
  f.b_hh = dense.get(a, at.b_hh);
  f.w_hr = dense.get(a, at.w_hr);
  f.y = a.out(0).data;
  f.hn = a.out(1).data;
  if (kKind == RnnCell::lstm) {
    f.cn = a.out(2).data;
    f.gates = a.out(3).data;
    f.cells = a.out(4).data;
  } else if (kKind == RnnCell::gru) {
    f.gates = a.out(2).data;
  }
  kernels::rnn_forward(f);
}

template <RnnCell kKind>
void backward_kernel(const KernelArgs& a) {
  const auto& attrs = a.attrs<RnnBackwardAttrs>();
  const BackwardInputs at(kKind, attrs);
  const BackwardOutputs to(kKind, attrs);
  Dense dense;
  kernels::RnnBackward b;
  static_cast<kernels::RnnShape&>(b) =
      shape_of(a, kKind, attrs.reverse, attrs.relu, at.h0, at.sizes,
               a.in(at.w_hh).sizes[0] / gates_of(kKind), dense);
  b.dy = dense.get(a, at.dy);
  b.dhn = dense.get(a, at.dhn);
  b.dcn = dense.get(a, at.dcn);
  b.h0 = dense.get(a, at.h0);
  b.c0 = dense.get(a, at.c0);
  b.w_hh = dense.get(a, at.w_hh);
  b.w_hr = dense.get(a, at.w_hr);
  b.y = dense.get(a, at.y);
  b.gates = dense.get(a, at.gates);
  b.cells = dense.get(a, at.cells);
  const auto out = [&](int k) { return k < 0 ? nullptr : a.out(k).data; };
  b.dgx = out(to.dgx);
  b.dnew = out(to.dnew);
  b.dh0 = out(to.dh0);
  b.dc0 = out(to.dc0);
  b.dw_hh = out(to.dw_hh);
  b.dw_hr = out(to.dw_hr);
  kernels::rnn_backward(b);
}

// -- gradients --------------------------------------------------------------------------------

template <RnnCell kKind>
const OpDef& backward_op() {
  return kKind == RnnCell::lstm  ? kLstmSequenceBackward
         : kKind == RnnCell::gru ? kGruSequenceBackward
                                 : kRnnSequenceBackward;
}

template <RnnCell kKind>
RnnGrads run_backward(const RnnGradInputs& in, const RnnBackwardAttrs& attrs) {
  SmallVector<TensorArg, 12> args;
  for (const Tensor* t : {&in.dy, &in.dhn, &in.dcn, &in.h0, &in.c0, &in.w_hh, &in.w_hr, &in.y,
                          &in.gates, &in.cells, &in.sizes})
    if (t->defined()) args.push_back(*t);
  const BackwardOutputs to(kKind, attrs);
  std::array<Tensor, 6> out;
  apply(backward_op<kKind>(), {args.data(), args.size()}, attrs, out.data());
  const auto get = [&](int k) { return k < 0 ? Tensor() : out[static_cast<size_t>(k)]; };
  return {get(to.dgx), get(to.dnew), get(to.dh0), get(to.dc0), get(to.dw_hh), get(to.dw_hr)};
}

template <RnnCell kKind>
Grads vjp(const VjpArgs& a) {
  const auto& attrs = a.attrs<RnnAttrs>();
  const Inputs at(kKind, attrs);
  const bool lstm = kKind == RnnCell::lstm, gru = kKind == RnnCell::gru;
  const int gates = lstm ? 3 : gru ? 2 : -1, cells = lstm ? 4 : -1;
  const auto input = [&](int i) { return i < 0 ? Tensor() : a.input(i); };
  const auto output = [&](int k) { return k < 0 ? Tensor() : a.output(k); };
  const auto kept = [&](int k) { return k >= 0 && a.has_grad(k) ? a.grad(k) : Tensor(); };
  const auto needs = [&](int i) { return i >= 0 && a.needs(i); };
  const RnnGradInputs in{.dy = a.grad_or_zeros(0),
                         .dhn = a.grad_or_zeros(1),
                         .dcn = lstm ? a.grad_or_zeros(2) : Tensor(),
                         .h0 = a.input(at.h0),
                         .c0 = input(at.c0),
                         .w_hh = a.input(at.w_hh),
                         .w_hr = input(at.w_hr),
                         .y = a.output(0),
                         .gates = output(gates),
                         .cells = output(cells),
                         .sizes = input(at.sizes),
                         .dgates = kept(gates),
                         .dcells = kept(cells)};
  const bool again = GradMode::is_enabled() || in.dgates.defined() || in.dcells.defined();
  const RnnGrads r = again ? rnn_composite_backward(cell_of(kKind, attrs.relu), in, attrs.reverse)
                           : run_backward<kKind>(in, {.reverse = attrs.reverse,
                                                      .packed = attrs.packed,
                                                      .projected = attrs.projected,
                                                      .relu = attrs.relu,
                                                      .states = needs(at.h0) || needs(at.c0),
                                                      .weights = needs(at.w_hh) || needs(at.w_hr)});
  Grads g(static_cast<size_t>(at.n));
  const auto give = [&](int i, const Tensor& t) {
    if (needs(i)) g[static_cast<size_t>(i)] = t;
  };
  give(at.gx, r.dgx);
  give(at.h0, r.dh0);
  give(at.c0, r.dc0);
  give(at.w_hh, r.dw_hh);
  give(at.w_hr, r.dw_hr);
  if (needs(at.b_hh)) {
    const auto total = [](const Tensor& x) { return x.flatten(0, -2).sum(0); };
    const int64_t hidden = r.dnew.size(-1);
    give(at.b_hh, cat({total(r.dgx).narrow(0, 0, 2 * hidden), total(r.dnew)}));
  }
  return g;
}

template <RnnCell kKind>
RnnGradInputs named(const BackwardInputs& at, const std::function<Tensor(int)>& get) {
  const auto in = [&](int i) { return i < 0 ? Tensor() : get(i); };
  return {.dy = get(at.dy),
          .dhn = get(at.dhn),
          .dcn = in(at.dcn),
          .h0 = get(at.h0),
          .c0 = in(at.c0),
          .w_hh = get(at.w_hh),
          .w_hr = in(at.w_hr),
          .y = get(at.y),
          .gates = in(at.gates),
          .cells = in(at.cells),
          .sizes = in(at.sizes),
          .dgates = {},
          .dcells = {}};
}

template <RnnCell kKind>
std::array<Tensor, 6> composite_outputs(const RnnGradInputs& in, const RnnBackwardAttrs& attrs) {
  const BackwardOutputs to(kKind, attrs);
  const RnnGrads r = rnn_composite_backward(cell_of(kKind, attrs.relu), in, attrs.reverse);
  std::array<Tensor, 6> out;
  const auto put = [&](int k, const Tensor& t) {
    if (k >= 0) out[static_cast<size_t>(k)] = t;
  };
  put(to.dgx, r.dgx);
  put(to.dnew, r.dnew);
  put(to.dh0, r.dh0);
  put(to.dc0, r.dc0);
  put(to.dw_hh, r.dw_hh);
  put(to.dw_hr, r.dw_hr);
  return out;
}

// The gradient of a gradient that was recorded as an op: that of the composite, which is run again.
template <RnnCell kKind>
Grads backward_vjp(const VjpArgs& a) {
  const auto& attrs = a.attrs<RnnBackwardAttrs>();
  const BackwardInputs at(kKind, attrs);
  const bool create_graph = GradMode::is_enabled();
  std::vector<Tensor> inputs, wanted;
  Tensor total;
  {
    const AutoGradMode with_grad(true);
    for (int i = 0; i < at.n; ++i) {
      Tensor t = a.input(i);
      if (a.needs(i)) {
        t = create_graph ? t.alias() : t.detach().requires_grad_();
        wanted.push_back(t);
      }
      inputs.push_back(t);
    }
    const auto out = composite_outputs<kKind>(
        named<kKind>(at, [&](int i) { return inputs[static_cast<size_t>(i)]; }), attrs);
    for (int k = 0; k < count_backward<kKind>(a.attr_ref()); ++k) {
      if (!a.has_grad(k)) continue;
      const Tensor part = (out[static_cast<size_t>(k)] * a.grad(k)).sum();
      total = total.defined() ? total + part : part;
    }
  }
  Grads g(static_cast<size_t>(at.n));
  if (!total.defined() || !total.requires_grad() || wanted.empty()) return g;
  std::vector<Tensor> found = gradients_of(total, wanted, create_graph);
  size_t next = 0;
  for (int i = 0; i < at.n; ++i)
    if (a.needs(i)) g[static_cast<size_t>(i)] = std::move(found[next++]);
  return g;
}

// -- vmap -------------------------------------------------------------------------------------

// The samples become more sequences: they go before the features and are joined with the batch,
// which keeps the order of steps for packed values too.
Tensor fold(const BatchArgs& a, int i) {
  const Tensor x = a.sample(i);
  return x.movedim(0, -2).flatten(-3, -2);
}
Tensor unfold(const BatchArgs& a, const Tensor& x) {
  return x.unflatten(-2, {x.size(-2) / a.size, a.size}).movedim(-2, 0);
}

// Runs the op with samples folded into the batch; inputs in `fixed` are the same for all.
void batch_folded(const BatchArgs& a, std::initializer_list<int> fixed, int sizes, int n_outputs) {
  SmallVector<Tensor, 12> inputs;
  for (int i = 0; i < a.n_inputs; ++i) {
    const bool same = std::find(fixed.begin(), fixed.end(), i) != fixed.end();
    inputs.push_back(i == sizes ? a.in(i)*a.size : same ? a.in(i) : fold(a, i));
  }
  apply_to(a.op, {inputs.data(), inputs.size()}, a.attr_ref, a.outputs);
  for (int k = 0; k < n_outputs; ++k) a.outputs[k] = unfold(a, a.outputs[k]);
}

bool is_batched(const BatchArgs& a, int i) { return i >= 0 && a.batched[i]; }

template <RnnCell kKind>
void batch(const BatchArgs& a) {
  const auto& attrs = a.attrs<RnnAttrs>();
  const Inputs at(kKind, attrs);
  const bool lstm = kKind == RnnCell::lstm;
  if (is_batched(a, at.sizes) || a.size == 0) return batch_loop(a);
  if (!is_batched(a, at.w_hh) && !is_batched(a, at.b_hh) && !is_batched(a, at.w_hr))
    return batch_folded(a, {at.w_hh, at.b_hh, at.w_hr}, at.sizes, a.op.outputs);
  const auto in = [&](int i) { return i < 0 ? Tensor() : a.sample(i); };
  const RnnResults r = rnn_composite(cell_of(kKind, attrs.relu),
                                     {.gx = in(at.gx),
                                      .h0 = in(at.h0),
                                      .c0 = in(at.c0),
                                      .w_hh = in(at.w_hh),
                                      .b_hh = in(at.b_hh),
                                      .w_hr = in(at.w_hr),
                                      .sizes = at.sizes < 0 ? Tensor() : a.in(at.sizes)},
                                     attrs.reverse);
  int k = 0;
  a.outputs[k++] = r.y;
  a.outputs[k++] = r.hn;
  if (lstm) a.outputs[k++] = r.cn;
  if (kKind != RnnCell::tanh) a.outputs[k++] = r.gates;
  if (lstm) a.outputs[k++] = r.cells;
}

template <RnnCell kKind>
void backward_batch(const BatchArgs& a) {
  const auto& attrs = a.attrs<RnnBackwardAttrs>();
  const BackwardInputs at(kKind, attrs);
  const int n = count_backward<kKind>(a.attr_ref);
  if (is_batched(a, at.sizes) || a.size == 0) return batch_loop(a);
  // Gradients by weights are sums over a sample's own sequences.
  if (!attrs.weights && !is_batched(a, at.w_hh) && !is_batched(a, at.w_hr))
    return batch_folded(a, {at.w_hh, at.w_hr}, at.sizes, n);
  const auto out = composite_outputs<kKind>(
      named<kKind>(at, [&](int i) { return i == at.sizes ? a.in(i) : a.sample(i); }), attrs);
  std::copy_n(out.begin(), n, a.outputs);
}

}  // namespace

TANDEM_OP(kLstmSequence) = {
    .name = "lstm_sequence",
    .infer = infer<RnnCell::lstm>,
    .kernel = kernel<RnnCell::lstm>,
    .saves = Saves::all(Saves::from(1) | Saves::out(0) | Saves::out(3) | Saves::out(4)),
    .vjp = vjp<RnnCell::lstm>,
    .outputs = 5,
    .checks_values = true,
    .attrs = attrs_of<RnnAttrs>,
    .batch = batch<RnnCell::lstm>,
};
TANDEM_OP(kGruSequence) = {
    .name = "gru_sequence",
    .infer = infer<RnnCell::gru>,
    .kernel = kernel<RnnCell::gru>,
    .saves = Saves::all(Saves::from(1) | Saves::out(0) | Saves::out(2)),
    .vjp = vjp<RnnCell::gru>,
    .outputs = 3,
    .checks_values = true,
    .attrs = attrs_of<RnnAttrs>,
    .batch = batch<RnnCell::gru>,
};
TANDEM_OP(kRnnSequence) = {
    .name = "rnn_sequence",
    .infer = infer<RnnCell::tanh>,
    .kernel = kernel<RnnCell::tanh>,
    .saves = Saves::all(Saves::from(1) | Saves::out(0)),
    .vjp = vjp<RnnCell::tanh>,
    .outputs = 2,
    .checks_values = true,
    .attrs = attrs_of<RnnAttrs>,
    .batch = batch<RnnCell::tanh>,
};

// Whoever ran forward has had its sizes checked there, so that these refuse no values.
TANDEM_OP(kLstmSequenceBackward) = {
    .name = "lstm_sequence_backward",
    .infer = infer_backward<RnnCell::lstm>,
    .kernel = backward_kernel<RnnCell::lstm>,
    .saves = Saves::all(Saves::from(0)),
    .vjp = backward_vjp<RnnCell::lstm>,
    .outputs = 0,
    .count = count_backward<RnnCell::lstm>,
    .attrs = attrs_of<RnnBackwardAttrs>,
    .batch = backward_batch<RnnCell::lstm>,
};
TANDEM_OP(kGruSequenceBackward) = {
    .name = "gru_sequence_backward",
    .infer = infer_backward<RnnCell::gru>,
    .kernel = backward_kernel<RnnCell::gru>,
    .saves = Saves::all(Saves::from(0)),
    .vjp = backward_vjp<RnnCell::gru>,
    .outputs = 0,
    .count = count_backward<RnnCell::gru>,
    .attrs = attrs_of<RnnBackwardAttrs>,
    .batch = backward_batch<RnnCell::gru>,
};
TANDEM_OP(kRnnSequenceBackward) = {
    .name = "rnn_sequence_backward",
    .infer = infer_backward<RnnCell::tanh>,
    .kernel = backward_kernel<RnnCell::tanh>,
    .saves = Saves::all(Saves::from(0)),
    .vjp = backward_vjp<RnnCell::tanh>,
    .outputs = 0,
    .count = count_backward<RnnCell::tanh>,
    .attrs = attrs_of<RnnBackwardAttrs>,
    .batch = backward_batch<RnnCell::tanh>,
};

RnnResults rnn_sequence(RnnCell cell, const RnnTensors& in, bool reverse) {
  const RnnAttrs attrs{.reverse = reverse,
                       .packed = in.sizes.defined(),
                       .projected = in.w_hr.defined(),
                       .biased = in.b_hh.defined(),
                       .relu = cell == RnnCell::relu};
  SmallVector<TensorArg, 8> args;
  for (const Tensor* t : {&in.gx, &in.h0, &in.c0, &in.w_hh, &in.b_hh, &in.w_hr, &in.sizes})
    if (t->defined()) args.push_back(*t);
  const TensorArgs inputs(args.data(), args.size());
  if (cell == RnnCell::lstm) {
    auto [y, hn, cn, gates, cells] = apply_n<5>(kLstmSequence, inputs, attrs);
    return {y, hn, cn, gates, cells};
  }
  if (cell == RnnCell::gru) {
    auto [y, hn, gates] = apply_n<3>(kGruSequence, inputs, attrs);
    return {y, hn, {}, gates, {}};
  }
  auto [y, hn] = apply_n<2>(kRnnSequence, inputs, attrs);
  return {y, hn, {}, {}, {}};
}

}  // namespace tandem
