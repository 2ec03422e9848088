#include "tandem/nn/modules/linear.h"

#include <cmath>

#include "tandem/nn/functional/linear.h"
#include "tandem/nn/init.h"
#include "tandem/nn/modules/truth.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

// Uniform in +-1 / sqrt(features): the usual first values.
void fill_parameters(const Tensor& weight, const Tensor& bias, int64_t features) {
  const double bound = features > 0 ? 1 / std::sqrt(static_cast<double>(features)) : 0;
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

}  // namespace

void IdentityImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Identity"} << "()";
}
Tensor IdentityImpl::forward(const Tensor& input) { return input; }

LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) { LinearImpl::reset(); }
void LinearImpl::reset() {
  TANDEM_CHECK(options.in_features() >= 0 && options.out_features() >= 0,
               "Linear: in_features and out_features must not be negative, got ",
               options.in_features(), " and ", options.out_features());
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = options.bias() ? register_parameter("bias", empty({options.out_features()}))
                        : register_parameter("bias", Tensor(), false);
  reset_parameters();
}
void LinearImpl::reset_parameters() { fill_parameters(weight, bias, options.in_features()); }
void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Linear"} << "(in_features=" << options.in_features()
         << ", out_features=" << options.out_features()
         << ", bias=" << detail::truth(options.bias()) << ")";
}
Tensor LinearImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::linear(input, weight, bias);
}

void FlattenImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Flatten"} << "(start_dim=" << options.start_dim()
         << ", end_dim=" << options.end_dim() << ")";
}
Tensor FlattenImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return input.flatten(options.start_dim(), options.end_dim());
}

void UnflattenImpl::pretty_print(std::ostream& stream) const {
  const auto list = [&](const auto& items, const auto& print) {
    stream << "{";
    for (size_t i = 0; i < items.size(); ++i) {
      stream << (i ? ", " : "");
      print(items[i]);
    }
    stream << "}";
  };
  stream << PrintedName{"Unflatten"} << "(dim=";
  if (!options.namedshape().empty()) {
    stream << '"' << options.dimname() << "\", unflattened_size=";
    list(options.namedshape(),
         [&](const auto& p) { stream << "{\"" << p.first << "\", " << p.second << "}"; });
  } else {
    stream << options.dim() << ", unflattened_size=";
    list(options.sizes(), [&](int64_t n) { stream << n; });
  }
  stream << ")";
}
Tensor UnflattenImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  TANDEM_CHECK(options.namedshape().empty(),
               "Unflatten: dimensions have no names; give the dimension as a number instead of \"",
               options.dimname(), "\"");
  return input.unflatten(options.dim(), options.sizes());
}

BilinearImpl::BilinearImpl(const BilinearOptions& options_) : options(options_) {
  BilinearImpl::reset();
}
void BilinearImpl::reset() {
  TANDEM_CHECK(
      options.in1_features() >= 0 && options.in2_features() >= 0 && options.out_features() >= 0,
      "Bilinear: numbers of features must not be negative, got ", options.in1_features(), ", ",
      options.in2_features(), " and ", options.out_features());
  weight = register_parameter(
      "weight", empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = options.bias() ? register_parameter("bias", empty({options.out_features()}))
                        : register_parameter("bias", Tensor(), false);
  reset_parameters();
}
void BilinearImpl::reset_parameters() { fill_parameters(weight, bias, options.in1_features()); }
void BilinearImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Bilinear"} << "(in1_features=" << options.in1_features()
         << ", in2_features=" << options.in2_features()
         << ", out_features=" << options.out_features()
         << ", bias=" << detail::truth(options.bias()) << ")";
}
Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  const ForwardScope scope(*this);
  return functional::bilinear(input1, input2, weight, bias);
}

}  // namespace tandem::nn
