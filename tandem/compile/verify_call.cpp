#include "tandem/autograd/autograd.h"
#include "tandem/compile/call.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
namespace {

void copy_values(const Tensor& from, const Tensor& to) {
  const NoGradGuard no_grad;
  to.detach().copy_(from.detach());
}

// What a call changes beside its results: the tensors that it writes and the gradients that it
// leaves. Values are copies.
struct State {
  std::vector<Tensor> written;  // by Graph::writes, then by Recording::grad_inputs
  std::vector<Tensor> places;   // by Recording::grad_inputs: the gradients themselves
  std::vector<Tensor> grads;    // by Recording::grads
  std::vector<bool> flags;      // by Recording::flags_set
};

/// The tensor that is written; undefined for gradients, which are looked at by leaf.
Tensor written_tensor(const Recording& r, const Graph::Write& w, const Args& args) {
  return w.input < r.n_args ? args[w.input] : r.graph.captured[w.input - r.n_args];
}

State state_of(const Recording& r, const Args& args) {
  const auto copy = [](const Tensor& t) { return t.defined() ? t.detach().clone() : Tensor(); };
  State s;
  for (const auto& w : r.graph.writes) s.written.push_back(copy(written_tensor(r, w, args)));
  for (const auto& g : r.grad_inputs) {
    const Tensor* grad = grad_of(g, args);
    s.places.push_back(grad ? *grad : Tensor());
    s.written.push_back(copy(s.places.back()));
  }
  for (const auto& c : r.grads) {
    const Tensor* grad = grad_of(c, args);
    s.grads.push_back(grad ? *grad : Tensor());
  }
  for (const auto& f : r.flags_set) s.flags.push_back(*f.flag);
  return s;
}

void restore(const State& s, const Recording& r, const Args& args) {
  const size_t n = r.graph.writes.size();
  for (size_t i = 0; i < n; ++i)
    if (s.written[i].defined())
      copy_values(s.written[i], written_tensor(r, r.graph.writes[i], args));
  for (size_t i = 0; i < s.places.size(); ++i) {
    if (s.places[i].defined()) copy_values(s.written[n + i], s.places[i]);
    set_grad(r.grad_inputs[i], args, s.places[i]);
  }
  for (size_t i = 0; i < s.grads.size(); ++i) set_grad(r.grads[i], args, s.grads[i]);
  for (size_t i = 0; i < s.flags.size(); ++i) *r.flags_set[i].flag = s.flags[i];
}

void compare(const Tensor& compiled, const Tensor& eager, const char* what, size_t i,
             const CompileOptions& o) {
  TANDEM_CHECK(compiled.defined() == eager.defined(), "compile (verify): ", what, " ", i, " is ",
               compiled.defined() ? "defined" : "undefined", " compiled but not so eager");
  if (!compiled.defined()) return;
  const NoGradGuard no_grad;
  const Tensor a = compiled.detach(), b = eager.detach();
  TANDEM_CHECK(a.type_of() == b.type_of(), "compile (verify): ", what, " ", i, " is ", a.type_of(),
               " compiled and ", b.type_of(), " eager");
  if (allclose(a.to(kDouble), b.to(kDouble), o.verify_rtol, o.verify_atol, /*equal_nan=*/true))
    return;
  const Tensor difference = (a.to(kDouble) - b.to(kDouble)).abs();
  TANDEM_CHECK(false, "compile (verify): ", what, " ", i, " (", a.type_of(),
               ") differs between compiled and eager by up to ", difference.max().item<double>(),
               " where eager has values up to ", b.to(kDouble).abs().max().item<double>());
}

}  // namespace

Args run_verified(const Variant& v, const Args& args, const CompiledFunction::Body& body,
                  std::shared_ptr<const void>* like, const CompileOptions& options) {
  const Recording& r = v.recording;
  const State before = state_of(r, args);
  const Args compiled = run(v, args);
  const State after = state_of(r, args);
  restore(before, r, args);
  const std::vector<Tensor> eager = body({args.data(), args.size()}, like);
  const State wanted = state_of(r, args);
  for (size_t i = 0; i < eager.size(); ++i) compare(compiled[i], eager[i], "result", i, options);
  for (size_t i = 0; i < after.written.size(); ++i)
    compare(after.written[i], wanted.written[i], "written tensor", i, options);
  for (size_t i = 0; i < after.grads.size(); ++i)
    compare(after.grads[i], wanted.grads[i], "gradient", i, options);
  return {eager.begin(), eager.end()};
}

}  // namespace tandem::detail
