#include "tandem/models/seq2seq.h"

#include <algorithm>
#include <ostream>

#include "tandem/autograd/autograd.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

// For each sequence the places of its symbols from its last to its first, then those of the padding
// as they are: int64 [batch, steps]. It is its own inverse.
Tensor reversed_places(const Tensor& places, const Tensor& lengths) {
  const Tensor ends = lengths.unsqueeze(1);
  return where(places < ends, ends - 1 - places, places.expand({lengths.size(0), places.size(0)}));
}

// x [batch, steps, features] at the places [batch, n].
Tensor rows_at(const Tensor& x, const Tensor& places) {
  return x.gather(1, places.unsqueeze(2).expand({places.size(0), places.size(1), x.size(2)}));
}

}  // namespace

SequenceBatch pad_sequences(const std::vector<std::vector<int64_t>>& sequences, int64_t padding) {
  TANDEM_CHECK(!sequences.empty(), "pad_sequences: there are no sequences");
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < sequences.size(); ++i) {
    TANDEM_CHECK(!sequences[i].empty(), "pad_sequences: sequence ", i, " is empty");
    lengths.push_back(static_cast<int64_t>(sequences[i].size()));
  }
  const size_t steps = static_cast<size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<int64_t> symbols(sequences.size() * steps, padding);
  for (size_t i = 0; i < sequences.size(); ++i)
    std::copy(sequences[i].begin(), sequences[i].end(),
              symbols.begin() + static_cast<std::ptrdiff_t>(i * steps));
  return {tensor(symbols, kLong).view({static_cast<int64_t>(sequences.size()), -1}),
          tensor(lengths, kLong)};
}

Seq2SeqImpl::Seq2SeqImpl(const Seq2SeqOptions& options_) : options(options_) {
  TANDEM_CHECK(options.source_symbols() > 0 && options.target_symbols() > 0,
               "Seq2Seq: there must be symbols to read and to write, got ",
               options.source_symbols(), " and ", options.target_symbols());
  TANDEM_CHECK(options.embedding_size() > 0 && options.hidden_size() > 0 &&
                   options.attention_size() > 0 && options.num_layers() > 0,
               "Seq2Seq: embedding_size, hidden_size, attention_size and num_layers must be "
               "positive, got ",
               options.embedding_size(), ", ", options.hidden_size(), ", ",
               options.attention_size(), " and ", options.num_layers());
  TANDEM_CHECK(
      options.location_filters() >= 0 && options.location_width() > 0 &&
          options.location_width() % 2 == 1,
      "Seq2Seq: location_filters must not be negative and location_width must be odd, got ",
      options.location_filters(), " and ", options.location_width());
  for (const int64_t symbol : {options.padding(), options.start(), options.end()})
    TANDEM_CHECK(0 <= symbol && symbol < options.target_symbols(),
                 "Seq2Seq: padding, start and end are among the ", options.target_symbols(),
                 " symbols to write, got ", symbol);
  TANDEM_CHECK(options.padding() != options.end(), "Seq2Seq: padding and end are the same symbol, ",
               options.end());
  reset();
}

void Seq2SeqImpl::reset() {
  const int64_t embedded = options.embedding_size(), hidden = options.hidden_size();
  source_embedding =
      register_module("source_embedding", nn::Embedding(options.source_symbols(), embedded));
  target_embedding =
      register_module("target_embedding", nn::Embedding(options.target_symbols(), embedded));
  // Dropout that a single layer has no place for would only be warned about.
  const double dropout = options.num_layers() > 1 ? options.dropout() : 0;
  if (std::holds_alternative<enumtype::kLSTM>(options.kind()))
    encoder_lstm =
        register_module("encoder", nn::LSTM(nn::LSTMOptions(embedded, hidden)
                                                .num_layers(options.num_layers())
                                                .batch_first(true)
                                                .dropout(dropout)
                                                .bidirectional(options.bidirectional())));
  else
    encoder_gru = register_module("encoder", nn::GRU(nn::GRUOptions(embedded, hidden)
                                                         .num_layers(options.num_layers())
                                                         .batch_first(true)
                                                         .dropout(dropout)
                                                         .bidirectional(options.bidirectional())));
  decoder = register_module("decoder", CellStack(CellStackOptions(embedded + features(), hidden)
                                                     .num_layers(options.num_layers())
                                                     .kind(options.kind())
                                                     .dropout(dropout)));
  bridge = register_module("bridge", nn::Linear(features(), decoder->state_count() * hidden));
  const auto plain = [](int64_t in, int64_t out) {
    return nn::Linear(nn::LinearOptions(in, out).bias(false));
  };
  const int64_t size = options.attention_size();
  query = register_module("query", plain(hidden, size));
  key = register_module("key", nn::Linear(features(), size));
  if (options.location_filters() > 0) {
    location_filter = register_module(
        "location_filter",
        nn::Conv1d(nn::Conv1dOptions(1, options.location_filters(), options.location_width())
                       .padding(options.location_width() / 2)
                       .bias(false)));
    location = register_module("location", plain(options.location_filters(), size));
  }
  energy = register_module("energy", plain(size, 1));
  combine = register_module("combine", nn::Linear(hidden + features(), hidden));
  output = register_module("output", nn::Linear(hidden, options.target_symbols()));
}

