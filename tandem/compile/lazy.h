#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

class Recorder;

/// In its scope nothing runs until a value is looked at: printed, compared, read by item() or
/// data_ptr(), or asked for by eval(). Then everything that is pending runs as one optimised plan.
/// A program seen before comes from a cache.
///
///   LazyGuard lazy;
///   Tensor y = x + 2, z = y * y;   // nothing has run
///   std::cout << z;                // one fused kernel
///
/// What is pending when the scope ends runs then. Inside a function that is being recorded the
/// guard changes nothing. A pending tensor belongs to its thread.
class LazyGuard {
 public:
  LazyGuard();
  ~LazyGuard() noexcept(false);
  LazyGuard(const LazyGuard&) = delete;
  LazyGuard& operator=(const LazyGuard&) = delete;

 private:
  Recorder* before_;
  uint32_t made_in_before_;
  int exceptions_;
  bool outermost_ = false;
};

/// True iff the tensor's values have not been computed yet.
bool is_pending(const Tensor& t);
/// Computes what is pending, these tensors included.
void eval(const std::vector<Tensor>& tensors);

namespace lazy {
struct Stats {
  int64_t runs = 0;      // how often something pending was run on this thread
  int64_t programs = 0;  // how many different programs that made, in the whole process
};
Stats stats();
}  // namespace lazy

}  // namespace tandem
