#include "tandem/compile/program.h"

#include <ostream>

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

void Program::explain(std::ostream& out) const { out << impl_->graph; }

}  // namespace tandem
