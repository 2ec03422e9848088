#include "tandem/nn/utils/rnn.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::utils::rnn {

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  return empty_like(permutation)
      .scatter_(0, permutation, arange(permutation.numel(), permutation.options()));
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices,
                               Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  TANDEM_CHECK(data_.defined() && batch_sizes_.defined(),
               "PackedSequence: data and batch_sizes must be defined");
  TANDEM_CHECK(batch_sizes_.device().is_cpu(),
               "batch_sizes should always be on CPU. Packed sequences are made by pack_sequence "
               "and pack_padded_sequence of nn::utils::rnn.");
  if (!unsorted_indices_.defined()) unsorted_indices_ = invert_permutation(sorted_indices_);
}

PackedSequence PackedSequence::to(TensorOptions options) const {
  const Tensor data = data_.to(options);
  if (data.is_same(data_)) return *this;
  const auto moved = [&](const Tensor& t) {
    return t.defined() ? t.to(t.options().device(data.device())) : t;
  };
  return PackedSequence(data, batch_sizes_, moved(sorted_indices_), moved(unsorted_indices_));
}

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first,
                                    bool enforce_sorted) {
  lengths = lengths.to(kLong);
  Tensor order;
  if (!enforce_sorted) {
    TANDEM_CHECK_SHAPE(input.dim() >= 2 && lengths.dim() == 1,
                       "pack_padded_sequence: expected an input [steps, batch, ...] and the "
                       "lengths of the sequences, got ",
                       input.sizes(), " and ", lengths.sizes());
    std::tie(lengths, order) = tandem::sort(lengths, -1, true);
    order = order.to(input.device());
    input = input.index_select(batch_first ? 0 : 1, order);
  }
  auto [data, batch_sizes] = _pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(data, batch_sizes, order);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                               double padding_value,
                                               std::optional<int64_t> total_length) {
  const int64_t longest = sequence.batch_sizes().size(0);
  TANDEM_CHECK(!total_length || *total_length >= longest,
               "Expected total_length to be at least the length of the longest sequence in input, "
               "but got total_length=",
               total_length.value_or(0), " and max sequence length being ", longest);
  auto [padded, lengths] =
      _pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first, padding_value,
                           total_length.value_or(longest));
  const Tensor& back = sequence.unsorted_indices();
  if (!back.defined()) return {padded, lengths};
  return {padded.index_select(batch_first ? 0 : 1, back), lengths.index_select(0, back.cpu())};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value) {
  return tandem::pad_sequence(sequences, batch_first, padding_value);
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  return pack_padded_sequence(tandem::pad_sequence(sequences), tensor(lengths), false,
                              enforce_sorted);
}

}  // namespace tandem::nn::utils::rnn
