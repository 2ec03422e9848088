// Rows of recurrent networks, against plain loops over sequences.
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/ops/rnn_op.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

/// A network and the shapes of what it reads. Inputs are x, hx, (cx), then the parameters.
struct Net {
  Cell cell = Cell::kLstm;
  int64_t steps = 3, batch = 2, in = 2, hidden = 2;
  int64_t layers = 1;
  bool bidirectional = false, biases = true, batch_first = false;
  int64_t projection = 0;
  std::vector<int64_t> sizes = {};  // of packed sequences

  bool lstm() const { return cell == Cell::kLstm; }
  int64_t gates() const { return lstm() ? 4 : cell == Cell::kGru ? 3 : 1; }
  int64_t out() const { return projection > 0 ? projection : hidden; }
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t each() const { return 2 + (biases ? 2 : 0) + (projection > 0 ? 1 : 0); }
  size_t first_param() const { return lstm() ? 3 : 2; }

  std::vector<Input> inputs() const {
    int64_t rows = 0;
    for (int64_t n : sizes) rows += n;
    const double w = hidden > 10 ? 0.2 : 1;  // so that large states do not grow
    Sizes x = batch_first ? Sizes{batch, steps, in} : Sizes{steps, batch, in};
    if (!sizes.empty()) x = {rows, in};
    std::vector<Input> r = {real(x, -1, 1), real({layers * directions(), batch, out()}, -1, 1)};
    if (lstm()) r.push_back(real({layers * directions(), batch, hidden}, -1, 1));
    for (int64_t l = 0; l < layers; ++l)
      for (int64_t d = 0; d < directions(); ++d) {
        r.push_back(real({gates() * hidden, l == 0 ? in : out() * directions()}, -w, w));
        r.push_back(real({gates() * hidden, out()}, -w, w));
        if (biases)
          for (int i = 0; i < 2; ++i) r.push_back(real({gates() * hidden}, -w, w));
        if (projection > 0) r.push_back(real({projection, hidden}, -w, w));
      }
    return r;
  }

