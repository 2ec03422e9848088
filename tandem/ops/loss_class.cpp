// Losses of scores for classes.
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/cross_entropy.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/loss_class_op.h"
#include "tandem/ops/loss_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {

using detail::check_reduction;
using detail::given;
using detail::reduced_loss;

namespace {

struct CheckClassesAttrs {
  std::string op;  // whose classes they are
  int64_t classes = 0;
  TANDEM_FIELDS(op, classes)
};

Dims without(IntArrayRef sizes, size_t dim) {
  Dims rest(sizes.begin(), sizes.end());
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(dim));
  return rest;
}

void check_integral(const char* name, const TensorType& target) {
  TANDEM_CHECK_TYPE(isIntegralType(target.dtype, false), name,
                    ": expected the target to hold classes, whole numbers (int64), got ", target);
}

// Targets [N, ...] for scores of shape `sizes`, [N, C, ...].
void check_places(const char* name, IntArrayRef sizes, const TensorType& target) {
  check_integral(name, target);
  TANDEM_CHECK_SHAPE(sizes.size() >= 2, name,
                     ": expected an input with a dimension of samples and one of classes, got ",
                     sizes);
  TANDEM_CHECK_SHAPE(!target.sizes.empty() && sizes[0] == target.sizes[0], name,
                     ": Expected input batch_size (", sizes[0], ") to match target batch_size (",
                     target.sizes.empty() ? 1 : target.sizes[0], "): the input is ", sizes,
                     ", the target ", target.sizes);
  TANDEM_CHECK_SHAPE(without(sizes, 1) == target.sizes, name, ": size mismatch (got input: ", sizes,
                     " , target: ", target.sizes, "): expected a target of shape ",
                     without(sizes, 1));
}

void check_class_weights(const char* name, const TensorType& weight, const TensorType& x,
                         int64_t classes) {
  TANDEM_CHECK_SHAPE(weight.sizes == Dims{classes}, name,
                     ": weight tensor should be defined either for all ", classes,
                     " classes or no classes but got weight tensor of shape: ", weight.sizes);
  TANDEM_CHECK_TYPE(weight.dtype == x.dtype, name, ": expected scalar type ", x.dtype,
                    " for weight but found ", weight.dtype);
}

void check_scores(const InferArgs& a) {
  TANDEM_CHECK_TYPE(is_floating(a.in(0).dtype), a.op.name, ": expected floating point scores, got ",
                    a.in(0));
  check_reduction(a.op.name, a.attrs<ClassLossAttrs>().reduction);
  check_places(a.op.name, a.in(0).sizes, a.in(1));
  if (a.n_inputs > 2) check_class_weights(a.op.name, a.in(2), a.in(0), a.in(0).sizes[1]);
}

// The gradient of a loss: one number, or one for each place.
void check_loss_grad(const InferArgs& a, int64_t reduction, const TensorType& target, DType dtype) {
  check_reduction(a.op.name, reduction);
  const Dims none{};
  TANDEM_CHECK_SHAPE(a.in(0).sizes == (reduction == Reduction::None ? target.sizes : none),
                     a.op.name, ": the gradient is ", a.in(0), ", the target ", target);
  TANDEM_CHECK_TYPE(is_floating(dtype) && a.in(0).dtype == dtype, a.op.name, ": the gradient is ",
                    a.in(0));
}
void check_total(const InferArgs& a, const TensorType& total, DType dtype) {
  TANDEM_CHECK_SHAPE(total.sizes.empty() && total.dtype == sum_dtype(dtype), a.op.name,
                     ": the total weight is ", total);
}

void infer_class_loss(const InferArgs& a) {
  check_scores(a);
  const bool none = a.attrs<ClassLossAttrs>().reduction == Reduction::None;
  a.out(0).sizes = none ? a.in(1).sizes : Dims();
  a.out(0).dtype = a.in(0).dtype;
  const bool cross_entropy = a.op.outputs == 3;
  if (cross_entropy) {
    a.out(1).sizes = a.in(1).sizes;
    a.out(1).dtype = sum_dtype(a.in(0).dtype);
  }
  TensorType& total = a.out(cross_entropy ? 2 : 1);
  total.sizes = {};
  total.dtype = sum_dtype(a.in(0).dtype);
}

