#include "tandem/autograd/tape.h"

#include "tandem/autograd/autograd.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// Tapes that are alive on this thread.
constinit thread_local int t_tapes = 0;

}  // namespace

GradientTape::GradientTape(const Options& options)
    : persistent_(options.persistent), depth_(++t_tapes), with_grad_(true) {}

GradientTape::~GradientTape() {
  --t_tapes;
  for (const Watched& w : watched_) {
    w.tensor->requires_grad = false;
    const NodeExtra* extra = w.tensor->edge.node ? w.tensor->edge.node->extra : nullptr;
    // A gradient that someone's backward() has left there stays readable.
    if (!w.had_node && !(extra && extra->grads[0].defined())) w.tensor->edge = {};
  }
}

void GradientTape::watch(const Tensor& t) {
  TANDEM_CHECK(t.defined(), "GradientTape: watch was given an undefined tensor");
  if (t.requires_grad()) return;
  const bool had_node = static_cast<bool>(t.impl()->edge.node);
  t.set_requires_grad(true);
  watched_.push_back({t.impl_ptr(), had_node});
}

void GradientTape::watch(TensorList tensors) {
  for (const Tensor& t : tensors) watch(t);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, TensorList sources,
                                           const Tensor& output_gradient) {
  TANDEM_CHECK(
      !used_ || persistent_,
      "GradientTape: a tape that is not persistent gives gradients only once, and this one has "
      "given them already. Ask for all of them in one call, or make the tape with "
      "GradientTape tape({.persistent = true}).");
  used_ = true;
  std::vector<Tensor> result(sources.size());
  std::vector<Tensor> known;
  for (const Tensor& s : sources) {
    TANDEM_CHECK(s.defined(), "GradientTape: one of the sources is an undefined tensor");
    if (s.requires_grad()) known.push_back(s);
  }
  if (known.empty() || !target.requires_grad()) return result;
  const Tensor weight = output_gradient.defined() ? output_gradient : ones_like(target);
  // A surrounding tape records the gradient like anything else.
  const bool again = persistent_ || depth_ > 1;
  const std::vector<Tensor> grads = autograd::grad({target}, known, {weight}, again, again,
                                                   /*allow_unused=*/true);
  size_t next = 0;
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].requires_grad()) result[i] = grads[next++];
  return result;
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source,
                              const Tensor& output_gradient) {
  return gradient(target, TensorList(source), output_gradient)[0];
}

}  // namespace tandem
