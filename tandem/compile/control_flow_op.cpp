#include "tandem/compile/control_flow_op.h"

#include <cstring>
#include <initializer_list>

#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem {

namespace {

// -- types ------------------------------------------------------------------------------------

// Inputs number `first` and on of the op go to the graph's inputs from `at` on.
void check_inputs(const InferArgs& a, const char* what, const Graph& g, int first, size_t at,
                  size_t n) {
  TANDEM_CHECK(at + n <= g.inputs.size() && first + static_cast<int>(n) <= a.n_inputs, a.op.name,
               ": ", what, " does not take as many inputs as it is given");
  for (size_t i = 0; i < n; ++i)
    TANDEM_CHECK_TYPE(a.in(first + static_cast<int>(i)) == g.inputs[at + i]->outputs()[0],
                      a.op.name, ": ", what, " takes ", g.inputs[at + i]->outputs()[0],
                      " as input ", at + i, ", not ", a.in(first + static_cast<int>(i)));
}

// The numbers that say how the inputs are divided up may be anything in a text: none of them is
// used before all of them are known to count inputs.
void check_counts(const InferArgs& a, std::initializer_list<int64_t> counts) {
  for (const int64_t n : counts)
    TANDEM_CHECK(n >= 0 && n <= a.n_inputs, a.op.name, ": it cannot take ", n, " of its ",
                 a.n_inputs, " inputs for one purpose");
}

void infer_cond(const InferArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  const Graph &yes = c.yes.graph(), &no = c.no.graph();
  TANDEM_CHECK(a.n_inputs > 0, "cond: there is no condition");
  check_counts(a, {c.n_written, c.n_yes_reads});
  TANDEM_CHECK_SHAPE(numel_of(a.in().sizes) == 1,
                     "cond: the condition must be a single value, not ", a.in());
  TANDEM_CHECK(yes.outputs.size() == no.outputs.size(), "cond: one branch gives ",
               yes.outputs.size(), " tensors, the other ", no.outputs.size());
  const auto n = static_cast<size_t>(a.n_inputs - 1);
  const auto written = static_cast<size_t>(c.n_written), reads = static_cast<size_t>(c.n_yes_reads);
  TANDEM_CHECK(
      written + reads <= n && yes.inputs.size() == written + reads && no.inputs.size() == n - reads,
      "cond: the branches do not take as many inputs as they are given");
  check_inputs(a, "a branch", yes, 1, 0, written + reads);
  check_inputs(a, "a branch", no, 1, 0, written);
  check_inputs(a, "a branch", no, static_cast<int>(1 + written + reads), written,
               n - written - reads);
  for (size_t k = 0; k < yes.outputs.size(); ++k) {
    TANDEM_CHECK_TYPE(type_of(yes.outputs[k]) == type_of(no.outputs[k]),
                      "cond: the branches give result ", k, " as ", type_of(yes.outputs[k]),
                      " and ", type_of(no.outputs[k]));
    a.out(static_cast<int>(k)) = type_of(yes.outputs[k]);
  }
}

// A loop whose inputs, the first of the op's, are state, what the condition reads and what the body
// reads. For attributes of the loop and of its gradients.
template <class Attrs>
void check_loop(const InferArgs& a, const Attrs& w, int64_t n_body_reads) {
  const Graph &condition = w.condition.graph(), &body = w.body.graph();
  check_counts(a, {w.n_state, w.n_seen, w.n_condition_reads, n_body_reads});
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads);
  const auto seen = static_cast<size_t>(w.n_seen), reads = static_cast<size_t>(n_body_reads);
  TANDEM_CHECK(n + tested + reads <= static_cast<size_t>(a.n_inputs) && seen <= n &&
                   body.outputs.size() == n && condition.outputs.size() == 1 &&
                   condition.inputs.size() == seen + tested && body.inputs.size() == n + reads,
               a.op.name, ": condition and body do not take what they are given");
  TANDEM_CHECK_SHAPE(numel_of(type_of(condition.outputs[0]).sizes) == 1, a.op.name,
                     ": the condition must be a single value, not ", type_of(condition.outputs[0]));
  check_inputs(a, "the condition", condition, 0, 0, seen);
  check_inputs(a, "the condition", condition, static_cast<int>(n), seen, tested);
  check_inputs(a, "the body", body, 0, 0, n);
  check_inputs(a, "the body", body, static_cast<int>(n + tested), n, reads);
  for (size_t k = 0; k < n; ++k)
    TANDEM_CHECK_TYPE(type_of(body.outputs[k]) == a.in(static_cast<int>(k)), a.op.name,
                      ": the body gives state ", k, " as ", type_of(body.outputs[k]),
                      ", but it began as ", a.in(static_cast<int>(k)));
}

