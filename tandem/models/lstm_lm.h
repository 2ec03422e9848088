#pragma once

#include <optional>
#include <tuple>

#include "tandem/models/generate.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/rnn.h"

namespace tandem::models {

struct LSTMLanguageModelOptions {
  explicit LSTMLanguageModelOptions(int64_t vocab_size) : vocab_size_(vocab_size) {}
  /// How many symbols there are: characters or words.
  TANDEM_ARG(int64_t, vocab_size);
  TANDEM_ARG(int64_t, embedding_size) = 128;
  TANDEM_ARG(int64_t, hidden_size) = 128;
  TANDEM_ARG(int64_t, num_layers) = 2;
  /// Of what goes into each layer of the LSTM and into the last linear one.
  TANDEM_ARG(double, dropout) = 0;
};

/// A language model: an embedding, an LSTM and a linear layer that scores what comes next. Symbols
/// are [batch, steps], scores [batch, steps, symbols].
///
///     LSTMLanguageModel net(LSTMLanguageModelOptions(65).hidden_size(256));
///     Tensor scores = net(ids);                                // begins with a state of zeros
///     auto [more, state] = net->forward_with_state(ids, before);  // goes on
///     Tensor text = net->generate(ids, {.max_new_tokens = 200, .temperature = 0.8});
class LSTMLanguageModelImpl : public nn::Cloneable<LSTMLanguageModelImpl> {
 public:
  /// Hidden state and cell, both [layers, batch, hidden_size].
  using State = nn::LSTMImpl::State;

  explicit LSTMLanguageModelImpl(const LSTMLanguageModelOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  Tensor forward(const Tensor& ids);
  std::tuple<Tensor, State> forward_with_state(const Tensor& ids,
                                               const std::optional<State>& state = {});
  State zero_state(int64_t batch) const;

  /// The symbols, [batch, steps], with those that the model adds to them.
  Tensor generate(const Tensor& ids, const GenerateOptions& options = {});

  LSTMLanguageModelOptions options;
  nn::Embedding embedding{nullptr};
  nn::LSTM lstm{nullptr};
  nn::Linear linear{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(LSTMLanguageModel);

}  // namespace tandem::models
