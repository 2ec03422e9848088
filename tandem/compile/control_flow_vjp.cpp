#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/control_flow_op.h"
#include "tandem/compile/recording.h"
#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

variable_list inputs_of(const VjpArgs& a) {
  variable_list in;
  for (int i = 0; i < a.n_inputs(); ++i) in.push_back(a.input(i));
  return in;
}

// A tensor to differentiate by: a value of its own, so that nothing flows through what it was
// itself computed from; but with its history, if the gradient is to be differentiated again.
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

}  // namespace

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

namespace {

// A while loop run round by round with the record that backward needs, and the gradients by those
// of its inputs that are wanted, given those by the final state: undefined where nothing flows.
variable_list unrolled_gradients(const SubGraph& condition, const SubGraph& body, size_t n_state,
                                 size_t n_seen, size_t n_tested, const variable_list& in,
                                 const std::vector<bool>& wanted, const variable_list& grads,
                                 bool again) {
  const AutoGradMode with_grad(true);
  variable_list args, targets, outputs, of_outputs;
  for (size_t i = 0; i < in.size(); ++i) {
    args.push_back(partial(in[i], again, wanted[i]));
    if (wanted[i]) targets.push_back(args.back());
  }
  const auto at = [&](size_t i) { return args.begin() + static_cast<ptrdiff_t>(i); };
  variable_list state(at(0), at(n_state));
  const auto with = [](const variable_list& s, size_t seen, auto begin, auto end) {
    variable_list list(s.begin(), s.begin() + static_cast<ptrdiff_t>(seen));
    list.insert(list.end(), begin, end);
    return list;
  };
  const auto holds = [&] {
    const NoGradGuard no_grad;
    return condition.graph()
        .run(with(state, n_seen, at(n_state), at(n_state + n_tested)))[0]
        .item()
        .toBool();
  };
  while (holds())
    state = body.graph().run(with(state, n_state, at(n_state + n_tested), args.end()));
  for (size_t k = 0; k < n_state; ++k) {
    if (!state[k].requires_grad() || !grads[k].defined()) continue;
    outputs.push_back(state[k]);
    of_outputs.push_back(grads[k]);
  }
  variable_list by(targets.size());
  if (!outputs.empty() && !targets.empty())
    by = autograd::grad(outputs, targets, of_outputs, again, again, /*allow_unused=*/true);
  variable_list result(in.size());
  size_t next = 0;
  for (size_t i = 0; i < in.size(); ++i)
    if (wanted[i]) result[i] = by[next++];
  return result;
}

Grads unrolled_vjp(const VjpArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  std::vector<bool> wanted;
  for (int i = 0; i < a.n_inputs(); ++i) wanted.push_back(a.needs(i));
  variable_list grads;
  for (int k = 0; k < w.n_state; ++k) grads.push_back(a.has_grad(k) ? a.grad(k) : Tensor());
  const variable_list by = unrolled_gradients(
      w.condition, w.body, static_cast<size_t>(w.n_state), static_cast<size_t>(w.n_seen),
      static_cast<size_t>(w.n_condition_reads), inputs_of(a), wanted, grads, t_mode.grad);
  Grads result(by.size());
  for (size_t i = 0; i < by.size(); ++i) result[i] = by[i];
  return result;
}

}  // namespace

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

namespace {

// The gradient of the gradient, by running both round by round: by those of its inputs that are
// needed, given those by its outputs. Undefined where nothing flows.
variable_list unrolled_twice(const WhileGradAttrs& w, const variable_list& all,
                             const std::vector<bool>& needed, const variable_list& of_gradient,
                             bool again) {
  const AutoGradMode with_grad(true);
  const auto n = static_cast<size_t>(w.n_state), tested = static_cast<size_t>(w.n_condition_reads);
  const size_t n_in = n + tested + static_cast<size_t>(w.n_body_reads);
  variable_list in, grads(n), targets;
  std::vector<bool> wanted;
  for (size_t i = 0; i < all.size(); ++i) {
    const Tensor t = partial(all[i], again, needed[i]);
    if (needed[i]) targets.push_back(t);
    if (i < n_in) {
      in.push_back(t);
      wanted.push_back(is_floating(t.dtype()) && (i < n || i >= n + tested));
      continue;
    }
    size_t k = 0, floats = 0;  // the state that this is the gradient by
    for (; !is_floating(in[k].dtype()) || floats++ != i - n_in; ++k) {
    }
    grads[k] = t;
  }
  const variable_list by = unrolled_gradients(w.condition, w.body, n, static_cast<size_t>(w.n_seen),
                                              tested, in, wanted, grads, /*again=*/true);
  variable_list outputs, of_outputs, result(targets.size());
  size_t next = 0;
  for (size_t i = 0; i < n_in; ++i) {
    if (!wanted[i]) continue;
    const Tensor& given = of_gradient[next++];
    if (!by[i].defined() || !by[i].requires_grad() || !given.defined()) continue;
    outputs.push_back(by[i]);
    of_outputs.push_back(given);
  }
  if (!outputs.empty() && !targets.empty())
    result = autograd::grad(outputs, targets, of_outputs, again, again, /*allow_unused=*/true);
  variable_list by_input(all.size());
  size_t target = 0;
  for (size_t i = 0; i < all.size(); ++i)
    if (needed[i]) by_input[i] = result[target++];
  return by_input;
}

}  // namespace

