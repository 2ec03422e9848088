#include "tandem/nn/modules/activation.h"

#include "tandem/nn/functional/activation.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

// Ends what a module prints: in-place ones say so.
void print_inplace(std::ostream& stream, bool inplace, const char* before) {
  if (inplace) stream << before << "inplace=true";
  stream << ")";
}

}  // namespace

Tensor ELUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::elu(std::move(input), options);
}
void ELUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"ELU"} << "(alpha=" << options.alpha();
  print_inplace(stream, options.inplace(), ", ");
}

Tensor SELUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::selu(std::move(input), options);
}
void SELUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"SELU"} << "(";
  print_inplace(stream, options.inplace(), "");
}

Tensor HardshrinkImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::hardshrink(input, options);
}
void HardshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Hardshrink"} << "(" << options.lambda() << ")";
}

HardtanhImpl::HardtanhImpl(const HardtanhOptions& options_) : options(options_) {
  HardtanhImpl::reset();
}
void HardtanhImpl::reset() {
  TANDEM_CHECK(options.min_val() < options.max_val(),
               "Hardtanh: max_val must be greater than min_val, but got ", options.max_val(),
               " and ", options.min_val());
}
Tensor HardtanhImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::hardtanh(std::move(input), options);
}
void HardtanhImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Hardtanh"} << "(min_val=" << options.min_val()
         << ", max_val=" << options.max_val();
  print_inplace(stream, options.inplace(), ", ");
}

Tensor HardsigmoidImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::hardsigmoid(std::move(input), options);
}
void HardsigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Hardsigmoid"} << "(";
  print_inplace(stream, options.inplace(), "");
}

Tensor HardswishImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::hardswish(std::move(input), options);
}
void HardswishImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Hardswish"} << "(";
  print_inplace(stream, options.inplace(), "");
}

Tensor LeakyReLUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::leaky_relu(std::move(input), options);
}
void LeakyReLUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"LeakyReLU"} << "(negative_slope=" << options.negative_slope();
  print_inplace(stream, options.inplace(), ", ");
}

Tensor LogSigmoidImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::logsigmoid(input);
}
void LogSigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"LogSigmoid"} << "()";
}

Tensor SoftmaxImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::softmax(input, options.dim());
}
void SoftmaxImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softmax"} << "(dim=" << options.dim() << ")";
}

Tensor SoftminImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::softmin(input, options.dim());
}
void SoftminImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softmin"} << "(dim=" << options.dim() << ")";
}

Tensor LogSoftmaxImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::log_softmax(input, options.dim());
}
void LogSoftmaxImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"LogSoftmax"} << "(dim=" << options.dim() << ")";
}

Tensor Softmax2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  TANDEM_CHECK_SHAPE(input.dim() == 4 || input.dim() == 3,
                     "Softmax2d requires a 3D or 4D tensor as input, got shape ", input.sizes());
  return functional::softmax(input, -3);
}
void Softmax2dImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softmax2d"} << "()";
}

PReLUImpl::PReLUImpl(const PReLUOptions& options_) : options(options_) { PReLUImpl::reset(); }
void PReLUImpl::reset() {
  TANDEM_CHECK(options.num_parameters() >= 0, "PReLU: num_parameters must not be negative, got ",
               options.num_parameters());
  weight = register_parameter("weight", full({options.num_parameters()}, options.init()));
}
Tensor PReLUImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::prelu(input, weight);
}
void PReLUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"PReLU"} << "(num_parameters=" << options.num_parameters() << ")";
}

Tensor ReLUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::relu(std::move(input), options);
}
void ReLUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"ReLU"} << "(";
  print_inplace(stream, options.inplace(), "");
}

Tensor ReLU6Impl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::relu6(std::move(input), options);
}
void ReLU6Impl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"ReLU6"} << "(";
  print_inplace(stream, options.inplace(), "");
}

Tensor RReLUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::rrelu(std::move(input), functional::RReLUFuncOptions()
                                                 .lower(options.lower())
                                                 .upper(options.upper())
                                                 .training(is_training())
                                                 .inplace(options.inplace()));
}
void RReLUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"RReLU"} << "(lower=" << options.lower() << ", upper=" << options.upper();
  print_inplace(stream, options.inplace(), ", ");
}

Tensor CELUImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::celu(std::move(input), options);
}
void CELUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"CELU"} << "(alpha=" << options.alpha();
  print_inplace(stream, options.inplace(), ", ");
}

Tensor GLUImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::glu(input, options);
}
void GLUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"GLU"} << "(dim=" << options.dim() << ")";
}

Tensor GELUImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::gelu(input, options);
}
void GELUImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"GELU"} << "(";
  if (options.approximate() != "none") stream << "approximate=" << options.approximate();
  stream << ")";
}

Tensor SiLUImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::silu(input);
}
void SiLUImpl::pretty_print(std::ostream& stream) const { stream << PrintedName{"SiLU"} << "()"; }

Tensor MishImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::mish(input);
}
void MishImpl::pretty_print(std::ostream& stream) const { stream << PrintedName{"Mish"} << "()"; }

Tensor SigmoidImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return tandem::sigmoid(input);
}
void SigmoidImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Sigmoid"} << "()";
}

Tensor SoftplusImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::softplus(input, options);
}
void SoftplusImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softplus"} << "(beta=" << options.beta()
         << ", threshold=" << options.threshold() << ")";
}

Tensor SoftshrinkImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::softshrink(input, options);
}
void SoftshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softshrink"} << "(" << options.lambda() << ")";
}

Tensor SoftsignImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::softsign(input);
}
void SoftsignImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Softsign"} << "()";
}

Tensor TanhImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return tandem::tanh(input);
}
void TanhImpl::pretty_print(std::ostream& stream) const { stream << PrintedName{"Tanh"} << "()"; }

Tensor TanhshrinkImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::tanhshrink(input);
}
void TanhshrinkImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Tanhshrink"} << "()";
}

Tensor ThresholdImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::threshold(std::move(input), options);
}
void ThresholdImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"Threshold"} << "(threshold=" << options.threshold()
         << ", value=" << options.value();
  print_inplace(stream, options.inplace(), ", ");
}

}  // namespace tandem::nn