  List run(const List& a) const {
    const List params(a.begin() + static_cast<ptrdiff_t>(first_param()), a.end());
    const Tensor counts = sizes.empty() ? Tensor() : tensor(sizes);
    if (lstm()) {
      const List states{a[1], a[2]};
      auto [y, h, c] = sizes.empty() ? tandem::lstm(a[0], states, params, biases, layers, 0, true,
                                                    bidirectional, batch_first)
                                     : tandem::lstm(a[0], counts, states, params, biases, layers, 0,
                                                    true, bidirectional);
      return {y, h, c};
    }
    const auto call = [&](auto padded, auto packed) -> List {
      auto [y, h] =
          sizes.empty()
              ? padded(a[0], a[1], params, biases, layers, 0, true, bidirectional, batch_first)
              : packed(a[0], counts, a[1], params, biases, layers, 0, true, bidirectional);
      return {y, h};
    };
    using Padded = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, TensorList, bool,
                                                  int64_t, double, bool, bool, bool);
    using Packed = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const Tensor&,
                                                  TensorList, bool, int64_t, double, bool, bool);
    if (cell == Cell::kGru) return call(Padded(gru), Packed(gru));
    if (cell == Cell::kTanh) return call(Padded(rnn_tanh), Packed(rnn_tanh));
    return call(Padded(rnn_relu), Packed(rnn_relu));
  }

  int64_t count(int64_t t) const { return sizes.empty() ? batch : sizes[static_cast<size_t>(t)]; }

  // One step of one sequence: x, h and c are vectors.
  void step(const Values* w, const std::vector<double>& x, std::vector<double>& h,
            std::vector<double>& c) const {
    const Values &w_ih = w[0], &w_hh = w[1];
    const auto part = [&](const Values& m, const Values* bias, const std::vector<double>& v,
                          int64_t row) {
      double sum = bias ? bias->v[static_cast<size_t>(row)] : 0;
      for (size_t j = 0; j < v.size(); ++j) sum += m.at({row, static_cast<int64_t>(j)}) * v[j];
      return sum;
    };
    const auto from_x = [&](int64_t row) { return part(w_ih, biases ? &w[2] : nullptr, x, row); };
    const auto from_h = [&](int64_t row) { return part(w_hh, biases ? &w[3] : nullptr, h, row); };
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    std::vector<double> next;
    for (int64_t u = 0; u < hidden; ++u) {
      const auto i = static_cast<size_t>(u);
      const auto sum = [&](int64_t g) { return from_x(g * hidden + u) + from_h(g * hidden + u); };
      switch (cell) {
        case Cell::kLstm:
          c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
          next.push_back(sigmoid(sum(3)) * std::tanh(c[i]));
          break;
        case Cell::kGru: {
          const double z = sigmoid(sum(1));
          const double n =
              std::tanh(from_x(2 * hidden + u) + sigmoid(sum(0)) * from_h(2 * hidden + u));
          next.push_back((1 - z) * n + z * h[i]);
          break;
        }
        case Cell::kTanh:
          next.push_back(std::tanh(sum(0)));
          break;
        case Cell::kRelu:
          next.push_back(std::max(0.0, sum(0)));
          break;
      }
    }
    h = next;
    if (projection == 0) return;
    h.assign(static_cast<size_t>(projection), 0);
    for (int64_t r = 0; r < projection; ++r)
      for (int64_t u = 0; u < hidden; ++u)
        h[static_cast<size_t>(r)] += w[each() - 1].at({r, u}) * next[static_cast<size_t>(u)];
  }

  ValuesList reference(const ValuesList& a) const {
    const auto n_steps = sizes.empty() ? steps : static_cast<int64_t>(sizes.size());
    // Where the features of sequence b in step t are.
    const auto place = [&](int64_t t, int64_t b) -> int64_t {
      if (sizes.empty()) return batch_first ? b * steps + t : t * batch + b;
      int64_t row = b;
      for (int64_t s = 0; s < t; ++s) row += sizes[static_cast<size_t>(s)];
      return row;
    };
    Values x = a[0];
    Values hn = zeros_of(a[1].sizes), cn = zeros_of({layers * directions(), batch, hidden});
    for (int64_t l = 0; l < layers; ++l) {
      Sizes shape = x.sizes;
      const int64_t features = shape.back(), width = out() * directions();
      shape.back() = width;
      Values y = zeros_of(shape);
      for (int64_t d = 0; d < directions(); ++d) {
        const int64_t i = l * directions() + d;
        const Values* w = &a[first_param() + static_cast<size_t>(i * each())];
        for (int64_t b = 0; b < batch; ++b) {
          std::vector<double> h, c;
          for (int64_t u = 0; u < out(); ++u) h.push_back(a[1].at({i, b, u}));
          for (int64_t u = 0; lstm() && u < hidden; ++u) c.push_back(a[2].at({i, b, u}));
          for (int64_t k = 0; k < n_steps; ++k) {
            const int64_t t = d == 1 ? n_steps - 1 - k : k;
            if (b >= count(t)) continue;
            const auto from = x.v.begin() + place(t, b) * features;
            step(w, {from, from + features}, h, c);
            for (int64_t u = 0; u < out(); ++u)
              y.v[static_cast<size_t>(place(t, b) * width + d * out() + u)] =
                  h[static_cast<size_t>(u)];
          }
          for (int64_t u = 0; u < out(); ++u) hn.at({i, b, u}) = h[static_cast<size_t>(u)];
          for (int64_t u = 0; lstm() && u < hidden; ++u)
            cn.at({i, b, u}) = c[static_cast<size_t>(u)];
        }
      }
      x = y;
    }
    if (lstm()) return {x, hn, cn};
    return {x, hn};
  }

  Sample sample(const char* label, bool grad = true, bool big = false) const {
    const Net net = *this;
    return {.label = label,
            .inputs = inputs(),
            .fn = [net](const List& a) { return net.run(a); },
            .reference = [net](const ValuesList& a) { return net.reference(a); },
            .grad = grad,
            .big = big};
  }
};

