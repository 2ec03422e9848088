#include "tandem/nn/modules/rnn.h"

#include <cmath>
#include <ostream>

#include "tandem/base/warning.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

namespace detail {
namespace {

const char* name_of(const RNNOptionsBase& o) {
  if (std::holds_alternative<enumtype::kLSTM>(o.mode())) return "LSTM";
  if (std::holds_alternative<enumtype::kGRU>(o.mode())) return "GRU";
  return "RNN";
}

int64_t gates_of(const RNNOptionsBase& o) {
  if (std::holds_alternative<enumtype::kLSTM>(o.mode())) return 4;
  return std::holds_alternative<enumtype::kGRU>(o.mode()) ? 3 : 1;
}

int64_t directions(const RNNOptionsBase& o) { return o.bidirectional() ? 2 : 1; }
int64_t state_size(const RNNOptionsBase& o) {
  return o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
}

void check_options(const RNNOptionsBase& o) {
  const char* name = name_of(o);
  TANDEM_CHECK(o.input_size() >= 0 && o.hidden_size() > 0, name,
               ": input_size must not be negative and hidden_size must be positive, got ",
               o.input_size(), " and ", o.hidden_size());
  TANDEM_CHECK(o.num_layers() > 0, name, ": num_layers must be positive, got ", o.num_layers());
  TANDEM_CHECK(0 <= o.dropout() && o.dropout() <= 1, name,
               ": dropout should be a number in range [0, 1] representing the probability of an "
               "element being zeroed, got ",
               o.dropout());
  TANDEM_CHECK(0 <= o.proj_size(), name,
               ": proj_size should be a positive integer or zero to disable projections, got ",
               o.proj_size());
  TANDEM_CHECK(o.proj_size() < o.hidden_size(), name,
               ": proj_size has to be smaller than hidden_size, got ", o.proj_size(), " and ",
               o.hidden_size());
  if (o.dropout() > 0 && o.num_layers() == 1)
    TANDEM_WARN(
        "dropout option adds dropout after all but last recurrent layer, so non-zero "
        "dropout expects num_layers greater than 1, but got dropout=",
        o.dropout(), " and num_layers=", o.num_layers());
}

// The sequences of a state in another order; in the same if there is no permutation.
Tensor permuted(const Tensor& hx, const Tensor& permutation) {
  return permutation.defined() ? hx.index_select(1, permutation) : hx;
}

}  // namespace

template <class Derived>
RNNImplBase<Derived>::RNNImplBase(const RNNOptionsBase& options_) : options_base(options_) {
  reset();
}

template <class Derived>
void RNNImplBase<Derived>::reset() {
  const RNNOptionsBase& o = options_base;
  check_options(o);
  flat_weights_names_.clear();
  all_weights_.clear();
  const int64_t gates = gates_of(o) * o.hidden_size(), state = state_size(o);
  for (int64_t layer = 0; layer < o.num_layers(); ++layer) {
    const int64_t in = layer == 0 ? o.input_size() : state * directions(o);
    for (int64_t d = 0; d < directions(o); ++d) {
      const std::string suffix = str("_l", layer, d == 1 ? "_reverse" : "");
      std::vector<std::string> names;
      const auto add = [&](const char* what, IntArrayRef sizes) {
        names.push_back(what + suffix);
        this->register_parameter(names.back(), empty(sizes));
      };
      add("weight_ih", {gates, in});
      add("weight_hh", {gates, state});
      if (o.bias()) {
        add("bias_ih", {gates});
        add("bias_hh", {gates});
      }
      if (o.proj_size() > 0) add("weight_hr", {o.proj_size(), o.hidden_size()});
      flat_weights_names_.insert(flat_weights_names_.end(), names.begin(), names.end());
      all_weights_.push_back(std::move(names));
    }
  }
  reset_flat_weights();
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : flat_weights_) init::uniform_(weight, -bound, bound);
}

template <class Derived>
void RNNImplBase<Derived>::reset_flat_weights() {
  flat_weights_.clear();
  const auto parameters = this->named_parameters(false);
  for (const std::string& name : flat_weights_names_) {
    const Tensor* found = parameters.find(name);
    flat_weights_.push_back(found ? *found : Tensor());
  }
}

template <class Derived>
void RNNImplBase<Derived>::flatten_parameters() {
  reset_flat_weights();
}

template <class Derived>
void RNNImplBase<Derived>::to(Device device, DType dtype, bool non_blocking) {
  Module::to(device, dtype, non_blocking);
  reset_flat_weights();
}
template <class Derived>
void RNNImplBase<Derived>::to(DType dtype, bool non_blocking) {
  Module::to(dtype, non_blocking);
  reset_flat_weights();
}
template <class Derived>
void RNNImplBase<Derived>::to(Device device, bool non_blocking) {
  Module::to(device, non_blocking);
  reset_flat_weights();
}