kernels::ClassLossOptions options(const KernelArgs& a) {
  const auto& o = a.attrs<ClassLossAttrs>();
  return {a.op.name, static_cast<kernels::LossSum>(o.reduction), o.ignore_index, o.smoothing};
}

const Array* weight_of(const KernelArgs& a, int i) { return a.n_inputs > i ? &a.in(i) : nullptr; }

void refuse_weight_gradient(const VjpArgs& a, int i) {
  TANDEM_CHECK_AS(NotImplementedError, a.n_inputs() <= i || !a.needs(i), a.node.op->name,
                  ": the derivative for 'weight' is not implemented");
}

}  // namespace

// -- cross entropy ----------------------------------------------------------------------------

TANDEM_OP(kCrossEntropy) = {
    .name = "cross_entropy_loss",
    .infer = infer_class_loss,
    .kernel =
        [](const KernelArgs& a) {
          kernels::cross_entropy(options(a), a.in(0), a.in(1), weight_of(a, 2), a.out(0), a.out(1),
                                 a.out(2));
        },
    .saves = Saves::each(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::out(1) |
                         Saves::out(2)),
    .vjp = [](const VjpArgs& a) -> Grads {
      refuse_weight_gradient(a, 2);
      Grads grads(static_cast<size_t>(a.n_inputs()));
      if (!a.needs(0)) return grads;
      const Tensor lse = a.output(1), total = a.output(2);
      grads[0] =
          a.n_inputs() > 2
              ? apply(kCrossEntropyBackward,
                      {a.grad(), a.input(0), a.input(1), lse, total, a.input(2)}, a.attr_ref())
              : apply(kCrossEntropyBackward, {a.grad(), a.input(0), a.input(1), lse, total},
                      a.attr_ref());
      return grads;
    },
    .outputs = 3,
    .checks_values = true,
    .attrs = attrs_of<ClassLossAttrs>,
    .batch = batch_class_loss,
};

namespace {

// The gradient is g * scale * softmax(x) less what does not depend on x.
Grads cross_entropy_second(const VjpArgs& a) {
  const auto& o = a.attrs<ClassLossAttrs>();
  const bool weighted = a.n_inputs() > 5;
  const Tensor x = a.input(1), target = a.input(2), u = a.grad();
  const Tensor weight = weighted ? a.input(5) : Tensor();
  Grads grads(static_cast<size_t>(a.n_inputs()));
  if (a.needs(0)) {
    const bool none = o.reduction == Reduction::None;
    const Tensor one = none ? ones(target.sizes(), x.options().requires_grad(false))
                            : ones({}, x.options().requires_grad(false));
    const Tensor lse = a.input(3), total = a.input(4);
    const Tensor slope = weighted
                             ? apply(kCrossEntropyBackward, {one, x, target, lse, total, weight}, o)
                             : apply(kCrossEntropyBackward, {one, x, target, lse, total}, o);
    grads[0] = none ? (u * slope).sum(1) : (u * slope).sum();
  }
  if (a.needs(1)) {
    const int64_t classes = x.size(1);
    const Tensor counts = (target != o.ignore_index).to(x.dtype());
    Tensor scale = place_weights(target, o.ignore_index, weight, x.dtype()) * (1 - o.smoothing);
    if (o.smoothing != 0) {
      const double share = o.smoothing / static_cast<double>(classes);
      scale = scale + (weighted ? counts * (weight.sum() * share)
                                : counts * (share * static_cast<double>(classes)));
    }
    scale = scale * a.input(0);
    if (o.reduction == Reduction::Mean) scale = (scale / a.input(4)).to(x.dtype());
    const Tensor p = softmax(x, 1), up = u * p;
    grads[1] = scale.unsqueeze(1) * (up - p * up.sum(1, true));
  }
  return grads;
}

}  // namespace

