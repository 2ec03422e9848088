#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// What a user-defined function does in backward; see autograd/function.h.
struct CustomBackward {
  virtual ~CustomBackward() = default;
  virtual std::vector<Tensor> run(const std::vector<Tensor>& grads) = 0;
  virtual void release() = 0;
  virtual std::string name() const = 0;
};

/// The parts of a node that few nodes have.
struct NodeExtra {
  struct Hook {
    unsigned number;
    uint32_t output;
    std::function<Tensor(const Tensor&)> call;
  };
  std::mutex mutex;           // guards grads: threads may share leaves
  std::vector<Tensor> grads;  // by output: a leaf's gradient, or one kept by retain_grad
  std::vector<bool> retain;   // by output
  std::vector<Hook> hooks;
  unsigned next_hook = 0;
  std::unique_ptr<CustomBackward> custom;
  std::string made_by;  // under DetectAnomalyGuard: the forward call in words
};

}  // namespace tandem
