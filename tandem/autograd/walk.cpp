#include "tandem/autograd/walk.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include "tandem/base/warning.h"
#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/ops.h"

namespace tandem::autograd {
namespace {

// How many walks are under way on this thread's stack, each called by a gradient of the one before.
constinit thread_local int t_depth = 0;
// A gradient that calls backward needs a few kilobytes of stack. After that many, a fresh thread
// with a stack of its own goes on, so that any depth will do.
constexpr int kDepthPerThread = 64;

void on_fresh_thread(const std::function<void()>& work) {
  std::exception_ptr error;
  std::thread([&, mode = t_mode, depth = t_depth, handler = Warning::get_warning_handler()] {
    t_mode = mode;
    t_depth = depth;
    Warning::set_warning_handler(handler);
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

void run_hooks(Node& node, SmallVector<Tensor, 1>& grads) {
  NodeExtra& extra = *node.extra;
  for (size_t h = 0; h < extra.hooks.size(); ++h) {
    const uint32_t k = extra.hooks[h].output;
    if (!grads[k].defined()) continue;
    const auto call = extra.hooks[h].call;  // a copy: the hook may remove itself
    Tensor changed = call(grads[k]);
    if (!changed.defined()) continue;
    TANDEM_CHECK_SHAPE(changed.sizes() == grads[k].sizes(),
                       "backward: hook has changed the size of value: a gradient of shape ",
                       grads[k].sizes(), " became ", changed.sizes());
    grads[k] = std::move(changed);
  }
  if (node.is_leaf()) return;
  for (size_t k = 0; k < grads.size(); ++k) {
    if (!extra.retain[k] || !grads[k].defined()) continue;
    Tensor kept = grads[k].clone();
    std::lock_guard lock(extra.mutex);
    Tensor& sum = extra.grads[k];
    sum = sum.defined() ? sum + kept : kept;
  }
}

// A gradient has the shape of its value: what was broadcast on the way in is summed on the way
// back.
Tensor reduced(const Node& node, uint32_t i, const Tensor& g, const TensorType& type) {
  const IntArrayRef have = g.sizes();
  bool fits = have.size() >= type.sizes.size();
  const size_t extra = fits ? have.size() - type.sizes.size() : 0;
  for (size_t d = 0; d < type.sizes.size() && fits; ++d)
    fits = type.sizes[d] == have[extra + d] || type.sizes[d] == 1;
  TANDEM_CHECK_SHAPE(fits, "Function ", node.name(), " returned an invalid gradient at index ", i,
                     " - got ", have, " but expected shape compatible with ", type.sizes);
  return g.sum_to_size(type.sizes);
}

bool has_nan(const Tensor& t) {
  const Tensor values = t.detach().to(kDouble).contiguous();
  const double* p = values.const_data_ptr<double>();
  return std::any_of(p, p + values.numel(), [](double v) { return std::isnan(v); });
}

template <class List>
void look_for_nan(const Node& node, const List& grads) {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined() || !has_nan(grads[i])) continue;
    const bool described = node.extra && !node.extra->made_by.empty();
    TANDEM_CHECK(false, "Function '", node.name(), "' returned nan values in its ", i,
                 "th output. The forward op was ",
                 described ? node.extra->made_by[0].text : std::string(node.op->name), ".");
  }
}

// What anomaly mode knows of the node whose gradient failed.
void tell_origin(const Node& node) {
  if (!node.extra || node.extra->made_by.empty()) {
    TANDEM_WARN(
        "Error detected in ", node.name(),
        ". No forward pass information available. Enable detect anomaly during forward pass for "
        "more information.");
    return;
  }
  const auto& calls = node.extra->made_by;
  TANDEM_WARN("Error detected in ", node.name(),
              ". Traceback of forward call that caused the error: ", calls[0].text);
  for (size_t i = 1; i < calls.size(); ++i)
    TANDEM_WARN(
        "Previous calculation was induced by ", calls[i].function,
        ". Traceback of forward call that induced the previous calculation: ", calls[i].text);
}

struct Evaluating {
  explicit Evaluating(const Node* n) : before(std::exchange(t_mode.evaluating, n)) {}
  ~Evaluating() { t_mode.evaluating = before; }
  const Node* before;
};

bool only_reference(const Tensor& t) {
  const TensorImpl* impl = t.impl();
  return t.use_count() == 1 && impl->contiguous && !impl->view && impl->storage &&
         impl->storage->refs.load(std::memory_order_relaxed) == 1;
}

}  // namespace

Walk::Walk(Options options) : options_(options) {
  static std::atomic<uint32_t> next{1};
  do id_ = next.fetch_add(1, std::memory_order_relaxed);
  while (id_ == 0);
}

Walk::~Walk() {
  for (State& s : states_)
    if (s.claimed) s.node->walk.store(0, std::memory_order_release);
}

void Walk::add_root(const Edge& e, Tensor grad) {
  discover(e.node.get());
  deposit(state_of(e.node.get()), e.index, std::move(grad));
  roots_.push_back(e);
}

void Walk::run() {
  struct Depth {
    Depth() { ++t_depth; }
    ~Depth() { --t_depth; }
  } depth;
  if (t_depth % kDepthPerThread == 0)
    on_fresh_thread([this] { run_here(); });
  else
    run_here();
}

void Walk::run_here() {
  mark_needed();
  for (const Edge& e : roots_) {
    State& s = state_of(e.node.get());
    if (s.waiting == 0) enqueue(e.node.get(), s);
  }
  AutoGradMode mode(options_.create_graph);
  while (!ready_.empty()) {
    const uint32_t slot = ready_.back();
    ready_.pop_back();
    visit(slot);
  }
}

// -- finding the nodes ------------------------------------------------------------------------

bool Walk::knows(Node* n) const {
  return n->walk.load(std::memory_order_acquire) == id_ ||
         (!elsewhere_.empty() && elsewhere_.contains(n));
}

uint32_t Walk::slot_of(Node* n) const {
  if (n->walk.load(std::memory_order_acquire) == id_) return n->walk_slot;
  return elsewhere_.at(n);
}

// True iff the node is new to this walk.
bool Walk::meet(Node* n) {
  if (knows(n)) return false;
  const auto slot = static_cast<uint32_t>(states_.size());
  uint32_t nobody = 0;
  const bool claimed = n->walk.compare_exchange_strong(nobody, id_, std::memory_order_acq_rel);
  if (claimed)
    n->walk_slot = slot;
  else
    elsewhere_.emplace(n, slot);
  State& s = states_.emplace_back();
  s.node = n;
  s.claimed = claimed;
  s.grads.resize(n->n_outputs);
  return true;
}

void Walk::discover(Node* root) {
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
void Walk::mark_needed() {
  for (const Target& t : targets)
    if (t.node && knows(t.node)) state_of(t.node).target = true;
  if (!options_.only_targets) return;
  for (const uint32_t slot : order_) {
    State& s = states_[slot];
    s.needed = s.target;
    for (uint32_t i = 0; i < s.node->n_inputs && !s.needed; ++i)
      if (Node* from = s.node->inputs()[i].node.get()) s.needed = state_of(from).needed;
  }
}

void Walk::enqueue(Node* n, State& s) {
  if (s.queued) return;
  s.queued = true;
  ready_.push_back(slot_of(n));
}

// -- working through them ---------------------------------------------------------------------

void Walk::deposit(State& s, uint32_t index, Tensor grad) {
  Tensor& sum = s.grads[index];
  if (!sum.defined())
    sum = std::move(grad);
  else if (!options_.create_graph && only_reference(sum))
    sum.add_(grad);
  else
    sum = sum + grad;
}

void Walk::visit(uint32_t slot) {
  Node* node = states_[slot].node;
  if (states_[slot].needed) {
    const bool ends_here = options_.stop_at_targets && states_[slot].target;
    if (options_.visitor) options_.visitor->visits(*node);
    if (node->extra && !ends_here) run_hooks(*node, states_[slot].grads);
    if (states_[slot].target) collect(*node, states_[slot].grads);
    if (node->is_leaf()) {
      if (options_.accumulate && states_[slot].grads[0].defined())
        add_to_leaf(*node, std::move(states_[slot].grads[0]));
    } else if (!ends_here) {
      differentiate(slot);
    }
  }
  states_[slot].grads.clear();
  for (uint32_t i = 0; i < node->n_inputs; ++i) {
    Node* from = node->inputs()[i].node.get();
    if (!from) continue;
    State& f = state_of(from);
    if (--f.waiting == 0) enqueue(from, f);
  }
}

void Walk::collect(Node& node, const SmallVector<Tensor, 1>& grads) {
  if (options_.accumulate && node.is_leaf()) return;  // it keeps its gradient itself
  for (Target& t : targets)
    if (t.node == &node && grads[t.index].defined()) t.grad = grads[t.index];
}

void Walk::add_to_leaf(Node& node, Tensor grad) {
  NodeExtra& extra = node.need_extra();
  // What else looks at the gradient must not see later sums.
  if (!only_reference(grad)) grad = grad.clone();
  if (t_mode.recorder && t_mode.recorder->add_grad(node, grad)) [[unlikely]]
    return;
  std::lock_guard lock(extra.mutex);
  Tensor& sum = extra.grads[0];
  if (!sum.defined())
    sum = std::move(grad);
  else if (t_mode.grad)
    sum = sum + grad;
  else
    sum.add_(grad);
}

void Walk::differentiate(uint32_t slot) {
  Node* node = states_[slot].node;
  const uint32_t n = node->n_inputs;
  SmallVector<bool, 8> needed(n, false);
  bool any_needed = false, any_grad = false;
  for (uint32_t i = 0; i < n; ++i) {
    Node* from = node->inputs()[i].node.get();
    needed[i] = from && state_of(from).needed;
    any_needed |= needed[i];
  }
  for (const Tensor& g : states_[slot].grads) any_grad |= g.defined();
  // A user's function decides itself what no gradient means.
  const bool custom = node->extra && node->extra->custom;
  if (any_needed && (any_grad || custom)) {
    if (t_mode.anomaly) [[unlikely]] {
      Evaluating scope(node);
      try {
        compute(slot, needed.data());
      } catch (...) {
        tell_origin(*node);
        throw;
      }
    } else {
      compute(slot, needed.data());
    }
  }
  if (options_.keep) return;
  if (node->n_saved) {
    node->release_saved();
    node->released = true;
  }
  if (custom) node->extra->custom->release();
}

void Walk::compute(uint32_t slot, const bool* needed) {
  Node& node = *states_[slot].node;
  auto& grads = states_[slot].grads;
  if (node.extra && node.extra->custom)
    hand_on(node, needed, node.extra->custom->run(node, {grads.begin(), grads.end()}, needed));
  else
    hand_on(node, needed, node.op->vjp({node, grads.data(), needed}));
}

template <class List>
void Walk::hand_on(Node& node, const bool* needed, List grads) {
  if (t_mode.anomaly && t_mode.anomaly_check_nan) [[unlikely]] {
    // Whoever only defers ops computes what is looked at; others have no values yet.
    if (!t_mode.recorder || !t_mode.recorder->keeps_branches()) look_for_nan(node, grads);
  }
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

}  // namespace tandem::autograd
