// Losses of numbers. Most are made of other ops: the fuser makes one kernel of each.
#include "tandem/ops/loss.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/binary_cross_entropy.h"
#include "tandem/kernels/smooth_l1.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/loss_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {

namespace detail {

void check_reduction(const char* op, int64_t reduction) {
  TANDEM_CHECK(reduction >= Reduction::None && reduction < Reduction::END, op,
               ": there is no reduction ", reduction, ": 0 is none, 1 mean, 2 sum");
}

Tensor reduced_loss(const char* op, const Tensor& losses, int64_t reduction) {
  check_reduction(op, reduction);
  switch (reduction) {
    case Reduction::Mean:
      return losses.mean();
    case Reduction::Sum:
      return losses.sum();
    default:
      return losses;
  }
}

}  // namespace detail

using detail::given;
using detail::reduced_loss;

extern const OpDef kSmoothL1Backward;

namespace {

void check_pair(const char* op, const Tensor& x, const Tensor& target) {
  TANDEM_CHECK(x.defined() && target.defined(), op, ": expected two tensors, but the ",
               x.defined() ? "target" : "input", " is undefined");
}

void check_floating(const char* op, const Tensor& x) {
  TANDEM_CHECK_TYPE(is_floating(x.dtype()), op, ": expected a floating point input, got ",
                    x.type_of());
}

Tensor distance(const char* op, const Tensor& x, const Tensor& target) {
  check_pair(op, x, target);
  broadcast_shapes(op, x.sizes(), target.sizes());
  return x - target;
}

void infer_bce(const InferArgs& a) {
  TANDEM_CHECK_TYPE(is_floating(a.in(0).dtype) && a.in(0).dtype == a.in(1).dtype, a.op.name,
                    ": expected input and target of one floating point dtype, got ", a.in(0),
                    " and ", a.in(1));
  TANDEM_CHECK_SHAPE(a.in(0).sizes == a.in(1).sizes, a.op.name, ": Using a target size (",
                     a.in(1).sizes, ") that is different to the input size (", a.in(0).sizes,
                     ") is deprecated. Please ensure they have the same size.");
  a.out().sizes = a.in().sizes;
  a.out().dtype = a.in().dtype;
}

struct SmoothL1Attrs {
  double bound = 1, scale = 1;
  TANDEM_FIELDS(bound, scale)
};

void infer_smooth_l1(const InferArgs& a) {
  const TensorType& x = a.in(a.n_inputs - 1);
  TANDEM_CHECK_TYPE(is_floating(x.dtype) && a.in(0).dtype == x.dtype, a.op.name,
                    ": expected floating point values, got ", a.in(0));
  TANDEM_CHECK_SHAPE(a.in(0).sizes == x.sizes, a.op.name, ": ", a.in(0), " for ", x);
  a.out().sizes = x.sizes;
  a.out().dtype = x.dtype;
}

// 16-bit values as what the kernels compute with.
Tensor wide(const Tensor& x) { return x.dtype() == kDouble ? x : x.to(kFloat); }

}  // namespace

// The logarithms are bounded so that a probability of 0 or 1 leaves a number; so is the divisor of
// the gradient.
TANDEM_OP(kBinaryCrossEntropy) = {
    .name = "binary_cross_entropy",
    .infer = infer_bce,
    .kernel = [](const KernelArgs& a) { kernels::binary_cross_entropy(a.in(0), a.in(1), a.out()); },
    .saves = Saves::each(Saves::in(0) | Saves::in(1), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input(0);
      Grads grads(2);
      if (a.needs(0)) grads[0] = a.grad() * ((x - a.input(1)) / ((1 - x) * x).clamp_min(1e-12));
      if (a.needs(1)) grads[1] = a.grad() * ((-x).log1p() - x.log());
      return grads;
    },
    .checks_values = true,
    .batch = batch_leading,
    .inputs = 2,
};

