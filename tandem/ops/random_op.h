#pragma once

#include <optional>

#include "tandem/core/recorder.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Random numbers for a tensor of a declared graph are drawn in each run of it, not now, although
/// nothing that is drawn from belongs to the graph.
class DrawScope {
 public:
  explicit DrawScope(const Tensor& like) {
    if (!like.defined() || !like.impl()->is_pending()) return;
    if (t_mode.recorder && t_mode.recorder->keeps_branches()) return;
    Recorder* r = like.impl()->storage->pending.load(std::memory_order_acquire);
    if (r->follows()) scope_.emplace(r);
  }

 private:
  std::optional<RecorderScope> scope_;
};

/// Ones with probability p, else zeros: those that an op draws which reads its random numbers from
/// `state`, seed and counter. For gradients and composites, which must meet the same numbers again.
Tensor bernoulli_of(const Tensor& state, IntArrayRef sizes, double p, const TensorOptions& o);

}  // namespace tandem
