#include "tandem/graph/pipeline.h"

#include <algorithm>
#include <chrono>
#include <iostream>

#include "tandem/base/env.h"
#include "tandem/graph/cse.h"
#include "tandem/graph/dce.h"
#include "tandem/graph/fold.h"
#include "tandem/graph/fuse.h"
#include "tandem/graph/gate.h"
#include "tandem/graph/layout.h"
#include "tandem/graph/rematerialise.h"
#include "tandem/graph/schedule.h"
#include "tandem/graph/simplify.h"
#include "tandem/graph/verify.h"

namespace tandem {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(Graph);
};

constexpr Pass kPasses[] = {
    {"dce", dce},            // most of what is recorded of a backward is never asked for
    {"fold", fold},          // makes numbers, which simplify looks for
    {"simplify", simplify},  // makes equal what was written differently, which cse looks for
    {"cse", cse},
    {"final_dce", dce},                // what they have all left behind
    {"gate", gate_norms},              // before layout, which takes norms apart
    {"layout", layout},                // before fuse, which walks what it finds
    {"fuse", fuse},                    // after it, one node is one kernel
    {"schedule", schedule},            // the order of kernels, not of ops
    {"rematerialise", rematerialise},  // in that order, what is alive when is known
};

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

Graph optimise(const Graph& original, const PipelineOptions& options, PipelineReport* report) {
  const bool log = env::logs("passes"), check = env::verify_graphs();
  const auto start = Clock::now();
  Graph g = original.clone();
  PipelineReport ignored;
  PipelineReport& r = report ? *report : ignored;
  r = {};
  r.nodes_before = g.nodes.size();
  if (check) verify(g, "recording");
  std::string text;
  if (log) std::cerr << "passes: recorded\n" << (text = g.str());
  for (const Pass& pass : kPasses) {
    if (std::find(options.without.begin(), options.without.end(), pass.name) !=
        options.without.end())
      continue;
    const auto began = Clock::now();
    const size_t before = g.nodes.size();
    g = pass.run(std::move(g));
    r.passes.push_back({pass.name, microseconds_since(began), before, g.nodes.size()});
    if (check) verify(g, pass.name);
    if (!log) continue;
    if (std::string now = g.str(); now != text)
      std::cerr << "passes: after " << pass.name << '\n' << (text = std::move(now));
  }
  r.nodes_after = g.nodes.size();
  r.microseconds = microseconds_since(start);
  return g;
}

std::vector<const char*> pass_names() {
  std::vector<const char*> names;
  for (const Pass& p : kPasses) names.push_back(p.name);
  return names;
}

std::ostream& operator<<(std::ostream& out, const PipelineReport& r) {
  for (const auto& p : r.passes)
    out << p.name << ": " << p.nodes_before << " -> " << p.nodes_after << " nodes, "
        << static_cast<int64_t>(p.microseconds + 0.5) << " us\n";
  return out << "passes: " << r.nodes_before << " -> " << r.nodes_after << " nodes, "
             << static_cast<int64_t>(r.microseconds + 0.5) << " us\n";
}

}  // namespace tandem
