#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tandem/autograd/autograd.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/ops.h"

namespace tandem::autograd {
namespace {

// Note: one walk over the record
//
// A walk visits the nodes below its roots in an order in which a node comes after all that use its
// outputs. It first counts, for each node, how many edges lead to it (iteratively: chains may have
// a million nodes), then works through the nodes whose count has come down to zero. It runs on the
// calling thread.
//
// State of a node is found through two fields of the node, `walk` and `walk_slot`. Threads may walk
// records that share nodes, leaves above all: a node that another walk has claimed is kept in a map
// of this walk instead.
class Walk {
 public:
  struct Target {
    Node* node;
    uint32_t index;
    Tensor grad;
  };

  Walk(bool keep, bool create_graph) : keep_(keep), create_graph_(create_graph) {
    static std::atomic<uint32_t> next{1};
    do id_ = next.fetch_add(1, std::memory_order_relaxed);
    while (id_ == 0);
  }
  ~Walk() {
    for (State& s : states_)
      if (s.claimed) s.node->walk.store(0, std::memory_order_release);
  }

  /// Only gradients on the way to these are computed; they are collected here and not in grad().
  std::vector<Target> targets;
  bool only_targets = false;
  bool accumulate = true;  // leaves (all, or the targets among them) get their grad() added to

  void add_root(const Edge& e, Tensor grad) {
    discover(e.node.get());
    deposit(state_of(e.node.get()), e.index, std::move(grad));
    roots_.push_back(e);
  }

  void run() {
    mark_needed();
    std::vector<uint32_t> ready;
    for (const Edge& e : roots_) {
      State& s = state_of(e.node.get());
      if (s.waiting == 0 && !s.queued) {
        s.queued = true;
        ready.push_back(slot_of(e.node.get()));
      }
    }
    AutoGradMode mode(create_graph_);
    while (!ready.empty()) {
      const uint32_t slot = ready.back();
      ready.pop_back();
      visit(slot, ready);
    }
  }

 private:
  struct State {
    Node* node;
    uint32_t waiting = 0;  // edges to this node not yet worked through
    bool claimed = false;
    bool needed = true;
    bool queued = false;
    SmallVector<Tensor, 1> grads;  // by output
  };

  uint32_t slot_of(Node* n) {
    if (n->walk.load(std::memory_order_acquire) == id_) return n->walk_slot;
    return elsewhere_.at(n);
  }
  State& state_of(Node* n) { return states_[slot_of(n)]; }

  // True iff the node is new to this walk.
  bool meet(Node* n) {
    uint32_t owner = n->walk.load(std::memory_order_acquire);
    if (owner == id_ || (owner != 0 && elsewhere_.contains(n))) return false;
    const auto slot = static_cast<uint32_t>(states_.size());
    bool claimed = false;
    if (owner == 0 && !(has_elsewhere_ && elsewhere_.contains(n))) {
      claimed = n->walk.compare_exchange_strong(owner, id_, std::memory_order_acq_rel);
    } else if (owner == 0) {
      return false;
    }
    if (claimed) {
      n->walk_slot = slot;
    } else {
      if (!elsewhere_.try_emplace(n, slot).second) return false;
      has_elsewhere_ = true;
    }
    State& s = states_.emplace_back();
    s.node = n;
    s.claimed = claimed;
    s.grads.resize(n->n_outputs);
    return true;
  }

  void discover(Node* root) {
    if (!meet(root)) return;
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      if (next == node->n_inputs) {
        order_.push_back(slot_of(node));
        stack_.pop_back();
        continue;
      }
      Node* from = node->inputs()[next++].node.get();
      if (!from) continue;
      const bool fresh = meet(from);
      ++state_of(from).waiting;
      if (fresh) stack_.push_back({from, 0});
    }
  }

  // order_ lists inputs before what uses them, so needs travel up in one pass.
  void mark_needed() {
    if (!only_targets) return;
    for (State& s : states_) s.needed = false;
    for (const Target& t : targets) {
      const bool known = t.node->walk.load(std::memory_order_acquire) == id_ ||
                         (has_elsewhere_ && elsewhere_.contains(t.node));
      if (known) state_of(t.node).needed = true;
    }
    for (uint32_t slot : order_) {
      State& s = states_[slot];
      for (uint32_t i = 0; i < s.node->n_inputs && !s.needed; ++i)
        if (Node* from = s.node->inputs()[i].node.get()) s.needed = state_of(from).needed;
    }
  }