template <class Derived>
std::vector<Tensor> RNNImplBase<Derived>::all_weights() const {
  return flat_weights_;
}

template <class Derived>
void RNNImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const RNNOptionsBase& o = options_base;
  stream << std::boolalpha << PrintedName{name_of(o)} << "(input_size=" << o.input_size()
         << ", hidden_size=" << o.hidden_size() << ", num_layers=" << o.num_layers()
         << ", bias=" << o.bias() << ", batch_first=" << o.batch_first()
         << ", dropout=" << o.dropout() << ", bidirectional=" << o.bidirectional();
  if (o.proj_size() > 0) stream << ", proj_size=" << o.proj_size();
  stream << ")";
}

template <class Derived>
void RNNImplBase<Derived>::check_input(const Tensor& input, const Tensor& batch_sizes) const {
  const int64_t wanted = batch_sizes.defined() ? 2 : 3;
  TANDEM_CHECK_SHAPE(input.defined(), "input is an undefined tensor");
  TANDEM_CHECK_SHAPE(input.dim() == wanted, "input must have ", wanted, " dimensions, got ",
                     input.dim(), ": ", input.sizes());
  TANDEM_CHECK_SHAPE(options_base.input_size() == input.size(-1),
                     "input.size(-1) must be equal to input_size. Expected ",
                     options_base.input_size(), ", got ", input.size(-1), ": ", input.sizes());
}

template <class Derived>
std::tuple<int64_t, int64_t, int64_t> RNNImplBase<Derived>::get_expected_hidden_size(
    const Tensor& input, const Tensor& batch_sizes) const {
  // The batch of packed sequences is known to whoever looks at the sizes; the ops check it then.
  const int64_t batch = batch_sizes.defined() ? -1 : input.size(options_base.batch_first() ? 0 : 1);
  return {options_base.num_layers() * directions(options_base), batch, state_size(options_base)};
}

template <class Derived>
void RNNImplBase<Derived>::check_hidden_size(const Tensor& hx,
                                             std::tuple<int64_t, int64_t, int64_t> expected,
                                             const char* what) const {
  const auto [layers, batch, size] = expected;
  const bool fits = hx.defined() && hx.dim() == 3 && hx.size(0) == layers && hx.size(2) == size &&
                    (batch < 0 || hx.size(1) == batch);
  TANDEM_CHECK_SHAPE(fits, "Expected ", what, " size (", layers, ", ",
                     batch < 0 ? std::string("batch") : str(batch), ", ", size, "), got ",
                     hx.defined() ? str(hx.sizes()) : "an undefined tensor");
}

template <class Derived>
void RNNImplBase<Derived>::check_forward_args(const Tensor& input, const Tensor& hidden,
                                              const Tensor& batch_sizes) const {
  check_input(input, batch_sizes);
  check_hidden_size(hidden, get_expected_hidden_size(input, batch_sizes));
}

template <class Derived>
Tensor RNNImplBase<Derived>::permute_hidden(const Tensor& hx, const Tensor& permutation) const {
  return permuted(hx, permutation);
}

template <class Derived>
Tensor RNNImplBase<Derived>::zero_state(const Tensor& input, int64_t batch, int64_t size) const {
  return zeros({options_base.num_layers() * directions(options_base), batch, size},
               input.options().requires_grad(false));
}

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;

}  // namespace detail