TANDEM_OP(kCrossEntropyBackward) = {
    .name = "cross_entropy_loss_backward",
    .infer =
        [](const InferArgs& a) {
          const TensorType& x = a.in(1);
          check_loss_grad(a, a.attrs<ClassLossAttrs>().reduction, a.in(2), x.dtype);
          check_places(a.op.name, x.sizes, a.in(2));
          TANDEM_CHECK_SHAPE(a.in(3).sizes == a.in(2).sizes && a.in(3).dtype == sum_dtype(x.dtype),
                             a.op.name, ": the sums are ", a.in(3));
          check_total(a, a.in(4), x.dtype);
          if (a.n_inputs > 5) check_class_weights(a.op.name, a.in(5), x, x.sizes[1]);
          a.out().sizes = x.sizes;
          a.out().dtype = x.dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::cross_entropy_backward(options(a), a.in(0), a.in(1), a.in(2), weight_of(a, 5),
                                          a.in(3), a.in(4), a.out());
        },
    .saves = Saves::each(Saves::from(1), Saves::from(0)),
    .vjp = cross_entropy_second,
    .checks_values = true,
    .attrs = attrs_of<ClassLossAttrs>,
    .batch = batch_cross_entropy_backward,
};

// -- negative log likelihood ------------------------------------------------------------------

TANDEM_OP(kNllLoss) = {
    .name = "nll_loss",
    .infer = infer_class_loss,
    .kernel =
        [](const KernelArgs& a) {
          kernels::nll_loss(options(a), a.in(0), a.in(1), weight_of(a, 2), a.out(0), a.out(1));
        },
    .saves = Saves::each(Saves::in(1) | Saves::in(2) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      refuse_weight_gradient(a, 2);
      Grads grads(static_cast<size_t>(a.n_inputs()));
      if (!a.needs(0)) return grads;
      const auto& o = a.attrs<ClassLossAttrs>();
      const NllBackwardAttrs attrs{o.reduction, o.ignore_index, a.input_type(0).sizes};
      grads[0] =
          a.n_inputs() > 2
              ? apply(kNllLossBackward, {a.grad(), a.input(1), a.output(1), a.input(2)}, attrs)
              : apply(kNllLossBackward, {a.grad(), a.input(1), a.output(1)}, attrs);
      return grads;
    },
    .outputs = 2,
    .checks_values = true,
    .attrs = attrs_of<ClassLossAttrs>,
    .batch = batch_class_loss,
};

TANDEM_OP(kNllLossBackward) = {
    .name = "nll_loss_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& o = a.attrs<NllBackwardAttrs>();
          check_loss_grad(a, o.reduction, a.in(1), a.in(0).dtype);
          check_places(a.op.name, o.sizes, a.in(1));
          numel_of(o.sizes);
          check_total(a, a.in(2), a.in(0).dtype);
          if (a.n_inputs > 3) check_class_weights(a.op.name, a.in(3), a.in(0), o.sizes[1]);
          a.out().sizes = o.sizes;
          a.out().dtype = a.in(0).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& o = a.attrs<NllBackwardAttrs>();
          kernels::nll_loss_backward(
              {a.op.name, static_cast<kernels::LossSum>(o.reduction), o.ignore_index}, a.in(0),
              a.in(1), weight_of(a, 3), a.in(2), a.out());
        },
    .saves = Saves::each(Saves::in(1) | Saves::in(3)),
    // It is linear, and the loss is its transpose.
    .vjp = [](const VjpArgs& a) -> Grads {
      Grads grads(static_cast<size_t>(a.n_inputs()));
      if (!a.needs(0)) return grads;
      const auto& o = a.attrs<NllBackwardAttrs>();
      const ClassLossAttrs attrs{o.reduction, o.ignore_index, 0};
      grads[0] = a.n_inputs() > 3
                     ? apply_n<2>(kNllLoss, {a.grad(), a.input(1), a.input(3)}, attrs)[0]
                     : apply_n<2>(kNllLoss, {a.grad(), a.input(1)}, attrs)[0];
      return grads;
    },
    .checks_values = true,
    .attrs = attrs_of<NllBackwardAttrs>,
    .batch = batch_nll_loss_backward,
};

// -- margins ----------------------------------------------------------------------------------