Grads while_grad_vjp(const VjpArgs& a) {
  const auto& w = a.attrs<WhileGradAttrs>();
  variable_list all = inputs_of(a);
  const auto n_outputs = static_cast<int>(w.gradient.graph().outputs.size());
  const size_t n = all.size();
  Grads result(n);
  if (control::is_kept(all)) {
    std::vector<size_t> floats;
    for (size_t i = 0; i < n; ++i)
      if (is_floating(all[i].dtype())) floats.push_back(i);
    for (int k = 0; k < n_outputs; ++k) all.push_back(a.grad_or_zeros(k));
    std::vector<Tensor> by(floats.size());
    apply(kWhileGradGrad, std::vector<TensorArg>(all.begin(), all.end()), w, by.data());
    for (size_t k = 0; k < floats.size(); ++k) result[floats[k]] = by[k];
    return result;
  }
  std::vector<bool> needed;
  for (int i = 0; i < a.n_inputs(); ++i) needed.push_back(a.needs(i));
  variable_list grads;
  for (int k = 0; k < n_outputs; ++k) grads.push_back(a.has_grad(k) ? a.grad(k) : Tensor());
  const variable_list by = unrolled_twice(w, all, needed, grads, t_mode.grad);
  for (size_t i = 0; i < n; ++i) result[i] = by[i];
  return result;
}

Grads while_grad_grad_vjp(const VjpArgs& a) {
  const auto& w = a.attrs<WhileGradAttrs>();
  const variable_list inputs = inputs_of(a);
  TANDEM_CHECK(
      !control::is_kept(inputs),
      "while_loop: in a compiled function it can be differentiated twice, not three times. "
      "Use scan() where the number of rounds is known, or differentiate in eager.");
  const bool again = t_mode.grad;
  const AutoGradMode with_grad(true);
  variable_list args, targets, outputs, of_outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool needed = a.needs(static_cast<int>(i));
    args.push_back(partial(inputs[i], again, needed));
    if (needed) targets.push_back(args.back());
  }
  const size_t n = inputs.size() - w.gradient.graph().outputs.size();
  const variable_list all(args.begin(), args.begin() + static_cast<ptrdiff_t>(n));
  std::vector<bool> floats;
  for (const Tensor& t : all) floats.push_back(is_floating(t.dtype()));
  const variable_list by =
      unrolled_twice(w, all, floats, {args.begin() + static_cast<ptrdiff_t>(n), args.end()},
                     /*again=*/true);
  int k = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!floats[i]) continue;
    const int output = k++;
    if (!by[i].defined() || !by[i].requires_grad() || !a.has_grad(output)) continue;
    outputs.push_back(by[i]);
    of_outputs.push_back(a.grad(output));
  }
  variable_list found(targets.size());
  if (!outputs.empty() && !targets.empty())
    found = autograd::grad(outputs, targets, of_outputs, again, again, /*allow_unused=*/true);
  Grads result(inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (a.needs(static_cast<int>(i))) result[i] = found[next++];
  return result;
}

void while_grad_grad_kernel(const KernelArgs& a) {
  const auto& w = a.attrs<WhileGradAttrs>();
  const RecorderScope eager(nullptr);
  const InferenceMode normal(false);
  variable_list all;
  std::vector<bool> needed;
  for (int i = 0; i < a.n_inputs; ++i) {
    TensorType type;
    type.sizes = a.in(i).shape();
    type.dtype = a.in(i).dtype;
    all.push_back(Tensor(TensorImpl::make(type)));
    const Array to = all.back().impl()->array();
    kCopy.kernel({kCopy, &a.in(i), 1, &to, 1, {}});
    needed.push_back(is_floating(type.dtype));
  }
  const size_t n = all.size() - w.gradient.graph().outputs.size();
  const variable_list grads(all.begin() + static_cast<ptrdiff_t>(n), all.end());
  all.resize(n);
  needed.resize(n);
  const variable_list by = unrolled_twice(w, all, needed, grads, /*again=*/false);
  int k = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!needed[i]) continue;
    const Tensor value = by[i].defined() ? by[i] : zeros_like(all[i]);
    const Array from = value.impl()->array();
    kCopy.kernel({kCopy, &from, 1, &a.out(k++), 1, {}});
  }
}

}  // namespace tandem