void infer_while(const InferArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  check_counts(a, {w.n_state, w.n_condition_reads});
  check_loop(a, w, a.n_inputs - w.n_state - w.n_condition_reads);
  const Graph& body = w.body.graph();
  for (size_t k = 0; k < body.outputs.size(); ++k)
    a.out(static_cast<int>(k)) = type_of(body.outputs[k]);
}

// The loop, the graph that goes one round back, and the gradients by the final state, after which
// there are n_more inputs.
void check_loop_gradient(const InferArgs& a, size_t n_more) {
  const auto& w = a.attrs<WhileGradAttrs>();
  check_loop(a, w, w.n_body_reads);
  const Graph& g = w.gradient.graph();
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads),
             reads = static_cast<size_t>(w.n_body_reads);
  // What there is a gradient by: the float ones among state and reads.
  std::vector<int> by;
  size_t n_given = 0;
  for (size_t i = 0; i < n + tested + reads; ++i) {
    if ((i >= n && i < n + tested) || !is_floating(a.in(static_cast<int>(i)).dtype)) continue;
    by.push_back(static_cast<int>(i));
    n_given += i < n;
  }
  TANDEM_CHECK(static_cast<size_t>(a.n_inputs) == n + tested + reads + n_given + n_more &&
                   g.outputs.size() == by.size() && g.inputs.size() == n + reads + by.size(),
               a.op.name, ": the gradient of the body does not take or give what it should");
  check_inputs(a, "the gradient of the body", g, 0, 0, n);
  check_inputs(a, "the gradient of the body", g, static_cast<int>(n + tested), n, reads);
  check_inputs(a, "the gradient of the body", g, static_cast<int>(n + tested + reads), n + reads,
               n_given);
  for (size_t k = 0; k < by.size(); ++k) {
    const TensorType &wanted = a.in(by[k]), &before = g.inputs[n + reads + k]->outputs()[0];
    TANDEM_CHECK_TYPE(type_of(g.outputs[k]) == wanted && before == wanted, a.op.name,
                      ": the gradient by input ", by[k], ", which is ", wanted, ", comes as ",
                      before, " and leaves as ", type_of(g.outputs[k]));
  }
}

void infer_while_grad(const InferArgs& a) {
  check_loop_gradient(a, 0);
  const Graph& g = a.attrs<WhileGradAttrs>().gradient.graph();
  for (size_t k = 0; k < g.outputs.size(); ++k) a.out(static_cast<int>(k)) = type_of(g.outputs[k]);
}

void infer_while_grad_grad(const InferArgs& a) {
  const Graph& g = a.attrs<WhileGradAttrs>().gradient.graph();
  check_loop_gradient(a, g.outputs.size());
  const int n = a.n_inputs - static_cast<int>(g.outputs.size());
  for (int i = n; i < a.n_inputs; ++i) {
    const TensorType& type = type_of(g.outputs[static_cast<size_t>(i - n)]);
    TANDEM_CHECK_TYPE(a.in(i) == type, a.op.name, ": the gradient by result ", i - n, " is ",
                      a.in(i), ", not ", type);
  }
  int k = 0;
  for (int i = 0; i < n; ++i)
    if (is_floating(a.in(i).dtype)) a.out(k++) = a.in(i);
}

