#include "tandem/compile/session.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow_op.h"
#include "tandem/compile/program.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/batch.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/optim_step.h"

namespace tandem::graph {
namespace {

// True iff the value is what random numbers leave behind in the state of their generator, also
// where they are drawn in a choice or loop.
bool is_drawn_from(const Edge& e) {
  const Node& n = *e.node;
  const auto inside = [&](const SubGraph& s) { return is_drawn_from(s.graph().outputs[e.index]); };
  const TensorType& type = n.outputs()[e.index];
  if (type.dtype != kLong || type.sizes != Dims{2}) return false;
  if (n.op == &kRandomAdvance) return true;
  if (n.op == &kScan) return inside(n.attrs().as<ScanAttrs>().body);
  if (n.op == &kWhile) return inside(n.attrs().as<WhileAttrs>().body);
  if (n.op == &kCond)
    return inside(n.attrs().as<CondAttrs>().yes) || inside(n.attrs().as<CondAttrs>().no);
  // Loops give the new value back by copy_().
  return n.op == &kCopyInto && is_drawn_from(n.inputs()[1]);
}

// Keeps what is declared. Ops on its tensors come here from wherever they are called.
//
// Note: tensors from outside that are written
// An ordinary tensor that gets a declared value is a declared tensor from then on: ops on it come
// here too, and it has no values without the graph. What it held is kept as a copy for the runs.
// What is remembered from run to run is another matter: the state of a generator, from which each
// run draws as eager code between the runs does, and what layers move on (StateScope). Such a
// tensor is left as it is, and its values in the record are listed, so that a run can write the one
// that follows from what it has done.
class Declared final : public Recorder {
 public:
  ~Declared() override {
    for (Storage* s : order_)
      if (Binding& b = bindings_.at(s); b.written) b.captured = -1;  // not as it was before
  }

  void look(TensorImpl* t, const char* call) override {
    TANDEM_CHECK(false, call, ": this tensor (", t->type,
                 ") is declared, not computed: it has values in a run of a session only "
                 "(Session::run({it}, feeds))");
  }
  void look(const OpDef& op) override {
    TANDEM_CHECK(
        false, op.name,
        ": the shape of the result depends on values, which a declared graph does not have");
  }
  bool follows() const override { return true; }
  void moves_state(const Tensor* because) override {
    because_ = because ? value_of(because->impl()) : Edge();
  }

  Tensor variable(const Tensor& initial, std::string name) {
    const auto index = static_cast<int64_t>(captured_.size());
    Node& node =
        append(graph_, kInputOp, {}, InputAttrs{index, std::move(name), initial.impl()->type});
    variables_.push_back(captured_.size());
    captured_inputs_.push_back(NodePtr(&node));
    captured_.push_back(initial);
    return bind({NodePtr(&node), 0});
  }

  /// Position among what is kept of the memory that a tensor from outside lies in; none if the
  /// graph does not read it, or has given it a declared value.
  std::optional<size_t> memory_of(const Tensor& t) const {
    const auto found = bindings_.find(t.impl()->storage.get());
    if (found == bindings_.end() || found->second.captured < 0 || found->second.written) return {};
    return static_cast<size_t>(found->second.captured);
  }
  /// What that memory holds if the tensor has this value and the rest is as `before`, or as it is.
  Edge with_value(const Tensor& t, const Edge& value, const Edge& before) {
    const Binding& b = bindings_.at(t.impl()->storage.get());
    if (shows_all(t.impl(), b)) return value;
    return {NodePtr(&append(graph_, kViewScatter, {before ? before : b.value, value},
                            ViewScatterAttrs{chain_of(t.impl(), b), {}})),
            0};
  }

  const Graph& declared() const { return graph_; }
  const std::vector<NodePtr>& placeholders() const { return arguments_; }
  /// What is not fed: variables, and tensors from outside, which keep their identity.
  const std::vector<NodePtr>& kept() const { return captured_inputs_; }
  const std::vector<Tensor>& initial() const { return captured_; }
  /// Positions of the variables among what is kept.
  const std::vector<size_t>& variables() const { return variables_; }
  /// One of the values that something remembered has in turn. A run makes it if it computes
  /// `because` or, where that is empty, if it reads the value before it.
  struct State {
    Edge value, because;
  };
  /// By position among what is kept; the first value is the one that a run finds.
  const std::map<size_t, std::vector<State>>& states() const { return states_; }

