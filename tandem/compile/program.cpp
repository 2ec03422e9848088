#include "tandem/compile/program.h"

#include <algorithm>
#include <mutex>
#include <ostream>

#include "tandem/graph/pipeline.h"
#include "tandem/runtime/explain.h"

namespace tandem {

struct Program::Impl {
  Impl(const Graph& g, bool keep_prepared)
      : graph(optimise(g, {}, &report)),
        executor(runtime::make_plan(graph, {.keep_prepared = keep_prepared})) {}

  /// For kernels, whose results go to memory that is given. Made when it is first asked for.
  const runtime::Executor& raw() const {
    std::call_once(once, [this] {
      dense =
          std::make_unique<runtime::Executor>(runtime::make_plan(graph, {.dense_results = true}));
    });
    return *dense;
  }

  PipelineReport report;
  const Graph graph;
  const runtime::Executor executor;
  mutable std::once_flag once;
  mutable std::unique_ptr<runtime::Executor> dense;
};

Program::Program(const Graph& g, bool keep_prepared)
    : impl_(std::make_unique<Impl>(g, keep_prepared)) {}
Program::~Program() = default;

const Graph& Program::graph() const { return impl_->graph; }

size_t Program::n_results() const { return impl_->executor.plan().results.size(); }

int64_t Program::holds(const Tensor& captured) const {
  int64_t n = 0;
  for (const auto* list : {&impl_->graph.captured, &impl_->executor.plan().captured})
    n += std::count_if(list->begin(), list->end(),
                       [&](const Tensor& t) { return t.is_same(captured); });
  return n;
}

void Program::run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, Tensor* results) const {
  impl_->executor.run(arguments, captured, results);
}

std::vector<Tensor> Program::run(ArrayRef<Tensor> inputs) const {
  const size_t n = impl_->executor.plan().n_args;
  return impl_->executor.run(inputs.slice(0, n), inputs.slice(n, inputs.size() - n));
}

void Program::run(void* const* inputs, void* const* results) const {
  impl_->raw().run(inputs, results);
}

int64_t Program::release_idle() const { return impl_->executor.release_idle(); }

void Program::explain(std::ostream& out) const {
  out << impl_->report << runtime::explain(impl_->executor);
}

}  // namespace tandem
