#include "tandem/core/graph.h"

#include <cstring>
#include <unordered_map>

#include "tandem/core/apply.h"
#include "tandem/core/fused.h"
#include "tandem/core/recorder.h"

namespace tandem {

// -- what comes from outside ------------------------------------------------------------------

constinit const OpDef kInputOp = {
    .name = "input",
    .infer = [](const InferArgs& a) { a.out() = a.attrs<InputAttrs>().type; },
    .attrs = &detail::attr_type_of<InputAttrs>,
    .inputs = 0,
};

namespace {

// The same values in row-major order, made outside of what is being recorded.
Tensor row_major(const Tensor& t) {
  if (t.impl()->contiguous) return t;
  const RecorderScope eager(nullptr);
  const NoGradGuard no_grad;
  return t.detach().clone();
}

size_t bytes_of(const Tensor& t) {
  return static_cast<size_t>(t.impl()->numel) * size_of(t.impl()->type.dtype);
}

}  // namespace

constinit const OpDef kConstantOp = {
    .name = "constant",
    .infer =
        [](const InferArgs& a) { a.out() = a.attrs<ConstantAttrs>().value.tensor.impl()->type; },
    .kernel =
        [](const KernelArgs& a) {
          const Tensor t = row_major(a.attrs<ConstantAttrs>().value.tensor);
          if (const size_t n = bytes_of(t)) std::memcpy(a.out().data, t.impl()->data, n);
        },
    .attrs = &detail::attr_type_of<ConstantAttrs>,
    .inputs = 0,
};

bool operator==(const TensorValue& a, const TensorValue& b) {
  const TensorImpl *x = a.tensor.impl(), *y = b.tensor.impl();
  if (x == y) return true;
  if (!x || !y || !(x->type == y->type) || x->type.weak != y->type.weak) return false;
  if (x->data == y->data && x->strides == y->strides) return true;
  if (!x->data || !y->data) return false;
  const Tensor p = row_major(a.tensor), q = row_major(b.tensor);
  return std::memcmp(p.impl()->data, q.impl()->data, bytes_of(p)) == 0;
}

// -- building and copying ---------------------------------------------------------------------

void infer_types(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs, TensorType* outputs,
                 int n_outputs) {
  TANDEM_CHECK(!op.dynamic, op.name,
               ": the shape of its result depends on values, so it cannot be part of a graph");
  TANDEM_CHECK(op.inputs < 0 || static_cast<size_t>(op.inputs) == inputs.size(), op.name,
               ": takes ", op.inputs, op.inputs == 1 ? " input, " : " inputs, ", inputs.size(),
               " given");
  SmallVector<const TensorType*, 4> in;
  SmallVector<TensorType*, 2> out;
  const Device* device = nullptr;
  for (const Edge& e : inputs) {
    const TensorType& type = e.node->outputs()[e.index];
    in.push_back(&type);
    if (type.weak) continue;
    TANDEM_CHECK(!device || *device == type.device, op.name, ": inputs on two devices, ", *device,
                 " and ", type.device, "! (move one with .to(device))");
    device = &type.device;
  }
  for (int k = 0; k < n_outputs; ++k) {
    outputs[k] = TensorType();
    if (device) outputs[k].device = *device;
    out.push_back(outputs + k);
  }
  op.infer({op, in.data(), static_cast<int>(in.size()), attrs, out.data()});
}

Node& append(Graph& g, const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs, int n_outputs) {
  if (op.outputs > 0 || op.count) n_outputs = op.n_outputs(attrs);
  NodePtr node = Node::make(op, inputs.size(), static_cast<size_t>(n_outputs), 0, attrs);
  infer_types(op, inputs, attrs, node->outputs(), n_outputs);
  for (size_t i = 0; i < inputs.size(); ++i) node->inputs()[i] = inputs[i];
  node->walk_slot = static_cast<uint32_t>(g.nodes.size());
  g.nodes.push_back(std::move(node));
  return *g.nodes.back();
}

void Graph::number() const {
  // Nothing is written to a graph that is in order already: threads may run it at the same time.
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->walk_slot != i) nodes[i]->walk_slot = static_cast<uint32_t>(i);
}

Graph Graph::clone() const {
  number();
  Graph g;
  g.captured = captured;
  g.writes = writes;
  g.n_results = n_results;
  g.autograd = autograd;
  g.nodes.reserve(nodes.size());
  const auto moved = [&](const Edge& e) {
    return e.node ? Edge{g.nodes[e.node->walk_slot], e.index} : Edge();
  };
  for (const NodePtr& n : nodes) {
    NodePtr copy = Node::make(*n->op, n->n_inputs, n->n_outputs, 0, n->attrs());
    for (uint32_t i = 0; i < n->n_inputs; ++i) copy->inputs()[i] = moved(n->inputs()[i]);
    for (uint32_t k = 0; k < n->n_outputs; ++k) copy->outputs()[k] = n->outputs()[k];
    copy->walk_slot = n->walk_slot;
    g.nodes.push_back(std::move(copy));
  }
  for (const NodePtr& n : inputs) g.inputs.push_back(g.nodes[n->walk_slot]);
  for (const Edge& e : outputs) g.outputs.push_back(moved(e));
  return g;
}