namespace {

using utils::rnn::PackedSequence;

template <class Options>
detail::RNNOptionsBase base_options(detail::RNNOptionsBase::rnn_options_base_mode_t mode,
                                    const Options& o) {
  return detail::RNNOptionsBase(mode, o.input_size(), o.hidden_size())
      .num_layers(o.num_layers())
      .bias(o.bias())
      .batch_first(o.batch_first())
      .dropout(o.dropout())
      .bidirectional(o.bidirectional());
}

detail::RNNOptionsBase::rnn_options_base_mode_t mode_of(const RNNOptions& o) {
  if (std::holds_alternative<enumtype::kReLU>(o.nonlinearity())) return kRNN_RELU;
  return kRNN_TANH;
}

int64_t batch_dim(bool batch_first) { return batch_first ? 0 : 1; }

// How many sequences there are at most: only looked at where nothing else says it.
int64_t packed_batch(const PackedSequence& p) {
  if (p.sorted_indices().defined()) return p.sorted_indices().size(0);
  return p.batch_sizes().numel() > 0 ? p.batch_sizes()[0].item<int64_t>() : 0;
}

// A single sequence [steps, features] is a batch of one.
bool is_single(const Tensor& input) { return input.defined() && input.dim() == 2; }
Tensor batch_of_one(const Tensor& input, bool batch_first) {
  return input.unsqueeze(batch_dim(batch_first));
}
Tensor state_of_one(const Tensor& hx) {
  TANDEM_CHECK_SHAPE(!hx.defined() || hx.dim() == 2,
                     "For unbatched 2-D input, hx should also be 2-D but got ",
                     hx.defined() ? hx.dim() : 0, "-D tensor");
  return hx.defined() ? hx.unsqueeze(1) : hx;
}
int64_t batch_of(const Tensor& input, bool batch_first) {
  return input.defined() && input.dim() == 3 ? input.size(batch_dim(batch_first)) : 0;
}

// What RNN and GRU call, padded and packed.
struct Functions {
  std::tuple<Tensor, Tensor> (*padded)(const Tensor&, const Tensor&, TensorList, bool, int64_t,
                                       double, bool, bool, bool);
  std::tuple<Tensor, Tensor> (*packed)(const Tensor&, const Tensor&, const Tensor&, TensorList,
                                       bool, int64_t, double, bool, bool);
};
std::tuple<Tensor, Tensor> call(const Functions& f, const detail::RNNOptionsBase& o, bool training,
                                const Tensor& input, const Tensor& batch_sizes, const Tensor& hx,
                                const std::vector<Tensor>& weights) {
  if (batch_sizes.defined())
    return f.packed(input, batch_sizes, hx, weights, o.bias(), o.num_layers(), o.dropout(),
                    training, o.bidirectional());
  return f.padded(input, hx, weights, o.bias(), o.num_layers(), o.dropout(), training,
                  o.bidirectional(), o.batch_first());
}

// Layers with one state, RNN and GRU. helper(input, batch_sizes, sorted_indices, batch, hx) runs
// them.
template <class Helper>
std::tuple<Tensor, Tensor> forward_padded(const Helper& helper, bool batch_first,
                                          const Tensor& input, Tensor hx) {
  if (is_single(input)) {
    auto [y, h] =
        helper(batch_of_one(input, batch_first), Tensor(), Tensor(), int64_t{1}, state_of_one(hx));
    return {y.squeeze(batch_dim(batch_first)), h.squeeze(1)};
  }
  return helper(input, Tensor(), Tensor(), batch_of(input, batch_first), std::move(hx));
}

template <class Helper>
std::tuple<PackedSequence, Tensor> forward_packed(const Helper& helper, const PackedSequence& p,
                                                  const Tensor& hx) {
  auto [y, h] = helper(p.data(), p.batch_sizes(), p.sorted_indices(),
                       hx.defined() ? int64_t{0} : packed_batch(p), hx);
  return {PackedSequence(y, p.batch_sizes(), p.sorted_indices(), p.unsorted_indices()),
          detail::permuted(h, p.unsorted_indices())};
}

}  // namespace

// -- RNN --------------------------------------------------------------------------------------

RNNImpl::RNNImpl(const RNNOptions& options_)
    : RNNImplBase(base_options(mode_of(options_), options_)), options(options_) {}

std::tuple<Tensor, Tensor> RNNImpl::forward_helper(const Tensor& input, const Tensor& batch_sizes,
                                                   const Tensor& sorted_indices,
                                                   int64_t max_batch_size, Tensor hx) {
  check_input(input, batch_sizes);
  if (!hx.defined()) hx = zero_state(input, max_batch_size, options_base.hidden_size());
  check_forward_args(input, hx, batch_sizes);
  hx = permute_hidden(hx, sorted_indices);
  const bool relu = std::holds_alternative<enumtype::kRNN_RELU>(options_base.mode());
  return call(relu ? Functions{rnn_relu, rnn_relu} : Functions{rnn_tanh, rnn_tanh}, options_base,
              is_training(), input, batch_sizes, hx, flat_weights_);
}

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  ForwardScope scope(*this);
  return forward_padded(
      [this](auto&&... args) { return forward_helper(std::forward<decltype(args)>(args)...); },
      options_base.batch_first(), input, std::move(hx));
}

std::tuple<PackedSequence, Tensor> RNNImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  ForwardScope scope(*this);
  return forward_packed(
      [this](auto&&... args) { return forward_helper(std::forward<decltype(args)>(args)...); },
      packed_input, std::move(hx));
}

// -- LSTM -------------------------------------------------------------------------------------

LSTMImpl::LSTMImpl(const LSTMOptions& options_)
    : RNNImplBase(base_options(kLSTM, options_).proj_size(options_.proj_size())),
      options(options_) {}

std::tuple<int64_t, int64_t, int64_t> LSTMImpl::get_expected_cell_size(
    const Tensor& input, const Tensor& batch_sizes) const {
  auto expected = get_expected_hidden_size(input, batch_sizes);
  std::get<2>(expected) = options_base.hidden_size();
  return expected;
}

