#pragma once

#include <cstdint>
#include <vector>

#include "tandem/core/fused.h"

namespace tandem::runtime {

/// Steps that come one after another and fall into parts which do not depend on each other: the
/// parts may run at the same time.
struct Branches {
  int32_t first = 0, last = 0;              // all steps from first to last
  std::vector<std::vector<int32_t>> lanes;  // each in order; of about the same length
};

/// Finds what is worth running side by side. `ns` is the time that a step is expected to take if it
/// runs on one thread only, 0 for a step that uses several by itself or of which nothing is known;
/// `reads` lists the steps whose values a step reads.
///
/// How steps are put together depends on the steps alone, never on the number of threads, and so do
/// the results: each kernel does what it would do anyway.
std::vector<Branches> find_branches(const std::vector<double>& ns,
                                    const std::vector<std::vector<int32_t>>& reads);

/// The time on one core that a node is expected to take; 0 where it runs on several threads or
/// where its shapes do not tell.
double serial_ns(const Node& n);

/// How many rows, or elements, of a fused group's loop a thread takes at least.
struct LoopSplit {
  int64_t count = 0, grain = 1;
};
LoopSplit split_of(const FusedGroup& group);

}  // namespace tandem::runtime