Row network(const char* name, std::vector<std::string> ops, Cell cell) {
  std::vector<Sample> samples = {
      Net{.cell = cell}.sample("plain"),
      Net{.cell = cell, .steps = 1, .biases = false}.sample("one step, no biases"),
      Net{.cell = cell, .steps = 5, .batch = 3, .in = 3, .bidirectional = true}.sample(
          "both directions", false),
      Net{.cell = cell, .layers = 2, .bidirectional = true, .batch_first = true}.sample(
          "two layers, both directions, batch first", false),
      Net{.cell = cell, .batch = 3, .sizes = {3, 2, 2, 1}}.sample("packed"),
      Net{.cell = cell, .batch = 3, .bidirectional = true, .sizes = {3, 1}}.sample(
          "packed, both directions"),
      Net{.cell = cell, .batch = 0}.sample("no sequences", false),
      Net{.cell = cell, .steps = 5, .batch = 61, .in = 40, .hidden = 45}.sample("big", false, true),
      Net{.cell = cell, .batch = 30, .in = 5, .hidden = 37, .sizes = {30, 30, 17, 4, 1}}.sample(
          "big packed", false, true)};
  if (cell == Cell::kLstm) {
    samples.push_back(Net{.hidden = 3, .projection = 2}.sample("projected"));
    samples.push_back(Net{
        .batch = 3,
        .hidden = 3,
        .layers = 2,
        .bidirectional = true,
        .biases = false,
        .projection = 2,
        .sizes = {3, 3, 1, 1,
                  1}}.sample("projected, packed, two layers", false));
  }
  return {.name = name,
          .ops = std::move(ops),
          .samples = std::move(samples),
          .dtypes = kFloats,
          .tolerance64 = 1e-11,
          .tolerance32 = 3e-5,
          .tolerance16 = 2e-2,
          .tolerance_layout = 3e-5};
}

// Cells are networks of one step with other shapes.
Row one_step(const char* name, std::vector<std::string> ops, Cell cell) {
  const auto sample = [&](const char* label, bool biases, bool batched) {
    const Net net{.cell = cell, .steps = 1, .batch = batched ? 2 : 1, .in = 3, .biases = biases};
    std::vector<Input> inputs = net.inputs();
    for (size_t i = 0; i < net.first_param(); ++i) {
      Sizes s(inputs[i].sizes.begin() + 1, inputs[i].sizes.end());
      if (!batched) s.erase(s.begin());
      inputs[i] = inputs[i].of_shape(s);
    }
    const auto fn = [cell, biases](const List& a) -> List {
      const size_t w = cell == Cell::kLstm ? 3 : 2;
      const std::optional<Tensor> b_ih = biases ? std::optional(a[w + 2]) : std::nullopt;
      const std::optional<Tensor> b_hh = biases ? std::optional(a[w + 3]) : std::nullopt;
      if (cell == Cell::kLstm) {
        const List states{a[1], a[2]};
        auto [h, c] = lstm_cell(a[0], states, a[w], a[w + 1], b_ih, b_hh);
        return {h, c};
      }
      if (cell == Cell::kGru) return {gru_cell(a[0], a[1], a[w], a[w + 1], b_ih, b_hh)};
      if (cell == Cell::kTanh) return {rnn_tanh_cell(a[0], a[1], a[w], a[w + 1], b_ih, b_hh)};
      return {rnn_relu_cell(a[0], a[1], a[w], a[w + 1], b_ih, b_hh)};
    };
    const auto reference = [net, batched](ValuesList a) -> ValuesList {
      for (size_t i = 0; i < net.first_param(); ++i) {
        if (!batched) a[i].sizes.insert(a[i].sizes.begin(), 1);
        a[i].sizes.insert(a[i].sizes.begin(), 1);
      }
      ValuesList r = net.reference(a);
      r.erase(r.begin());
      for (Values& v : r) v.sizes.erase(v.sizes.begin(), v.sizes.begin() + (batched ? 1 : 2));
      return r;
    };
    return Sample{.label = label, .inputs = std::move(inputs), .fn = fn, .reference = reference};
  };
  return {.name = name,
          .ops = std::move(ops),
          .samples = {sample("plain", true, true), sample("no biases", false, true),
                      sample("no batch", true, false)},
          .dtypes = kFloats,
          .tolerance64 = 1e-11,
          .tolerance32 = 3e-5,
          .tolerance16 = 2e-2,
          .tolerance_layout = 3e-5};
}