void infer_scan(const InferArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const Graph& body = s.body.graph();
  check_counts(a, {s.n_carry, s.n_xs});
  const auto n_carry = static_cast<size_t>(s.n_carry), n_xs = static_cast<size_t>(s.n_xs);
  const auto all = static_cast<size_t>(a.n_inputs);
  TANDEM_CHECK(n_xs > 0 && n_carry + n_xs <= all && body.inputs.size() == all && s.n_ys >= 0 &&
                   body.outputs.size() >= n_carry &&
                   body.outputs.size() - n_carry == static_cast<size_t>(s.n_ys),
               "scan: the body does not take what it is given");
  check_inputs(a, "the body", body, 0, 0, n_carry);
  check_inputs(a, "the body", body, static_cast<int>(n_carry + n_xs), n_carry + n_xs,
               all - n_carry - n_xs);
  const TensorType& first = a.in(static_cast<int>(n_carry));
  for (size_t i = 0; i < n_xs; ++i) {
    const TensorType& x = a.in(static_cast<int>(n_carry + i));
    TensorType slice = x;
    if (!x.sizes.empty()) slice.sizes = Dims(x.sizes.begin() + 1, x.sizes.end());
    TANDEM_CHECK_SHAPE(!x.sizes.empty() && x.sizes[0] > 0 && x.sizes[0] == first.sizes[0] &&
                           slice == body.inputs[n_carry + i]->outputs()[0],
                       "scan: xs ", i, " is ", x, ", the body takes slices of type ",
                       body.inputs[n_carry + i]->outputs()[0]);
  }
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    const TensorType& type = type_of(body.outputs[k]);
    TensorType& out = a.out(static_cast<int>(k));
    if (k < n_carry) {
      TANDEM_CHECK_TYPE(type == a.in(static_cast<int>(k)), "scan: the body gives carry ", k, " as ",
                        type, ", but it began as ", a.in(static_cast<int>(k)));
      out = type;
    } else {
      out.dtype = type.dtype;
      out.sizes = {first.sizes[0]};
      out.sizes.append(type.sizes.begin(), type.sizes.end());
    }
  }
}

// -- kernels ----------------------------------------------------------------------------------

Tensor fresh(const TensorType& type) { return Tensor(TensorImpl::make(type)); }

/// Memory of the inputs in row-major order.
class RowMajor {
 public:
  explicit RowMajor(const KernelArgs& a) {
    for (int i = 0; i < a.n_inputs; ++i) {
      const Array& in = a.in(i);
      if (in.contiguous) {
        data.push_back(in.data);
        continue;
      }
      TensorType type;
      type.sizes = in.shape();
      type.dtype = in.dtype;
      copies_.push_back(fresh(type));
      const Array to = copies_.back().impl()->array();
      kCopy.kernel({kCopy, &in, 1, &to, 1, {}});
      data.push_back(copies_.back().impl()->data);
    }
  }
  std::vector<void*> data;

 private:
  std::vector<Tensor> copies_;
};

bool is_true(const void* data, DType dtype) {
  return dispatch(dtype, [&]<class T>(T) { return *static_cast<const T*>(data) != T(0); });
}

size_t bytes_of(const TensorType& t) {
  return static_cast<size_t>(numel_of(t.sizes)) * size_of(t.dtype);
}

void cond_kernel(const KernelArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  const RowMajor in(a);
  std::vector<void*> out;
  for (int k = 0; k < a.n_outputs; ++k) out.push_back(a.out(k).data);
  if (is_true(in.data[0], a.in().dtype)) {
    c.yes.program().run(in.data.data() + 1, out.data());
    return;
  }
  std::vector<void*> of_no;
  const auto written = static_cast<size_t>(c.n_written), reads = static_cast<size_t>(c.n_yes_reads);
  for (size_t i = 1; i < in.data.size(); ++i)
    if (i < 1 + written || i >= 1 + written + reads) of_no.push_back(in.data[i]);
  c.no.program().run(of_no.data(), out.data());
}