// Of differences. Eager it is one pass where the composite is six.
TANDEM_OP(kSmoothL1) = {
    .name = "smooth_l1",
    .infer = infer_smooth_l1,
    .kernel =
        [](const KernelArgs& a) {
          const auto& o = a.attrs<SmoothL1Attrs>();
          kernels::smooth_l1(a.in(), o.bound, o.scale, a.out());
        },
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kSmoothL1Backward, {a.grad(), a.input()}, a.attr_ref())};
    },
    .attrs = attrs_of<SmoothL1Attrs>,
    .batch = batch_leading,
    .decompose =
        [](const DecomposeArgs& a) {
          const auto& o = a.attrs<SmoothL1Attrs>();
          const Tensor z = wide(a.in()).abs(), c = z.clamp_max(o.bound);
          a.outputs[0] = (c * (z - c * 0.5) * o.scale).to(a.in().dtype());
        },
    .inputs = 1,
};

TANDEM_OP(kSmoothL1Backward) = {
    .name = "smooth_l1_backward",
    .infer = infer_smooth_l1,
    .kernel =
        [](const KernelArgs& a) {
          const auto& o = a.attrs<SmoothL1Attrs>();
          kernels::smooth_l1_backward(a.in(0), a.in(1), o.bound, o.scale, a.out());
        },
    .saves = Saves::each(Saves::in(1), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& o = a.attrs<SmoothL1Attrs>();
      Grads grads(2);
      if (a.needs(0)) grads[0] = apply(kSmoothL1Backward, {a.grad(), a.input(1)}, o);
      if (a.needs(1))
        grads[1] = where(a.input(1).abs() <= o.bound, a.grad() * a.input(0) * o.scale, 0);
      return grads;
    },
    .attrs = attrs_of<SmoothL1Attrs>,
    .batch = batch_leading,
    .decompose =
        [](const DecomposeArgs& a) {
          const auto& o = a.attrs<SmoothL1Attrs>();
          const Tensor slope = wide(a.in(1)).clamp(-o.bound, o.bound) * o.scale;
          a.outputs[0] = (wide(a.in(0)) * slope).to(a.in(0).dtype());
        },
    .inputs = 2,
};

