#pragma once

#include <cstdint>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"

namespace tandem::nn {

namespace detail {

/// What RNN, LSTM and GRU have in common.
struct RNNOptionsBase {
  using rnn_options_base_mode_t =
      std::variant<enumtype::kLSTM, enumtype::kGRU, enumtype::kRNN_TANH, enumtype::kRNN_RELU>;

  RNNOptionsBase(rnn_options_base_mode_t mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(rnn_options_base_mode_t, mode);
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
  TANDEM_ARG(int64_t, proj_size) = 0;
};

}  // namespace detail

/// For RNN.
struct RNNOptions {
  using nonlinearity_t = std::variant<enumtype::kTanh, enumtype::kReLU>;

  RNNOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  /// Features of the input.
  TANDEM_ARG(int64_t, input_size);
  /// Features of the state.
  TANDEM_ARG(int64_t, hidden_size);
  /// How many layers lie on top of each other.
  TANDEM_ARG(int64_t, num_layers) = 1;
  /// kTanh or kReLU.
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
  TANDEM_ARG(bool, bias) = true;
  /// The input is [batch, steps, features] instead of [steps, batch, features].
  TANDEM_ARG(bool, batch_first) = false;
  /// What every layer but the last gives is dropped with this probability in training.
  TANDEM_ARG(double, dropout) = 0.0;
  /// A second network reads the sequences from the end; results are joined.
  TANDEM_ARG(bool, bidirectional) = false;
};

/// For LSTM; see RNNOptions.
struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
  /// If not 0, the state is projected to so many features after each step.
  TANDEM_ARG(int64_t, proj_size) = 0;
};

/// For GRU; see RNNOptions.
struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bidirectional) = false;
};

namespace detail {

/// What RNNCell, LSTMCell and GRUCell have in common.
struct RNNCellOptionsBase {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias), num_chunks_(num_chunks) {}
  virtual ~RNNCellOptionsBase() = default;

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias);
  /// How many gates a cell has.
  TANDEM_ARG(int64_t, num_chunks);
};

}  // namespace detail

/// For RNNCell.
struct RNNCellOptions {
  using nonlinearity_t = std::variant<enumtype::kTanh, enumtype::kReLU>;

  RNNCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

/// For LSTMCell.
struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
};

/// For GRUCell.
struct GRUCellOptions {
  GRUCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}

  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(bool, bias) = true;
};

}  // namespace tandem::nn