// The gradient ops as functions of all that they read; y, gates and cells need not belong together.
Row gradient(const char* name, const OpDef& op, Cell cell) {
  const auto sample = [&](const char* label, RnnBackwardAttrs attrs, Sizes counts = {}) {
    const Net net{.cell = cell,
                  .steps = 2,
                  .batch = counts.empty() ? 2 : counts[0],
                  .hidden = attrs.projected ? 3 : 2,
                  .projection = attrs.projected ? 2 : 0,
                  .sizes = counts};
    const int64_t batch = net.batch, out = net.out(), h = net.hidden;
    int64_t rows = 0;
    for (int64_t n : counts) rows += n;
    const auto row_input = [&](int64_t width) {
      return real(counts.empty() ? Sizes{2, batch, width} : Sizes{rows, width}, -0.9, 0.9)
          .avoiding({0});
    };
    const auto state = [&](int64_t width) { return real({batch, width}, -1, 1); };
    std::vector<Input> inputs{row_input(out), state(out)};
    if (net.lstm()) inputs.push_back(state(h));
    inputs.push_back(state(out));
    if (net.lstm()) inputs.push_back(state(h));
    inputs.push_back(real({net.gates() * h, out}, -1, 1));
    if (attrs.projected) inputs.push_back(real({out, h}, -1, 1));
    inputs.push_back(row_input(out));
    if (cell != Cell::kTanh) inputs.push_back(row_input(4 * h));
    if (net.lstm()) inputs.push_back(row_input(h));
    attrs.packed = !counts.empty();
    const auto fn = [&op, attrs, counts](const List& a) -> List {
      std::vector<TensorArg> args(a.begin(), a.end());
      const Tensor sizes = counts.empty()
                               ? Tensor()
                               : tensor(counts, TensorOptions().dtype(kLong)).to(a[0].device());
      if (sizes.defined()) args.push_back(sizes);
      List results(static_cast<size_t>(op.n_outputs(attrs)));
      apply(op, args, attrs, results.data());
      return results;
    };
    return Sample{.label = label, .inputs = std::move(inputs), .fn = fn};
  };
  std::vector<Sample> samples = {
      sample("all", {.states = true, .weights = true}),
      sample("input only, reverse", {.reverse = true}),
      sample("packed", {.states = true}, {3, 2, 1}),
      sample("packed, reverse", {.reverse = true, .states = true, .weights = true}, {2, 1})};
  if (cell == Cell::kLstm)
    samples.push_back(sample("projected", {.projected = true, .states = true, .weights = true}));
  if (cell == Cell::kTanh) samples.push_back(sample("relu", {.relu = true, .weights = true}));
  return {.name = name,
          .ops = {name},
          .samples = std::move(samples),
          .dtypes = kFullFloats,
          .tolerance_layout = 3e-5};
}

}  // namespace

void add_rnn_rows(std::vector<Row>& rows) {
  const std::vector<std::string> lstm = {"lstm_sequence"}, gru = {"gru_sequence"};
  const std::vector<std::string> rnn = {"rnn_sequence"};
  rows.push_back(network("lstm", lstm, Cell::kLstm));
  rows.push_back(network("gru", gru, Cell::kGru));
  rows.push_back(network("rnn_tanh", rnn, Cell::kTanh));
  rows.push_back(network("rnn_relu", rnn, Cell::kRelu));
  rows.push_back(one_step("lstm_cell", lstm, Cell::kLstm));
  rows.push_back(one_step("gru_cell", gru, Cell::kGru));
  rows.push_back(one_step("rnn_tanh_cell", rnn, Cell::kTanh));
  rows.push_back(one_step("rnn_relu_cell", rnn, Cell::kRelu));
  rows.push_back(gradient("lstm_sequence_backward", kLstmSequenceBackward, Cell::kLstm));
  rows.push_back(gradient("gru_sequence_backward", kGruSequenceBackward, Cell::kGru));
  rows.push_back(gradient("rnn_sequence_backward", kRnnSequenceBackward, Cell::kTanh));
}

}  // namespace tandem::table
