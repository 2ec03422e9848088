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
  int64_t calls = 0;        // that were timed
  double microseconds = 0;  // the least of them
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

PlanReport explain(const Executor& executor);

}  // namespace tandem::runtime
