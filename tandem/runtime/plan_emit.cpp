// The memory that the values of a plan have, and the plan as it is handed out.
#include <algorithm>

#include "tandem/core/apply.h"
#include "tandem/runtime/memory_plan.h"
#include "tandem/runtime/planner_detail.h"

namespace tandem::runtime {

// -- the arena ---------------------------------------------------------------------------------

void Planner::reuse_dying(int32_t step) {
  const Node& n = *steps_[step];
  const FusedGroup* group = fused_group(n);
  if (!group && (!n.op->writes_in_place() || n.n_outputs != 1)) return;
  // A product is made where the result goes, which is then not free to be an input.
  if (group && group->product.op) return;
  // Others may still be reading what dies with this step.
  if (branches_at(step)) return;
  for (uint32_t k = 0; k < n.n_outputs; ++k) reuse_dying(step, k);
}

/// Output k takes over the memory of an input that nobody reads again, if there is one.
bool Planner::reuse_dying(int32_t step, uint32_t k) {
  const Node& n = *steps_[step];
  const Value& out = values_[first_value_[n.walk_slot] + k];
  const uint32_t mine = buffer_of(out);
  if (buffers_[mine].kind == Place::Kind::input || out.numel == 0) return false;
  for (uint32_t i = 0; i < n.n_inputs; ++i) {
    const uint32_t theirs = buffer_of(value(n.inputs()[i]));
    const Buffer& dying = buffers_[theirs];
    if (dying.kind != Place::Kind::arena || dying.last != step || dying.bytes != out.bytes() ||
        theirs == mine || !may_overwrite(n, k, theirs))
      continue;
    const bool result = buffers_[mine].kind == Place::Kind::result;
    const uint32_t kept = result ? mine : theirs, gone = result ? theirs : mine;
    buffers_[kept].first = std::min(buffers_[theirs].first, buffers_[mine].first);
    buffers_[kept].last = buffers_[mine].last;
    merge(kept, gone);
    return true;
  }
  return false;
}

/// What a fused group would write if its ops ran one by one, beside its results.
int64_t Planner::bytes_within(const FusedGroup& group) {
  int64_t bytes = 0;
  for (const NodePtr& n : group.body.nodes) {
    if (n->op == &kInputOp || n->op == &kConstantOp || n->op->is_view()) continue;
    for (uint32_t k = 0; k < n->n_outputs; ++k) {
      bool leaves = false;
      for (const Edge& e : group.body.outputs) leaves |= e.node == n && e.index == k;
      const TensorType& type = n->outputs()[k];
      if (!leaves) bytes += numel_of(type.sizes) * static_cast<int64_t>(size_of(type.dtype));
    }
  }
  return bytes;
}

void Planner::place_arena() {
  std::vector<uint32_t> which;
  std::vector<Block> blocks;
  std::vector<bool> used(buffers_.size(), false);
  for (uint32_t v = 0; v < values_.size(); ++v) {
    if (values_[v].root != v || made_[v] == kBefore) continue;
    const Buffer& own = buffers_[values_[v].buffer];
    if (own.kind == Place::Kind::arena) plan_.intermediate_bytes += own.bytes;
    used[buffer_of(values_[v])] = true;
  }
  for (const Node* n : steps_)
    if (const FusedGroup* group = fused_group(*n)) plan_.intermediate_bytes += bytes_within(*group);
  for (const Copy& c : before_)
    if (c.buffer >= 0) used[c.buffer] = true;
  for (const auto& [step, buffer] : product_buffer_) {
    used[buffer] = true;
    if (panel_of(step).rows > 0) buffers_[buffer].bytes = 0;
  }
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    if (!used[b] || buffers_[b].kind != Place::Kind::arena) continue;
    which.push_back(b);
    blocks.push_back({buffers_[b].bytes, buffers_[b].first, buffers_[b].last});
  }
  plan_.arena_bytes = assign_offsets(blocks);
  for (size_t i = 0; i < which.size(); ++i) buffers_[which[i]].offset = blocks[i].offset;
}