void Seq2SeqImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::Seq2Seq"; }

void Seq2SeqImpl::check_symbols(const char* method, const char* what, const Tensor& symbols) const {
  TANDEM_CHECK_SHAPE(symbols.defined() && symbols.dim() == 2, "Seq2Seq::", method, ": the ", what,
                     " must be symbols [batch, steps], not ",
                     symbols.defined() ? str(symbols.type_of()) : "an undefined tensor");
  TANDEM_CHECK_SHAPE(symbols.size(0) > 0 && symbols.size(1) > 0, "Seq2Seq::", method, ": the ",
                     what, " is empty: ", symbols.sizes());
  TANDEM_CHECK_TYPE(symbols.scalar_type() == kLong || symbols.scalar_type() == kInt,
                    "Seq2Seq::", method, ": symbols are integers, the ", what, " is ",
                    symbols.type_of());
}

Tensor Seq2SeqImpl::embed(nn::Embedding& embedding, const Tensor& symbols) {
  const Tensor x = embedding(symbols);
  return options.dropout() > 0 ? dropout(x, options.dropout(), is_training()) : x;
}

// Note: reading padded sequences without looking at their lengths
// A packed sequence would need the lengths as numbers, which a recorded program does not have. But
// what a recurrent layer gives for a symbol depends on nothing that comes later, so padding at the
// end does no harm; and for the other direction every sequence is turned round within its length
// before and after.
Tensor Seq2SeqImpl::read(const Tensor& x, const Tensor& lengths) {
  const bool is_lstm = static_cast<bool>(encoder_lstm);
  if (!lengths.defined() || !options.bidirectional())
    return is_lstm ? std::get<0>(encoder_lstm(x)) : std::get<0>(encoder_gru(x));
  const std::vector<Tensor> weights =
      is_lstm ? encoder_lstm->all_weights() : encoder_gru->all_weights();
  const Tensor places = reversed_places(arange(x.size(1), lengths.options()), lengths);
  const Tensor zero =
      zeros({1, x.size(0), options.hidden_size()}, x.options().requires_grad(false));
  const auto one_way = [&](const Tensor& in, size_t direction) {
    const TensorList four(weights.data() + 4 * direction, 4);
    if (!is_lstm) return std::get<0>(gru(in, zero, four, true, 1, 0.0, is_training(), false, true));
    const Tensor state[] = {zero, zero};
    return std::get<0>(
        lstm(in, TensorList(state, 2), four, true, 1, 0.0, is_training(), false, true));
  };
  Tensor y = x;
  for (size_t layer = 0; layer < static_cast<size_t>(options.num_layers()); ++layer) {
    if (layer > 0 && options.dropout() > 0) y = dropout(y, options.dropout(), is_training());
    y = cat({one_way(y, 2 * layer), rows_at(one_way(rows_at(y, places), 2 * layer + 1), places)},
            2);
  }
  return y;
}

Seq2SeqImpl::Memory Seq2SeqImpl::encode(const Tensor& source, const Tensor& lengths) {
  const nn::ForwardScope scope(*this);
  check_symbols("encode", "source", source);
  const int64_t batch = source.size(0), steps = source.size(1);
  if (lengths.defined()) {
    TANDEM_CHECK_SHAPE(lengths.dim() == 1 && lengths.size(0) == batch,
                       "Seq2Seq::encode: there must be a length for each of the ", batch,
                       " sequences, got ", lengths.type_of());
    TANDEM_CHECK_TYPE(lengths.scalar_type() == kLong,
                      "Seq2Seq::encode: lengths must be int64, got ", lengths.type_of());
  }
  Memory memory;
  memory.values = read(embed(source_embedding, source), lengths);
  memory.keys = key(memory.values);
  const Tensor last = lengths.defined()
                          ? rows_at(memory.values, (lengths - 1).unsqueeze(1)).squeeze(1)
                          : memory.values.select(1, -1);
  memory.summary = last;
  if (options.bidirectional()) {
    const int64_t half = options.hidden_size();
    memory.summary =
        cat({last.narrow(1, 0, half), memory.values.select(1, 0).narrow(1, half, half)}, 1);
  }
  memory.padding = lengths.defined() ? arange(steps, lengths.options()) >= lengths.unsqueeze(1)
                                     : zeros({batch, steps}, kBool);
  return memory;
}

