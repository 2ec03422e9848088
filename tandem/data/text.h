#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/base/arg.h"
#include "tandem/data/datasets.h"
#include "tandem/data/vocabulary.h"

namespace tandem::data {

struct TextCorpusOptions {
  TextCorpusOptions() = default;
  TextCorpusOptions(TextUnit unit) : unit_(unit) {}

  TANDEM_ARG(TextUnit, unit) = TextUnit::kCharacter;
  /// Pieces that are rarer get no number of their own; and only the most frequent so many get one,
  /// if that is not 0. The others become the unknown piece.
  TANDEM_ARG(int64_t, min_count) = 1;
  TANDEM_ARG(int64_t, max_size) = 0;
  /// ASCII capitals become small letters.
  TANDEM_ARG(bool, lower_case) = false;
  /// The piece for those without a number. It is part of the vocabulary when there may be some, and
  /// always for words.
  TANDEM_ARG(std::string, unknown) = "<unk>";
  /// The word that stands at the end of every line; empty for none.
  TANDEM_ARG(std::string, end_of_line) = "<eos>";
  /// Numbers from elsewhere, as for a text to validate with. The options above except `lower_case`
  /// are then not used.
  TANDEM_ARG(std::optional<Vocabulary>, vocabulary) = std::nullopt;
};

namespace datasets {
class BPTT;
}

/// A text as numbers, for language models.
///
///     TextCorpus corpus("shakespeare.txt");
///     auto [train, test] = corpus.split(0.9);
///     for (auto [x, y] : train.bptt(/*batch_size=*/32, /*steps=*/64)) ...
///
/// Characters are numbered by their code points, words by how often they appear.
class TextCorpus {
 public:
  explicit TextCorpus(const std::string& path, TextCorpusOptions options = {});
  /// A text that is in memory; errors call it `name`.
  static TextCorpus from_text(std::string_view text, TextCorpusOptions options = {},
                              const std::string& name = "text");

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  /// The whole text, int64 [n].
  const Tensor& ids() const { return ids_; }
  int64_t size() const { return ids_.numel(); }
  Tensor encode(std::string_view text) const;
  std::string decode(const Tensor& ids) const { return vocabulary_->decode(ids); }
  /// The first part of the text and the rest, with the same numbers.
  std::pair<TextCorpus, TextCorpus> split(double share) const;
  /// Batches for truncated back-propagation through time.
  datasets::BPTT bptt(int64_t batch_size, int64_t steps) const;

 private:
  TextCorpus(Tensor ids, std::shared_ptr<const Vocabulary> vocabulary, bool lower_case)
      : ids_(std::move(ids)), vocabulary_(std::move(vocabulary)), lower_case_(lower_case) {}
  Tensor ids_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool lower_case_ = false;
};

namespace datasets {

struct BPTTOptions {
  BPTTOptions(int64_t batch_size, int64_t steps) : batch_size_(batch_size), steps_(steps) {}
  TANDEM_ARG(int64_t, batch_size);
  TANDEM_ARG(int64_t, steps);
  /// Batches are [batch, time] instead of [time, batch].
  TANDEM_ARG(bool, batch_first) = false;
  /// Leave out the last window if it is shorter.
  TANDEM_ARG(bool, drop_last) = false;
};

/// Windows of a long sequence for back-propagation through time. The sequence is cut into
/// batch_size streams of equal length beside each other; window i holds steps i * steps and
/// following of each, and as targets what follows each step. The next window goes on where this one
/// ends, so that a recurrent network's state can be carried on.
///
/// An element is a whole batch. It can be asked for by its number, in a loop over the set, or by a
/// loader, which can be resumed and has workers:
///
///     make_data_loader<samplers::SequentialSampler>(bptt, DataLoaderOptions(1).workers(1))
class BPTT : public BatchDataset<BPTT, Example<>> {
 public:
  BPTT(Tensor ids, BPTTOptions options);
  /// Inputs and targets of a window.
  Example<> get(size_t window) const;
  /// For exactly one window.
  Example<> get_batch(ArrayRef<size_t> windows) override;
  /// The number of windows.
  std::optional<size_t> size() const override { return windows_; }
  const BPTTOptions& options() const { return options_; }

  class Iterator {
   public:
    using value_type = Example<>;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    Iterator(const BPTT* set, size_t at) : set_(set), at_(at) {}
    Example<> operator*() const { return set_->get(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const BPTT* set_;
    size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, windows_}; }

 private:
  BPTTOptions options_;
  Tensor ids_;
  int64_t length_ = 0;  // of a stream
  size_t windows_ = 0;
};

}  // namespace datasets
}  // namespace tandem::data