 private:
  // Constants share the memory of their tensor, which may be written.
  bool is_constant(const TensorImpl* t) const override { return t->type.weak; }

  void wrote_outside(Storage& s) override {
    const Binding& b = bindings_.at(&s);
    const auto index = static_cast<size_t>(b.captured);
    if (const auto known = states_.find(index); known != states_.end()) {
      known->second.push_back({b.value, because_});
    } else if (because_ || is_drawn_from(b.value)) {
      states_[index] = {{{captured_inputs_[index], 0}, {}}, {b.value, because_}};
    } else if (s.pending.load(std::memory_order_relaxed) != this) {
      const RecorderScope eager(nullptr);
      const NoGradGuard no_grad;
      for (Tensor& t : captured_)  // views with a history of their own too
        if (t.impl()->storage.get() == &s) t = t.detach().clone();
      s.pending.store(this, std::memory_order_release);
    }
  }

  std::vector<size_t> variables_;
  std::map<size_t, std::vector<State>> states_;
  Edge because_;  // of what is being moved on; empty: nothing is
};

}  // namespace

struct Builder::Impl {
  /// What running a tensor does beside computing it.
  struct Assignment {
    size_t variable;
    Edge value;
  };

  Declared record;
  std::vector<Tensor> placeholders, variables;
  std::map<const Storage*, std::vector<Assignment>> effects;
  // Values of fetched tensors, so that a view has one node however often it is fetched.
  std::map<const TensorImpl*, std::pair<Tensor, std::pair<uint32_t, Edge>>> fetched;

  Edge value_of(const Tensor& t) {
    auto& [kept, value] = fetched[t.impl()];
    if (!kept.defined() || value.first != t.impl()->version()) {
      kept = t;
      value = {t.impl()->version(), record.value_of(t.impl())};
    }
    return value.second;
  }

  void check_ours(const char* call, const char* what, const Tensor& t) const {
    TANDEM_CHECK(t.defined() && record.owns(t.impl()->storage.get()), call, ": ", what,
                 " is not a tensor of this graph");
  }

  // Adds that a variable, or a tensor from outside, which may share its memory with others, gets
  // the value.
  void assign(const char* call, std::vector<Assignment>& list, const Tensor& t, const Edge& value) {
    for (size_t i = 0; i < variables.size(); ++i)
      if (t.is_same(variables[i])) {
        list.push_back({record.variables()[i], value});
        return;
      }
    const std::optional<size_t> memory = record.memory_of(t);
    TANDEM_CHECK(memory, call,
                 ": the tensor is neither one that variable() gave nor one from outside (such as a "
                 "parameter of a module) that the graph reads");
    for (Assignment& a : list)
      if (a.variable == *memory) {
        a.value = record.with_value(t, value, a.value);
        return;
      }
    list.push_back({*memory, record.with_value(t, value, {})});
  }

  /// How an optimiser steps: which state it keeps of each variable, and the op.
  struct Rule {
    bool counts = false;             // its steps
    SmallVector<double, 3> initial;  // by kind of state: the value that it begins with
    std::function<std::vector<Tensor>(const StepTensors&)> step;
  };
  void check_followed(const std::vector<Tensor>& trained) const;
  Tensor minimize(Builder& b, const Tensor& loss, const std::vector<Tensor>& wanted,
                  const Rule& rule);
  std::vector<Assignment> updates(Builder& b, const std::vector<Tensor>& params,
                                  const std::vector<Tensor>& grads, const Rule& rule);
};

Builder::Builder() : impl_(std::make_shared<Impl>()) {}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

DeclareGuard::DeclareGuard(Builder& builder)
    : impl_(builder.impl_), recorder_before_(t_mode.recorder), made_in_before_(t_mode.made_in) {
  TANDEM_CHECK(!recorder_before_ || !recorder_before_->keeps_branches() ||
                   recorder_before_ == &impl_->record,
               "DeclareGuard: something else is being recorded");
  t_mode.recorder = &impl_->record;
  t_mode.made_in = impl_->record.id();
}
DeclareGuard::~DeclareGuard() {
  t_mode.recorder = recorder_before_;
  t_mode.made_in = made_in_before_;
}

Tensor Builder::placeholder(IntArrayRef sizes, const TensorOptions& options, std::string name) {
  TensorType type;
  type.sizes = sizes;
  type.dtype = options.dtype();
  type.device = options.device();
  TANDEM_CHECK_SHAPE(
      std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 0; }),
      "placeholder: no dimension can be negative, their extents must be known: ", sizes,
      ". Declare one for each batch size that occurs, or compile() a function, which "
      "makes a graph for each shape by itself.");
  numel_of(sizes);  // refuses what no memory could hold
  Tensor t = impl_->record.placeholder(type, std::move(name));
  if (is_floating(type.dtype)) t.set_requires_grad(true);
  impl_->placeholders.push_back(t);
  return t;
}