// Classes as they are, once they have been looked at: a wrong one is found before it is used.
TANDEM_OP(kCheckClasses) = {
    .name = "check_classes",
    .infer =
        [](const InferArgs& a) {
          check_integral(a.attrs<CheckClassesAttrs>().op.c_str(), a.in());
          a.out().sizes = a.in().sizes;
          a.out().dtype = kLong;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& c = a.attrs<CheckClassesAttrs>();
          kernels::check_classes(c.op.c_str(), a.in(), c.classes, a.out());
        },
    .checks_values = true,
    .attrs = attrs_of<CheckClassesAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

// The second output is the first one's gradient by the scores, which does not change with them.
TANDEM_OP(kMultilabelMarginLoss) = {
    .name = "multilabel_margin_loss",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(is_floating(a.in(0).dtype), a.op.name,
                            ": expected floating point scores, got ", a.in(0));
          check_integral(a.op.name, a.in(1));
          TANDEM_CHECK_SHAPE(a.in(0).dim() == 2 && a.in(0).sizes == a.in(1).sizes, a.op.name,
                             ": inconsistent target size: ", a.in(1).sizes,
                             " for input of size: ", a.in(0).sizes);
          a.out(0).sizes = {a.in(0).sizes[0]};
          a.out(0).dtype = a.in(0).dtype;
          a.out(1).sizes = a.in(0).sizes;
          a.out(1).dtype = a.in(0).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::multilabel_margin_loss(a.in(0), a.in(1), a.out(0), a.out(1));
        },
    .saves = Saves::each(Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      if (!a.has_grad(0)) return {zeros_like(a.output(1)), Tensor()};
      return {a.grad(0).unsqueeze(1) * a.output(1), Tensor()};
    },
    .outputs = 2,
    .checks_values = true,
    .batch = batch_multilabel_margin_loss,
    .inputs = 2,
};

// -- functions --------------------------------------------------------------------------------

namespace {

void check_defined(const char* name, const Tensor& x, const Tensor& target) {
  TANDEM_CHECK(x.defined() && target.defined(), name, ": expected two tensors, but the ",
               x.defined() ? "target" : "input", " is undefined");
}

// Runs cross entropy or nll_loss; one sample is a batch of one.
Tensor class_loss(const OpDef& op, const Tensor& x, const Tensor& target, const Tensor& weight,
                  const ClassLossAttrs& attrs) {
  check_reduction(op.name, attrs.reduction);
  TANDEM_CHECK_SHAPE(x.dim() > 0, op.name, ": expected an input with a dimension of classes, got ",
                     x.type_of());
  if (x.dim() == 1) {
    TANDEM_CHECK_SHAPE(
        target.dim() == 0 || target.sizes() == IntArrayRef{1}, op.name,
        ": For 1D input, expected a target of one class, but got target of size: ", target.sizes());
    const Tensor loss = class_loss(op, x.unsqueeze(0), target.reshape({1}), weight, attrs);
    return loss.dim() == target.dim() ? loss : loss.squeeze(0);
  }
  Tensor out[3];
  if (weight.defined())
    apply(op, {x, target, weight}, attrs, out);
  else
    apply(op, {x, target}, attrs, out);
  return out[0];
}

Tensor soft_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight,
                          int64_t reduction, double smoothing) {
  constexpr const char* kName = "cross_entropy_loss";
  TANDEM_CHECK_TYPE(is_floating(target.dtype()), kName,
                    ": Expected floating point type for target with class probabilities, got ",
                    target.dtype());
  TANDEM_CHECK_TYPE(is_floating(x.dtype()), kName, ": expected floating point scores, got ",
                    x.type_of());
  check_reduction(kName, reduction);
  const int64_t dim = x.dim() == 1 ? 0 : 1, classes = x.size(dim);
  Tensor p = target;
  if (smoothing > 0) p = p * (1 - smoothing) + smoothing / static_cast<double>(classes);
  Tensor terms = log_softmax(x, dim) * p;
  if (weight.defined()) {
    check_class_weights(kName, weight.type_of(), x.type_of(), classes);
    Dims sizes(static_cast<size_t>(x.dim()), 1);
    sizes[static_cast<size_t>(dim)] = classes;
    terms = terms * weight.view(sizes);
  }
  if (reduction == Reduction::None) return -terms.sum(dim);
  const Tensor sum = -terms.sum();
  if (reduction == Reduction::Sum) return sum;
  // The mean is over places, not over classes.
  return sum / (static_cast<double>(x.numel()) / static_cast<double>(classes));
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                int64_t reduction, int64_t ignore_index) {
  check_defined("nll_loss", x, target);
  TANDEM_CHECK_SHAPE(x.dim() == 1 || x.dim() == 2,
                     "nll_loss: input tensor should be 1D or 2D, got ", x.sizes());
  return nll_loss_nd(x, target, weight, reduction, ignore_index);
}