// -- the plan itself ---------------------------------------------------------------------------

PlannedArray Planner::array_of(const Value& v) const {
  const Buffer& b = buffers_[buffer_of(v)];
  PlannedArray a;
  a.place = {b.kind, b.index, b.offset + v.offset};
  a.type = *v.type;
  a.strides = v.strides;
  a.numel = v.numel;
  a.contiguous = v.contiguous;
  return a;
}

PlannedArray Planner::dense(const Place& place, const TensorType& type) {
  PlannedArray a;
  a.place = place;
  a.type = type;
  a.strides = contiguous_strides(type.sizes);
  a.numel = numel_of(type.sizes);
  return a;
}

void Planner::emit_copy(const PlannedArray& from, const PlannedArray& to) {
  plan_.steps.push_back({&kCopy, nullptr, static_cast<uint32_t>(plan_.arrays.size()), 1, 1});
  plan_.arrays.push_back(from);
  plan_.arrays.push_back(to);
}

void Planner::emit_step(const Node& n) {
  Step step{n.op, NodePtr(const_cast<Node*>(&n)), static_cast<uint32_t>(plan_.arrays.size()),
            n.n_inputs, n.n_outputs};
  step.kept = kept_[step_of_[n.walk_slot]];
  const uint32_t first = first_value_[n.walk_slot];
  for (uint32_t k = 0; k < n.n_outputs && !step.in_place; ++k)
    step.in_place = !inputs_in(n, buffer_of(values_[first + k])).empty();
  // A copy in place, of the same type or it would not be: it has nothing to do.
  if (step.in_place && n.op == &kCopy) return;
  for (uint32_t i = 0; i < n.n_inputs; ++i) plan_.arrays.push_back(array_of(value(n.inputs()[i])));
  for (uint32_t k = 0; k < n.n_outputs; ++k) plan_.arrays.push_back(array_of(values_[first + k]));
  if (const FusedGroup* group = fused_group(n)) {
    step.loop = static_cast<int32_t>(plan_.loops.size());
    plan_.loops.push_back(loop_of(*group, step.first, n.n_inputs));
    if (group->product.op) emit_product(*group, step.first, made_[first]);
  }
  plan_.steps.push_back(std::move(step));
}

PlannedLoop Planner::loop_of(const FusedGroup& group, uint32_t first, uint32_t n_inputs) const {
  PlannedLoop loop;
  loop.group = &group;
  const size_t n_placed = group.source.size() + static_cast<size_t>(group.n_stored);
  for (size_t operand = 0; operand < group.nest.operands.size(); ++operand) {
    loop.strides.insert(loop.strides.end(), group.strides[operand].begin(),
                        group.strides[operand].end());
    // Rows that are only summed: in memory of the thread that makes them.
    if (operand >= n_placed) {
      loop.operands.push_back({});
      continue;
    }
    size_t at = n_inputs + operand - group.source.size();
    if (operand < group.source.size())
      at = group.source[operand] >= 0 ? group.source[operand] : n_inputs + group.product.output;
    const PlannedArray& array = plan_.arrays[first + at];
    TANDEM_ASSERT(array.contiguous, "plan: a fused group reads whole values only");
    Place place = array.place;
    place.offset += group.offsets[operand] * static_cast<int64_t>(size_of(array.type.dtype));
    loop.operands.push_back(place);
  }
  const LoopSplit split = split_of(group);
  loop.count = split.count;
  loop.grain = split.grain;
  return loop;
}