Tensor Builder::variable(const Tensor& initial, std::string name) {
  TANDEM_CHECK(initial.defined(), "variable: the initial value is an undefined tensor");
  const RecorderScope eager(nullptr);
  const NoGradGuard no_grad;
  Tensor t = impl_->record.variable(initial.detach().clone(), std::move(name));
  if (is_floating(t.dtype())) t.set_requires_grad(true);
  impl_->variables.push_back(t);
  return t;
}

std::vector<Tensor> Builder::gradients(const Tensor& loss, const std::vector<Tensor>& by) {
  impl_->check_ours("gradients", "the loss", loss);
  for (const Tensor& t : by) impl_->check_ours("gradients", "what to differentiate by", t);
  const RecorderScope scope(&impl_->record);
  const AutoGradMode with_grad(true);
  std::vector<Tensor> grads(by.size());
  if (loss.requires_grad() && !by.empty())
    grads = autograd::grad({loss}, by, {}, /*retain_graph=*/true, /*create_graph=*/true,
                           /*allow_unused=*/true);
  for (size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].defined()) grads[i] = zeros_like(by[i]);
  return grads;
}

Tensor Builder::assign(const Tensor& variable, const Tensor& value) {
  const RecorderScope scope(&impl_->record);
  TANDEM_CHECK_TYPE(value.defined() && value.type_of() == variable.type_of(),
                    "assign: the variable is ", variable.type_of(), ", the value ",
                    value.defined() ? str(value.type_of()) : "undefined");
  const Edge edge = impl_->record.value_of(value.impl());
  std::vector<Impl::Assignment> assignments;
  impl_->assign("assign", assignments, variable, edge);
  Tensor done = impl_->record.bind(edge);
  impl_->effects[done.impl()->storage.get()] = std::move(assignments);
  impl_->value_of(done);  // kept, so that its storage's address stays its own
  return done;
}

// What was computed of a parameter before the graph read it would stay as it is in all runs.
void Builder::Impl::check_followed(const std::vector<Tensor>& trained) const {
  std::unordered_set<const Node*> leaves, seen;
  for (const Tensor& t : trained) leaves.insert(t.impl()->grad_edge().node.get());
  for (const Tensor& kept : record.initial()) {
    if (!kept.requires_grad() || kept.is_leaf()) continue;
    std::vector<const Node*> stack{kept.impl()->edge.node.get()};
    while (!stack.empty()) {
      const Node* n = stack.back();
      stack.pop_back();
      if (!n || !seen.insert(n).second) continue;
      TANDEM_CHECK(!leaves.contains(n), "minimize: the graph reads a tensor (", kept.impl()->type,
                   ", made by ", kept.impl()->edge.node->name(),
                   ") that was computed of a parameter at once, and would not follow its "
                   "changes. Compute it in the scope of a graph::DeclareGuard.");
      for (uint32_t i = 0; i < n->n_inputs; ++i) stack.push_back(n->inputs()[i].node.get());
    }
  }
}

constexpr const char* kNothingToTrain =
    "minimize: the loss does not depend on any variable. Parameters of a module are trained if "
    "they "
    "are named: minimize(loss, options, net->parameters())";

