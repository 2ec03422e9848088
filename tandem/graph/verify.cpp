#include "tandem/graph/verify.h"

#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "tandem/graph/rewrite.h"

namespace tandem {
namespace {

class Verifier {
 public:
  Verifier(const Graph& g, const char* pass) : g_(g), pass_(pass) {}

  void run() {
    if (g_.autograd) fail("the record of a gradient is not a program");
    inputs();
    for (size_t i = 0; i < g_.nodes.size(); ++i) node(i);
    for (const NodePtr& n : g_.inputs)
      if (!places_.contains(n.get())) fail("an input is not among the nodes");
    outputs();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::logic_error(str("after ", pass_, ": ", what));
  }
  [[noreturn]] void fail(size_t i, const std::string& what) const {
    fail(str("node %", i, " (", g_.nodes[i]->op->name, "): ", what));
  }

  void inputs() {
    if (g_.captured.size() > g_.inputs.size())
      fail(str(g_.captured.size(), " captured tensors, ", g_.inputs.size(), " inputs"));
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const Node* n = g_.inputs[i].get();
      if (!n || n->op != &kInputOp) fail(str("input ", i, " is not an input node"));
      if (!listed_.insert(n).second) fail(str("input ", i, " is listed twice"));
      if (i < g_.n_args()) continue;
      // Undefined where the graph was read from text.
      const Tensor& t = g_.captured[i - g_.n_args()];
      if (t.defined() && !(t.impl()->type == n->outputs()[0]))
        fail(str("captured tensor ", i - g_.n_args(), " is ", t.impl()->type, ", its input ",
                 n->outputs()[0]));
    }
  }

  void edge(size_t i, const Edge& e) const {
    if (!e.node) fail(i, "an input is missing");
    if (!places_.contains(e.node.get()))
      fail(i, str("reads ", e.node->op->name, ", which does not come before it"));
    if (e.index >= e.node->n_outputs)
      fail(i, str("reads output ", e.index, " of ", e.node->op->name, ", which has ",
                  e.node->n_outputs));
  }

  void node(size_t i) {
    const Node* n = g_.nodes[i].get();
    if (!n) fail(str("node %", i, " is null"));
    if (places_.contains(n)) fail(i, "is listed twice");
    for (uint32_t k = 0; k < n->n_inputs; ++k) edge(i, n->inputs()[k]);
    if (n->op == &kInputOp && !listed_.contains(n)) fail(i, "is not listed as an input");
    if (n->op->outputs > 0 && n->n_outputs != n->op->outputs)
      fail(i, str("has ", n->n_outputs, " outputs, its op ", n->op->outputs));
    if (n->op->attrs && n->attr_type != n->op->attrs)
      fail(i, n->attr_type ? "has attributes of another op" : "has no attributes");
    if (!n->op->attrs && n->attr_type && n->op->map == MapFn{0})
      fail(i, "has attributes, its op none");
    types(i, *n);
    places_.emplace(n, i);
  }

  void types(size_t i, const Node& n) const {
    SmallVector<TensorType, 2> out(n.n_outputs);
    try {
      infer_types(*n.op, {n.inputs(), n.n_inputs}, n.attrs(), out.data(), n.n_outputs);
    } catch (const std::exception& e) {
      fail(i, e.what());
    }
    for (uint32_t k = 0; k < n.n_outputs; ++k)
      if (!same_type(out[k], n.outputs()[k]))
        fail(i, str("output ", k, " is ", n.outputs()[k], n.outputs()[k].weak ? " weak" : "",
                    ", infer says ", out[k], out[k].weak ? " weak" : ""));
  }

  void outputs() const {
    if (g_.n_results > g_.outputs.size())
      fail(str(g_.n_results, " results, ", g_.outputs.size(), " outputs"));
    for (size_t i = 0; i < g_.outputs.size(); ++i) {
      const Edge& e = g_.outputs[i];
      if (!e.node || !places_.contains(e.node.get()) || e.index >= e.node->n_outputs)
        fail(str("output ", i, " is not a value of the graph"));
    }
    std::unordered_set<uint32_t> written;
    for (const Graph::Write& w : g_.writes) {
      if (w.output >= g_.outputs.size() || w.input >= g_.inputs.size())
        fail(str("a write of output ", w.output, " to input ", w.input, ", which do not exist"));
      if (!written.insert(w.input).second) fail(str("input ", w.input, " is written twice"));
      const TensorType &from = type_of(g_.outputs[w.output]),
                       &to = g_.inputs[w.input]->outputs()[0];
      if (!(from == to)) fail(str("a write of ", from, " to input ", w.input, ", which is ", to));
    }
  }

  const Graph& g_;
  const char* pass_;
  std::unordered_set<const Node*> listed_;
  std::unordered_map<const Node*, size_t> places_;
};

}  // namespace

void verify(const Graph& g, const char* pass) { Verifier(g, pass).run(); }

}  // namespace tandem
