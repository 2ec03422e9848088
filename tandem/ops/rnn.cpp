#include "tandem/ops/rnn.h"

#include "tandem/core/recorder.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/rnn_op.h"

namespace tandem {
namespace {

using kernels::RnnCell;

const char* name_of(RnnCell cell) {
  switch (cell) {
    case RnnCell::lstm:
      return "lstm";
    case RnnCell::gru:
      return "gru";
    case RnnCell::tanh:
      return "rnn_tanh";
    case RnnCell::relu:
      return "rnn_relu";
  }
  return "rnn";
}
int64_t gates_of(RnnCell cell) { return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1; }

// The weights of one layer in one direction.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// How a network is put together, whatever its cells are.
struct Network {
  RnnCell cell;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;

  const char* name() const { return name_of(cell); }
  int64_t directions() const { return bidirectional ? 2 : 1; }
};

struct Output {
  Tensor y, hn, cn;
};

// 16-bit floats are computed in float32.
bool is_short(const Tensor& t) { return t.dtype() == kHalf || t.dtype() == kBFloat16; }
Tensor widened(const Tensor& t) { return t.defined() && is_short(t) ? t.to(kFloat) : t; }

// One layer in one direction: x is [steps, batch, features], or packed if there are sizes.
Output run_layer(RnnCell cell, const Tensor& x, const Tensor& sizes, const Tensor& h0,
                 const Tensor& c0, const Weights& w, bool reverse) {
  // What the input gives to the gates, for all steps at once. Where the biases only meet in a sum,
  // that takes both of them.
  const OwnerScope owner(x);
  const bool gru = cell == RnnCell::gru;
  Tensor bias = w.b_ih;
  if (!gru && bias.defined()) bias = bias + w.b_hh;
  const Tensor gx = linear(x, w.w_ih, bias);
  RnnResults r =
      rnn_sequence(cell, {gx, h0, c0, w.w_hh, gru ? w.b_hh : Tensor(), w.w_hr, sizes}, reverse);
  return {r.y, r.hn, r.cn};
}

void check_weight(const char* name, const char* what, const Tensor& w, IntArrayRef sizes,
                  DType dtype) {
  TANDEM_CHECK_SHAPE(w.defined() && w.sizes() == sizes, name, ": expected ", what, " of shape ",
                     sizes, ", got ", w.defined() ? str(w.sizes()) : "an undefined tensor");
  TANDEM_CHECK_TYPE(w.dtype() == dtype, name, ": expected ", what, " to be ", dtype,
                    " as the input, got ", w.dtype());
}

void check_weights(const char* name, RnnCell cell, const Weights& w, int64_t in, int64_t hidden,
                   int64_t out, DType dtype) {
  const int64_t gates = gates_of(cell) * hidden;
  check_weight(name, "weight_ih", w.w_ih, {gates, in}, dtype);
  check_weight(name, "weight_hh", w.w_hh, {gates, out}, dtype);
  if (w.b_ih.defined()) check_weight(name, "bias_ih", w.b_ih, {gates}, dtype);
  if (w.b_hh.defined()) check_weight(name, "bias_hh", w.b_hh, {gates}, dtype);
  if (w.w_hr.defined()) check_weight(name, "weight_hr", w.w_hr, {out, hidden}, dtype);
}

std::vector<Weights> weights_of(const Network& n, TensorList params, bool projected) {
  const size_t each = 2 + (n.has_biases ? 2 : 0) + (projected ? 1 : 0);
  const auto wanted = static_cast<size_t>(n.layers * n.directions());
  TANDEM_CHECK(params.size() == each * wanted, n.name(), ": expected ", each * wanted,
               " weights and biases, ", each, " for each of ", wanted,
               " layers and directions, got ", params.size());
  std::vector<Weights> all;
  for (size_t i = 0; i < params.size(); i += each) {
    Weights w{widened(params[i]), widened(params[i + 1]), {}, {}, {}};
    if (n.has_biases) {
      w.b_ih = widened(params[i + 2]);
      w.b_hh = widened(params[i + 3]);
    }
    if (projected) w.w_hr = widened(params[i + each - 1]);
    all.push_back(std::move(w));
  }
  return all;
}

// All layers. x: [steps, batch, features], or packed rows.
Output run_network(const Network& n, Tensor x, const Tensor& batch_sizes, const Tensor& hx,
                   const Tensor& cx, TensorList params) {
  const char* name = n.name();
  const bool lstm = n.cell == RnnCell::lstm, packed = batch_sizes.defined();
  TANDEM_CHECK_TYPE(x.is_floating_point(), name, ": not implemented for '", x.dtype(), "'");
  TANDEM_CHECK_SHAPE(x.dim() == (packed ? 2 : 3), name, ": expected ",
                     packed ? "packed data of 2" : "an input of 3", " dimensions, got ", x.sizes());
  TANDEM_CHECK_SHAPE(packed || x.size(0) > 0, name,
                     ": Expected sequence length to be larger than 0 in RNN");
  TANDEM_CHECK(n.layers > 0, name, ": expected at least one layer, got num_layers=", n.layers);
  TANDEM_CHECK(n.dropout >= 0 && n.dropout <= 1, name,
               ": dropout must be a probability in [0, 1], got ", n.dropout);
  const int64_t count = n.layers * n.directions();
  TANDEM_CHECK_SHAPE(hx.dim() == 3 && hx.size(0) == count && (packed || hx.size(1) == x.size(1)),
                     name, ": Expected hidden size [", count, ", ",
                     packed ? std::string("batch") : str(x.size(1)), ", hidden_size], got ",
                     hx.sizes());
  int64_t hidden = hx.size(2);
  if (lstm) {
    TANDEM_CHECK_SHAPE(cx.dim() == 3 && cx.size(0) == count && cx.size(1) == hx.size(1), name,
                       ": Expected cell size [", count, ", ", hx.size(1), ", hidden_size], got ",
                       cx.sizes());
    hidden = cx.size(2);
  }
  const DType dtype = x.dtype(), computed = is_short(x) ? kFloat : dtype;
  TANDEM_CHECK_TYPE(hx.dtype() == dtype && (!lstm || cx.dtype() == dtype), name,
                    ": Input and hidden tensors are not the same dtype, found input tensor with ",
                    dtype, " and hidden tensor with ", hx.dtype());
  const auto weights = weights_of(n, params, lstm && hx.size(2) != hidden);
  const Tensor h = widened(hx), c = lstm ? widened(cx) : Tensor();
  x = widened(x);
  const Tensor sizes = packed ? batch_sizes.to(x.device()) : Tensor();

  std::vector<Tensor> hs, cs;
  for (int64_t layer = 0; layer < n.layers; ++layer) {
    std::vector<Tensor> ys;
    for (int64_t d = 0; d < n.directions(); ++d) {
      const int64_t i = layer * n.directions() + d;
      const Weights& w = weights[static_cast<size_t>(i)];
      check_weights(name, n.cell, w, x.size(-1), hidden, h.size(2), computed);
      const Output r =
          run_layer(n.cell, x, sizes, h.select(0, i), lstm ? c.select(0, i) : Tensor(), w, d == 1);
      ys.push_back(r.y);
      hs.push_back(r.hn);
      if (lstm) cs.push_back(r.cn);
    }
    x = ys.size() == 1 ? ys[0] : cat(ys, -1);
    if (n.dropout > 0 && layer + 1 < n.layers) x = dropout(x, n.dropout, n.train);
  }
  const auto narrowed = [&](const Tensor& t) { return t.dtype() == dtype ? t : t.to(dtype); };
  return {narrowed(x), narrowed(stack(hs)), lstm ? narrowed(stack(cs)) : Tensor()};
}

Output run_padded(const Network& n, const Tensor& input, const Tensor& hx, const Tensor& cx,
                  TensorList params, bool batch_first) {
  TANDEM_CHECK_SHAPE(input.dim() == 3, n.name(), ": expected an input of 3 dimensions, got ",
                     input.sizes());
  const Tensor x = batch_first ? input.transpose(0, 1).contiguous() : input;
  Output r = run_network(n, x, {}, hx, cx, params);
  if (batch_first) r.y = r.y.transpose(0, 1);
  return r;
}

void check_states(TensorList hx, const char* name) {
  TANDEM_CHECK(hx.size() == 2, name, ": expects two hidden states, got ", hx.size());
}

Tensor value_of(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

// One step, with or without a batch.
Output run_cell(RnnCell cell, const Tensor& input, const Tensor& hx, const Tensor& cx,
                const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                const std::optional<Tensor>& b_hh) {
  const std::string text = str(name_of(cell), "_cell");
  const char* name = text.c_str();
  const Weights w{w_ih, w_hh, value_of(b_ih), value_of(b_hh), {}};
  TANDEM_CHECK_TYPE(input.is_floating_point(), name, ": not implemented for '", input.dtype(), "'");
  TANDEM_CHECK_SHAPE(input.dim() == 1 || input.dim() == 2, name,
                     ": expected an input [batch, features], got ", input.sizes());
  TANDEM_CHECK_SHAPE(hx.dim() == input.dim() && (hx.dim() == 1 || hx.size(0) == input.size(0)),
                     name,
                     ": Input batch size doesn't match hidden batch size: the input has shape ",
                     input.sizes(), " and the hidden state ", hx.sizes());
  TANDEM_CHECK_SHAPE(!cx.defined() || cx.sizes() == hx.sizes(), name, ": expected a cell of shape ",
                     hx.sizes(), ", got ", cx.defined() ? str(cx.sizes()) : "");
  TANDEM_CHECK_TYPE(hx.dtype() == input.dtype() && (!cx.defined() || cx.dtype() == input.dtype()),
                    name, ": expected the states to be ", input.dtype(), " as the input, got ",
                    hx.dtype());
  TANDEM_CHECK(w.b_ih.defined() == w.b_hh.defined(), name,
               ": expected both biases or none of them");
  const int64_t hidden = hx.size(-1);
  check_weights(name, cell, w, input.size(-1), hidden, hidden, input.dtype());
  const auto step = [](const Tensor& t) {
    return t.defined() && t.dim() == 1 ? widened(t).unsqueeze(0) : widened(t);
  };
  const Weights wide{widened(w.w_ih), widened(w.w_hh), widened(w.b_ih), widened(w.b_hh), {}};
  const Output r = run_layer(cell, step(input).unsqueeze(0), {}, step(hx), step(cx), wide, false);
  const auto back = [&](const Tensor& t) {
    if (!t.defined()) return t;
    const Tensor one = input.dim() == 1 ? t.squeeze(0) : t;
    return one.dtype() == input.dtype() ? one : one.to(input.dtype());
  };
  return {{}, back(r.hn), back(r.cn)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout,
                                        bool train, bool bidirectional, bool batch_first) {
  check_states(hx, "lstm");
  Output r = run_padded({RnnCell::lstm, has_biases, num_layers, dropout, train, bidirectional},
                        input, hx[0], hx[1], params, batch_first);
  return {r.y, r.hn, r.cn};
}
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes,
                                        TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train,
                                        bool bidirectional) {
  check_states(hx, "lstm");
  TANDEM_CHECK(batch_sizes.defined(), "lstm: batch_sizes is an undefined tensor");
  Output r = run_network({RnnCell::lstm, has_biases, num_layers, dropout, train, bidirectional},
                         data, batch_sizes, hx[0], hx[1], params);
  return {r.y, r.hn, r.cn};
}

#define TANDEM_RNN(name, cell)                                                                     \
  std::tuple<Tensor, Tensor> name(const Tensor& input, const Tensor& hx, TensorList params,        \
                                  bool has_biases, int64_t num_layers, double dropout, bool train, \
                                  bool bidirectional, bool batch_first) {                          \
    Output r = run_padded({cell, has_biases, num_layers, dropout, train, bidirectional}, input,    \
                          hx, {}, params, batch_first);                                            \
    return {r.y, r.hn};                                                                            \
  }                                                                                                \
  std::tuple<Tensor, Tensor> name(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, \
                                  TensorList params, bool has_biases, int64_t num_layers,          \
                                  double dropout, bool train, bool bidirectional) {                \
    TANDEM_CHECK(batch_sizes.defined(), #name ": batch_sizes is an undefined tensor");             \
    Output r = run_network({cell, has_biases, num_layers, dropout, train, bidirectional}, data,    \
                           batch_sizes, hx, {}, params);                                           \
    return {r.y, r.hn};                                                                            \
  }                                                                                                \
  Tensor name##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih,                    \
                     const Tensor& w_hh, const std::optional<Tensor>& b_ih,                        \
                     const std::optional<Tensor>& b_hh) {                                          \
    return run_cell(cell, input, hx, {}, w_ih, w_hh, b_ih, b_hh).hn;                               \
  }
TANDEM_RNN(gru, RnnCell::gru)
TANDEM_RNN(rnn_tanh, RnnCell::tanh)
TANDEM_RNN(rnn_relu, RnnCell::relu)
#undef TANDEM_RNN

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                                     const std::optional<Tensor>& b_hh) {
  check_states(hx, "lstm_cell");
  TANDEM_CHECK(hx[1].defined(), "lstm_cell: the cell is an undefined tensor");
  Output r = run_cell(RnnCell::lstm, input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh);
  return {r.hn, r.cn};
}

// -- packing ----------------------------------------------------------------------------------

namespace {

std::vector<int64_t> values_of(const char* name, const Tensor& t) {
  TANDEM_CHECK_TYPE(t.dtype() == kLong, name, ": expected int64, got ", t.dtype());
  const Tensor dense = t.contiguous();
  const int64_t* p = dense.const_data_ptr<int64_t>();
  return {p, p + dense.numel()};
}

}  // namespace

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                 bool batch_first) {
  TANDEM_CHECK_SHAPE(input.dim() >= 2,
                     "_pack_padded_sequence: expected an input [steps, batch, ...], got ",
                     input.sizes());
  TANDEM_CHECK_SHAPE(input.numel() > 0, "Cannot pack empty tensors.");
  TANDEM_CHECK_SHAPE(lengths.dim() == 1,
                     "_pack_padded_sequence: expected one-dimensional lengths, "
                     "got ",
                     lengths.sizes());
  const int64_t batch = input.size(batch_first ? 0 : 1), steps = input.size(batch_first ? 1 : 0);
  const auto len = values_of("_pack_padded_sequence: lengths", lengths.cpu());
  TANDEM_CHECK(lengths.size(0) == batch,
               "Expected `len(lengths)` to be equal to batch_size, but got ", lengths.size(0),
               " (batch_size=", batch, ")");
  for (size_t i = 0; i < len.size(); ++i) {
    TANDEM_CHECK(len[i] > 0,
                 "Length of all samples has to be greater than 0, but found an element in "
                 "'lengths' that is <= 0");
    TANDEM_CHECK(i == 0 || len[i] <= len[i - 1],
                 "`lengths` array must be sorted in decreasing order when `enforce_sorted` is "
                 "True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or "
                 "pack_sequence to sidestep this requirement if you do not need ONNX "
                 "exportability.");
  }
  TANDEM_CHECK(len[0] <= steps, "Expected all lengths to be at most the number of steps, ", steps,
               ", but found ", len[0]);
  std::vector<int64_t> sizes, rows;
  for (int64_t t = 0; t < len[0]; ++t) {
    int64_t n = 0;
    for (; n < batch && len[static_cast<size_t>(n)] > t; ++n)
      rows.push_back(batch_first ? n * steps + t : t * batch + n);
    sizes.push_back(n);
  }
  const Tensor index = tensor(rows, TensorOptions().dtype(kLong).device(input.device()));
  return {input.flatten(0, 1).index_select(0, index), tensor(sizes, TensorOptions().dtype(kLong))};
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                                bool batch_first, const Scalar& padding_value,
                                                int64_t total_length) {
  TANDEM_CHECK_SHAPE(data.dim() >= 1 && batch_sizes.dim() == 1 && batch_sizes.numel() > 0,
                     "_pad_packed_sequence: expected packed rows and their batch_sizes, got ",
                     data.sizes(), " and ", batch_sizes.sizes());
  const auto sizes = values_of("_pad_packed_sequence: batch_sizes", batch_sizes.cpu());
  const auto steps = static_cast<int64_t>(sizes.size());
  TANDEM_CHECK(total_length <= 0 || total_length >= steps,
               "Expected total_length to be at least the length of the longest sequence in input, "
               "but got total_length=",
               total_length, " and max sequence length being ", steps);
  const int64_t longest = std::max(steps, total_length), batch = sizes[0];
  int64_t rows = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    TANDEM_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]),
                 "_pad_packed_sequence: batch_sizes must be positive and never grow, but "
                 "batch_sizes[",
                 t, "] is ", sizes[t]);
    rows += sizes[t];
  }
  TANDEM_CHECK_SHAPE(rows == data.size(0), "_pad_packed_sequence: batch_sizes are of ", rows,
                     " rows in all, but the packed data has ", data.size(0));
  TANDEM_CHECK(longest <= (int64_t{1} << 48) / batch,
               "_pad_packed_sequence: total_length=", total_length, " is too large");
  std::vector<int64_t> where_to, lengths(static_cast<size_t>(batch), 0);
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t b = 0; b < sizes[static_cast<size_t>(t)]; ++b) {
      where_to.push_back(batch_first ? b * longest + t : t * batch + b);
      ++lengths[static_cast<size_t>(b)];
    }
  Dims flat(data.sizes());
  flat[0] = longest * batch;
  const Tensor index = tensor(where_to, TensorOptions().dtype(kLong).device(data.device()));
  const Tensor padding = full(flat, padding_value, data.options().requires_grad(false));
  const Tensor padded = padding.index_copy(0, index, data);
  return {
      padded.unflatten(0, batch_first ? IntArrayRef{batch, longest} : IntArrayRef{longest, batch}),
      tensor(lengths, TensorOptions().dtype(kLong))};
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value) {
  TANDEM_CHECK(!sequences.empty(), "pad_sequence: received an empty list of sequences");
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    TANDEM_CHECK_SHAPE(s.dim() > 0 && s.sizes().slice(1) == sequences[0].sizes().slice(1),
                       "pad_sequence: sequences may differ in their first dimension only, got ",
                       s.sizes(), " and ", sequences[0].sizes());
    longest = std::max(longest, s.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    Dims rest(s.sizes());
    rest[0] = longest - s.size(0);
    padded.push_back(
        rest[0] == 0 ? s : cat({s, full(rest, padding_value, s.options().requires_grad(false))}));
  }
  return stack(padded, batch_first ? 0 : 1);
}

}  // namespace tandem