Seq2SeqImpl::State Seq2SeqImpl::initial_state(const Memory& memory) {
  const nn::ForwardScope scope(*this);
  const Tensor first = bridge(memory.summary).tanh();
  return {first.chunk(decoder->state_count(), 1), zeros_like(memory.summary),
          zeros({memory.values.size(0), memory.values.size(1)},
                memory.values.options().requires_grad(false))};
}

Tensor Seq2SeqImpl::attend(const Tensor& hidden, const Tensor& before, const Memory& memory) {
  Tensor sum = memory.keys + query(hidden).unsqueeze(1);
  if (location) sum = sum + location(location_filter(before.unsqueeze(1)).transpose(1, 2));
  const Tensor scores = energy(sum.tanh()).squeeze(2);
  return scores.masked_fill(memory.padding, -INFINITY).softmax(1);
}

std::pair<Tensor, Seq2SeqImpl::State> Seq2SeqImpl::advance(const Tensor& embedded,
                                                           const State& state,
                                                           const Memory& memory) {
  auto [hidden, cells] = decoder(cat({embedded, state.context}, 1), state.cells);
  const Tensor attention = attend(hidden, state.attention, memory);
  const Tensor context = attention.unsqueeze(1).bmm(memory.values).squeeze(1);
  const Tensor result = combine(cat({hidden, context}, 1)).tanh();
  return {result, State{std::move(cells), context, attention}};
}

Seq2SeqImpl::Step Seq2SeqImpl::step(const Tensor& symbols, const State& state,
                                    const Memory& memory) {
  const nn::ForwardScope scope(*this);
  TANDEM_CHECK_SHAPE(symbols.defined() && symbols.dim() == 1,
                     "Seq2Seq::step: the symbols written last must be [batch], not ",
                     symbols.defined() ? str(symbols.type_of()) : "an undefined tensor");
  auto [result, next] = advance(embed(target_embedding, symbols), state, memory);
  return {output(result), std::move(next)};
}

Tensor Seq2SeqImpl::forward(const Tensor& source, const Tensor& target, const Tensor& lengths) {
  const nn::ForwardScope scope(*this);
  check_symbols("forward", "target", target);
  const Memory memory = encode(source, lengths);
  TANDEM_CHECK_SHAPE(target.size(0) == source.size(0), "Seq2Seq::forward: there are ",
                     source.size(0), " sources and ", target.size(0), " targets");
  const int64_t steps = target.size(1);
  const Tensor start = full({target.size(0), 1}, options.start(), target.options());
  const Tensor embedded = embed(target_embedding, cat({start, target.narrow(1, 0, steps - 1)}, 1));
  State state = initial_state(memory);
  std::vector<Tensor> results;
  for (int64_t i = 0; i < steps; ++i) {
    auto [result, next] = advance(embedded.select(1, i), state, memory);
    results.push_back(result);
    state = std::move(next);
  }
  return output(stack(results, 1));
}

Tensor Seq2SeqImpl::loss(const Tensor& source, const Tensor& target, const Tensor& lengths) {
  const Tensor scores = forward(source, target, lengths);
  return nn::functional::cross_entropy(
      scores.flatten(0, 1), target.to(kLong).flatten(),
      nn::functional::CrossEntropyFuncOptions().ignore_index(options.padding()));
}

std::vector<std::vector<int64_t>> Seq2SeqImpl::generate(const Tensor& source, const Tensor& lengths,
                                                        std::optional<int64_t> max_length) {
  const nn::ForwardScope scope(*this);
  const NoGradGuard no_grad;
  const Memory memory = encode(source, lengths);
  TANDEM_CHECK(!max_length || *max_length >= 0, "Seq2Seq::generate: max_length is negative, ",
               max_length.value_or(0));
  const int64_t most = max_length.value_or(8 * source.size(1) + 32);
  State state = initial_state(memory);
  Tensor symbols = full({source.size(0)}, options.start(), kLong);
  std::vector<std::vector<int64_t>> written(static_cast<size_t>(source.size(0)));
  std::vector<bool> ended(written.size());
  size_t running = written.size();
  for (int64_t i = 0; i < most && running > 0; ++i) {
    auto [scores, next] = step(symbols, state, memory);
    symbols = scores.argmax(1);
    state = std::move(next);
    const int64_t* symbol = symbols.data_ptr<int64_t>();
    for (size_t n = 0; n < written.size(); ++n) {
      if (ended[n]) continue;
      if (symbol[n] == options.end()) {
        ended[n] = true;
        --running;
      } else {
        written[n].push_back(symbol[n]);
      }
    }
  }
  return written;
}

}  // namespace tandem::models
