#include "tandem/models/lstm_lm.h"

#include "tandem/ops/ops.h"

namespace tandem::models {

LSTMLanguageModelImpl::LSTMLanguageModelImpl(const LSTMLanguageModelOptions& options_)
    : options(options_) {
  TANDEM_CHECK_AS(ValueError, options.vocab_size() >= 1, "LSTMLanguageModel: vocab_size is ",
                  options.vocab_size());
  reset();
}

void LSTMLanguageModelImpl::reset() {
  const auto& o = options;
  embedding = register_module("embedding", nn::Embedding(o.vocab_size(), o.embedding_size()));
  // With a single layer there is nothing between layers to drop.
  lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(o.embedding_size(), o.hidden_size())
                                              .num_layers(o.num_layers())
                                              .dropout(o.num_layers() > 1 ? o.dropout() : 0)
                                              .batch_first(true)));
  linear = register_module("linear", nn::Linear(o.hidden_size(), o.vocab_size()));
  dropout = register_module("dropout", nn::Dropout(o.dropout()));
}

void LSTMLanguageModelImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::LSTMLanguageModel";
}

Tensor LSTMLanguageModelImpl::forward(const Tensor& ids) {
  return std::get<0>(forward_with_state(ids));
}

std::tuple<Tensor, LSTMLanguageModelImpl::State> LSTMLanguageModelImpl::forward_with_state(
    const Tensor& ids, const std::optional<State>& state) {
  TANDEM_CHECK_SHAPE(ids.dim() == 2, "LSTMLanguageModel: symbols are [batch, steps], not ",
                     ids.sizes());
  auto [y, next] = lstm(dropout(embedding(ids)), state);
  return {linear(dropout(y)), next};
}

LSTMLanguageModelImpl::State LSTMLanguageModelImpl::zero_state(int64_t batch) const {
  const auto zeros_of = [&] {
    return zeros({options.num_layers(), batch, options.hidden_size()},
                 linear->weight.options().requires_grad(false));
  };
  return {zeros_of(), zeros_of()};
}

Tensor LSTMLanguageModelImpl::generate(const Tensor& ids, const GenerateOptions& how) {
  const NoGradGuard no_grad;
  Tensor next =
      detail::checked_prompt("LSTMLanguageModel::generate", ids, options.vocab_size(), how);
  const detail::EvalScope eval_mode(*this);
  std::vector<Tensor> all = {next};
  std::optional<State> state;
  for (int64_t i = 0; i < how.max_new_tokens; ++i) {
    auto [scores, after] = forward_with_state(next, state);
    next = choose_next(scores.select(1, scores.size(1) - 1), how).unsqueeze(1);
    all.push_back(next);
    state = after;
  }
  return cat(all, 1);
}

}  // namespace tandem::models
