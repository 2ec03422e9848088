#include "tandem/compile/trace.h"

#include "tandem/compile/recording.h"

namespace tandem {

Graph trace_list(const TensorFunction& fn, ArrayRef<Tensor> example_inputs) {
  Recording r = record(fn, example_inputs, {.any_input = true});
  // Gradients that the function took can be differentiated in the graph, which has all ops of them.
  Graph g = with_detached(r, r.graph);
  TANDEM_CHECK(std::find(r.result.begin(), r.result.end(), -1) == r.result.end(),
               "trace: the function returned an undefined tensor");
  // The gradients that the function leaves in leaves are not results of a graph.
  const size_t n = r.result.size(), dropped = g.n_results - n;
  g.outputs.erase(g.outputs.begin() + static_cast<ptrdiff_t>(n),
                  g.outputs.begin() + static_cast<ptrdiff_t>(g.n_results));
  for (Graph::Write& w : g.writes) w.output -= static_cast<uint32_t>(dropped);
  g.n_results = n;
  return g;
}

}  // namespace tandem
