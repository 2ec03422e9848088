#include "tandem/autograd/checkpoint.h"

#include <set>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/walk.h"
#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"
#include "tandem/core/saved.h"
#include "tandem/ops/ops.h"

namespace tandem::autograd::detail {
namespace {

// Note: how a checkpoint finds what it depends on
//
// Forward runs the function with gradients recorded, on arguments that are cut off from their
// history. Every node made meanwhile is noted. From the results one walks down through these new
// nodes; an edge that leaves them leads either to an argument or to a tensor that the function
// captured: a parameter, or something computed before. Those edges become the inputs of one node,
// and the new nodes with all that they saved are dropped. Backward runs the function once more and
// walks from the results to the same edges, and no further: what lies behind them is the
// surrounding walk's business.

constinit const OpDef kIdentity = {
    .name = "identity",
    .infer = [](const InferArgs& a) { a.out() = a.in(); },
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad()}; },
};

// The same values, cut off from their history.
Tensor fresh_leaf(const Tensor& t) { return t.detach().requires_grad_(); }

// The same values behind a node that the walk can stop at.
Tensor behind_identity(const Tensor& t, const Edge& history) {
  auto copy = t.impl()->alias();
  NodePtr node = Node::make(kIdentity, 1, 1, 0, {});
  node->inputs()[0] = history;
  node->outputs()[0] = copy->type;
  copy->edge = {std::move(node), 0};
  return Tensor(std::move(copy));
}

// The default generator goes on from `state` in its scope, and afterwards from where it was.
class RandomScope {
 public:
  explicit RandomScope(const Tensor& state) : before_(get_rng_state()) { set_rng_state(state); }
  ~RandomScope() { set_rng_state(before_); }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  Tensor before_;
};

struct Recompute final : CustomBackward {
  TensorFunction fn;
  Tensor random;                   // the state of the default generator before forward
  variable_list inputs;            // their values; where they came from the node's edges say
  std::vector<uint32_t> versions;  // of the inputs
  bool released = false;

  std::string name() const override { return "CheckpointBackward"; }
  bool repeats_forward() const override { return true; }

  void release() override {
    released = true;
    fn = nullptr;
    inputs.clear();
    random.reset();
  }

  std::vector<Tensor> run(const Node& node, std::vector<Tensor> grads,
                          const bool* needed) override {
    TANDEM_CHECK(
        !released,
        "checkpoint: Trying to backward through the graph a second time, but what is needed to "
        "compute it again was freed. Specify retain_graph=true if you need to backward through "
        "the graph a second time.");
    const bool create_graph = t_mode.grad;
    variable_list args;
    const variable_list outputs = again(node, create_graph, args);
    TANDEM_CHECK(outputs.size() == grads.size(), "checkpoint: the function gave ", grads.size(),
                 " results in forward and ", outputs.size(), " when it was run again in backward");

    Walk walk({.keep = create_graph,
               .create_graph = create_graph,
               .accumulate = false,
               .only_targets = true,
               .stop_at_targets = true});
    for (uint32_t i = 0; i < node.n_inputs; ++i) {
      const Edge& from = node.inputs()[i];
      const Edge& e = from.node && i < args.size() ? args[i].impl()->edge : from;
      walk.targets.push_back({needed[i] ? e.node.get() : nullptr, e.index, {}});
    }
    for (size_t k = 0; k < grads.size(); ++k) {
      if (!grads[k].defined() || !outputs[k].requires_grad()) continue;
      TANDEM_CHECK_SHAPE(outputs[k].sizes() == node.outputs()[k].sizes, "checkpoint: result ", k,
                         " of the function had shape ", node.outputs()[k].sizes, " in forward and ",
                         outputs[k].sizes(), " when it was run again in backward");
      walk.add_root(outputs[k].impl()->grad_edge(), grads[k]);
    }
    walk.run();
    std::vector<Tensor> result;
    for (Walk::Target& t : walk.targets) result.push_back(std::move(t.grad));
    return result;
  }

