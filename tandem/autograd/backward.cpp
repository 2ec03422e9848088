#include "tandem/autograd/autograd.h"
#include "tandem/autograd/walk.h"
#include "tandem/base/warning.h"
#include "tandem/core/gradients.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/ops.h"

namespace tandem::autograd {
namespace {

void add_roots(Walk& walk, const char* what, const variable_list& tensors,
               const variable_list& grads) {
  TANDEM_CHECK(grads.empty() || grads.size() == tensors.size(), what, ": got ", tensors.size(),
               " tensors and ", grads.size(), " gradients");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TANDEM_CHECK(t.defined(), what, ": tensor ", i, " is undefined");
    TANDEM_CHECK(t.requires_grad() && t.impl()->grad_edge().node, what, ": element ", i,
                 " of tensors does not require grad and does not have a grad_fn");
    Tensor g = grads.empty() ? Tensor() : grads[i];
    if (g.defined()) {
      TANDEM_CHECK_SHAPE(g.sizes() == t.sizes(), what, ": Mismatch in shape: grad_output[", i,
                         "] has a shape of ", g.sizes(), " and output[", i, "] has a shape of ",
                         t.sizes());
      if (g.dtype() != t.dtype()) g = g.to(t.dtype());
    } else {
      TANDEM_CHECK(t.numel() == 1, what,
                   ": grad can be implicitly created only for scalar outputs, and output ", i,
                   " has shape ", t.sizes());
      g = ones(t.sizes(), t.options());
    }
    walk.add_root(t.impl()->edge, std::move(g));
  }
}

void add_targets(Walk& walk, const char* what, const variable_list& inputs) {
  for (const Tensor& t : inputs) {
    TANDEM_CHECK(t.defined() && t.requires_grad(), what,
                 ": One of the differentiated Tensors does not require grad");
    const Edge& e = t.impl()->grad_edge();
    walk.targets.push_back({e.node.get(), e.index, {}});
  }
}

}  // namespace

void backward(const variable_list& tensors, const variable_list& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph, const variable_list& inputs) {
  if (create_graph)
    TANDEM_WARN_ONCE(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter "
        "and its gradient: both live until grad() is reset. Use autograd::grad when creating the "
        "graph "
        "to avoid this, or reset grad() after use (mutable_grad().reset()).");
  Walk walk({.keep = retain_graph.value_or(create_graph),
             .create_graph = create_graph,
             .only_targets = !inputs.empty()});
  add_targets(walk, "backward", inputs);
  add_roots(walk, "backward", tensors, grad_tensors);
  walk.run();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!walk.targets[i].grad.defined()) continue;  // a leaf has it already
    AutoGradMode mode(create_graph);
    Tensor& sum = inputs[i].mutable_grad();
    sum = sum.defined() ? sum + walk.targets[i].grad : walk.targets[i].grad.clone();
  }
}

variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  TANDEM_CHECK(!inputs.empty(), "grad requires non-empty inputs.");
  Walk walk({.keep = retain_graph.value_or(create_graph),
             .create_graph = create_graph,
             .accumulate = false,
             .only_targets = true});
  add_targets(walk, "grad", inputs);
  add_roots(walk, "grad", outputs, grad_outputs);
  walk.run();
  variable_list result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TANDEM_CHECK(
        walk.targets[i].grad.defined() || allow_unused, "grad: One of the differentiated Tensors (",
        i, ", ", inputs[i].type_of(),
        ") appears to not have been used in the graph. Set allow_unused=True if this is the "
        "desired behavior.");
    result.push_back(std::move(walk.targets[i].grad));
  }
  return result;
}

Variable make_variable(const Tensor& data, bool requires_grad, bool) {
  if (!data.defined()) return {};
  Tensor t = data.data();
  t.impl()->unversioned = data.impl()->unversioned;
  t.set_requires_grad(requires_grad);
  return t;
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan) : before_(t_mode) {
  t_mode.anomaly = true;
  t_mode.anomaly_check_nan = check_nan;
}

DetectAnomalyGuard::~DetectAnomalyGuard() {
  t_mode.anomaly = before_.anomaly;
  t_mode.anomaly_check_nan = before_.anomaly_check_nan;
}

}  // namespace tandem::autograd

namespace tandem {

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      std::optional<TensorList> inputs) const {
  TANDEM_CHECK(!inputs || !inputs->empty(),
               "backward: 'inputs' argument to backward cannot be empty");
  autograd::backward({*this}, gradient.defined() ? variable_list{gradient} : variable_list{},
                     retain_graph, create_graph, inputs ? inputs->vec() : variable_list{});
}

std::vector<Tensor> gradients_of(const Tensor& scalar, TensorList inputs, bool create_graph) {
  return autograd::grad({scalar}, inputs.vec(), {}, create_graph, create_graph,
                        /*allow_unused=*/true);
}

}  // namespace tandem
