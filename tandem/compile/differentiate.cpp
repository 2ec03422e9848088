#include "tandem/compile/differentiate.h"

#include <map>

#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/map_op.h"

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
    out_.results_of.resize(out_.backward.nodes.size(), ~uint64_t{0});
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
    if (n.walk_slot >= r_.forward_nodes && n.walk_slot - r_.forward_nodes < r_.results_of.size()) {
      out_.results_of.resize(out_.backward.nodes.size(), ~uint64_t{0});
      out_.results_of.back() = r_.results_of[n.walk_slot - r_.forward_nodes];
    }
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

/// Leaves out what depends on gradients that are not there.
class Pruner {
 public:
  Pruner(const ForwardBackward& whole, const std::vector<bool>& given)
      : whole_(whole), g_(whole.backward) {
    g_.number();
    states_.resize(g_.nodes.size(), State::independent);
    copies_.resize(g_.nodes.size());
    for (size_t i = 0; i < whole.reads.size(); ++i)
      if (whole.reads[i].from == ForwardBackward::Read::From::grad)
        state(*g_.inputs[i]) = given[whole.reads[i].index] ? State::there : State::absent;
    for (size_t k = 0; k < given.size(); ++k)
      if (given[k]) given_ |= uint64_t{1} << (k % 64);
  }

  PartOfBackward run() {
    PartOfBackward part;
    for (const NodePtr& n : g_.nodes) add(*n);
    for (const NodePtr& n : g_.inputs) out_.inputs.push_back(copies_[n->walk_slot].front().node);
    for (const Edge& e : g_.outputs) {
      part.exists.push_back(state(*e.node) != State::absent);
      if (part.exists.back()) out_.outputs.push_back(here(e));
    }
    out_.n_results = out_.outputs.size();
    part.graph = std::move(out_);
    return part;
  }

 private:
  enum class State : char { independent, there, absent };  // of all gradients
  State& state(const Node& n) { return states_[n.walk_slot]; }

  Edge here(const Edge& e) { return copies_[e.node->walk_slot][e.index]; }

  void put(const Node& n, Node& copy) {
    for (uint32_t k = 0; k < n.n_outputs; ++k) copies_[n.walk_slot].push_back({NodePtr(&copy), k});
  }

  void add(const Node& n) {
    if (n.op == &kInputOp) {
      const bool absent = state(n) == State::absent;
      return put(n, append(out_, kInputOp, {}, absent ? AttrRef(InputAttrs{}) : n.attrs()));
    }
    bool there = false, absent = false;
    for (uint32_t i = 0; i < n.n_inputs; ++i) {
      there |= state(*n.inputs()[i].node) == State::there;
      absent |= state(*n.inputs()[i].node) == State::absent;
    }
    if (const Edge* only = absent ? only_term(n) : nullptr) {
      state(n) = State::there;
      return copies_[n.walk_slot].push_back(dense(here(*only)));
    }
    // A gradient is linear in those that it is made of: none of them there, none made.
    const bool unwanted = n.op != &kConstantOp && (whole_.results_of[n.walk_slot] & given_) == 0;
    state(n) = there ? State::there : absent || unwanted ? State::absent : State::independent;
    if (state(n) == State::absent) return;
    SmallVector<Edge, 4> inputs;
    for (uint32_t i = 0; i < n.n_inputs; ++i) {
      const Edge& e = n.inputs()[i];
      inputs.push_back(state(*e.node) == State::absent ? zeros(e) : here(e));
    }
    put(n, append(out_, *n.op, {inputs.data(), inputs.size()}, n.attrs()));
  }

  // What a sum of two is where one of them is absent; null if it is not just the other one.
  const Edge* only_term(const Node& n) {
    if (n.op->map != MapFn::add) return nullptr;
    const bool first = state(*n.inputs()[0].node) != State::absent;
    if (!first && state(*n.inputs()[1].node) == State::absent) return nullptr;
    const Edge& e = n.inputs()[first ? 0 : 1];
    const bool as_it_is =
        e.node->outputs()[e.index] == n.outputs()[0] && (first || n.attrs().as<MapAttrs>().a == 1);
    return as_it_is ? &e : nullptr;
  }

  // A sum lies in row-major order, which those who read it may need.
  Edge dense(const Edge& e) {
    if (!e.node->op->is_view()) return e;
    const TensorType& t = e.node->outputs()[e.index];
    return {NodePtr(&append(out_, kCopy, {e}, CopyAttrs{t.sizes, t.dtype})), 0};
  }

  Edge zeros(const Edge& e) {
    const TensorType& t = e.node->outputs()[e.index];
    return {NodePtr(&append(out_, kFull, {}, FullAttrs{t.sizes, t.dtype, t.device, 0})), 0};
  }

  const ForwardBackward& whole_;
  const Graph& g_;
  uint64_t given_ = 0;  // bit k: result k of those that are differentiated
  Graph out_;
  std::vector<State> states_;                 // by node
  std::vector<SmallVector<Edge, 1>> copies_;  // by node: its outputs in the part
};

}  // namespace

ForwardBackward cut(const Recording& r) { return Cutter(r).run(); }

PartOfBackward part_of(const ForwardBackward& whole, const std::vector<bool>& given) {
  return Pruner(whole, given).run();
}

}  // namespace tandem