/// The state of a loop: the values of now, and memory for those of the next round.
class Rounds {
 public:
  Rounds(const Graph& body, size_t n, void* const* begin) {
    for (size_t k = 0; k < n; ++k) {
      const TensorType& type = type_of(body.outputs[k]);
      now_.push_back(fresh(type));
      next_.push_back(fresh(type));
      bytes_.push_back(bytes_of(type));
      if (bytes_[k]) std::memcpy(now_[k].impl()->data, begin[k], bytes_[k]);
    }
  }
  void* now(size_t k) const { return now_[k].impl()->data; }
  void* next(size_t k) const { return next_[k].impl()->data; }
  void turn() { std::swap(now_, next_); }
  void give(const Array* out) const {
    for (size_t k = 0; k < now_.size(); ++k)
      if (bytes_[k]) std::memcpy(out[k].data, now(k), bytes_[k]);
  }
  const std::vector<Tensor>& values() const { return now_; }

 private:
  std::vector<Tensor> now_, next_;
  std::vector<size_t> bytes_;
};

/// Runs the rounds of a while loop; before_round is told of the state before each.
template <class F>
void run_while(const SubGraph& condition, const SubGraph& body, size_t n_seen,
               ArrayRef<void*> tested, ArrayRef<void*> read, Rounds& state, size_t n_state,
               const F& before_round) {
  const TensorType& truth = type_of(condition.graph().outputs[0]);
  const Tensor flag = fresh(truth);
  std::vector<void*> test_in(n_seen + tested.size()), body_in(n_state + read.size()), out(n_state);
  std::copy(tested.begin(), tested.end(), test_in.begin() + static_cast<ptrdiff_t>(n_seen));
  std::copy(read.begin(), read.end(), body_in.begin() + static_cast<ptrdiff_t>(n_state));
  void* flag_out[] = {flag.impl()->data};
  while (true) {
    for (size_t k = 0; k < n_seen; ++k) test_in[k] = state.now(k);
    condition.program().run(test_in.data(), flag_out);
    if (!is_true(flag_out[0], truth.dtype)) return;
    before_round();
    for (size_t k = 0; k < n_state; ++k) {
      body_in[k] = state.now(k);
      out[k] = state.next(k);
    }
    body.program().run(body_in.data(), out.data());
    state.turn();
  }
}

void while_kernel(const KernelArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  const RowMajor in(a);
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads);
  Rounds state(w.body.graph(), n, in.data.data());
  const ArrayRef<void*> all(in.data);
  run_while(w.condition, w.body, static_cast<size_t>(w.n_seen), all.slice(n, tested),
            all.slice(n + tested, all.size() - n - tested), state, n, [] {});
  state.give(a.outputs);
}

void scan_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const Graph& body = s.body.graph();
  const RowMajor in(a);
  const auto n_carry = static_cast<size_t>(s.n_carry), n_xs = static_cast<size_t>(s.n_xs);
  const int64_t length = a.in(s.n_carry).sizes[0];
  Rounds carry(body, n_carry, in.data.data());
  std::vector<void*> body_in = in.data, out(body.outputs.size());
  for (int64_t k = 0; k < length; ++k) {
    const auto at = static_cast<size_t>(s.reverse ? length - 1 - k : k);
    for (size_t i = 0; i < n_carry; ++i) {
      body_in[i] = carry.now(i);
      out[i] = carry.next(i);
    }
    for (size_t i = n_carry; i < n_carry + n_xs; ++i)
      body_in[i] = static_cast<char*>(in.data[i]) + at * bytes_of(body.inputs[i]->outputs()[0]);
    for (size_t i = n_carry; i < out.size(); ++i)
      out[i] = a.out(static_cast<int>(i)).ptr<char>() + at * bytes_of(type_of(body.outputs[i]));
    s.body.program().run(body_in.data(), out.data());
    carry.turn();
  }
  carry.give(a.outputs);
}

