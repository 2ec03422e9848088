#include "tandem/compile/transforms.h"

#include <unordered_set>

#include "tandem/autograd/autograd.h"
#include "tandem/core/node.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

Dims joined(IntArrayRef a, IntArrayRef b) {
  Dims all(a);
  all.append(b.begin(), b.end());
  return all;
}

// A call of the function on inputs that gradients can be taken by.
//
// An input that requires a gradient is seen through a view, so that its history goes on behind it;
// any other becomes a leaf, which nobody else knows.
class Call {
 public:
  Call(const char* name, const autograd::TensorFunction& fn, const variable_list& inputs)
      : name_(name), outer_grad_(t_mode.grad && !t_mode.inference) {
    const AutoGradMode with_grad(true);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& x = inputs[i];
      TANDEM_CHECK(x.defined(), name, ": input ", i, " is undefined");
      TANDEM_CHECK_TYPE(is_floating(x.dtype()), name, ": input ", i, " is ", x.type_of(),
                        "; only by floating point tensors can be differentiated");
      const bool goes_on = outer_grad_ && x.requires_grad();
      args.push_back(goes_on ? x.view(x.sizes()) : x.detach().requires_grad_());
      if (!goes_on) leaves_.insert(args.back().impl()->grad_edge().node.get());
    }
    TANDEM_CHECK(!args.empty(), name, ": there is no input to differentiate by");
    results = fn(args);
    for (size_t k = 0; k < results.size(); ++k)
      TANDEM_CHECK(results[k].defined(), name, ": result ", k, " of the function is undefined");
    create_graph = outer_grad_ && leads_outside();
  }

  void check_one_number() const {
    TANDEM_CHECK_SHAPE(results.size() == 1 && results[0].numel() == 1, name_,
                       ": the function must return one number, but it returned ",
                       results.size() == 1 ? str("a tensor of shape ", results[0].sizes())
                                           : str(results.size(), " tensors"));
  }
  void check_vectors(const variable_list& vectors, const variable_list& like,
                     const char* what) const {
    TANDEM_CHECK(vectors.size() == like.size(), name_, ": got ", vectors.size(), " vectors for ",
                 like.size(), " ", what, "s");
    for (size_t i = 0; i < like.size(); ++i) {
      TANDEM_CHECK(vectors[i].defined(), name_, ": vector ", i, " is undefined");
      TANDEM_CHECK_SHAPE(vectors[i].sizes() == like[i].sizes(), name_, ": vector ", i,
                         " has shape ", vectors[i].sizes(), " and ", what, " ", i, " has shape ",
                         like[i].sizes());
    }
  }

  /// Gradients of those outputs that have any, by targets; zeros where nothing flows.
  variable_list gradients(const variable_list& outputs, const variable_list& targets,
                          const variable_list& weights, bool graph) const {
    variable_list from, with;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].defined() || !outputs[k].requires_grad()) continue;
      from.push_back(outputs[k]);
      if (!weights.empty()) with.push_back(weights[k]);
    }
    variable_list grads(targets.size());
    if (!from.empty()) grads = autograd::grad(from, targets, with, true, graph, true);
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = zeros_like(targets[i].detach());
    return grads;
  }

  /// What the caller gets: with its history only if that leads to something the caller knows.
  Tensor given(const Tensor& t) const { return create_graph ? t : t.detach(); }
  variable_list given(variable_list list) const {
    for (Tensor& t : list) t = given(t);
    return list;
  }

  variable_list args;  // what the function saw
  variable_list results;
  bool create_graph = false;  // True iff derivatives can be differentiated again

 private:
  bool leads_outside() const {
    std::vector<const Node*> open;
    std::unordered_set<const Node*> seen;
    const auto meet = [&](const Node* n) {
      if (n && seen.insert(n).second) open.push_back(n);
    };
    for (const Tensor& r : results)
      if (r.requires_grad()) meet(r.impl()->grad_edge().node.get());
    while (!open.empty()) {
      const Node* n = open.back();
      open.pop_back();
      bool last = true;
      for (uint32_t i = 0; i < n->n_inputs; ++i) {
        if (!n->inputs()[i].node) continue;
        meet(n->inputs()[i].node.get());
        last = false;
      }
      if (last && !leaves_.contains(n)) return true;
    }
    return false;
  }

  const char* name_;
  bool outer_grad_;
  std::unordered_set<const Node*> leaves_;
};

