#pragma once

#include <optional>
#include <tuple>

#include "tandem/core/tensor.h"

/// Batches of sequences that differ in length.
namespace tandem::nn::utils::rnn {

/// Where each element went: q with q[p[i]] = i. Of nothing nothing.
Tensor invert_permutation(const Tensor& permutation);

/// Sequences without padding: the rows of all first steps, then those of all second steps, and so
/// on, the longest sequence first in each. pack_sequence and pack_padded_sequence make it, and
/// recurrent modules take and give it.
class PackedSequence {
 public:
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {},
                          Tensor unsorted_indices = {});

  const Tensor& data() const { return data_; }
  /// How many sequences have a first step, a second one, ...: int64 on the cpu.
  const Tensor& batch_sizes() const { return batch_sizes_; }
  /// The order in which the sequences are packed, and how to get back; undefined if they came in
  /// order.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  /// The data converted; this one if there is nothing to convert.
  PackedSequence to(TensorOptions options) const;
  PackedSequence cuda() const { return to(Device(kCUDA)); }
  PackedSequence cpu() const { return to(Device(kCPU)); }
  bool is_cuda() const { return data_.is_cuda(); }
  /// There is no memory that would have to be pinned.
  PackedSequence pin_memory() const { return *this; }
  bool is_pinned() const { return false; }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// input: [steps, batch, ...], or [batch, steps, ...] with batch_first. With enforce_sorted the
/// lengths must not grow; otherwise the sequences are sorted here.
PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false,
                                    bool enforce_sorted = true);
/// The padded sequences in the order they had before, and their lengths.
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence,
                                               bool batch_first = false, double padding_value = 0.0,
                                               std::optional<int64_t> total_length = std::nullopt);
/// Sequences [length, ...] side by side, the shorter ones padded at the end.
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0);
PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);

}  // namespace tandem::nn::utils::rnn
