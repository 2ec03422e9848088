#include "tandem/graph/fuse.h"

#include <algorithm>

#include "tandem/core/recorder.h"
#include "tandem/graph/fuse_expand.h"
#include "tandem/graph/fuse_lower.h"
#include "tandem/ops/creation_op.h"

namespace tandem {
namespace fusing {
namespace {

/// Puts the graph together again with its groups as single nodes.
class Rebuild {
 public:
  Rebuild(const Graph& g, const Analysis& analysis, const Grouping& grouping)
      : g_(g), analysis_(analysis), grouping_(grouping), made_(g.nodes.size()) {}

  Graph run() {
    find_needed();
    const size_t groups = grouping_.groups.size();
    lowered_.reserve(groups);
    for (size_t i = 0; i < groups; ++i)
      lowered_.push_back(lower(g_, analysis_, grouping_, static_cast<int>(i), needed_[i]));
    fused_.resize(groups);
    for (const NodePtr& n : g_.inputs) emit(n->walk_slot);
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (g_.nodes[i]->op->impure || is_result_[i]) emit(i);
    for (const Edge& e : g_.outputs) out_.outputs.push_back(moved(e));
    for (const NodePtr& n : g_.inputs) out_.inputs.push_back(made_[n->walk_slot]);
    out_.captured = g_.captured;
    out_.writes = g_.writes;
    out_.n_results = g_.n_results;
    return std::move(out_);
  }

 private:
  int group_of(size_t i) const { return grouping_.group_of[i]; }
  const Edge& base_of(const Edge& e) const { return analysis_.places[e.node->walk_slot].base; }

  // Which members others read, and which nodes give results.
  void find_needed() {
    std::vector<bool> read(g_.nodes.size(), false);
    is_result_.assign(g_.nodes.size(), false);
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const Info& info = analysis_.infos[i];
      if (info.kind == Kind::view || info.kind == Kind::fill) continue;
      const Node& n = *g_.nodes[i];
      // What a group sums it does not read.
      if (group_of(i) >= 0 && info.kind == Kind::across) continue;
      if (group_of(i) < 0 || !info.fusable()) {
        for (uint32_t k = 0; k < n.n_inputs; ++k)
          read[base_of(n.inputs()[k]).node->walk_slot] = true;
        continue;
      }
      for (const Use& u : info.uses)
        if (group_of(u.base.node->walk_slot) != group_of(i)) read[u.base.node->walk_slot] = true;
    }
    for (const Edge& e : g_.outputs) {
      is_result_[e.node->walk_slot] = true;
      read[base_of(e).node->walk_slot] = true;
    }
    needed_.resize(grouping_.groups.size());
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (group_of(i) >= 0 && read[i] && analysis_.infos[i].fusable())
        needed_[static_cast<size_t>(group_of(i))].push_back(static_cast<int>(i));
  }

  bool done(size_t i) const {
    return group_of(i) >= 0 ? fused_[static_cast<size_t>(group_of(i))] != nullptr
                            : made_[i] != nullptr;
  }
  ArrayRef<Edge> inputs_of(size_t i) const {
    if (group_of(i) >= 0) return lowered_[static_cast<size_t>(group_of(i))].inputs;
    // What fill replaces is not read.
    if (analysis_.infos[i].kind == Kind::fill) return {};
    return {g_.nodes[i]->inputs(), g_.nodes[i]->n_inputs};
  }

  // Enters the node, or the group it is in, after everything it reads.
  void emit(size_t node) {
    std::vector<std::pair<size_t, size_t>> stack{{node, 0}};
    while (!stack.empty()) {
      const size_t i = stack.back().first;
      const ArrayRef<Edge> inputs = inputs_of(i);
      size_t& next = stack.back().second;
      while (next < inputs.size() && done(inputs[next].node->walk_slot)) ++next;
      if (next < inputs.size()) {
        stack.emplace_back(inputs[next++].node->walk_slot, 0);
        continue;
      }
      stack.pop_back();
      if (!done(i)) finish(i);
    }
  }

  void finish(size_t i) {
    const Node& n = *g_.nodes[i];
    if (group_of(i) >= 0) {
      const Lowered& l = lowered_[static_cast<size_t>(group_of(i))];
      SmallVector<Edge, 8> inputs;
      for (const Edge& e : l.inputs) inputs.push_back(moved(e));
      for (const Tensor& t : l.numbers) inputs.push_back(number(t));
      append(out_, kFused, inputs, FusedAttrs{l.group}, static_cast<int>(l.outputs.size()));
      fused_[static_cast<size_t>(group_of(i))] = out_.nodes.back();
      return;
    }
    if (analysis_.infos[i].kind == Kind::fill && n.op == &kFill) {
      const TensorType& t = n.outputs()[0];
      append(out_, kFull, {},
             FullAttrs{t.sizes, t.dtype, t.device, n.attrs().as<FillAttrs>().value});
      made_[i] = out_.nodes.back();
      return;
    }
    made_[i] = rewired(g_.nodes[i]);
    out_.nodes.push_back(made_[i]);
  }

