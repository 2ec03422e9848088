#include "tandem/compile/control_flow_op.h"

#include <cstring>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/recording.h"
#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem {

struct WhileGradAttrs {
  SubGraph condition, body, gradient;
  int64_t n_state = 0, n_seen = 0, n_condition_reads = 0, n_body_reads = 0;
  TANDEM_FIELDS(condition, body, gradient, n_state, n_seen, n_condition_reads, n_body_reads)
};
extern const OpDef kWhileGrad;

namespace {

using control::ListFunction;

const TensorType& type_of(const Edge& e) { return e.node->outputs()[e.index]; }

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

void infer_cond(const InferArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  const Graph &yes = c.yes.graph(), &no = c.no.graph();
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

void infer_while(const InferArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  const Graph &condition = w.condition.graph(), &body = w.body.graph();
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads);
  const auto seen = static_cast<size_t>(w.n_seen), all = static_cast<size_t>(a.n_inputs);
  TANDEM_CHECK(n + tested <= all && seen <= n && body.outputs.size() == n &&
                   condition.outputs.size() == 1 && condition.inputs.size() == seen + tested &&
                   body.inputs.size() == all - tested,
               "while_loop: condition and body do not take what they are given");
  TANDEM_CHECK_SHAPE(numel_of(type_of(condition.outputs[0]).sizes) == 1,
                     "while_loop: the condition must be a single value, not ",
                     type_of(condition.outputs[0]));
  check_inputs(a, "the condition", condition, 0, 0, seen);
  check_inputs(a, "the condition", condition, static_cast<int>(n), seen, tested);
  check_inputs(a, "the body", body, 0, 0, n);
  check_inputs(a, "the body", body, static_cast<int>(n + tested), n, all - n - tested);
  for (size_t k = 0; k < n; ++k) {
    TANDEM_CHECK_TYPE(type_of(body.outputs[k]) == a.in(static_cast<int>(k)),
                      "while_loop: the body gives state ", k, " as ", type_of(body.outputs[k]),
                      ", but it began as ", a.in(static_cast<int>(k)));
    a.out(static_cast<int>(k)) = type_of(body.outputs[k]);
  }
}

void infer_scan(const InferArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const Graph& body = s.body.graph();
  const auto n_carry = static_cast<size_t>(s.n_carry), n_xs = static_cast<size_t>(s.n_xs);
  const auto all = static_cast<size_t>(a.n_inputs);
  TANDEM_CHECK(n_xs > 0 && n_carry + n_xs <= all && body.inputs.size() == all &&
                   body.outputs.size() == n_carry + static_cast<size_t>(s.n_ys),
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

// -- gradients --------------------------------------------------------------------------------

variable_list inputs_of(const VjpArgs& a) {
  variable_list in;
  for (int i = 0; i < a.n_inputs(); ++i) in.push_back(a.input(i));
  return in;
}

// A tensor to differentiate by: a value of its own, so that nothing flows through what it was itself
// computed from; but with its history, if the gradient is to be differentiated again.
Tensor partial(const Tensor& t, bool again, bool wanted) {
  if (again && t.requires_grad()) return wanted ? t.alias() : t;
  Tensor own = t.detach();
  if (wanted) own.set_requires_grad(true);
  return own;
}

// Gradients by those inputs of a graph that are wanted, given those by its float outputs: zeros
// where nothing flows.
variable_list gradients_of(const Graph& g, const variable_list& in, const variable_list& grads,
                           const std::vector<bool>& wanted) {
  const bool again = t_mode.grad;
  const AutoGradMode with_grad(true);
  variable_list args, targets, outputs, of_outputs, result;
  for (size_t i = 0; i < in.size(); ++i) {
    args.push_back(partial(in[i], again, wanted[i]));
    if (wanted[i]) targets.push_back(args.back());
  }
  const variable_list values = g.run(args);
  size_t next = 0;
  for (const Tensor& v : values) {
    if (!is_floating(v.dtype())) continue;
    if (v.requires_grad()) {
      outputs.push_back(v);
      of_outputs.push_back(grads[next]);
    }
    ++next;
  }
  if (!outputs.empty() && !targets.empty())
    result = autograd::grad(outputs, targets, of_outputs, again, again, /*allow_unused=*/true);
  result.resize(targets.size());
  for (size_t i = 0; i < targets.size(); ++i)
    if (!result[i].defined()) result[i] = zeros_like(targets[i]);
  return result;
}

variable_list float_grads(const VjpArgs& a, const Graph& g) {
  variable_list grads;
  for (size_t k = 0; k < g.outputs.size(); ++k)
    if (is_floating(type_of(g.outputs[k]).dtype))
      grads.push_back(a.grad_or_zeros(static_cast<int>(k)));
  return grads;
}

Grads cond_vjp(const VjpArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  const variable_list in = inputs_of(a);
  const variable_list grads = float_grads(a, c.yes.graph());
  const size_t n = in.size(), written = static_cast<size_t>(c.n_written),
               reads = static_cast<size_t>(c.n_yes_reads);
  // Each branch gives the gradients by all inputs, zeros for what only the other one reads.
  const auto branch = [&](const Graph& g, bool yes) {
    variable_list mine;
    std::vector<bool> wanted, is_mine(n, false);
    for (size_t i = 1; i < n; ++i) {
      const bool of_yes = i < 1 + written + reads, of_no = i < 1 + written || !of_yes;
      if (!(yes ? of_yes : of_no)) continue;
      is_mine[i] = true;
      mine.push_back(in[i]);
      wanted.push_back(a.needs(static_cast<int>(i)));
    }
    const variable_list by_mine = gradients_of(g, mine, grads, wanted);
    variable_list all;
    size_t next = 0;
    for (size_t i = 1; i < n; ++i)
      if (a.needs(static_cast<int>(i)))
        all.push_back(is_mine[i] ? by_mine[next++] : zeros_like(in[i].detach()));
    return all;
  };
  const variable_list list = control::cond_list(
      in[0], [&] { return branch(c.yes.graph(), true); },
      [&] { return branch(c.no.graph(), false); });
  Grads result(n);
  size_t next = 0;
  for (size_t i = 1; i < n; ++i)
    if (a.needs(static_cast<int>(i))) result[i] = list[next++];
  return result;
}

Grads scan_vjp(const VjpArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const Graph& body = s.body.graph();
  const variable_list in = inputs_of(a);
  const size_t n = in.size(), n_carry = static_cast<size_t>(s.n_carry),
               n_xs = static_cast<size_t>(s.n_xs);
  const auto at = [&](size_t i) { return in.begin() + static_cast<ptrdiff_t>(i); };
  const variable_list carry(at(0), at(n_carry)), xs(at(n_carry), at(n_carry + n_xs)),
      reads(at(n_carry + n_xs), in.end());
  const auto with_reads = [&](variable_list list) {
    list.insert(list.end(), reads.begin(), reads.end());
    return list;
  };
  // Once more, to have the carry that each round began with.
  const variable_list carries =
      control::scan_list(
          [&](const variable_list& args) {
            variable_list out = body.run(with_reads(args));
            out.resize(n_carry);
            out.insert(out.end(), args.begin(), args.begin() + static_cast<ptrdiff_t>(n_carry));
            return out;
          },
          carry, xs, s.reverse)
          .second;

  // Then backward: gradients of the carry and sums over all rounds are carried, the other way
  // round.
  std::vector<bool> wanted;
  size_t n_float = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool is_carry = i < n_carry && is_floating(in[i].dtype());
    n_float += is_carry;
    wanted.push_back(is_carry || (i >= n_carry && a.needs(static_cast<int>(i))));
  }
  const variable_list grads = float_grads(a, body);
  variable_list start(grads.begin(), grads.begin() + static_cast<ptrdiff_t>(n_float));
  for (size_t i = n_carry + n_xs; i < n; ++i)
    if (wanted[i]) start.push_back(zeros_like(in[i].detach()));
  variable_list through = carries;
  through.insert(through.end(), xs.begin(), xs.end());
  through.insert(through.end(), grads.begin() + static_cast<ptrdiff_t>(n_float), grads.end());
  const auto [sums, by_xs] = control::scan_list(
      [&](const variable_list& args) {
        const auto begin = args.begin();
        const auto sum = begin + static_cast<ptrdiff_t>(n_float),
                   values = begin + static_cast<ptrdiff_t>(start.size()),
                   of_ys = values + static_cast<ptrdiff_t>(n_carry + n_xs);
        variable_list out_grads(begin, sum);
        out_grads.insert(out_grads.end(), of_ys, args.end());
        const variable_list by = gradients_of(body, with_reads({values, of_ys}), out_grads, wanted);
        variable_list next, ys;
        size_t k = 0, read = 0;
        for (size_t i = 0; i < n; ++i) {
          if (!wanted[i]) continue;
          if (i < n_carry)
            next.push_back(by[k++]);
          else if (i < n_carry + n_xs)
            ys.push_back(by[k++]);
          else
            next.push_back(sum[static_cast<ptrdiff_t>(read++)] + by[k++]);
        }
        next.insert(next.end(), ys.begin(), ys.end());
        return next;
      },
      start, through, !s.reverse);
  Grads result(n);
  size_t next_sum = 0, next_x = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!wanted[i]) continue;
    if (i < n_carry || i >= n_carry + n_xs)
      result[i] = sums[next_sum++];
    else
      result[i] = by_xs[next_x++];
  }
  return result;
}

