#include "tandem/models/cell_stack.h"

#include <ostream>

#include "tandem/ops/ops.h"

namespace tandem::models {

CellStackImpl::CellStackImpl(const CellStackOptions& options_) : options(options_) {
  TANDEM_CHECK(options.input_size() > 0 && options.hidden_size() > 0 && options.num_layers() > 0,
               "CellStack: input_size, hidden_size and num_layers must be positive, got ",
               options.input_size(), ", ", options.hidden_size(), " and ", options.num_layers());
  TANDEM_CHECK(0 <= options.dropout() && options.dropout() <= 1,
               "CellStack: dropout is a probability, got ", options.dropout());
  reset();
}

void CellStackImpl::reset() {
  lstm_.clear();
  gru_.clear();
  for (int64_t layer = 0; layer < options.num_layers(); ++layer) {
    const int64_t in = layer == 0 ? options.input_size() : options.hidden_size();
    const std::string name = std::to_string(layer);
    if (is_lstm())
      lstm_.push_back(register_module(name, nn::LSTMCell(in, options.hidden_size())));
    else
      gru_.push_back(register_module(name, nn::GRUCell(in, options.hidden_size())));
  }
}

void CellStackImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::CellStack";
}

CellStackImpl::State CellStackImpl::initial_state(const Tensor& x) const {
  TANDEM_CHECK_SHAPE(x.defined() && x.dim() > 0,
                     "CellStack: a state is wanted for a batch [batch, ", "...], not for ",
                     x.defined() ? str(x.type_of()) : "an undefined tensor");
  const Tensor zero = zeros({x.size(0), options.hidden_size()},
                            parameters().front().options().requires_grad(false));
  return State(static_cast<size_t>(state_count()), zero);
}

std::pair<Tensor, CellStackImpl::State> CellStackImpl::forward(const Tensor& x,
                                                               const State& state) {
  const nn::ForwardScope scope(*this);
  TANDEM_CHECK(static_cast<int64_t>(state.size()) == state_count(), "CellStack: the state has ",
               state_count(), " tensors, got ", state.size());
  Tensor y = x;
  State next;
  next.reserve(state.size());
  for (size_t layer = 0; layer < static_cast<size_t>(options.num_layers()); ++layer) {
    if (layer > 0 && options.dropout() > 0) y = dropout(y, options.dropout(), is_training());
    if (is_lstm()) {
      auto [h, c] = lstm_[layer](y, std::tuple(state[2 * layer], state[2 * layer + 1]));
      next.push_back(h);
      next.push_back(c);
      y = h;
    } else {
      y = gru_[layer](y, state[layer]);
      next.push_back(y);
    }
  }
  return {y, std::move(next)};
}

}  // namespace tandem::models