Tensor Builder::Impl::minimize(Builder& b, const Tensor& loss, const std::vector<Tensor>& wanted,
                               const Rule& rule) {
  check_ours("minimize", "the loss", loss);
  TANDEM_CHECK_SHAPE(loss.numel() == 1, "minimize: the loss must be a single number, not ",
                     loss.type_of());
  const std::vector<Tensor> by = wanted.empty() ? variables : wanted;
  std::vector<Tensor> trained;
  for (const Tensor& v : by)
    if (v.requires_grad()) trained.push_back(v);
  TANDEM_CHECK(!trained.empty() && loss.requires_grad(), kNothingToTrain);
  const RecorderScope scope(&record);
  const std::vector<Tensor> grads = autograd::grad({loss}, trained, {}, /*retain_graph=*/true,
                                                   /*create_graph=*/false, /*allow_unused=*/true);
  check_followed(trained);
  const NoGradGuard no_grad;
  std::vector<Tensor> changed, by_them;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!grads[i].defined()) continue;
    changed.push_back(trained[i]);
    by_them.push_back(grads[i]);
  }
  TANDEM_CHECK(!changed.empty(), kNothingToTrain);
  std::vector<Assignment> step = updates(b, changed, by_them, rule);
  Tensor done = record.bind(record.value_of(loss.impl()));
  effects[done.impl()->storage.get()] = std::move(step);
  value_of(done);
  return done;
}

// What an optimiser remembers are variables that are not trained themselves.
std::vector<Builder::Impl::Assignment> Builder::Impl::updates(Builder& b,
                                                              const std::vector<Tensor>& params,
                                                              const std::vector<Tensor>& grads,
                                                              const Rule& rule) {
  std::vector<Tensor> steps;
  std::vector<std::vector<Tensor>> state(rule.initial.size());
  {
    const RecorderScope eager(nullptr);
    for (const Tensor& p : params) {
      if (rule.counts) steps.push_back(b.variable(zeros({}, kLong)));
      for (size_t k = 0; k < state.size(); ++k)
        state[k].push_back(b.variable(full(p.sizes(), rule.initial[k], p.dtype())));
    }
  }
  StepTensors t{params, grads, steps, {}};
  for (const auto& list : state) t.state.push_back(list);
  // The op gives the next values in this order.
  const std::vector<Tensor> values = rule.step(t);
  std::vector<Assignment> assignments;
  size_t next = 0;
  const auto add = [&](const std::vector<Tensor>& list) {
    for (const Tensor& variable : list)
      assign("minimize", assignments, variable, record.value_of(values[next++].impl()));
  };
  add(steps);
  add(params);
  for (const auto& list : state) add(list);
  return assignments;
}

Tensor Builder::minimize(const Tensor& loss, const optim::SGDOptions& o,
                         const std::vector<Tensor>& variables) {
  check(o);
  Impl::Rule rule{.step = [&](const StepTensors& t) {
    return sgd_step(
        t,
        {o.lr().tensor(), o.momentum().tensor(), o.dampening().tensor(), o.weight_decay().tensor()},
        o.nesterov());
  }};
  if (o.momentum() != 0) {
    rule.counts = true;
    rule.initial = {0};
  }
  return impl_->minimize(*this, loss, variables, rule);
}

namespace {

template <class Options>
Builder::Impl::Rule adam_rule(const Options& o, bool decoupled) {
  check(o);
  Builder::Impl::Rule rule{true, {0, 0}, [&o, decoupled](const StepTensors& t) {
                             const auto& [beta1, beta2] = o.betas();
                             return adam_step(t,
                                              {o.lr().tensor(), beta1.tensor(), beta2.tensor(),
                                               o.eps().tensor(), o.weight_decay().tensor()},
                                              decoupled);
                           }};
  if (o.amsgrad()) rule.initial.push_back(0);
  return rule;
}

}  // namespace

Tensor Builder::minimize(const Tensor& loss, const optim::AdamOptions& o,
                         const std::vector<Tensor>& variables) {
  return impl_->minimize(*this, loss, variables, adam_rule(o, /*decoupled=*/false));
}

Tensor Builder::minimize(const Tensor& loss, const optim::AdamWOptions& o,
                         const std::vector<Tensor>& variables) {
  return impl_->minimize(*this, loss, variables, adam_rule(o, /*decoupled=*/true));
}

Tensor Builder::minimize(const Tensor& loss, const optim::RMSpropOptions& o,
                         const std::vector<Tensor>& variables) {
  check(o);
  Impl::Rule rule{true, {0}, [&](const StepTensors& t) {
                    return rmsprop_step(t,
                                        {o.lr().tensor(), o.alpha().tensor(), o.eps().tensor(),
                                         o.weight_decay().tensor(), o.momentum().tensor()},
                                        o.centered());
                  }};
  if (o.centered()) rule.initial.push_back(0);
  if (o.momentum() != 0) rule.initial.push_back(0);
  return impl_->minimize(*this, loss, variables, rule);
}

