#include "tandem/compile/differentiate.h"

#include <map>

namespace tandem {
namespace {

bool is_outside(const Node& n) { return n.op == &kInputOp || n.op == &kConstantOp; }

class Cutter {
 public:
  explicit Cutter(const Recording& r) : r_(r), g_(r.graph) {}

  ForwardBackward run() {
    g_.number();
    for (size_t i = 0; i < g_.inputs.size(); ++i) input_number_[g_.inputs[i].get()] = i;
    for (const Graph::Write& w : g_.writes) written_[g_.inputs[w.input].get()] = true;
    for (const auto& n : g_.nodes)
      if (n->walk_slot >= r_.forward_nodes && !is_outside(*n)) copy_node(*n);
    for (const auto& s : r_.sources)
      if (s.gradient >= 0)
        out_.backward.outputs.push_back(there(g_.outputs[static_cast<size_t>(s.gradient)]));
    out_.backward.n_results = out_.backward.outputs.size();
    make_forward();
    return std::move(out_);
  }

 private:
  // The value as the backward program sees it.
  Edge there(const Edge& e) {
    const auto key = std::pair{e.node.get(), e.index};
    if (const auto found = there_.find(key); found != there_.end()) return found->second;
    Edge result;
    Node& n = *e.node;
    if (n.op == &kConstantOp) {
      copy_node(n);
      return there_.at(key);
    }
    if (n.op == &kInputOp) {
      const size_t i = input_number_.at(&n);
      const size_t n_args = r_.n_args;
      const size_t n_grads = r_.differentiated.size();
      if (i >= n_args && i < n_args + n_grads)
        result = read(ForwardBackward::Read::From::grad, i - n_args, e);
      else if (written_.contains(&n))  // what the call found there, not what it left
        result = keep(e);
      else
        result = read(ForwardBackward::Read::From::input, i < n_args ? i : i - n_grads, e);
    } else if (n.op->is_view() && n.walk_slot < r_.forward_nodes) {
      copy_node(n);
      return there_.at(key);
    } else {
      result = keep(e);
    }
    there_.emplace(key, result);
    return result;
  }

  void copy_node(Node& n) {
    if (there_.contains({&n, 0})) return;
    SmallVector<Edge, 4> inputs;
    for (uint32_t i = 0; i < n.n_inputs; ++i) inputs.push_back(there(n.inputs()[i]));
    Node& copy = append(out_.backward, *n.op, {inputs.data(), inputs.size()}, n.attrs());
    for (uint32_t k = 0; k < n.n_outputs; ++k) there_[{&n, k}] = {NodePtr(&copy), k};
  }

  Edge read(ForwardBackward::Read::From from, size_t index, const Edge& e) {
    Node& n =
        append(out_.backward, kInputOp, {},
               InputAttrs{static_cast<int64_t>(out_.reads.size()), {}, e.node->outputs()[e.index]});
    out_.backward.inputs.push_back(NodePtr(&n));
    out_.reads.push_back({from, index});
    return {NodePtr(&n), 0};
  }

  Edge keep(const Edge& e) {
    kept_.push_back(e);
    return read(ForwardBackward::Read::From::kept, kept_.size() - 1, e);
  }

  void make_forward() {
    Graph& f = out_.forward;
    size_t n_gradients = 0;
    for (const auto& s : r_.sources) n_gradients += s.gradient >= 0;
    f.nodes = g_.nodes;  // what is not needed any more goes with the first cleaning pass
    for (size_t i = 0; i < g_.inputs.size(); ++i)
      if (i < r_.n_args || i >= r_.n_args + r_.differentiated.size())
        f.inputs.push_back(g_.inputs[i]);
    f.captured = g_.captured;
    const auto results = g_.outputs.begin();
    f.outputs.assign(results, results + static_cast<ptrdiff_t>(g_.n_results - n_gradients));
    f.outputs.insert(f.outputs.end(), kept_.begin(), kept_.end());
    out_.n_kept = kept_.size();
    f.n_results = f.outputs.size();
    for (const Graph::Write& w : g_.writes) {
      const size_t input = w.input < r_.n_args ? w.input : w.input - r_.differentiated.size();
      f.writes.push_back({static_cast<uint32_t>(f.outputs.size()), static_cast<uint32_t>(input)});
      f.outputs.push_back(g_.outputs[w.output]);
    }
    std::erase_if(f.nodes, [&](const NodePtr& n) {
      return n->walk_slot >= r_.forward_nodes && n->op != &kInputOp;
    });
    std::erase_if(f.nodes, [&](const NodePtr& n) {
      const auto found = input_number_.find(n.get());
      return found != input_number_.end() && found->second >= r_.n_args &&
             found->second < r_.n_args + r_.differentiated.size();
    });
  }

  const Recording& r_;
  const Graph& g_;
  ForwardBackward out_;
  std::map<std::pair<Node*, uint32_t>, Edge> there_;
  std::map<const Node*, size_t> input_number_;
  std::map<const Node*, bool> written_;
  std::vector<Edge> kept_;
};

}  // namespace

ForwardBackward cut(const Recording& r) { return Cutter(r).run(); }

}  // namespace tandem
