#pragma once

#include <memory>

#include "tandem/core/graph.h"

namespace tandem {

/// A graph made ready to run: optimised, fused and planned once, run many times by any number of
/// threads.
class Program {
 public:
  struct Report;

  /// If `keep_prepared`, what depends on captured tensors alone is not made again while they stay
  /// as they are; it takes memory for as long as the program lives.
  explicit Program(const Graph& g, bool keep_prepared = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Inputs of the graph in order: arguments, then captured tensors. Writes are applied.
  std::vector<Tensor> run(ArrayRef<Tensor> inputs) const;
  /// The same with the two kinds apart, into n_results() tensors.
  void run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, Tensor* results) const;
  size_t n_results() const;
  /// How often it holds a captured tensor itself.
  int64_t holds(const Tensor& captured) const;
  /// What is run: the graph after all passes, with fused groups in it.
  const Graph& graph() const;
  /// The same without tensors, for kernels: where each input lies and where each result goes, all
  /// in row-major order. The graph must not write to its inputs.
  void run(void* const* inputs, void* const* results) const;
  /// Gives back the memory that is kept for the next run; says how many bytes it was.
  int64_t release_idle() const;
  /// What was done to the graph and what a run costs.
  void explain(std::ostream& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