Tensor mse_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  return reduced_loss("mse_loss", distance("mse_loss", x, target).square(), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  return reduced_loss("l1_loss", distance("l1_loss", x, target).abs(), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, int64_t reduction, double beta) {
  TANDEM_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta, got ", beta);
  if (beta == 0) return l1_loss(x, target, reduction);
  const Tensor d = distance("smooth_l1_loss", x, target);
  return reduced_loss("smooth_l1_loss", apply(kSmoothL1, {d}, SmoothL1Attrs{beta, 1 / beta}),
                      reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, int64_t reduction, double delta) {
  TANDEM_CHECK(delta > 0, "huber_loss does not support non-positive values for delta, got ", delta);
  const Tensor d = distance("huber_loss", x, target);
  return reduced_loss("huber_loss", apply(kSmoothL1, {d}, SmoothL1Attrs{delta, 1}), reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target, int64_t reduction, bool log_target) {
  check_pair("kl_div", x, target);
  broadcast_shapes("kl_div", x.sizes(), target.sizes());
  const Tensor loss = log_target ? target.exp() * (target - x) : target.xlogy(target) - target * x;
  return reduced_loss("kl_div", loss, reduction);
}

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                            const std::optional<Tensor>& weight, int64_t reduction) {
  check_pair("binary_cross_entropy", x, target);
  // Dimensions of extent 1 do not matter, as with ATen's function.
  const bool alike = x.sizes() != target.sizes() && x.squeeze().sizes() == target.squeeze().sizes();
  Tensor loss = apply(kBinaryCrossEntropy, {x, alike ? target.reshape(x.sizes()) : target});
  if (const Tensor w = given(weight); w.defined()) loss = loss * w;
  return reduced_loss("binary_cross_entropy", loss, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight,
                                        int64_t reduction) {
  constexpr const char* kName = "binary_cross_entropy_with_logits";
  check_pair(kName, x, target);
  check_floating(kName, x);
  broadcast_shapes(kName, x.sizes(), target.sizes());
  Tensor cost = log_sigmoid(x);
  if (const Tensor p = given(pos_weight); p.defined()) cost = cost * ((p - 1) * target + 1);
  Tensor loss = (1 - target) * x - cost;
  if (const Tensor w = given(weight); w.defined()) loss = loss * w;
  return reduced_loss(kName, loss, reduction);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction) {
  check_pair("poisson_nll_loss", x, target);
  Tensor loss = log_input ? x.exp() - target * x : x - target * (x + eps).log();
  if (full) {
    // Stirling's approximation of log(target!), which is 0 for 0 and 1. What would be no number
    // there must not get into the gradient either.
    const Tensor small = target <= 1, t = where(small, 2, target);
    const Tensor stirling = t * t.log() - t + (t * (2 * M_PI)).log() * 0.5;
    loss = loss + where(small, 0, stirling);
  }
  return reduced_loss("poisson_nll_loss", loss, reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  check_pair("soft_margin_loss", x, target);
  check_floating("soft_margin_loss", x);
  broadcast_shapes("soft_margin_loss", x.sizes(), target.sizes());
  return reduced_loss("soft_margin_loss", -log_sigmoid(target * x), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin,
                            int64_t reduction) {
  check_pair("hinge_embedding_loss", x, target);
  broadcast_shapes("hinge_embedding_loss", x.sizes(), target.sizes());
  const Tensor apart = where(target != 1, (margin - x).clamp_min(0), 0);
  return reduced_loss("hinge_embedding_loss", apart + where(target != -1, x, 0), reduction);
}

Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                           int64_t reduction) {
  check_pair("margin_ranking_loss", x1, x2);
  check_pair("margin_ranking_loss", x1, target);
  return reduced_loss("margin_ranking_loss", (-target * (x1 - x2) + margin).clamp_min(0),
                      reduction);
}

Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                             double margin, int64_t reduction) {
  check_pair("cosine_embedding_loss", x1, x2);
  check_pair("cosine_embedding_loss", x1, target);
  TANDEM_CHECK_SHAPE(target.dim() == 0 || target.dim() == 1,
                     "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not "
                     "supported, got ",
                     target.sizes());
  if (target.dim() == 1) {
    TANDEM_CHECK_SHAPE(x1.dim() == 2,
                       "cosine_embedding_loss: 1D target tensor expects 2D input tensors, but "
                       "found inputs with sizes ",
                       x1.sizes(), " and ", x2.sizes(), ".");
  } else {
    TANDEM_CHECK_SHAPE(x1.dim() == 1,
                       "cosine_embedding_loss: 0D target tensor expects 1D input tensors, but "
                       "found inputs with sizes ",
                       x1.sizes(), " and ", x2.sizes(), ".");
  }
  constexpr double kTiny = 1e-12;
  const Tensor dot = (x1 * x2).sum(-1), size1 = x1.square().sum(-1) + kTiny,
               size2 = x2.square().sum(-1) + kTiny;
  const Tensor cosine = dot / (size1 * size2).sqrt();
  const Tensor loss =
      where(target == 1, 1 - cosine, 0) + where(target == -1, (cosine - margin).clamp_min(0), 0);
  return reduced_loss("cosine_embedding_loss", loss, reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  check_pair("triplet_margin_loss", anchor, positive);
  check_pair("triplet_margin_loss", anchor, negative);
  TANDEM_CHECK_SHAPE(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
                     "triplet_margin_loss: All inputs should have same dimension but got ",
                     anchor.dim(), "D, ", positive.dim(), "D and ", negative.dim(), "D inputs.");
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = min(far, pairwise_distance(positive, negative, p, eps));
  return reduced_loss("triplet_margin_loss", (margin + near - far).clamp_min(0), reduction);
}

}  // namespace tandem
