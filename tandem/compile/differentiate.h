#pragma once

#include "tandem/compile/recording.h"

namespace tandem {

/// A recording with backward, cut in two programs: one for the call and one for its gradient.
///
/// What backward reads of the call's intermediate values becomes a result of the call; views of
/// such a value are taken again on the other side.
struct ForwardBackward {
  Graph forward;  // results as in the recording without the gradients, then the values to keep
  size_t n_kept = 0;

  Graph
      backward;  // arguments as listed in `reads`; results: gradients by the sources that have one
  struct Read {
    enum class From : uint8_t { kept, input, grad } from;
    size_t index;  // among the kept values, the inputs of `forward`, the differentiated results
  };
  std::vector<Read> reads;
  std::vector<uint64_t> results_of;  // by node of `backward`, as Recording::results_of
};

ForwardBackward cut(const Recording& r);

/// The gradient of some of the results only.
struct PartOfBackward {
  Graph graph;               // inputs as in the whole; those of other results' gradients undefined
  std::vector<bool> exists;  // by result of the whole: something flows to it; the graph's results
};
/// `given` says which of the differentiated results have a gradient. The others have none, which is
/// not the same as zero: zero times infinity is not a number.
PartOfBackward part_of(const ForwardBackward& whole, const std::vector<bool>& given);

}  // namespace tandem
