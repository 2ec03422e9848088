#include "tandem/compile/program.h"

#include <ostream>

#include "tandem/ops/ops.h"

namespace tandem {

struct Program::Impl {
  Graph graph;
};

Program::Program(const Graph& g) : impl_(new Impl{g.clone()}) {}
Program::~Program() = default;

std::vector<Tensor> Program::run(ArrayRef<Tensor> inputs) const {
  const NoGradGuard no_grad;
  return impl_->graph.run(inputs);
}

void Program::run(void* const* inputs, void* const* results) const {
  const Graph& g = impl_->graph;
  std::vector<Tensor> in;
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const TensorType& t = g.inputs[i]->outputs()[0];
    in.push_back(from_blob(inputs[i], t.sizes, t.dtype));
  }
  const std::vector<Tensor> out = run(in);
  for (size_t i = 0; i < out.size(); ++i)
    from_blob(results[i], out[i].sizes(), out[i].dtype()).copy_(out[i]);
}

void Program::explain(std::ostream& out) const { out << impl_->graph; }

}  // namespace tandem