  void deposit(State& s, uint32_t index, Tensor grad) {
    Tensor& sum = s.grads[index];
    if (!sum.defined()) {
      sum = std::move(grad);
      return;
    }
    const TensorImpl* t = sum.impl();
    const bool ours_alone = !create_graph_ && t->contiguous && sum.use_count() == 1 && t->storage &&
                            t->storage->refs.load(std::memory_order_relaxed) == 1;
    if (ours_alone)
      sum.add_(grad);
    else
      sum = sum + grad;
  }

  void visit(uint32_t slot, std::vector<uint32_t>& ready) {
    Node* node = states_[slot].node;
    bool any = false;
    for (Tensor& g : states_[slot].grads) any |= g.defined();
    if (any && states_[slot].needed) {
      if (node->extra) run_hooks(*node, states_[slot].grads);
      if (!targets.empty()) collect(*node, states_[slot].grads);
      if (node->is_leaf()) {
        if (accumulate && (!only_targets || states_[slot].needed))
          add_to_leaf(*node, std::move(states_[slot].grads[0]));
      } else {
        differentiate(slot);
      }
    }
    states_[slot].grads.clear();
    for (uint32_t i = 0; i < node->n_inputs; ++i) {
      Node* from = node->inputs()[i].node.get();
      if (!from) continue;
      State& f = state_of(from);
      if (--f.waiting == 0 && !f.queued) {
        f.queued = true;
        ready.push_back(slot_of(from));
      }
    }
  }

  static void run_hooks(Node& node, SmallVector<Tensor, 1>& grads) {
    for (size_t h = 0; h < node.extra->hooks.size(); ++h) {
      const uint32_t k = node.extra->hooks[h].output;
      if (!grads[k].defined()) continue;
      Tensor changed = node.extra->hooks[h].call(grads[k]);
      if (!changed.defined()) continue;
      TANDEM_CHECK_SHAPE(changed.sizes() == grads[k].sizes(),
                         "backward: hook has changed the size of value: a gradient of shape ",
                         grads[k].sizes(), " became ", changed.sizes());
      grads[k] = std::move(changed);
    }
    if (node.is_leaf()) return;
    for (size_t k = 0; k < grads.size(); ++k) {
      if (!node.extra->retain[k] || !grads[k].defined()) continue;
      std::lock_guard lock(node.extra->mutex);
      Tensor& kept = node.extra->grads[k];
      kept = kept.defined() ? kept + grads[k] : grads[k];
    }
  }

  void collect(Node& node, const SmallVector<Tensor, 1>& grads) {
    for (Target& t : targets)
      if (t.node == &node && grads[t.index].defined()) t.grad = grads[t.index];
  }

  void add_to_leaf(Node& node, Tensor grad) {
    NodeExtra& extra = node.need_extra();
    std::lock_guard lock(extra.mutex);
    Tensor& sum = extra.grads[0];
    if (sum.defined()) {
      if (t_mode.grad)
        sum = sum + grad;
      else
        sum.add_(grad);
      return;
    }
    const TensorImpl* t = grad.impl();
    const bool ours_alone = t->contiguous && grad.use_count() == 1 && t->storage &&
                            t->storage->refs.load(std::memory_order_relaxed) == 1 && !t->view;
    sum = create_graph_ || ours_alone ? std::move(grad) : grad.clone();
  }

  void differentiate(uint32_t slot) {
    Node* node = states_[slot].node;
    const uint32_t n = node->n_inputs;
    SmallVector<bool, 8> needed(n, false);
    bool any = false;
    for (uint32_t i = 0; i < n; ++i) {
      Node* from = node->inputs()[i].node.get();
      needed[i] = from && state_of(from).needed;
      any |= needed[i];
    }
    if (!any) return;
    if (node->extra && node->extra->custom) {
      const auto& g = states_[slot].grads;
      hand_on(*node, needed, node->extra->custom->run({g.begin(), g.end()}));
    } else {
      hand_on(*node, needed, node->op->vjp({*node, states_[slot].grads.data(), needed.data()}));
    }
    if (keep_) return;
    if (node->n_saved) {
      node->release_saved();
      node->released = true;
    }
    if (node->extra && node->extra->custom) node->extra->custom->release();
  }

