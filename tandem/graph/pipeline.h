#pragma once

#include <iosfwd>

#include "tandem/core/graph.h"

namespace tandem {

struct PipelineOptions {
  /// Leaves out passes, by name: for tests, and to find the one that is to blame.
  std::vector<std::string> without;
};

/// What each pass did and what it cost.
struct PipelineReport {
  struct Pass {
    const char* name;
    double microseconds;
    size_t nodes_before, nodes_after;
  };
  std::vector<Pass> passes;
  size_t nodes_before = 0, nodes_after = 0;
  double microseconds = 0;
};
std::ostream& operator<<(std::ostream& out, const PipelineReport& r);

/// The same program, made simpler: the passes of pipeline.cpp, one after the other. The graph that
/// was given is not changed.
///
/// TANDEM_LOG=passes prints it before the first pass and after each that changed something. A pass
/// that breaks a rule of graphs is found by verify in debug builds and when TANDEM_VERIFY=1.
Graph optimise(const Graph& g, const PipelineOptions& options = {},
               PipelineReport* report = nullptr);

/// Names of the passes, in order.
std::vector<const char*> pass_names();

}  // namespace tandem
