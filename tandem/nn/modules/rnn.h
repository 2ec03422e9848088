#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/options/rnn.h"
#include "tandem/nn/pimpl.h"
#include "tandem/nn/utils/rnn.h"

namespace tandem::nn {

namespace detail {

/// What RNN, LSTM and GRU share: the parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0
/// (and weight_hr_l0 with projections), the same with l1, ... for further layers, and with _reverse
/// behind them for the second direction.
template <class Derived>
class RNNImplBase : public Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& options_);

  void reset() override;
  /// Uniform numbers up to 1 / sqrt(hidden_size).
  void reset_parameters();
  void to(Device device, DType dtype, bool non_blocking = false) override;
  void to(DType dtype, bool non_blocking = false) override;
  void to(Device device, bool non_blocking = false) override;
  void pretty_print(std::ostream& stream) const override;
  /// For programs written for LibTorch: kernels pack weights themselves, so there is nothing to do.
  void flatten_parameters();
  /// All parameters in the order of the layers.
  std::vector<Tensor> all_weights() const;

  RNNOptionsBase options_base;

 protected:
  void reset_flat_weights();
  void check_input(const Tensor& input, const Tensor& batch_sizes) const;
  std::tuple<int64_t, int64_t, int64_t> get_expected_hidden_size(const Tensor& input,
                                                                 const Tensor& batch_sizes) const;
  void check_hidden_size(const Tensor& hx,
                         std::tuple<int64_t, int64_t, int64_t> expected_hidden_size,
                         const char* what = "hidden") const;
  void check_forward_args(const Tensor& input, const Tensor& hidden,
                          const Tensor& batch_sizes) const;
  Tensor permute_hidden(const Tensor& hx, const Tensor& permutation) const;
  /// Zeros for a batch of that size: the states of all layers and directions.
  Tensor zero_state(const Tensor& input, int64_t batch, int64_t size) const;

  std::vector<std::string> flat_weights_names_;
  std::vector<std::vector<std::string>> all_weights_;  // names by layer and direction
  std::vector<Tensor> flat_weights_;
};

}  // namespace detail

/// Recurrent network with tanh or relu. forward takes [steps, batch, input_size], or with
/// batch_first [batch, steps, input_size], or one sequence without a batch, and the states before
/// the first step (zeros if left out); it gives what the last layer computed in each step, and the
/// states after the last step.
///
///     RNN net(RNNOptions(128, 64).num_layers(3).dropout(0.2).nonlinearity(kReLU));
///     auto [y, h] = net(x);
class RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options_);

  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

 public:
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});

  RNNOptions options;

 protected:
  std::tuple<Tensor, Tensor> forward_helper(const Tensor& input, const Tensor& batch_sizes,
                                            const Tensor& sorted_indices, int64_t max_batch_size,
                                            Tensor hx);
};
TANDEM_NN_MODULE(RNN);

/// Long short-term memory; states are pairs of hidden state and cell. See RNN.
///
///     LSTM net(LSTMOptions(128, 64).bidirectional(true));
///     auto [y, state] = net(x);
///     auto [h, c] = state;
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  using State = std::tuple<Tensor, Tensor>;

  LSTMImpl(int64_t input_size, int64_t hidden_size)
      : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options_);

  std::tuple<Tensor, State> forward(const Tensor& input, std::optional<State> hx_opt = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<std::tuple<Tensor, Tensor>>())})

 public:
  std::tuple<utils::rnn::PackedSequence, State> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, std::optional<State> hx_opt = {});

  LSTMOptions options;

 protected:
  void check_forward_args(const Tensor& input, const State& hidden,
                          const Tensor& batch_sizes) const;
  std::tuple<int64_t, int64_t, int64_t> get_expected_cell_size(const Tensor& input,
                                                               const Tensor& batch_sizes) const;
  State permute_hidden(const State& hx, const Tensor& permutation) const;
  std::tuple<Tensor, State> forward_helper(const Tensor& input, const Tensor& batch_sizes,
                                           const Tensor& sorted_indices, int64_t max_batch_size,
                                           std::optional<State> hx_opt);
};
TANDEM_NN_MODULE(LSTM);

/// Gated recurrent units. See RNN.
///
///     GRU net(GRUOptions(2, 4).num_layers(3).batch_first(true));
class GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options_);

  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

 public:
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});

  GRUOptions options;

 protected:
  std::tuple<Tensor, Tensor> forward_helper(const Tensor& input, const Tensor& batch_sizes,
                                            const Tensor& sorted_indices, int64_t max_batch_size,
                                            Tensor hx);
};
TANDEM_NN_MODULE(GRU);

namespace detail {

/// What the cells share.
template <class Derived>
class RNNCellImplBase : public Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& options_);

  void reset() override;
  /// Uniform numbers up to 1 / sqrt(hidden_size).
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  RNNCellOptionsBase options_base;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  void check_forward_input(const Tensor& input) const;
  void check_forward_hidden(const Tensor& input, const Tensor& hx,
                            const std::string& hidden_label) const;
  /// The states, or zeros if there are none.
  Tensor state_or_zeros(const Tensor& input, const Tensor& hx) const;
  virtual std::string get_nonlinearity_str() const;
};

}  // namespace detail

/// One step of an RNN: input [batch, input_size], state [batch, hidden_size] (zeros if left out);
/// or both without the batch.
class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size)
      : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options_);

  Tensor forward(const Tensor& input, Tensor hx = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

 public:
  RNNCellOptions options;

 protected:
  std::string get_nonlinearity_str() const override;
};
TANDEM_NN_MODULE(RNNCell);

/// One step of an LSTM. See RNNCell.
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size)
      : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options_);

  std::tuple<Tensor, Tensor> forward(const Tensor& input,
                                     std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<std::tuple<Tensor, Tensor>>())})

 public:
  LSTMCellOptions options;
};
TANDEM_NN_MODULE(LSTMCell);

/// One step of a GRU. See RNNCell.
class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size)
      : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options_);

  Tensor forward(const Tensor& input, Tensor hx = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

 public:
  GRUCellOptions options;
};
TANDEM_NN_MODULE(GRUCell);

}  // namespace tandem::nn
