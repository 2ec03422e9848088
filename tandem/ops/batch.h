#pragma once

#include <set>
#include <string>
#include <vector>

#include "tandem/core/apply.h"

namespace tandem {

/// Moves the counter of random numbers on: for all samples together.
extern const OpDef kRandomAdvance;

/// Runs an op for `size` samples at once by its batching rule. The samples lie along dimension 0 of
/// the inputs that are batched, and of all outputs but those that are the same for every sample:
/// the counter of random numbers, and parts of a loop's state.
void apply_batched(const OpDef& op, ArrayRef<Tensor> inputs, const bool* batched, int64_t size,
                   AttrRef attrs, Tensor* outputs);

/// Collects, while it exists, the names of the ops that this thread runs one sample after the other
/// because they have no rule that takes all at once.
class BatchFallbacks {
 public:
  BatchFallbacks();
  ~BatchFallbacks();
  BatchFallbacks(const BatchFallbacks&) = delete;
  BatchFallbacks& operator=(const BatchFallbacks&) = delete;
  std::set<std::string> names;

 private:
  friend void batch_loop(const BatchArgs& a);
  BatchFallbacks* outer_;
};

/// Names of the ops that have run one sample after the other in this process.
std::vector<std::string> batch_fallbacks();

}  // namespace tandem
