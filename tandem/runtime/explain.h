#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tandem/runtime/executor.h"

namespace tandem::runtime {

/// What is known of one step.
struct StepReport {
  std::string name;
  std::vector<const char*> fused;  // the ops that it stands for; empty unless it is fused
  bool ready = true;               // False iff it is fused and its machine code is not there yet.
  bool in_place = false;
  bool kept = false;
  int64_t bytes_read = 0, bytes_written = 0;
  /// Where its first output lies in the arena; -1: in a tensor.
  int64_t arena_offset = -1;
  int64_t runs = 0;         // that were timed
  double microseconds = 0;  // the mean of them
};

struct PlanReport {
  int64_t arena_bytes = 0;
  int64_t intermediate_bytes = 0;
  int64_t result_bytes = 0;
  size_t kernels = 0, ready = 0;  // fused steps, and those whose machine code is there
  size_t branches = 0;            // steps that run beside others
  std::vector<StepReport> steps;
};
/// A line for the whole, then one a step.
std::ostream& operator<<(std::ostream& out, const PlanReport& r);

/// Measures the steps of one executor's plan in every run of this thread while it exists.
///
///   StepTimes times(executor);
///   for (int i = 0; i < 100; ++i) executor.run(inputs);
///   std::cout << explain(executor, &times);
class StepTimes : public StepObserver {
 public:
  explicit StepTimes(const Executor& executor)
      : plan_(executor.plan()), steps_(plan_.steps.size()) {}
  void ran(const Plan& plan, size_t step, int64_t begin_ns, int64_t end_ns) override;

 private:
  friend PlanReport explain(const Executor& executor, const StepTimes* times);
  struct Sum {
    int64_t runs = 0, ns = 0;
  };
  const Plan& plan_;
  std::vector<Sum> steps_;
};

PlanReport explain(const Executor& executor, const StepTimes* times = nullptr);

}  // namespace tandem::runtime
