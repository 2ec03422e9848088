#pragma once

#include <optional>
#include <vector>

#include "tandem/models/cell_stack.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"

/// A network that reads a sequence and writes another one, of whatever length it likes.
namespace tandem::models {

struct Seq2SeqOptions {
  /// How many symbols there are to read and to write, padding, start and end included.
  Seq2SeqOptions(int64_t source_symbols, int64_t target_symbols)
      : source_symbols_(source_symbols), target_symbols_(target_symbols) {}
  TANDEM_ARG(int64_t, source_symbols);
  TANDEM_ARG(int64_t, target_symbols);
  TANDEM_ARG(int64_t, embedding_size) = 64;
  TANDEM_ARG(int64_t, hidden_size) = 128;
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(RecurrentKind, kind) = kLSTM;
  /// The encoder reads from both ends.
  TANDEM_ARG(bool, bidirectional) = true;
  TANDEM_ARG(int64_t, attention_size) = 64;
  /// Attention also sees where it was in the step before, through so many filters of
  /// `location_width` places (Chorowski and others, 2015). It can then learn to move by a place,
  /// which holds for sequences of any length. 0: it sees contents only (Bahdanau and others, 2014).
  TANDEM_ARG(int64_t, location_filters) = 8;
  TANDEM_ARG(int64_t, location_width) = 5;
  /// Of embeddings, and between layers, in training.
  TANDEM_ARG(double, dropout) = 0.0;
  // The symbols with a meaning of their own. A target's padding does not count in the loss.
  TANDEM_ARG(int64_t, padding) = 0;
  TANDEM_ARG(int64_t, start) = 1;
  TANDEM_ARG(int64_t, end) = 2;
};

/// Sequences side by side: symbols int64 [batch, steps], shorter ones padded at the end, and how
/// long each is.
struct SequenceBatch {
  Tensor symbols, lengths;
};
/// Refuses empty ones, with their number.
SequenceBatch pad_sequences(const std::vector<std::vector<int64_t>>& sequences,
                            int64_t padding = 0);

/// Encoder and decoder with attention. Training forces the decoder to follow the target; generate()
/// feeds it what it wrote itself, until it writes the end.
///
///     Seq2Seq net(Seq2SeqOptions(29, 29).hidden_size(64));
///     auto [source, lengths] = pad_sequences({{3, 4, 5}, {6, 7}});
///     net->loss(source, target, lengths).backward();
///     std::vector<std::vector<int64_t>> written = net->generate(source, lengths);
///
/// Everything but generate() can be compiled: lengths are read as values of a tensor, so that only
/// the shape of a batch makes another graph. A sequence in a padded batch has the results that it
/// has alone.
class Seq2SeqImpl : public nn::Cloneable<Seq2SeqImpl> {
 public:
  /// What the encoder made of the source.
  struct Memory {
    Tensor values;   // [batch, steps, features]
    Tensor keys;     // [batch, steps, attention_size]: what attention compares with
    Tensor padding;  // bool [batch, steps], true behind a sequence's end
    Tensor summary;  // [batch, features]: what it knew at both ends
  };
  /// Where the decoder is.
  struct State {
    std::vector<Tensor> cells;  // of the CellStack
    Tensor context;             // [batch, features]: what attention saw last
    Tensor attention;           // [batch, steps]: where that was
  };
  struct Step {
    Tensor scores;  // [batch, target_symbols]
    State state;
  };

  explicit Seq2SeqImpl(const Seq2SeqOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// source: int64 [batch, steps]; lengths: int64 [batch], or undefined if nothing is padded.
  Memory encode(const Tensor& source, const Tensor& lengths = {});
  /// Before the first symbol.
  State initial_state(const Memory& memory);
  /// symbols: int64 [batch], those written last (at first the start). Scores for the next ones.
  Step step(const Tensor& symbols, const State& state, const Memory& memory);

  /// Scores [batch, target steps, target_symbols] for each symbol of the target (with its end),
  /// given those before it.
  Tensor forward(const Tensor& source, const Tensor& target, const Tensor& lengths = {});
  /// The mean cross entropy of the target's symbols; padding does not count.
  Tensor loss(const Tensor& source, const Tensor& target, const Tensor& lengths = {});
  /// Writes the likeliest symbol in each step until all sequences have ended, which only a look at
  /// values can say; at most max_length symbols (8 times the source's steps and 32 if left out: a
  /// network that was not trained may never end). Without the end.
  std::vector<std::vector<int64_t>> generate(const Tensor& source, const Tensor& lengths = {},
                                             std::optional<int64_t> max_length = std::nullopt);

  Seq2SeqOptions options;
  nn::Embedding source_embedding{nullptr}, target_embedding{nullptr};
  nn::LSTM encoder_lstm{nullptr};  // one of the two, called "encoder"
  nn::GRU encoder_gru{nullptr};
  nn::Linear bridge{nullptr};  // from the summary to the decoder's first state
  CellStack decoder{nullptr};
  nn::Linear query{nullptr}, key{nullptr}, location{nullptr}, energy{nullptr};
  nn::Conv1d location_filter{nullptr};
  nn::Linear combine{nullptr}, output{nullptr};

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, nn::AnyValue(Tensor())})

 private:
  int64_t features() const { return options.hidden_size() * (options.bidirectional() ? 2 : 1); }
  void check_symbols(const char* method, const char* what, const Tensor& symbols) const;
  Tensor embed(nn::Embedding& embedding, const Tensor& symbols);
  Tensor read(const Tensor& x, const Tensor& lengths);
  Tensor attend(const Tensor& hidden, const Tensor& before, const Memory& memory);
  std::pair<Tensor, State> advance(const Tensor& embedded, const State& state,
                                   const Memory& memory);
};
TANDEM_MODULE(Seq2Seq);

}  // namespace tandem::models
