#include "tandem/nn/modules/dropout.h"

#include "tandem/nn/functional/dropout.h"
#include "tandem/nn/modules/truth.h"

namespace tandem::nn {

void detail::check_dropout_probability(double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

namespace {

void print_dropout(std::ostream& stream, const char* name, const DropoutOptions& o) {
  stream << PrintedName{name} << "(p=" << o.p() << ", inplace=" << detail::truth(o.inplace())
         << ")";
}

template <class FuncOptions>
FuncOptions dropout_options(const DropoutOptions& o, bool training) {
  return FuncOptions().p(o.p()).training(training).inplace(o.inplace());
}

}  // namespace

Tensor DropoutImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::dropout(
      std::move(input), dropout_options<functional::DropoutFuncOptions>(options, is_training()));
}
void DropoutImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "Dropout", options);
}

Tensor Dropout2dImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::dropout2d(
      std::move(input), dropout_options<functional::Dropout2dFuncOptions>(options, is_training()));
}
void Dropout2dImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "Dropout2d", options);
}

Tensor Dropout3dImpl::forward(Tensor input) {
  const ForwardScope scope(*this);
  return functional::dropout3d(
      std::move(input), dropout_options<functional::Dropout3dFuncOptions>(options, is_training()));
}
void Dropout3dImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "Dropout3d", options);
}

Tensor AlphaDropoutImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::alpha_dropout(
      input, dropout_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
void AlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "AlphaDropout", options);
}

Tensor FeatureAlphaDropoutImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::feature_alpha_dropout(
      input, dropout_options<functional::FeatureAlphaDropoutFuncOptions>(options, is_training()));
}
void FeatureAlphaDropoutImpl::pretty_print(std::ostream& stream) const {
  print_dropout(stream, "FeatureAlphaDropout", options);
}

}  // namespace tandem::nn