// What a while loop does in eager, where the gradient may be differentiated again.
Grads unrolled_vjp(const VjpArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  const bool again = t_mode.grad;
  const AutoGradMode with_grad(true);
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads);
  variable_list in = inputs_of(a), targets, outputs, grads;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool wanted = a.needs(static_cast<int>(i));
    in[i] = partial(in[i], again, wanted);
    if (wanted) targets.push_back(in[i]);
  }
  const auto at = [&](size_t i) { return in.begin() + static_cast<ptrdiff_t>(i); };
  variable_list state(at(0), at(n));
  const auto with = [](const variable_list& s, size_t seen, auto begin, auto end) {
    variable_list args(s.begin(), s.begin() + static_cast<ptrdiff_t>(seen));
    args.insert(args.end(), begin, end);
    return args;
  };
  const auto holds = [&] {
    const NoGradGuard no_grad;
    return w.condition.graph()
        .run(with(state, static_cast<size_t>(w.n_seen), at(n), at(n + tested)))[0]
        .item()
        .toBool();
  };
  while (holds()) state = w.body.graph().run(with(state, n, at(n + tested), in.end()));
  for (size_t k = 0; k < n; ++k) {
    if (!state[k].requires_grad() || !a.has_grad(static_cast<int>(k))) continue;
    outputs.push_back(state[k]);
    grads.push_back(a.grad(static_cast<int>(k)));
  }
  variable_list by(targets.size());
  if (!outputs.empty()) by = autograd::grad(outputs, targets, grads, again, again, true);
  Grads result(in.size());
  size_t next = 0;
  for (size_t i = 0; i < in.size(); ++i)
    if (a.needs(static_cast<int>(i))) result[i] = by[next++];
  return result;
}