Graph Graph::of(ArrayRef<Tensor> results) {
  Graph g;
  g.autograd = true;
  // 0: seen, its inputs not all placed yet; 1: placed.
  std::unordered_map<Node*, int> state;
  std::vector<std::pair<Node*, uint32_t>> stack;
  for (const Tensor& t : results) {
    if (!t.defined() || !t.requires_grad()) continue;
    g.outputs.push_back(t.impl()->edge);
    if (state.try_emplace(t.impl()->edge.node.get(), 0).second)
      stack.emplace_back(t.impl()->edge.node.get(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->n_inputs) {
        g.nodes.push_back(NodePtr(node));
        stack.pop_back();
        continue;
      }
      Node* from = node->inputs()[next++].node.get();
      if (from && state.try_emplace(from, 0).second) stack.emplace_back(from, 0);
    }
  }
  g.n_results = g.outputs.size();
  return g;
}

// -- running ----------------------------------------------------------------------------------
namespace {

// The tensors that inputs stand for in one run.
std::vector<Tensor> bind_inputs(const Graph& g, ArrayRef<Tensor> arguments) {
  TANDEM_CHECK(!g.autograd, "run: this graph shows what backward would walk; it cannot be run");
  TANDEM_CHECK(arguments.size() == g.n_args() || arguments.size() == g.inputs.size(),
               "run: the graph takes ", g.n_args(), " arguments",
               g.captured.empty() ? "" : str(", or ", g.inputs.size(), " with what it captured"),
               "; ", arguments.size(), " given");
  std::vector<Tensor> values(arguments.begin(), arguments.end());
  if (values.size() < g.inputs.size())
    values.insert(values.end(), g.captured.begin(), g.captured.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined() && g.inputs[i]->outputs()[0].dtype == DType::Undefined) continue;
    TANDEM_CHECK(values[i].defined(), "run: ", i < g.n_args() ? "argument " : "captured tensor ", i,
                 " is undefined",
                 i < g.n_args() ? "" : " (a graph that was read from text has none: give a value)");
    const TensorType &type = g.inputs[i]->outputs()[0], &given = values[i].impl()->type;
    TANDEM_CHECK_TYPE(given == type, "run: argument ", i, " is ", given, ", the graph wants ",
                      type);
  }
  return values;
}

// True iff the value lies in a constant, which the next run needs unchanged.
bool in_constant(const Edge& e) {
  const Node* n = e.node.get();
  while (n->op->view) n = n->inputs()[0].node.get();
  return n->op == &kConstantOp;
}

// Writes reach their tensors last. What is to be written or returned and lies in memory that
// another write changes is copied first: it is a value of before.
void apply_writes(const Graph& g, ArrayRef<Tensor> inputs, std::vector<Tensor>& outputs) {
  for (Tensor& t : outputs)
    for (const Graph::Write& w : g.writes)
      if (t.impl()->storage == inputs[w.input].impl()->storage) {
        t = t.clone();
        break;
      }
  const NoGradGuard no_grad;
  for (const Graph::Write& w : g.writes) inputs[w.input].copy_(outputs[w.output]);
}

}  // namespace

std::vector<Tensor> Graph::run(ArrayRef<Tensor> arguments) const {
  const std::vector<Tensor> bound = bind_inputs(*this, arguments);
  number();
  std::vector<uint32_t> first(nodes.size() + 1, 0);  // of each node's values
  for (size_t i = 0; i < nodes.size(); ++i) first[i + 1] = first[i] + nodes[i]->n_outputs;
  std::vector<uint32_t> readers(nodes.size(), 0);
  for (const NodePtr& n : nodes)
    for (uint32_t i = 0; i < n->n_inputs; ++i) ++readers[n->inputs()[i].node->walk_slot];
  for (const Edge& e : outputs) ++readers[e.node->walk_slot];

  std::vector<Tensor> values(first.back());
  // Views in the graph are those of inputs in row-major order.
  for (size_t i = 0; i < inputs.size(); ++i)
    values[first[inputs[i]->walk_slot]] = bound[i].defined() ? bound[i].contiguous() : bound[i];
  std::vector<TensorArg> args;
  for (const NodePtr& n : nodes) {
    if (n->op == &kInputOp) continue;
    Tensor* out = &values[first[n->walk_slot]];
    if (n->op == &kConstantOp) {
      *out = n->attrs().as<ConstantAttrs>().value.tensor;
      continue;
    }
    args.clear();
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      const Edge& e = n->inputs()[i];
      args.push_back(values[first[e.node->walk_slot] + e.index]);
    }
    if (const FusedGroup* group = fused_group(*n)) {
      std::vector<Tensor> given;
      for (const TensorArg& a : args) given.push_back(Tensor(intrusive_ptr<TensorImpl>(a.impl)));
      std::vector<Tensor> made = group->body.run(given);
      std::move(made.begin(), made.end(), out);
    } else {
      apply(*n->op, args, n->attrs(), out);
    }
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      const uint32_t from = n->inputs()[i].node->walk_slot;
      if (--readers[from] == 0)
        for (uint32_t v = first[from]; v < first[from + 1]; ++v) values[v] = Tensor();
    }
  }
  std::vector<Tensor> results;
  for (const Edge& e : outputs) {
    const Tensor& value = values[first[e.node->walk_slot] + e.index];
    results.push_back(in_constant(e) ? value.clone() : value);
  }
  if (!writes.empty()) apply_writes(*this, bound, results);
  results.resize(n_results);
  return results;
}