Tensor nll_loss2d(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                  int64_t reduction, int64_t ignore_index) {
  check_defined("nll_loss2d", x, target);
  TANDEM_CHECK_SHAPE(x.dim() == 4,
                     "nll_loss2d: only batches of spatial inputs supported (4D tensors), but got "
                     "input of size: ",
                     x.sizes());
  return nll_loss_nd(x, target, weight, reduction, ignore_index);
}

Tensor nll_loss_nd(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight,
                   int64_t reduction, int64_t ignore_index) {
  check_defined("nll_loss", x, target);
  return class_loss(kNllLoss, x, target, given(weight), {reduction, ignore_index, 0});
}

Tensor cross_entropy_loss(const Tensor& x, const Tensor& target,
                          const std::optional<Tensor>& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  check_defined("cross_entropy_loss", x, target);
  TANDEM_CHECK(
      label_smoothing >= 0 && label_smoothing <= 1,
      "cross_entropy_loss: label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  if (x.dim() > 0 && x.sizes() == target.sizes() && !isIntegralType(target.dtype(), true)) {
    TANDEM_CHECK(ignore_index < 0,
                 "cross_entropy_loss: ignore_index is not supported for floating point target");
    return soft_cross_entropy(x, target, given(weight), reduction, label_smoothing);
  }
  return class_loss(kCrossEntropy, x, target, given(weight),
                    {reduction, ignore_index, label_smoothing});
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const std::optional<Tensor>& weight,
                         int64_t reduction) {
  constexpr const char* kName = "multi_margin_loss";
  check_defined(kName, x, target);
  check_reduction(kName, reduction);
  TANDEM_CHECK(p.toDouble() == 1 || p.toDouble() == 2, kName,
               ": only p == 1 and p == 2 supported, got ", p);
  TANDEM_CHECK_TYPE(is_floating(x.dtype()), kName, ": expected floating point scores, got ",
                    x.type_of());
  TANDEM_CHECK_SHAPE(x.dim() >= 1 && x.dim() <= 2 && x.size(-1) > 0, kName,
                     ": Expected non-empty vector or matrix with optional 0-dim batch size, but "
                     "got: ",
                     x.sizes());
  const Tensor rows = x.dim() == 1 ? x.unsqueeze(0) : x;
  TANDEM_CHECK_SHAPE(target.dim() <= 1 && target.numel() == rows.size(0), kName,
                     ": inconsistent target size, expected ", rows.size(0), " but got ",
                     target.sizes());
  const int64_t classes = rows.size(1);
  const Tensor right =
      apply(kCheckClasses, {target.reshape({-1})}, CheckClassesAttrs{kName, classes}).unsqueeze(1);
  Tensor z = (rows - rows.gather(1, right) + margin).clamp_min(0);
  if (p.toDouble() == 2) z = z.square();
  if (const Tensor w = given(weight); w.defined()) {
    check_class_weights(kName, w.type_of(), x.type_of(), classes);
    z = z * w.index_select(0, right.squeeze(1)).unsqueeze(1);
  }
  const Tensor loss = z.scatter(1, right, 0).sum(1) / classes;
  return reduced_loss(kName, x.dim() == 1 && target.dim() == 0 ? loss.squeeze(0) : loss, reduction);
}

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  constexpr const char* kName = "multilabel_margin_loss";
  check_defined(kName, x, target);
  check_reduction(kName, reduction);
  TANDEM_CHECK_SHAPE(x.dim() <= 2 && x.sizes() == target.sizes(), kName,
                     ": inconsistent target size: ", target.sizes(),
                     " for input of size: ", x.sizes());
  const bool batch = x.dim() == 2;
  const int64_t classes = x.dim() ? x.size(-1) : 1;
  const Tensor rows = batch ? x : x.reshape({1, classes});
  const auto out =
      apply_n<2>(kMultilabelMarginLoss, {rows, batch ? target : target.reshape({1, classes})});
  return reduced_loss(kName, batch ? out[0] : out[0].squeeze(0), reduction);
}

}  // namespace tandem
