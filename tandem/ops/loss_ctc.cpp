// Connectionist temporal classification.
#include "tandem/core/apply.h"
#include "tandem/kernels/ctc.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/loss_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct CtcAttrs {
  int64_t blank = 0;
  bool zero_infinity = false;
  bool slope = false;  // True iff there is a second output, the gradient
  TANDEM_FIELDS(blank, zero_infinity, slope)
};

void infer_ctc(const InferArgs& a) {
  const auto& o = a.attrs<CtcAttrs>();
  const TensorType &x = a.in(0), &targets = a.in(1);
  TANDEM_CHECK_TYPE(is_floating(x.dtype), "ctc_loss: expected floating point log_probs, got ", x);
  TANDEM_CHECK_SHAPE(x.dim() == 3,
                     "ctc_loss: expected log_probs of 3 dimensions [time, batch, classes] (2 for "
                     "one sample), got ",
                     x.sizes);
  const int64_t n = x.sizes[1], classes = x.sizes[2];
  TANDEM_CHECK(o.blank >= 0 && o.blank < classes, "ctc_loss: blank must be in label range: it is ",
               o.blank, ", but there are ", classes, " classes");
  TANDEM_CHECK_TYPE(isIntegralType(targets.dtype, false),
                    "ctc_loss: targets must be integral, got ", targets);
  TANDEM_CHECK_SHAPE(targets.dim() == 1 || (targets.dim() == 2 && targets.sizes[0] == n),
                     "ctc_loss: expected targets of shape [", n,
                     ", longest target], or all of them in one dimension, got ", targets.sizes);
  for (int i = 2; i < 4; ++i) {
    const char* what = i == 2 ? "input_lengths" : "target_lengths";
    TANDEM_CHECK_TYPE(isIntegralType(a.in(i).dtype, false), "ctc_loss: ", what,
                      " must be integral, got ", a.in(i));
    TANDEM_CHECK_SHAPE(a.in(i).sizes == Dims{n}, "ctc_loss: ", what,
                       " must be of size batch_size, [", n, "], got ", a.in(i).sizes);
  }
  a.out(0).sizes = {n};
  a.out(0).dtype = x.dtype;
  if (!o.slope) return;
  a.out(1).sizes = x.sizes;
  a.out(1).dtype = x.dtype;
}

// Samples of vmap as one batch.
void batch_ctc(const BatchArgs& a) {
  const int64_t n = sample_sizes(a, 0)[1];
  const Tensor x = a.sample(0).movedim(0, 1).flatten(1, 2);
  const Tensor targets = a.sample(1).flatten(0, 1);
  Tensor out[2];
  apply(a.op, {x, targets, a.sample(2).flatten(0, 1), a.sample(3).flatten(0, 1)}, a.attr_ref, out);
  a.outputs[0] = out[0].view({a.size, n});
  if (a.attrs<CtcAttrs>().slope)
    a.outputs[1] = out[1].view({x.size(0), a.size, n, x.size(2)}).movedim(1, 0);
}

}  // namespace

// The gradient needs what the loss needs, and then as much again; so it is worked out with the
// loss, where that is asked for, while a sample's states are in the cache.
TANDEM_OP(kCtcLoss) = {
    .name = "ctc_loss",
    .infer = infer_ctc,
    .kernel =
        [](const KernelArgs& a) {
          const auto& o = a.attrs<CtcAttrs>();
          kernels::ctc_loss(a.in(0), a.in(1), a.in(2), a.in(3), o.blank, o.zero_infinity, a.out(0),
                            o.slope ? &a.out(1) : nullptr);
        },
    .saves = Saves::each(Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      TANDEM_CHECK_AS(NotImplementedError, !a.has_grad(1),
                      "ctc_loss: the derivative of its gradient (a second derivative) is not "
                      "implemented");
      Grads grads(4);
      const Tensor g = a.grad(0).unsqueeze(-1);
      // What does not count stays 0, also where the loss is inf and so is its gradient.
      grads[0] = a.attrs<CtcAttrs>().zero_infinity ? where(a.output(1) == 0, 0, a.output(1) * g)
                                                   : a.output(1) * g;
      return grads;
    },
    .outputs = 0,
    .count = [](AttrRef a) { return a.as<CtcAttrs>().slope ? 2 : 1; },
    .checks_values = true,
    .attrs = attrs_of<CtcAttrs>,
    .batch = batch_ctc,
    .inputs = 4,
};

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
  for (const Tensor* t : {&log_probs, &targets, &input_lengths, &target_lengths})
    TANDEM_CHECK(t->defined(), "ctc_loss: expected tensors, but one of them is undefined");
  detail::check_reduction("ctc_loss", reduction);
  if (log_probs.dim() == 2) {
    TANDEM_CHECK_SHAPE(input_lengths.numel() == 1 && target_lengths.numel() == 1,
                       "ctc_loss: log_probs ", log_probs.sizes(),
                       " are of one sample, but the lengths are ", input_lengths.sizes(), " and ",
                       target_lengths.sizes());
    const Tensor loss = ctc_loss(
        log_probs.unsqueeze(1), targets.dim() == 1 ? targets.unsqueeze(0) : targets,
        input_lengths.reshape({1}), target_lengths.reshape({1}), blank, reduction, zero_infinity);
    return loss.dim() == 0 ? loss : loss.squeeze(0);
  }
  const bool slope = GradMode::is_enabled() && log_probs.requires_grad();
  Tensor out[2];
  apply(kCtcLoss, {log_probs, targets, input_lengths, target_lengths},
        CtcAttrs{blank, zero_infinity, slope}, out);
  if (reduction == Reduction::Mean)
    return (out[0] / target_lengths.clamp_min(1).to(out[0].dtype())).mean();
  return detail::reduced_loss("ctc_loss", out[0], reduction);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  const auto lengths = [](IntArrayRef list) {
    return tensor(std::vector<int64_t>(list.begin(), list.end()), kLong);
  };
  return ctc_loss(log_probs, targets, lengths(input_lengths), lengths(target_lengths), blank,
                  reduction, zero_infinity);
}

}  // namespace tandem