Tensor Builder::minimize(const Tensor& loss, const optim::AdagradOptions& o,
                         const std::vector<Tensor>& variables) {
  check(o);
  return impl_->minimize(*this, loss, variables,
                         {true, {o.initial_accumulator_value()}, [&](const StepTensors& t) {
                            return adagrad_step(t, {o.lr().tensor(), o.lr_decay().tensor(),
                                                    o.weight_decay().tensor(), o.eps().tensor()});
                          }});
}

Tensor Builder::minimize(const Tensor& loss, const optim::LionOptions& o,
                         const std::vector<Tensor>& variables) {
  check(o);
  return impl_->minimize(*this, loss, variables,
                         {false, {0}, [&](const StepTensors& t) {
                            const auto& [beta1, beta2] = o.betas();
                            return lion_step(t, {o.lr().tensor(), beta1.tensor(), beta2.tensor(),
                                                 o.weight_decay().tensor()});
                          }});
}

// -- sessions ---------------------------------------------------------------------------------

struct Session::Impl {
  struct Plan {
    std::vector<size_t> placeholders, kept;  // what it reads or writes
    std::unique_ptr<Program> program;
  };

  std::shared_ptr<Builder::Impl> declared;
  std::vector<Tensor> values;  // of what is kept; added when something is run
  std::map<std::vector<std::pair<const Node*, uint32_t>>, Plan> plans;

  const Plan& plan(const std::vector<Tensor>& fetches);
  Plan make_plan(const std::vector<Edge>& outputs,
                 std::vector<Builder::Impl::Assignment> assignments);
};

