#include "tandem/ops/norm.h"

#include "tandem/core/mode.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/norm_detail.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

/// What a norm over channels was given beside its input.
struct Given {
  Tensor weight, bias, running_mean, running_var;
};

void check_given(const char* op, const Tensor& t, const char* what, int64_t channels) {
  TANDEM_CHECK_SHAPE(!t.defined() || (t.dim() == 1 && t.size(0) == channels), op, ": ", what,
                     " should contain ", channels, " elements not ", t.numel(), ": the input has ",
                     channels, " channels (dimension 1), ", what, " has the shape ", t.sizes());
}

void check_input(const char* op, const Tensor& x, const Given& g) {
  TANDEM_CHECK_SHAPE(x.dim() >= 2, op,
                     ": expected an input with channels in dimension 1, [N, C, ...], got shape ",
                     x.sizes());
  check_given(op, g.weight, "weight", x.size(1));
  check_given(op, g.bias, "bias", x.size(1));
  check_given(op, g.running_mean, "running_mean", x.size(1));
  check_given(op, g.running_var, "running_var", x.size(1));
}

// Weight and bias come together or not at all.
void complete(Given& g) {
  if (g.weight.defined() && !g.bias.defined()) g.bias = zeros_like(g.weight.detach());
  if (g.bias.defined() && !g.weight.defined()) g.weight = ones_like(g.bias.detach());
}

Tensor normalized(const OpDef& op, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                  const Given& g, AttrRef attrs) {
  return g.weight.defined() ? apply(op, {x, mean, rstd, g.weight, g.bias}, attrs)
                            : apply(op, {x, mean, rstd}, attrs);
}

// running = running * (1 - factor) + now * factor; of the factor one is given. `now` was made of
// `moments`.
void move_on(const Tensor& running, const Tensor& now, double momentum, const Tensor& factor,
             const Tensor& moments) {
  if (!running.defined()) return;
  const NoGradGuard no_grad;
  const StateScope state(moments);
  if (factor.defined())
    running.copy_(running * (1 - factor) + now * factor);
  else
    running.mul_(1 - momentum).add_(now.to(running.dtype()), momentum);
}

struct Normed {
  Tensor y, mean, rstd;
};

Normed train(const char* op, const Tensor& x, const Given& g, double momentum, const Tensor& factor,
             double eps) {
  const int64_t each = x.size(1) == 0 ? 0 : x.numel() / x.size(1);
  const auto [mean, rstd, var] = apply_n<3>(kChannelMoments, {x}, MomentsAttrs{eps, false});
  TANDEM_CHECK_SHAPE(!(each == 0 && g.running_mean.defined()) || x.numel() == 0, op,
                     ": no values to take statistics of in ", x.sizes());
  if (each > 0) {
    move_on(g.running_mean, mean, momentum, factor, mean);
    const double n = static_cast<double>(each);
    if (g.running_var.defined()) {
      const NoGradGuard no_grad;
      move_on(g.running_var, var * (n / (n - 1)), momentum, factor, mean);
    }
  }
  return {normalized(kBatchNormalize, x, mean, rstd, g, NormalizeAttrs{true, false}), mean, rstd};
}

Tensor evaluate(const char* op, const Tensor& x, const Given& g, double eps) {
  TANDEM_CHECK(g.running_mean.defined() && g.running_var.defined(), op,
               ": expected running_mean and running_var to be defined when not training");
  const OwnerScope owner(x);
  const Tensor rstd = (g.running_var.to(compute_dtype(g.running_var.dtype())) + eps).rsqrt();
  return normalized(kBatchNormalize, x, g.running_mean, rstd, g, NormalizeAttrs{false, false});
}

Given given(const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
            const std::optional<Tensor>& mean, const std::optional<Tensor>& var) {
  Given g{value_or_none(weight), value_or_none(bias), value_or_none(mean), value_or_none(var)};
  complete(g);
  return g;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias,
                                                     const std::optional<Tensor>& running_mean,
                                                     const std::optional<Tensor>& running_var,
                                                     bool training, double momentum, double eps) {
  const Given g = given(weight, bias, running_mean, running_var);
  check_input("batch_norm", input, g);
  if (training) {
    Normed n = train("batch_norm", input, g, momentum, Tensor(), eps);
    return {n.y, n.mean, n.rstd};
  }
  const TensorOptions o = input.options().dtype(compute_dtype(input.dtype())).requires_grad(false);
  return {evaluate("batch_norm", input, g, eps), empty({0}, o), empty({0}, o)};
}

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var, bool training, double momentum,
                  double eps, bool) {
  const Given g = given(weight, bias, running_mean, running_var);
  check_input("batch_norm", input, g);
  return training ? train("batch_norm", input, g, momentum, Tensor(), eps).y
                  : evaluate("batch_norm", input, g, eps);
}

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& factor, double eps) {
  const Given g = given(weight, bias, running_mean, running_var);
  check_input("batch_norm", input, g);
  return train("batch_norm", input, g, 0, factor, eps).y;
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool) {
  const Given g = given(weight, bias, std::nullopt, std::nullopt);
  TANDEM_CHECK(num_groups > 0, "group_norm: expected num groups to be greater than 0, got ",
               num_groups);
  check_input("group_norm", input, g);
  TANDEM_CHECK_SHAPE(input.size(1) % num_groups == 0,
                     "group_norm: expected number of channels in input to be divisible by "
                     "num_groups, but got input of shape ",
                     input.sizes(), " and num_groups=", num_groups);
  const int64_t rows = input.size(0) * num_groups;
  const Tensor grouped = input.reshape({1, rows, rows == 0 ? 0 : input.numel() / rows});
  const auto [mean, rstd, var] = apply_n<3>(kChannelMoments, {grouped}, MomentsAttrs{eps, false});
  return normalized(kGroupNormalize, input, mean, rstd, g, GroupAttrs{num_groups});
}

Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, bool use_input_stats,
                     double momentum, double eps, bool) {
  Given g = given(weight, bias, running_mean, running_var);
  TANDEM_CHECK(use_input_stats || (g.running_mean.defined() && g.running_var.defined()),
               "instance_norm: expected running_mean and running_var to be defined when "
               "use_input_stats is false");
  check_input("instance_norm", input, g);
  if (!use_input_stats) return evaluate("instance_norm", input, g, eps);
  const int64_t samples = input.size(0), channels = input.size(1), rows = samples * channels;
  if (rows == 0) return input.clone();
  // One channel for each channel of each sample.
  const Tensor apart = input.reshape({1, rows, input.numel() / rows});
  const auto [mean, rstd, var] = apply_n<3>(kChannelMoments, {apart}, MomentsAttrs{eps, false});
  if (g.running_mean.defined() || g.running_var.defined()) {
    const NoGradGuard no_grad;
    const double n = static_cast<double>(apart.size(2));
    const auto average = [&](const Tensor& t) { return t.reshape({samples, channels}).mean(0); };
    move_on(g.running_mean, average(mean), momentum, Tensor(), mean);
    move_on(g.running_var, average(var) * (n / (n - 1)), momentum, Tensor(), mean);
  }
  return normalized(kGroupNormalize, input, mean, rstd, g, GroupAttrs{channels});
}

}  // namespace tandem
