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
};

ForwardBackward cut(const Recording& r);

}  // namespace tandem
