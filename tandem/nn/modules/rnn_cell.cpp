#include <cmath>
#include <ostream>

#include "tandem/nn/init.h"
#include "tandem/nn/modules/rnn.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

namespace detail {

template <class Derived>
RNNCellImplBase<Derived>::RNNCellImplBase(const RNNCellOptionsBase& options_)
    : options_base(options_) {
  reset();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset() {
  const RNNCellOptionsBase& o = options_base;
  TANDEM_CHECK(o.input_size() >= 0 && o.hidden_size() > 0,
               "input_size must not be negative and hidden_size must be positive, got ",
               o.input_size(), " and ", o.hidden_size());
  const int64_t gates = o.num_chunks() * o.hidden_size();
  weight_ih = this->register_parameter("weight_ih", empty({gates, o.input_size()}));
  weight_hh = this->register_parameter("weight_hh", empty({gates, o.hidden_size()}));
  bias_ih = this->register_parameter("bias_ih", o.bias() ? empty({gates}) : Tensor(), o.bias());
  bias_hh = this->register_parameter("bias_hh", o.bias() ? empty({gates}) : Tensor(), o.bias());
  reset_parameters();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, -bound, bound);
}

template <class Derived>
void RNNCellImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const RNNCellOptionsBase& o = options_base;
  const char* name = o.num_chunks() == 4 ? "LSTMCell" : o.num_chunks() == 3 ? "GRUCell" : "RNNCell";
  stream << std::boolalpha << PrintedName{name} << "(" << o.input_size() << ", " << o.hidden_size();
  if (!o.bias()) stream << ", bias=" << o.bias();
  const std::string nonlinearity = get_nonlinearity_str();
  if (!nonlinearity.empty() && nonlinearity != "kTanh") stream << ", nonlinearity=" << nonlinearity;
  stream << ")";
}

template <class Derived>
void RNNCellImplBase<Derived>::check_forward_input(const Tensor& input) const {
  TANDEM_CHECK_SHAPE(input.defined() && (input.dim() == 1 || input.dim() == 2),
                     "input must have 1 or 2 dimensions, got ",
                     input.defined() ? str(input.sizes()) : "an undefined tensor");
  TANDEM_CHECK_SHAPE(input.size(-1) == options_base.input_size(),
                     "input has inconsistent input_size: got ", input.size(-1), " expected ",
                     options_base.input_size());
}

template <class Derived>
void RNNCellImplBase<Derived>::check_forward_hidden(const Tensor& input, const Tensor& hx,
                                                    const std::string& hidden_label) const {
  TANDEM_CHECK_SHAPE(hx.defined() && hx.dim() == input.dim(), "hidden", hidden_label,
                     " must have as many dimensions as the input, ", input.dim(), ", got ",
                     hx.defined() ? str(hx.sizes()) : "an undefined tensor");
  TANDEM_CHECK_SHAPE(input.dim() == 1 || input.size(0) == hx.size(0), "Input batch size ",
                     input.size(0), " doesn't match hidden", hidden_label, " batch size ",
                     hx.size(0));
  TANDEM_CHECK_SHAPE(hx.size(-1) == options_base.hidden_size(), "hidden", hidden_label,
                     " has inconsistent hidden_size: got ", hx.size(-1), ", expected ",
                     options_base.hidden_size());
}

template <class Derived>
Tensor RNNCellImplBase<Derived>::state_or_zeros(const Tensor& input, const Tensor& hx) const {
  if (hx.defined()) return hx;
  const auto options = input.options().requires_grad(false);
  if (input.dim() == 1) return zeros({options_base.hidden_size()}, options);
  return zeros({input.size(0), options_base.hidden_size()}, options);
}

template <class Derived>
std::string RNNCellImplBase<Derived>::get_nonlinearity_str() const {
  return "";
}

template class RNNCellImplBase<RNNCellImpl>;
template class RNNCellImplBase<LSTMCellImpl>;
template class RNNCellImplBase<GRUCellImpl>;

namespace {

template <class Options>
RNNCellOptionsBase cell_options(const Options& o, int64_t gates) {
  return RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), gates);
}

}  // namespace
}  // namespace detail

RNNCellImpl::RNNCellImpl(const RNNCellOptions& options_)
    : RNNCellImplBase(detail::cell_options(options_, 1)), options(options_) {}

Tensor RNNCellImpl::forward(const Tensor& input, Tensor hx) {
  ForwardScope scope(*this);
  check_forward_input(input);
  hx = state_or_zeros(input, hx);
  check_forward_hidden(input, hx, "");
  if (std::holds_alternative<enumtype::kReLU>(options.nonlinearity()))
    return rnn_relu_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh);
  return rnn_tanh_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh);
}

std::string RNNCellImpl::get_nonlinearity_str() const {
  return enumtype::get_enum_name(options.nonlinearity());
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& options_)
    : RNNCellImplBase(detail::cell_options(options_, 4)), options(options_) {}

std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input,
                                                 std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  ForwardScope scope(*this);
  check_forward_input(input);
  const Tensor hx[] = {state_or_zeros(input, hx_opt ? std::get<0>(*hx_opt) : Tensor()),
                       state_or_zeros(input, hx_opt ? std::get<1>(*hx_opt) : Tensor())};
  check_forward_hidden(input, hx[0], "[0]");
  check_forward_hidden(input, hx[1], "[1]");
  return lstm_cell(input, TensorList(hx, 2), weight_ih, weight_hh, bias_ih, bias_hh);
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& options_)
    : RNNCellImplBase(detail::cell_options(options_, 3)), options(options_) {}

Tensor GRUCellImpl::forward(const Tensor& input, Tensor hx) {
  ForwardScope scope(*this);
  check_forward_input(input);
  hx = state_or_zeros(input, hx);
  check_forward_hidden(input, hx, "");
  return gru_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh);
}

}  // namespace tandem::nn