// The Jacobian of one result, by each input: the gradients for all of its elements in one pass.
variable_list rows_of(const char* name, const Call& call, const Tensor& y) {
  TANDEM_CHECK_TYPE(is_floating(y.dtype()), name, ": the function returned ", y.type_of(),
                    "; only floating point results can be differentiated");
  variable_list by_input;
  const int64_t n = y.numel();
  if (n > 0 && y.requires_grad()) {
    const Tensor rows = eye(n, y.options().requires_grad(false)).view(joined({n}, y.sizes()));
    const auto pull = [&](const variable_list& g) {
      return autograd::grad({y}, call.args, g, /*retain_graph=*/true, call.create_graph,
                            /*allow_unused=*/true);
    };
    by_input = detail::vmap_list(pull, {rows}, {0}, 0);
  } else {
    by_input.resize(call.args.size());
  }
  for (size_t i = 0; i < by_input.size(); ++i) {
    const Tensor& x = call.args[i];
    const Dims sizes = joined(y.sizes(), x.sizes());
    by_input[i] = by_input[i].defined() ? by_input[i].reshape(sizes)
                                        : zeros(sizes, x.options().requires_grad(false));
  }
  return by_input;
}

std::vector<variable_list> jacobians_of(const char* name, const autograd::TensorFunction& fn,
                                        const variable_list& inputs) {
  const Call call(name, fn, inputs);
  const AutoGradMode with_grad(call.create_graph);
  std::vector<variable_list> all;
  for (const Tensor& y : call.results) all.push_back(call.given(rows_of(name, call, y)));
  return all;
}

}  // namespace

namespace detail {

std::vector<variable_list> jacobians(const autograd::TensorFunction& fn,
                                     const variable_list& inputs) {
  return jacobians_of("jacobian", fn, inputs);
}

variable_list one_jacobian(std::vector<variable_list> by_result) {
  TANDEM_CHECK(by_result.size() == 1, "jacobian: the function must return one tensor, not ",
               by_result.size());
  return std::move(by_result[0]);
}

std::vector<variable_list> hessians(const autograd::TensorFunction& fn,
                                    const variable_list& inputs) {
  const auto gradient = [&](const variable_list& args) {
    const Call call("hessian", fn, args);
    call.check_one_number();
    return call.gradients(call.results, call.args, {}, true);
  };
  return jacobians_of("hessian", gradient, inputs);
}

ResultsAndDerivatives vjp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                               const variable_list& vectors) {
  const Call call("vjp", fn, inputs);
  if (vectors.empty())
    call.check_one_number();
  else
    call.check_vectors(vectors, call.results, "result");
  variable_list grads = call.gradients(call.results, call.args, vectors, call.create_graph);
  return {call.given(call.results), call.given(std::move(grads))};
}

// The product with the Jacobian is linear in the vector, and its gradient by the vector is the
// product from the other side.
ResultsAndDerivatives jvp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                               const variable_list& vectors) {
  const Call call("jvp", fn, inputs);
  call.check_vectors(vectors, call.args, "input");
  const AutoGradMode with_grad(true);
  variable_list any;
  for (const Tensor& y : call.results) {
    TANDEM_CHECK_TYPE(is_floating(y.dtype()), "jvp: the function returned ", y.type_of(),
                      "; only floating point results can be differentiated");
    any.push_back(zeros_like(y.detach()).requires_grad_());
  }
  const variable_list grads = call.gradients(call.results, call.args, any, true);
  variable_list tangents = call.gradients(grads, any, vectors, call.create_graph);
  return {call.given(call.results), call.given(std::move(tangents))};
}

variable_list hvp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                       const variable_list& vectors) {
  const Call call("hvp", fn, inputs);
  call.check_one_number();
  call.check_vectors(vectors, call.args, "input");
  const variable_list grads = call.gradients(call.results, call.args, {}, true);
  return call.given(call.gradients(grads, call.args, vectors, call.create_graph));
}

variable_list per_sample(const autograd::TensorFunction& fn, const variable_list& parameters,
                         const variable_list& batch, const InDims& in_dims, bool create_graph) {
  for (size_t i = 0; i < parameters.size(); ++i)
    TANDEM_CHECK(parameters[i].defined() && parameters[i].requires_grad(),
                 "per_sample_gradients: parameter ", i, " does not require a gradient");
  const auto gradients = [&](const variable_list& sample) {
    const AutoGradMode with_grad(true);
    const variable_list results = fn(sample);
    TANDEM_CHECK_SHAPE(results.size() == 1 && results[0].numel() == 1,
                       "per_sample_gradients: the function must return one number for a sample, "
                       "but it returned ",
                       results.size() == 1 ? str("a tensor of shape ", results[0].sizes())
                                           : str(results.size(), " tensors"));
    variable_list grads =
        autograd::grad({results[0]}, parameters, {}, create_graph, create_graph, true);
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = zeros_like(parameters[i].detach());
    return grads;
  };
  const AutoGradMode mode(create_graph);
  return vmap_list(gradients, batch, in_dims, 0);
}

}  // namespace detail
}  // namespace tandem