  template <class List>
  void hand_on(Node& node, const SmallVector<bool, 8>& needed, List grads) {
    if (t_mode.anomaly && t_mode.anomaly_check_nan) look_for_nan(node, grads);
    for (uint32_t i = 0; i < node.n_inputs && i < grads.size(); ++i) {
      if (!needed[i] || !grads[i].defined()) continue;
      const Edge& e = node.inputs()[i];
      const TensorType& type = e.node->outputs()[e.index];
      Tensor g = std::move(grads[i]);
      if (!(g.type_of().sizes == type.sizes)) g = reduced(node, i, g, type);
      if (g.dtype() != type.dtype) g = g.to(type.dtype);
      deposit(state_of(e.node.get()), e.index, std::move(g));
    }
  }

  // A gradient has the shape of its value: what was broadcast on the way in is summed on the way
  // back.
  static Tensor reduced(const Node& node, uint32_t i, const Tensor& g, const TensorType& type) {
    const IntArrayRef have = g.sizes();
    bool fits = have.size() >= type.sizes.size();
    const size_t extra = fits ? have.size() - type.sizes.size() : 0;
    for (size_t d = 0; d < type.sizes.size() && fits; ++d)
      fits = type.sizes[d] == have[extra + d] || type.sizes[d] == 1;
    TANDEM_CHECK_SHAPE(fits, "Function ", node.name(), " returned an invalid gradient at index ", i,
                       " - got ", have, " but expected shape compatible with ", type.sizes);
    return g.sum_to_size(type.sizes);
  }

  static bool has_nan(const Tensor& t) {
    const Tensor values = t.detach().to(kDouble).contiguous();
    const double* p = values.data_ptr<double>();
    return std::any_of(p, p + values.numel(), [](double v) { return std::isnan(v); });
  }

  template <class List>
  static void look_for_nan(const Node& node, const List& grads) {
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined() || !has_nan(grads[i])) continue;
      const std::string made_by = node.extra ? node.extra->made_by : "";
      TANDEM_CHECK(false, "Function '", node.name(), "' returned nan values in its ", i,
                   "th output. The forward op was ", made_by.empty() ? node.op->name : made_by,
                   ".");
    }
  }

  const bool keep_, create_graph_;
  uint32_t id_ = 0;
  bool has_elsewhere_ = false;
  std::vector<State> states_;
  std::vector<uint32_t> order_;
  std::vector<std::pair<Node*, uint32_t>> stack_;
  std::vector<Edge> roots_;
  std::unordered_map<Node*, uint32_t> elsewhere_;
};

void add_roots(Walk& walk, const char* what, const variable_list& tensors,
               const variable_list& grads) {
  TANDEM_CHECK(grads.empty() || grads.size() == tensors.size(), what, ": got ", tensors.size(),
               " tensors and ", grads.size(), " gradients");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TANDEM_CHECK(t.defined() && t.requires_grad(), what, ": element ", i,
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

}  // namespace

void backward(const variable_list& tensors, const variable_list& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph, const variable_list& inputs) {
  Walk walk(retain_graph.value_or(create_graph), create_graph);
  for (const Tensor& t : inputs) {
    TANDEM_CHECK(t.defined() && t.requires_grad(),
                 "backward: One of the differentiated Tensors does not require grad");
    TANDEM_CHECK(t.is_leaf(),
                 "backward: One of the differentiated Tensors given as 'inputs' to "
                 "backward is not a leaf Tensor");
    walk.targets.push_back({t.impl()->edge.node.get(), t.impl()->edge.index, {}});
    walk.only_targets = true;
  }
  add_roots(walk, "backward", tensors, grad_tensors);
  walk.run();
}

variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  Walk walk(retain_graph.value_or(create_graph), create_graph);
  walk.only_targets = true;
  walk.accumulate = false;
  for (const Tensor& t : inputs) {
    TANDEM_CHECK(t.defined() && t.requires_grad(),
                 "grad: One of the differentiated Tensors does not require grad");
    walk.targets.push_back({t.impl()->edge.node.get(), t.impl()->edge.index, {}});
  }
  add_roots(walk, "grad", outputs, grad_outputs);
  walk.run();
  variable_list result;
  for (Walk::Target& t : walk.targets) {
    TANDEM_CHECK(
        t.grad.defined() || allow_unused,
        "grad: One of the differentiated Tensors appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior.");
    result.push_back(std::move(t.grad));
  }
  return result;
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
  autograd::backward({*this}, gradient.defined() ? variable_list{gradient} : variable_list{},
                     retain_graph, create_graph, inputs ? inputs->vec() : variable_list{});
}

}  // namespace tandem