  // A constant of the new graph; equal ones are one.
  Edge number(const Tensor& t) {
    const ConstantAttrs attrs{TensorValue{t}};
    for (const NodePtr& n : numbers_)
      if (n->attrs().as<ConstantAttrs>().value == attrs.value) return {n, 0};
    append(out_, kConstantOp, {}, attrs);
    numbers_.push_back(out_.nodes.back());
    return {numbers_.back(), 0};
  }

  // The node itself if it reads what it read before, else a copy.
  NodePtr rewired(const NodePtr& n) {
    bool changed = false;
    for (uint32_t k = 0; k < n->n_inputs; ++k)
      changed |= moved(n->inputs()[k]).node != n->inputs()[k].node;
    if (!changed) return n;
    NodePtr copy = Node::make(*n->op, n->n_inputs, n->n_outputs, 0, n->attrs());
    for (uint32_t k = 0; k < n->n_inputs; ++k) copy->inputs()[k] = moved(n->inputs()[k]);
    for (uint32_t k = 0; k < n->n_outputs; ++k) copy->outputs()[k] = n->outputs()[k];
    return copy;
  }

  // The value in the new graph.
  Edge moved(const Edge& e) const {
    const size_t i = e.node->walk_slot;
    if (group_of(i) < 0) return {made_[i], e.index};
    const size_t group = static_cast<size_t>(group_of(i));
    const auto& outputs = lowered_[group].outputs;
    const auto at = std::find(outputs.begin(), outputs.end(), static_cast<int>(i));
    return {fused_[group], static_cast<uint32_t>(at - outputs.begin())};
  }

  const Graph& g_;
  const Analysis& analysis_;
  const Grouping& grouping_;
  Graph out_;
  std::vector<std::vector<int>> needed_;  // by group: members
  std::vector<bool> is_result_;
  std::vector<Lowered> lowered_;
  std::vector<NodePtr> numbers_;
  std::vector<NodePtr> fused_;  // by group
  std::vector<NodePtr> made_;   // by node
};

/// What is known about a graph when its groups have been found.
struct Found {
  Analysis analysis;
  Grouping grouping;
};
Found look_at(const Graph& g) {
  g.number();
  Found f;
  f.analysis = analyse(g);
  f.grouping = find_groups(g, f.analysis);
  return f;
}

// Marks composites that are better left whole: those whose parts did not all join one group, and
// those that found no neighbours. True iff there is one.
bool keep_whole(const Expanded& e, const Found& f, std::vector<bool>& keep) {
  std::vector<int> group(keep.size(), -2);  // by composite: -2 not met yet, -1 in pieces
  std::vector<int> parts(keep.size(), 0);   // members of the group that are its parts
  for (size_t i = 0; i < e.graph.nodes.size(); ++i) {
    const int c = e.composite[i];
    const Kind kind = f.analysis.infos[i].kind;
    if (c < 0 || kind == Kind::view || kind == Kind::fill || e.graph.nodes[i]->op == &kConstantOp)
      continue;
    int& at = group[static_cast<size_t>(c)];
    const int own = f.grouping.group_of[i];
    at = at == -2 || at == own ? own : -1;
    ++parts[static_cast<size_t>(c)];
  }
  bool any = false;
  for (size_t c = 0; c < keep.size(); ++c) {
    if (group[c] == -2) continue;
    bool apart = group[c] < 0;
    if (!apart) {
      const Group& g = f.grouping.groups[static_cast<size_t>(group[c])];
      apart = g.members.size() + g.sums.size() == static_cast<size_t>(parts[c]);
    }
    if (apart && !keep[c]) keep[c] = any = true;
  }
  return any;
}

}  // namespace
}  // namespace fusing

Graph fuse(Graph g) {
  using namespace fusing;
  // Passes run whenever values are needed, also while ops are recorded.
  const RecorderScope eager(nullptr);
  if (has_composites(g)) {
    std::vector<bool> keep(g.nodes.size(), false);
    // Each round leaves at least one more composite whole.
    for (;;) {
      const Expanded e = expand(g, keep);
      const Found f = look_at(e.graph);
      if (keep_whole(e, f, keep)) continue;
      if (f.grouping.groups.empty()) return g;
      return Rebuild(e.graph, f.analysis, f.grouping).run();
    }
  }
  const Found f = look_at(g);
  if (f.grouping.groups.empty()) return g;
  return Rebuild(g, f.analysis, f.grouping).run();
}

}  // namespace tandem