 private:
  variable_list again(const Node& node, bool create_graph, variable_list& args) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i];
      TANDEM_CHECK(
          !t.defined() || t.impl()->version() == versions[i],
          "checkpoint: one of the variables needed for gradient computation has been modified "
          "by an inplace operation: input ",
          i, " (", t.type_of(),
          ") was overwritten after the checkpoint, so the result cannot "
          "be computed again");
      AutoGradMode with_grad(true);
      const Edge& from = node.inputs()[i];
      args.push_back(!from ? t : create_graph ? behind_identity(t, from) : fresh_leaf(t));
    }
    AutoGradMode with_grad(true);
    RandomScope same_numbers(random);
    return fn(args);
  }
};

struct EdgeLess {
  bool operator()(const Edge& a, const Edge& b) const {
    return a.node.get() != b.node.get() ? a.node.get() < b.node.get() : a.index < b.index;
  }
};

// The edges that lead out of the new nodes below the results, other than to an argument; in the
// order in which they are found.
std::vector<Edge> captured_edges(const variable_list& outputs, const variable_list& args,
                                 const NewNodes& made) {
  std::unordered_set<const Node*> seen;
  for (const Tensor& a : args)
    if (a.defined() && a.requires_grad()) seen.insert(a.impl()->edge.node.get());
  std::set<Edge, EdgeLess> known;
  std::vector<Edge> captured;
  std::vector<const Node*> open;
  auto meet = [&](const Edge& e) {
    if (!e.node || seen.contains(e.node.get())) return;
    if (made.has(e.node.get())) {
      seen.insert(e.node.get());
      open.push_back(e.node.get());
    } else if (known.insert(e).second) {
      captured.push_back(e);
    }
  };
  for (const Tensor& o : outputs)
    if (o.defined() && o.requires_grad()) meet(o.impl()->grad_edge());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (uint32_t i = 0; i < node->n_inputs; ++i) meet(node->inputs()[i]);
  }
  return captured;
}

}  // namespace

variable_list checkpoint(const TensorFunction& fn, const variable_list& inputs) {
  if (!GradMode::is_enabled() || InferenceMode::is_enabled()) return fn(inputs);
  // In a graph the second time would be the same ops on the same values as the first, which are
  // merged; and whoever differentiates a graph op by op would not find them.
  if (t_mode.recorder && t_mode.recorder->keeps_branches()) return fn(inputs);
  auto recompute = std::make_unique<Recompute>();
  variable_list args;
  for (const Tensor& t : inputs) {
    recompute->versions.push_back(t.defined() ? t.impl()->version() : 0);
    recompute->inputs.push_back(t.defined() ? Tensor(values_of(t.impl())) : t);
    args.push_back(t.defined() && t.requires_grad() ? fresh_leaf(t) : t);
  }

  recompute->random = get_rng_state();

  variable_list outputs;
  std::vector<Edge> captured;
  {
    NewNodes made;
    outputs = fn(args);
    captured = captured_edges(outputs, args, made);
  }

  recompute->fn = fn;
  NodePtr node = Node::make(kCustom, inputs.size() + captured.size(), outputs.size(), 0, {});
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad())
      node->inputs()[i] = inputs[i].impl()->grad_edge();
  std::move(captured.begin(), captured.end(), node->inputs() + inputs.size());
  node->need_extra().custom = std::move(recompute);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined()) continue;
    node->outputs()[k] = outputs[k].type_of();
    if (!outputs[k].requires_grad()) continue;
    const Tensor before = std::exchange(outputs[k], Tensor(outputs[k].impl()->alias()));
    TensorImpl* t = outputs[k].impl();
    for (const Tensor& i : inputs) {
      if (!i.defined() || i.impl()->storage != t->storage || t->view) continue;
      t->view = new ViewInfo;
      t->view->base = i.impl()->view ? i.impl()->view->base : i.impl_ptr();
      t->view->creation = CreationMeta::IN_CUSTOM_FUNCTION;
      t->view->version.store(t->version(), std::memory_order_relaxed);
    }
    t->edge = {node, static_cast<uint32_t>(k)};
  }
  if (t_mode.anomaly) {
    std::string text = "checkpoint(";
    for (size_t i = 0; i < inputs.size(); ++i)
      text += str(i ? ", " : "", inputs[i].defined() ? str(inputs[i].type_of()) : "undefined");
    node->describe(text + ")");
  }
  return outputs;
}

}  // namespace tandem::autograd::detail
