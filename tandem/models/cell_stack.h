#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/rnn.h"

/// Recurrent cells on top of each other, for networks that decide step by step how to go on.
namespace tandem::models {

/// kLSTM or kGRU.
using RecurrentKind = std::variant<enumtype::kLSTM, enumtype::kGRU>;

struct CellStackOptions {
  CellStackOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(RecurrentKind, kind) = kLSTM;
  /// What every layer but the last gives is dropped with this probability in training.
  TANDEM_ARG(double, dropout) = 0.0;
};

/// One step of several layers. The state is a list of tensors [batch, hidden_size]: for each layer
/// what it gave, and for an LSTM its cell behind it.
///
///     CellStack core(CellStackOptions(8, 16).num_layers(2));
///     auto state = core->initial_state(x);
///     auto [y, next] = core(x, state);
class CellStackImpl : public nn::Cloneable<CellStackImpl> {
 public:
  using State = std::vector<Tensor>;

  explicit CellStackImpl(const CellStackOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// Zeros for a batch like that of `x` [batch, ...].
  State initial_state(const Tensor& x) const;
  /// x: [batch, input_size]. What the last layer gives, and the state after the step.
  std::pair<Tensor, State> forward(const Tensor& x, const State& state);

  bool is_lstm() const { return std::holds_alternative<enumtype::kLSTM>(options.kind()); }
  /// How many tensors a state has.
  int64_t state_count() const { return options.num_layers() * (is_lstm() ? 2 : 1); }

  CellStackOptions options;

 private:
  std::vector<nn::LSTMCell> lstm_;
  std::vector<nn::GRUCell> gru_;
};
TANDEM_MODULE(CellStack);

}  // namespace tandem::models
