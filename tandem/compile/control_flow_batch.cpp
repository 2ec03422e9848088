// Choices and loops for many samples at once: bodies are run by vmap, the rest is the public
// functions.
#include <algorithm>

#include "tandem/compile/control_flow.h"
#include "tandem/compile/control_flow_op.h"
#include "tandem/compile/vmap.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// A graph run for all samples; every result has them along dimension 0.
variable_list run_batched(const Graph& g, const variable_list& args, const InDims& dims,
                          int64_t size) {
  const bool any =
      std::any_of(dims.begin(), dims.end(), [](const auto& d) { return d.has_value(); });
  if (any)
    return detail::vmap_list([&](const variable_list& in) { return g.run(in); }, args, dims, 0);
  variable_list out = g.run(args);
  for (Tensor& t : out) {
    Dims sizes{size};
    sizes.append(t.sizes().begin(), t.sizes().end());
    t = t.expand(sizes);
  }
  return out;
}

struct Part {
  variable_list args;
  InDims dims;
  void add(const BatchArgs& a, int i) {
    args.push_back(a.in(i));
    dims.push_back(a.batched[i] ? std::optional<int64_t>(0) : std::nullopt);
  }
  void add_batched(const Tensor& t) {
    args.push_back(t);
    dims.push_back(0);
  }
};

// One truth value a sample, in a shape that goes with a value of the samples.
Tensor beside(const Tensor& truth, const Tensor& value) {
  Dims sizes(static_cast<size_t>(value.dim()), 1);
  sizes[0] = truth.numel();
  return truth.reshape(sizes) != 0;
}

}  // namespace

void batch_cond(const BatchArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  Part yes, no;
  const int written = static_cast<int>(c.n_written), reads = static_cast<int>(c.n_yes_reads);
  for (int i = 1; i < a.n_inputs; ++i) {
    if (i < 1 + written + reads) yes.add(a, i);
    if (i < 1 + written || i >= 1 + written + reads) no.add(a, i);
  }
  const auto branch = [&](const SubGraph& g, const Part& p) {
    return run_batched(g.graph(), p.args, p.dims, a.size);
  };
  variable_list out;
  if (!a.batched[0]) {
    out = control::cond_list(
        a.in(), [&] { return branch(c.yes, yes); }, [&] { return branch(c.no, no); });
  } else {
    // Samples go different ways: both are run, and each sample keeps its own.
    const variable_list of_yes = branch(c.yes, yes), of_no = branch(c.no, no);
    for (size_t k = 0; k < of_yes.size(); ++k)
      out.push_back(where(beside(a.in(), of_yes[k]), of_yes[k], of_no[k]));
  }
  std::copy(out.begin(), out.end(), a.outputs);
}

void batch_while(const BatchArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  const int n = static_cast<int>(w.n_state), tested = static_cast<int>(w.n_condition_reads);
  variable_list state;
  for (int i = 0; i < n; ++i) state.push_back(a.sample(i));
  const auto condition = [&](const variable_list& s) {
    Part p;
    for (int64_t i = 0; i < w.n_seen; ++i) p.add_batched(s[static_cast<size_t>(i)]);
    for (int i = n; i < n + tested; ++i) p.add(a, i);
    return run_batched(w.condition.graph(), p.args, p.dims, a.size)[0];
  };
  // The loop goes on as long as any sample does; those that have ended stay as they are.
  const variable_list out = control::while_list(
      [&](const variable_list& s) { return variable_list{(condition(s) != 0).any()}; },
      [&](const variable_list& s) {
        Part p;
        for (const Tensor& t : s) p.add_batched(t);
        for (int i = n + tested; i < a.n_inputs; ++i) p.add(a, i);
        variable_list next = run_batched(w.body.graph(), p.args, p.dims, a.size);
        const Tensor goes_on = condition(s);
        for (size_t k = 0; k < next.size(); ++k)
          next[k] = where(beside(goes_on, next[k]), next[k], s[k]);
        return next;
      },
      state);
  std::copy(out.begin(), out.end(), a.outputs);
}

void batch_scan(const BatchArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const int n_carry = static_cast<int>(s.n_carry), n_xs = static_cast<int>(s.n_xs);
  variable_list carry, xs;
  for (int i = 0; i < n_carry; ++i) carry.push_back(a.sample(i));
  // Slices are taken along dimension 0, so the samples of an x move to dimension 1.
  for (int i = n_carry; i < n_carry + n_xs; ++i)
    xs.push_back(a.batched[i] ? a.in(i).transpose(0, 1) : a.in(i));
  const auto [last, ys] = control::scan_list(
      [&](const variable_list& in) {
        Part p;
        for (int i = 0; i < n_carry + n_xs; ++i) {
          p.args.push_back(in[static_cast<size_t>(i)]);
          const bool batched = i < n_carry || a.batched[i];
          p.dims.push_back(batched ? std::optional<int64_t>(0) : std::nullopt);
        }
        for (int i = n_carry + n_xs; i < a.n_inputs; ++i) p.add(a, i);
        return run_batched(s.body.graph(), p.args, p.dims, a.size);
      },
      carry, xs, s.reverse);
  std::copy(last.begin(), last.end(), a.outputs);
  for (size_t k = 0; k < ys.size(); ++k) a.outputs[last.size() + k] = ys[k].transpose(0, 1);
}

}  // namespace tandem