void while_grad_kernel(const KernelArgs& a) {
  const auto& w = a.attrs<WhileGradAttrs>();
  const RowMajor in(a);
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads),
             reads = static_cast<size_t>(w.n_body_reads);
  const ArrayRef<void*> all(in.data);
  Rounds state(w.body.graph(), n, in.data.data());
  std::vector<std::vector<Tensor>> before;
  run_while(w.condition, w.body, static_cast<size_t>(w.n_seen), all.slice(n, tested),
            all.slice(n + tested, reads), state, n, [&] {
              std::vector<Tensor>& kept = before.emplace_back();
              for (const Tensor& t : state.values()) kept.push_back(t.clone());
            });
  // Gradients by the state come as inputs; sums begin at zero.
  const Graph& g = w.gradient.graph();
  const size_t n_out = g.outputs.size(), n_given = all.size() - n - tested - reads;
  std::vector<Tensor> zero;
  std::vector<void*> begin = all.slice(n + tested + reads, n_given).vec();
  for (size_t k = n_given; k < n_out; ++k) {
    zero.push_back(fresh(type_of(g.outputs[k])).zero_());
    begin.push_back(zero.back().impl()->data);
  }
  Rounds by(g, n_out, begin.data());
  std::vector<void*> round_in(g.inputs.size()), out(n_out);
  std::copy_n(all.begin() + (n + tested), reads, round_in.begin() + static_cast<ptrdiff_t>(n));
  for (size_t r = before.size(); r-- > 0;) {
    for (size_t k = 0; k < n; ++k) round_in[k] = before[r][k].impl()->data;
    for (size_t k = 0; k < n_out; ++k) {
      round_in[n + reads + k] = by.now(k);
      out[k] = by.next(k);
    }
    w.gradient.program().run(round_in.data(), out.data());
    by.turn();
  }
  by.give(a.outputs);
}

}  // namespace

TANDEM_OP(kCond) = {
    .name = "cond",
    .infer = infer_cond,
    .kernel = cond_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = cond_vjp,
    .outputs = 0,
    .count =
        [](AttrRef a) { return static_cast<int>(a.as<CondAttrs>().yes.graph().outputs.size()); },
    .checks_values = true,
    .attrs = attrs_of<CondAttrs>,
    .batch = batch_cond,
};

TANDEM_OP(kWhile) = {
    .name = "while_loop",
    .infer = infer_while,
    .kernel = while_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = while_vjp,
    .outputs = 0,
    .count =
        [](AttrRef a) { return static_cast<int>(a.as<WhileAttrs>().body.graph().outputs.size()); },
    .checks_values = true,
    .attrs = attrs_of<WhileAttrs>,
    .batch = batch_while,
};

TANDEM_OP(kWhileGrad) = {
    .name = "while_loop_gradient",
    .infer = infer_while_grad,
    .kernel = while_grad_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = while_grad_vjp,
    .outputs = 0,
    .count =
        [](AttrRef a) {
          return static_cast<int>(a.as<WhileGradAttrs>().gradient.graph().outputs.size());
        },
    .checks_values = true,
    .attrs = attrs_of<WhileGradAttrs>,
};

TANDEM_OP(kWhileGradGrad) = {
    .name = "while_loop_gradient_gradient",
    .infer = infer_while_grad_grad,
    .kernel = while_grad_grad_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = while_grad_grad_vjp,
    .outputs = 0,
    .count =
        [](AttrRef attrs) {
          const auto& w = attrs.as<WhileGradAttrs>();
          const Graph &condition = w.condition.graph(), &body = w.body.graph();
          int n = 0;
          for (const NodePtr& in : body.inputs) n += is_floating(in->outputs()[0].dtype);
          for (size_t i = static_cast<size_t>(w.n_seen); i < condition.inputs.size(); ++i)
            n += is_floating(condition.inputs[i]->outputs()[0].dtype);
          for (const Edge& e : body.outputs) n += is_floating(type_of(e).dtype);
          return n;
        },
    .checks_values = true,
    .attrs = attrs_of<WhileGradAttrs>,
};

TANDEM_OP(kScan) = {
    .name = "scan",
    .infer = infer_scan,
    .kernel = scan_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = scan_vjp,
    .outputs = 0,
    .count =
        [](AttrRef a) { return static_cast<int>(a.as<ScanAttrs>().body.graph().outputs.size()); },
    .checks_values = true,
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_scan,
};

}  // namespace tandem
