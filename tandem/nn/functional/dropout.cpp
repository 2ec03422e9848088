#include "tandem/nn/functional/dropout.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

void check_probability(double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

// `name` drops channels of inputs of `batched` dimensions; others are taken for a single sample.
Tensor drop_channels(const char* name, Tensor input, const DropoutFuncOptions& o, int64_t batched) {
  check_probability(o.p());
  TANDEM_CHECK_SHAPE(input.dim() >= 1, name, ": expected an input with channels, got shape ",
                     input.sizes());
  const bool single = input.dim() != batched;
  if (o.inplace()) {
    if (single)
      tandem::feature_dropout_(input.unsqueeze(0), o.p(), o.training());
    else
      tandem::feature_dropout_(input, o.p(), o.training());
    return input;
  }
  return single ? tandem::feature_dropout(input.unsqueeze(0), o.p(), o.training()).squeeze(0)
                : tandem::feature_dropout(input, o.p(), o.training());
}

}  // namespace

Tensor dropout(Tensor input, const DropoutFuncOptions& o) {
  check_probability(o.p());
  return o.inplace() ? tandem::dropout_(input, o.p(), o.training())
                     : tandem::dropout(input, o.p(), o.training());
}
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& o) {
  return drop_channels("dropout2d", std::move(input), o, 4);
}
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& o) {
  return drop_channels("dropout3d", std::move(input), o, 5);
}
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& o) {
  check_probability(o.p());
  return o.inplace() ? tandem::alpha_dropout_(input, o.p(), o.training())
                     : tandem::alpha_dropout(input, o.p(), o.training());
}
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& o) {
  check_probability(o.p());
  return o.inplace() ? tandem::feature_alpha_dropout_(input, o.p(), o.training())
                     : tandem::feature_alpha_dropout(input, o.p(), o.training());
}

Tensor detail::dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout(std::move(input),
                             DropoutFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor detail::dropout2d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout2d(std::move(input),
                               Dropout2dFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor detail::dropout3d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout3d(std::move(input),
                               Dropout3dFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor detail::alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::alpha_dropout(
      std::move(input), AlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor detail::feature_alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::feature_alpha_dropout(
      std::move(input), FeatureAlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}

}  // namespace tandem::nn::functional