void LSTMImpl::check_forward_args(const Tensor& input, const State& hidden,
                                  const Tensor& batch_sizes) const {
  check_input(input, batch_sizes);
  check_hidden_size(std::get<0>(hidden), get_expected_hidden_size(input, batch_sizes), "hidden[0]");
  check_hidden_size(std::get<1>(hidden), get_expected_cell_size(input, batch_sizes), "hidden[1]");
}

LSTMImpl::State LSTMImpl::permute_hidden(const State& hx, const Tensor& permutation) const {
  return {RNNImplBase::permute_hidden(std::get<0>(hx), permutation),
          RNNImplBase::permute_hidden(std::get<1>(hx), permutation)};
}

std::tuple<Tensor, LSTMImpl::State> LSTMImpl::forward_helper(const Tensor& input,
                                                             const Tensor& batch_sizes,
                                                             const Tensor& sorted_indices,
                                                             int64_t max_batch_size,
                                                             std::optional<State> hx_opt) {
  const detail::RNNOptionsBase& o = options_base;
  check_input(input, batch_sizes);
  if (!hx_opt)
    hx_opt = State(zero_state(input, max_batch_size,
                              std::get<2>(get_expected_hidden_size(input, batch_sizes))),
                   zero_state(input, max_batch_size, o.hidden_size()));
  check_forward_args(input, *hx_opt, batch_sizes);
  const State state = permute_hidden(*hx_opt, sorted_indices);
  const Tensor hx[] = {std::get<0>(state), std::get<1>(state)};
  auto [y, h, c] = batch_sizes.defined()
                       ? lstm(input, batch_sizes, TensorList(hx, 2), flat_weights_, o.bias(),
                              o.num_layers(), o.dropout(), is_training(), o.bidirectional())
                       : lstm(input, TensorList(hx, 2), flat_weights_, o.bias(), o.num_layers(),
                              o.dropout(), is_training(), o.bidirectional(), o.batch_first());
  return {y, State(h, c)};
}

std::tuple<Tensor, LSTMImpl::State> LSTMImpl::forward(const Tensor& input,
                                                      std::optional<State> hx_opt) {
  ForwardScope scope(*this);
  const bool first = options_base.batch_first();
  if (is_single(input)) {
    if (hx_opt)
      hx_opt = State(state_of_one(std::get<0>(*hx_opt)), state_of_one(std::get<1>(*hx_opt)));
    auto [y, state] = forward_helper(batch_of_one(input, first), {}, {}, 1, hx_opt);
    return {y.squeeze(batch_dim(first)),
            State(std::get<0>(state).squeeze(1), std::get<1>(state).squeeze(1))};
  }
  return forward_helper(input, {}, {}, batch_of(input, first), std::move(hx_opt));
}

std::tuple<PackedSequence, LSTMImpl::State> LSTMImpl::forward_with_packed_input(
    const PackedSequence& packed_input, std::optional<State> hx_opt) {
  ForwardScope scope(*this);
  auto [y, state] =
      forward_helper(packed_input.data(), packed_input.batch_sizes(), packed_input.sorted_indices(),
                     hx_opt ? 0 : packed_batch(packed_input), hx_opt);
  return {PackedSequence(y, packed_input.batch_sizes(), packed_input.sorted_indices(),
                         packed_input.unsorted_indices()),
          permute_hidden(state, packed_input.unsorted_indices())};
}

// -- GRU --------------------------------------------------------------------------------------

GRUImpl::GRUImpl(const GRUOptions& options_)
    : RNNImplBase(base_options(kGRU, options_)), options(options_) {}

std::tuple<Tensor, Tensor> GRUImpl::forward_helper(const Tensor& input, const Tensor& batch_sizes,
                                                   const Tensor& sorted_indices,
                                                   int64_t max_batch_size, Tensor hx) {
  check_input(input, batch_sizes);
  if (!hx.defined()) hx = zero_state(input, max_batch_size, options_base.hidden_size());
  check_forward_args(input, hx, batch_sizes);
  hx = permute_hidden(hx, sorted_indices);
  return call(Functions{gru, gru}, options_base, is_training(), input, batch_sizes, hx,
              flat_weights_);
}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  ForwardScope scope(*this);
  return forward_padded(
      [this](auto&&... args) { return forward_helper(std::forward<decltype(args)>(args)...); },
      options_base.batch_first(), input, std::move(hx));
}

std::tuple<PackedSequence, Tensor> GRUImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  ForwardScope scope(*this);
  return forward_packed(
      [this](auto&&... args) { return forward_helper(std::forward<decltype(args)>(args)...); },
      packed_input, std::move(hx));
}

}  // namespace tandem::nn