Session::Session(const Builder& builder) : impl_(std::make_unique<Impl>()) {
  impl_->declared = builder.impl_;
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

namespace {

// Finds what a run needs of what is declared.
//
// Note: random numbers that are not needed
// Whoever draws random numbers reads the state of a generator and leaves another behind, which the
// next one reads. Taken as they are, values would depend on all that was drawn before them in the
// declaration. A run draws as if only what it needs had been declared: where nobody needs what was
// drawn between two states, the later one is the same as the earlier. So it is with running
// statistics, which are moved on only in runs that compute what they are statistics of.
class Needs {
 public:
  explicit Needs(const Declared& record) : record_(record) {
    for (const auto& [kept, states] : record.states()) {
      made_[kept].assign(states.size(), false);
      for (size_t k = 0; k < states.size(); ++k) {
        position_[key(states[k].value)] = {kept, k};
        if (k > 0 && states[k].because)
          caused_by_[states[k].because.node.get()].push_back({kept, k});
      }
    }
  }

  void add(const Edge& value) {
    values_.push_back(value);
    while (!values_.empty() || !open_.empty()) {
      if (!open_.empty()) {
        const Node& n = *open_.back();
        open_.pop_back();
        if (nodes_.insert(&n).second) look_at(n);
        continue;
      }
      const Edge e = std::move(values_.back());
      values_.pop_back();
      if (const auto at = position_.find(key(e)); at != position_.end())
        read(at->second);
      else
        open_.push_back(e.node.get());
    }
  }
  void add(const Node& node) { nodes_.insert(&node); }
  bool has(const NodePtr& node) const { return nodes_.contains(node.get()); }

  /// The value itself, or the state that it is the same as.
  Edge resolve(const Edge& e) const {
    const auto at = position_.find(key(e));
    return at == position_.end() ? e : state(at->second);
  }
  /// The state that is left.
  Edge last_state(size_t kept) const { return state({kept, made_.at(kept).size() - 1}); }

 private:
  using Key = std::pair<const Node*, uint32_t>;
  using Position = std::pair<size_t, size_t>;  // of a state: of which tensor, place in its turn
  static Key key(const Edge& e) { return {e.node.get(), e.index}; }

  void look_at(const Node& n) {
    for (uint32_t i = 0; i < n.n_inputs; ++i) values_.push_back(n.inputs()[i]);
    if (const auto caused = caused_by_.find(&n); caused != caused_by_.end())
      for (const Position& p : caused->second) make(p);
  }
  void read(const Position& p) {
    const auto& states = record_.states().at(p.first);
    open_.push_back(states[0].value.node.get());
    const size_t next = p.second + 1;
    if (next < states.size() && !states[next].because) make({p.first, next});
  }
  void make(const Position& p) {
    made_[p.first][p.second] = true;
    open_.push_back(record_.states().at(p.first)[p.second].value.node.get());
  }
  Edge state(Position p) const {
    while (p.second > 0 && !made_.at(p.first)[p.second]) --p.second;
    return record_.states().at(p.first)[p.second].value;
  }

  const Declared& record_;
  std::unordered_set<const Node*> nodes_;
  std::vector<Edge> values_;       // that are read
  std::vector<const Node*> open_;  // that are needed and have not been looked at
  std::map<Key, Position> position_;
  std::unordered_map<const Node*, std::vector<Position>> caused_by_;
  std::map<size_t, std::vector<bool>> made_;  // by state
};

}  // namespace

Session::Impl::Plan Session::Impl::make_plan(const std::vector<Edge>& outputs,
                                             std::vector<Builder::Impl::Assignment> assignments) {
  const Declared& record = declared->record;
  Needs needs(record);
  for (const Edge& e : outputs) needs.add(e);
  for (const auto& a : assignments) {
    needs.add(a.value);
    needs.add(*record.kept()[a.variable]);
  }
  for (const auto& [kept, states] : record.states())
    if (const Edge last = needs.last_state(kept); last.node != states[0].value.node)
      assignments.push_back({kept, last});

  for (const auto& a : assignments)
    for (size_t i = 0; i < values.size(); ++i)
      TANDEM_CHECK(i == a.variable || !needs.has(record.kept()[i]) ||
                       values[i].impl()->storage != values[a.variable].impl()->storage,
                   "run: a tensor from outside (", values[a.variable].type_of(),
                   ") is assigned to, and the graph reads its memory in another way too (",
                   values[i].type_of(),
                   "). Take views of it in the scope of a graph::DeclareGuard.");

  Graph g;
  std::unordered_map<const Node*, NodePtr> copies;
  const auto copied = [&](const Edge& e) {
    const Edge value = needs.resolve(e);
    return Edge{copies.at(value.node.get()), value.index};
  };
  for (const NodePtr& n : record.declared().nodes) {
    if (!needs.has(n)) continue;
    NodePtr copy = Node::make(*n->op, n->n_inputs, n->n_outputs, 0, n->attrs());
    for (uint32_t i = 0; i < n->n_inputs; ++i) copy->inputs()[i] = copied(n->inputs()[i]);
    for (uint32_t k = 0; k < n->n_outputs; ++k) copy->outputs()[k] = n->outputs()[k];
    g.nodes.push_back(copy);
    copies.emplace(n.get(), std::move(copy));
  }
  for (const Edge& e : outputs) g.outputs.push_back(copied(e));
  g.n_results = g.outputs.size();
  Plan plan;
  for (size_t i = 0; i < record.placeholders().size(); ++i)
    if (const NodePtr& n = record.placeholders()[i]; needs.has(n)) {
      plan.placeholders.push_back(i);
      g.inputs.push_back(copies.at(n.get()));
    }
  for (size_t i = 0; i < record.kept().size(); ++i)
    if (const NodePtr& n = record.kept()[i]; needs.has(n)) {
      for (const auto& a : assignments)
        if (a.variable == i) {
          g.writes.push_back(
              {static_cast<uint32_t>(g.outputs.size()), static_cast<uint32_t>(g.inputs.size())});
          g.outputs.push_back(copied(a.value));
        }
      plan.kept.push_back(i);
      g.inputs.push_back(copies.at(n.get()));
      g.captured.push_back(values[i]);
    }
  plan.program = std::make_unique<Program>(g, g.writes.empty());
  return plan;
}

const Session::Impl::Plan& Session::Impl::plan(const std::vector<Tensor>& fetches) {
  std::vector<Edge> outputs;
  std::vector<Builder::Impl::Assignment> assignments;
  std::vector<std::pair<const Node*, uint32_t>> key;
  for (size_t i = 0; i < fetches.size(); ++i) {
    declared->check_ours("run", str("fetch ", i).c_str(), fetches[i]);
    outputs.push_back(declared->value_of(fetches[i]));
    key.emplace_back(outputs.back().node.get(), outputs.back().index);
    const auto effect = declared->effects.find(fetches[i].impl()->storage.get());
    if (effect == declared->effects.end()) continue;
    for (const auto& a : effect->second) {
      for (const auto& b : assignments)
        TANDEM_CHECK(a.variable != b.variable, "run: two of the fetches assign to variable ",
                     a.variable, " in one run");
      assignments.push_back(a);
      key.emplace_back(a.value.node.get(), ~a.value.index);
    }
  }
  const auto& variables = declared->record.variables();
  while (values.size() < declared->record.initial().size()) {
    const Tensor& initial = declared->record.initial()[values.size()];
    const bool own =
        std::find(variables.begin(), variables.end(), values.size()) != variables.end();
    values.push_back(own ? initial.clone() : initial.detach());
  }
  // Those that were declared anew since the last run, by a write: what they held is elsewhere now.
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].impl()->is_pending()) values[i] = declared->record.initial()[i].detach();
  auto found = plans.find(key);
  if (found == plans.end()) found = plans.emplace(key, make_plan(outputs, assignments)).first;
  return found->second;
}