// -- comparing --------------------------------------------------------------------------------
namespace {

bool same_edge(const Edge& a, const Edge& b) {
  if (!a.node || !b.node) return !a.node && !b.node;
  return a.node->walk_slot == b.node->walk_slot && a.index == b.index;
}

bool same_type(const TensorType& a, const TensorType& b) { return a == b && a.weak == b.weak; }

bool same_node(const Node& a, const Node& b) {
  if (a.op != b.op || a.n_inputs != b.n_inputs || a.n_outputs != b.n_outputs) return false;
  for (uint32_t i = 0; i < a.n_inputs; ++i)
    if (!same_edge(a.inputs()[i], b.inputs()[i])) return false;
  for (uint32_t k = 0; k < a.n_outputs; ++k)
    if (!same_type(a.outputs()[k], b.outputs()[k])) return false;
  // Which input it is, is seen from the list of them.
  if (a.op == &kInputOp) return a.attrs().as<InputAttrs>().name == b.attrs().as<InputAttrs>().name;
  return a.attrs() == b.attrs();
}

}  // namespace

bool same(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.inputs.size() != b.inputs.size() ||
      a.captured.size() != b.captured.size() || a.n_results != b.n_results ||
      a.writes.size() != b.writes.size() || a.autograd != b.autograd)
    return false;
  a.number();
  b.number();
  for (size_t i = 0; i < a.nodes.size(); ++i)
    if (!same_node(*a.nodes[i], *b.nodes[i])) return false;
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (a.inputs[i]->walk_slot != b.inputs[i]->walk_slot) return false;
  for (size_t i = 0; i < a.n_results; ++i)
    if (!same_edge(a.outputs[i], b.outputs[i])) return false;
  // Where among the outputs a written value is listed is a matter of bookkeeping.
  for (size_t i = 0; i < a.writes.size(); ++i)
    if (a.writes[i].input != b.writes[i].input ||
        !same_edge(a.outputs[a.writes[i].output], b.outputs[b.writes[i].output]))
      return false;
  return true;
}

size_t structural_hash(const Graph& g) {
  using detail::mix;
  g.number();
  size_t h = mix(g.captured.size(), g.n_results);
  const auto add_edge = [&h](const Edge& e) {
    h = mix(h, e.node ? (size_t{e.node->walk_slot} << 8) + e.index : ~size_t{0});
  };
  for (const NodePtr& n : g.nodes) {
    h = mix(h, std::hash<std::string_view>()(n->op->name));
    for (uint32_t i = 0; i < n->n_inputs; ++i) add_edge(n->inputs()[i]);
    for (uint32_t k = 0; k < n->n_outputs; ++k)
      h = mix(h, std::hash<TensorType>()(n->outputs()[k]));
    if (n->op == &kInputOp)
      h = mix(h, std::hash<std::string>()(n->attrs().as<InputAttrs>().name));
    else if (const AttrRef a = n->attrs(); a.type)
      h = mix(h, a.type->hash(a.data));
  }
  for (const NodePtr& n : g.inputs) h = mix(h, n->walk_slot);
  for (size_t i = 0; i < g.n_results; ++i) add_edge(g.outputs[i]);
  for (const Graph::Write& w : g.writes) {
    h = mix(h, w.input);
    add_edge(g.outputs[w.output]);
  }
  return h;
}

}  // namespace tandem

size_t std::hash<tandem::TensorValue>::operator()(const tandem::TensorValue& v) const {
  if (!v.tensor.defined()) return 0;
  const size_t type = std::hash<tandem::TensorType>()(v.tensor.impl()->type);
  if (!v.tensor.impl()->data) return type;
  // Two large constants that differ only further on are rare.
  constexpr size_t kLooked = 4096;
  const tandem::Tensor t = tandem::row_major(v.tensor);
  return tandem::detail::mix(
      type, std::hash<std::string_view>()({static_cast<const char*>(t.impl()->data),
                                           std::min(tandem::bytes_of(t), kLooked)}));
}