void Planner::emit_product(const FusedGroup& group, uint32_t first, int32_t step) {
  const FusedGroup::Product& p = group.product;
  PlannedLoop& loop = plan_.loops.back();
  loop.product = static_cast<uint32_t>(plan_.arrays.size());
  for (const auto& factor : p.factors) {
    PlannedArray a = plan_.arrays[first + factor.input];
    a.place.offset += factor.offset * static_cast<int64_t>(size_of(a.type.dtype));
    a.type.sizes = factor.sizes;
    a.strides = factor.strides;
    a.numel = numel_of(factor.sizes);
    a.contiguous = is_contiguous(factor.sizes, factor.strides);
    plan_.arrays.push_back(std::move(a));
  }
  PlannedArray product = plan_.arrays[first + steps_[step]->n_inputs + p.output];
  product.type.sizes = p.sizes;
  product.strides = contiguous_strides(p.sizes);
  if (const auto aside = product_buffer_.find(step); aside != product_buffer_.end()) {
    product.place = {Place::Kind::arena, 0, buffers_[aside->second].offset};
    for (size_t operand = 0; operand < group.source.size(); ++operand)
      if (group.source[operand] < 0) {
        loop.operands[operand] = product.place;
        loop.operands[operand].offset +=
            group.offsets[operand] * static_cast<int64_t>(size_of(product.type.dtype));
      }
    loop.aside = true;
  }
  const kernels::PartRows part = panel_of(step);
  loop.panel = part.rows;
  loop.panel_of_thread = part.of_thread;
  if (loop.panel > 0) loop.overwritten = overwritten_along(group, loop);
  plan_.arrays.push_back(std::move(product));
}

/// What the loop reads at the same places as the product, and writes there again.
std::vector<uint32_t> Planner::overwritten_along(const FusedGroup& group, const PlannedLoop& loop) {
  const auto product = static_cast<size_t>(
      std::find_if(group.source.begin(), group.source.end(), [](int s) { return s < 0; }) -
      group.source.begin());
  const auto first_write = loop.operands.begin() + static_cast<int64_t>(group.source.size());
  std::vector<uint32_t> which;
  for (size_t operand = 0; operand < group.source.size(); ++operand)
    if (group.source[operand] >= 0 && group.strides[operand] == group.strides[product] &&
        group.nest.operands[operand].dtype == group.nest.operands[product].dtype &&
        std::find(first_write, first_write + group.n_stored, loop.operands[operand]) !=
            first_write + group.n_stored)
      which.push_back(static_cast<uint32_t>(operand));
  return which;
}

void Planner::emit_branches(const std::vector<int64_t>& position) {
  for (const Branches& b : branches_) {
    PlannedBranches planned;
    planned.first = static_cast<uint32_t>(position[b.first]);
    planned.count = static_cast<uint32_t>(position[b.last + 1] - position[b.first]);
    for (const auto& lane : b.lanes) {
      planned.lanes.emplace_back();
      // A copy that had nothing to do is not there.
      for (const int32_t s : lane)
        for (int64_t p = position[s]; p < position[s + 1]; ++p)
          planned.lanes.back().push_back(static_cast<uint32_t>(p));
    }
    plan_.branches.push_back(std::move(planned));
  }
}

void Planner::emit() {
  auto saved = [&](const Copy& c) {
    return dense({Place::Kind::arena, 0, buffers_[c.buffer].offset}, *values_[c.from].type);
  };
  auto to = [&](const Copy& c) { return dense(c.to, *values_[c.from].type); };
  for (const Copy& c : before_)
    emit_copy(array_of(values_[c.from]), c.buffer >= 0 ? saved(c) : to(c));
  std::vector<int64_t> position;  // by step, among those of the plan
  for (const Node* n : steps_) {
    position.push_back(static_cast<int64_t>(plan_.steps.size()));
    emit_step(*n);
  }
  position.push_back(static_cast<int64_t>(plan_.steps.size()));
  emit_branches(position);
  for (const Copy& c : after_) emit_copy(array_of(values_[c.from]), to(c));
  for (const Copy& c : commits_)
    emit_copy(c.buffer >= 0 ? saved(c) : array_of(values_[c.from]), to(c));
}

}  // namespace tandem::runtime