// In a graph the gradient of a while loop is an op of its own: how many rounds there are is known
// only when it runs, so it runs the loop again, keeps the state of each round, and goes back.
Grads while_vjp(const VjpArgs& a) {
  const variable_list in = inputs_of(a);
  if (!control::is_kept(in)) return unrolled_vjp(a);
  const auto& w = a.attrs<WhileAttrs>();
  const Graph& body = w.body.graph();
  const size_t n = static_cast<size_t>(w.n_state),
               tested = static_cast<size_t>(w.n_condition_reads), n_reads = in.size() - n - tested;
  // One round back: state, reads, gradients by the next state, sums over rounds so far.
  variable_list args(in.begin(), in.begin() + static_cast<ptrdiff_t>(n)), inputs = in;
  args.insert(args.end(), in.begin() + static_cast<ptrdiff_t>(n + tested), in.end());
  std::vector<bool> wanted;
  size_t n_state_grads = 0;
  for (const Tensor& t : args) {
    wanted.push_back(is_floating(t.dtype()));
    n_state_grads += wanted.back() && wanted.size() <= n;
  }
  const size_t n_values = args.size();
  for (const Tensor& g : float_grads(a, body)) {
    args.push_back(g);
    inputs.push_back(g);
  }
  for (size_t i = n; i < n_values; ++i)
    if (wanted[i]) args.push_back(zeros_like(args[i].detach()));
  Recording round = record(
      [&](const variable_list& values) {
        const NoGradGuard no_grad;
        const auto begin = values.begin(), grads = begin + static_cast<ptrdiff_t>(n_values),
                   sums = grads + static_cast<ptrdiff_t>(n_state_grads);
        variable_list by = gradients_of(body, {begin, grads}, {grads, sums}, wanted);
        for (size_t i = n_state_grads; i < by.size(); ++i)
          by[i] = by[i] + sums[static_cast<ptrdiff_t>(i - n_state_grads)];
        return by;
      },
      args);
  TANDEM_CHECK(
      round.graph.captured.empty() && round.graph.writes.empty(),
      "while_loop: the gradient of its body draws random numbers or writes to tensors from "
      "outside");
  const WhileGradAttrs attrs{w.condition,
                             w.body,
                             SubGraph(std::move(round.graph)),
                             w.n_state,
                             w.n_seen,
                             w.n_condition_reads,
                             static_cast<int64_t>(n_reads)};
  std::vector<Tensor> by(static_cast<size_t>(kWhileGrad.n_outputs(attrs)));
  const std::vector<TensorArg> op_args(inputs.begin(), inputs.end());
  apply(kWhileGrad, op_args, attrs, by.data());
  Grads result(in.size());
  size_t next = 0;
  for (size_t i = 0; i < n_values; ++i)
    if (wanted[i]) result[i < n ? i : i + tested] = by[next++];
  return result;
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
};

TANDEM_OP(kWhile) = {
    .name = "while_loop",
    .infer = infer_while,
    .kernel = while_kernel,
    .saves = Saves::all(Saves::from(0)),
    .vjp = while_vjp,
    .outputs = 0,
    .count = [](AttrRef a) { return static_cast<int>(a.as<WhileAttrs>().n_state); },
    .checks_values = true,
    .attrs = attrs_of<WhileAttrs>,
};

TANDEM_OP(kWhileGrad) = {
    .name = "while_loop_gradient",
    .infer =
        [](const InferArgs& a) {
          const Graph& g = a.attrs<WhileGradAttrs>().gradient.graph();
          for (size_t k = 0; k < g.outputs.size(); ++k)
            a.out(static_cast<int>(k)) = type_of(g.outputs[k]);
        },
    .kernel = while_grad_kernel,
    .vjp = [](const VjpArgs&) -> Grads {
      TANDEM_CHECK(
          false,
          "while_loop: in a compiled function its gradient cannot be differentiated again. "
          "Use scan() where the number of rounds is known, or differentiate in eager.");
      return {};
    },
    .outputs = 0,
    .count =
        [](AttrRef a) {
          return static_cast<int>(a.as<WhileGradAttrs>().gradient.graph().outputs.size());
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
};

}  // namespace tandem