std::vector<Tensor> Session::run(const std::vector<Tensor>& fetches, const Feeds& feeds) {
  TANDEM_CHECK(
      !t_mode.recorder || !t_mode.recorder->keeps_branches(),
      "run: a session cannot be run while a function is being recorded (by compile, trace, "
      "vmap, a choice or a loop): it runs a program of its own. Run it outside, or write "
      "the function with ordinary tensors instead of declared ones.");
  const NoGradGuard no_grad;
  const RecorderScope eager(nullptr);
  const Impl::Plan& plan = impl_->plan(fetches);
  const auto& declared = *impl_->declared;
  std::vector<Tensor> fed(declared.placeholders.size());
  for (const auto& [place, value] : feeds) {
    bool known = false;
    for (size_t i = 0; i < fed.size(); ++i) {
      if (!place.is_same(declared.placeholders[i])) continue;
      known = true;
      TANDEM_CHECK(value.defined(), "run: placeholder ", i, " is fed an undefined tensor");
      TANDEM_CHECK_TYPE(value.type_of() == place.type_of(), "run: placeholder ", i, " is ",
                        place.type_of(), ", but was fed ", value.type_of());
      TANDEM_CHECK(!fed[i].defined(), "run: placeholder ", i, " is fed twice");
      fed[i] = value;
    }
    TANDEM_CHECK(known, "run: what is fed is not a placeholder of this graph");
  }
  std::vector<Tensor> inputs;
  for (const size_t i : plan.placeholders) {
    const auto& name = declared.record.placeholders()[i]->attrs().as<InputAttrs>().name;
    TANDEM_CHECK(fed[i].defined(), "run: placeholder ", i, name.empty() ? "" : str(" '", name, "'"),
                 " (", declared.placeholders[i].type_of(),
                 ") is needed for what is fetched, but was not fed");
    inputs.push_back(fed[i].detach());
  }
  for (const size_t i : plan.kept) inputs.push_back(impl_->values[i]);
  std::vector<Tensor> results = plan.program->run({inputs.data(), inputs.size()});
  // What is only passed on would change with the next step, and writes to it would reach variables
  // and what was fed.
  std::unordered_set<const Storage*> given;
  for (const Tensor& t : inputs) given.insert(t.impl()->storage.get());
  for (Tensor& t : results)
    if (given.contains(t.impl()->storage.get())) t = t.clone();
  return results;
}

Tensor Session::run(const Tensor& fetch, const Feeds& feeds) {
  return run(std::vector<Tensor>{fetch}, feeds)[0];
}

// -- one graph for each thread ----------------------------------------------------------------

Builder& default_builder() {
  thread_local Builder builder;
  return builder;
}
void reset_default_builder() { default_builder() = Builder(); }
Tensor placeholder(IntArrayRef sizes, const TensorOptions& options, std::string name) {
  return default_builder().placeholder(sizes, options, std::move(name));
}
Tensor variable(const Tensor& initial, std::string name) {
  return default_builder().variable(initial, std::move(name));
}
std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& by) {
  return default_builder().gradients(loss, by);
}

}  // namespace tandem::graph
