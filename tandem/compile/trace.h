#pragma once

#include "tandem/autograd/callable.h"
#include "tandem/core/graph.h"

namespace tandem {

/// Runs fn once with tensors that stand for the arguments and gives what it did as a graph.
///
///   Graph g = trace([](Tensor x, Tensor h) { return tanh(x + h); }, {x, h});
///   std::cout << g;
///   std::vector<Tensor> out = g.run({x, h});
///
/// Tensors that fn takes from outside are inputs of the graph too and keep their identity; what fn
/// writes in place, to arguments or to them, is written by each run. Looking at a value inside fn
/// is an Error.
Graph trace_list(const autograd::TensorFunction& fn, ArrayRef<Tensor> example_inputs);

template <class F>
Graph trace(F fn, const std::vector<Tensor>& example_inputs) {
  return trace_list(autograd::tensor_function(std::move(fn)), example_inputs);
}

}  // namespace tandem
