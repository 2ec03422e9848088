#pragma once

#include <map>
#include <memory>
#include <string>

#include "tandem/core/tensor.h"
#include "tandem/optim/options.h"

/// Graphs that are declared first and run later, with values fed by name of place.
///
///   graph::Builder b;
///   Tensor x = b.placeholder({64, 1000});
///   Tensor w = b.variable(randn({1000, 100}));
///   Tensor loss = x.mm(w).pow(2).sum();
///   auto [gw] = b.gradients<1>(loss, {w});
///   Tensor train = b.minimize(loss, optim::SGDOptions(0.01));
///   graph::Session session(b);
///   std::vector<Tensor> out = session.run({loss, gw}, {{x, batch}});
namespace tandem::graph {

/// Declares a graph: ops on the tensors that it gives are kept, not run. They have shapes and
/// dtypes, and no values outside of a session.
class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  /// A value that each run is fed.
  Tensor placeholder(IntArrayRef sizes, const TensorOptions& options = {}, std::string name = {});
  /// A value that a session keeps from run to run; it starts as a copy of `initial`.
  Tensor variable(const Tensor& initial, std::string name = {});

  /// The gradients of a scalar by each of `by`, as tensors of the graph. Zeros where nothing flows.
  std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& by);
  template <size_t N>
  std::array<Tensor, N> gradients(const Tensor& loss, const std::vector<Tensor>& by) {
    const std::vector<Tensor> list = gradients(loss, by);
    TANDEM_CHECK(list.size() == N, "gradients<", N, ">: by ", list.size(), " tensors");
    std::array<Tensor, N> out;
    for (size_t i = 0; i < N; ++i) out[i] = list[i];
    return out;
  }

  /// Running the result gives the variable, or the tensor from outside, the value, after everything
  /// else in that run was computed with the old one.
  Tensor assign(const Tensor& variable, const Tensor& value);
  /// Running the result makes one step of the optimiser on the variables that the loss depends on,
  /// or on `variables`, which may be tensors from outside, such as `net->parameters()`, too: these
  /// are changed in place. Its value is the loss before the step. As long as `options` live, later
  /// runs follow changes of their numbers, such as a learning rate that falls.
  Tensor minimize(const Tensor& loss, const optim::SGDOptions& options,
                  const std::vector<Tensor>& variables = {});
  Tensor minimize(const Tensor& loss, const optim::AdamOptions& options,
                  const std::vector<Tensor>& variables = {});
  Tensor minimize(const Tensor& loss, const optim::AdamWOptions& options,
                  const std::vector<Tensor>& variables = {});
  Tensor minimize(const Tensor& loss, const optim::RMSpropOptions& options,
                  const std::vector<Tensor>& variables = {});
  Tensor minimize(const Tensor& loss, const optim::AdagradOptions& options,
                  const std::vector<Tensor>& variables = {});
  Tensor minimize(const Tensor& loss, const optim::LionOptions& options,
                  const std::vector<Tensor>& variables = {});

  struct Impl;

 private:
  friend class DeclareGuard;
  friend class Session;
  std::shared_ptr<Impl> impl_;
};

/// Everything in its scope is declared, also ops on ordinary tensors alone, which are otherwise run
/// at once: a scaled parameter, say, that is to follow the parameter.
class DeclareGuard {
 public:
  explicit DeclareGuard(Builder& builder);
  ~DeclareGuard();
  DeclareGuard(const DeclareGuard&) = delete;
  DeclareGuard& operator=(const DeclareGuard&) = delete;

 private:
  std::shared_ptr<Builder::Impl> impl_;
  Recorder* recorder_before_;
  uint32_t made_in_before_;
};

using Feeds = std::vector<std::pair<Tensor, Tensor>>;

/// Runs parts of a declared graph and keeps its variables.
class Session {
 public:
  explicit Session(const Builder& builder);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// The values of `fetches`; only what they need is computed. Every placeholder that is needed
  /// must be fed a tensor of its type.
  std::vector<Tensor> run(const std::vector<Tensor>& fetches, const Feeds& feeds = {});
  Tensor run(const Tensor& fetch, const Feeds& feeds = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same with one graph for each thread, for programs that declare only one.
Builder& default_builder();
/// Forgets what was declared in it.
void reset_default_builder();
Tensor placeholder(IntArrayRef sizes, const TensorOptions& options = {}, std::string name = {});
Tensor variable(const Tensor& initial, std::string name = {});
std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& by);
template <class Options>
Tensor minimize(const Tensor& loss, const Options& options,
                const std::vector<Tensor>& variables = {}) {
  return default_builder().minimize(loss, options, variables);
}

}  // namespace tandem::graph
