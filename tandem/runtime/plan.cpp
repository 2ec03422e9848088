#include "tandem/runtime/plan.h"

#include <algorithm>

#include "tandem/base/parallel.h"
#include "tandem/core/apply.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/kernels/matmul.h"
#include "tandem/kernels/reduce_rows.h"
#include "tandem/runtime/planner_detail.h"

namespace tandem::runtime {
namespace {

/// The same values in row-major order.
Tensor row_major(const Tensor& t) {
  if (t.impl()->contiguous) return t;
  const auto dense = TensorImpl::make(t.impl()->type);
  const Array from = t.impl()->array(), to = dense->array();
  kCopy.kernel({kCopy, &from, 1, &to, 1, {}});
  return Tensor(dense);
}

}  // namespace

Plan Planner::make() {
  list_values();
  mark_needed();
  list_steps();
  list_writes();
  for (const uint32_t input : plan_.written) delay_writer(input);
  find_kept();
  find_branches();
  find_lifetimes();
  for (size_t k = 0; k < g_.n_results; ++k) place_result(k);
  for (const uint32_t input : plan_.written) place_write(input);
  for (size_t s = 0; s < steps_.size(); ++s) reuse_dying(static_cast<int32_t>(s));
  place_arena();
  emit();
  return std::move(plan_);
}

// -- what there is -----------------------------------------------------------------------------

void Planner::add_value(Value v) {
  v.numel = numel_of(v.type->sizes);
  values_.push_back(std::move(v));
  made_.push_back(kBefore);
}

void Planner::add_computed(const Node& n, uint32_t k, Buffer buffer) {
  Value v;
  v.type = &n.outputs()[k];
  v.root = static_cast<uint32_t>(values_.size());
  v.strides = contiguous_strides(v.type->sizes);
  v.buffer = static_cast<uint32_t>(buffers_.size());
  buffer.bytes = numel_of(v.type->sizes) * static_cast<int64_t>(size_of(v.type->dtype));
  buffers_.push_back(buffer);
  add_value(std::move(v));
}

void Planner::add_view(const Node& n) {
  const Value& in = value(n.inputs()[0]);
  Value v;
  v.type = &n.outputs()[0];
  v.root = in.root;
  int64_t elements = 0;
  n.op->view({*n.op, in.type->sizes, in.strides, v.type->sizes, n.attrs(), v.strides, elements});
  v.offset = in.offset + elements * static_cast<int64_t>(size_of(in.type->dtype));
  v.contiguous = is_contiguous(v.type->sizes, v.strides);
  add_value(std::move(v));
}

void Planner::list_values() {
  g_.number();
  plan_.n_args = g_.n_args();
  plan_.captured = g_.captured;
  std::vector<int64_t> position(g_.nodes.size(), -1);
  for (size_t i = 0; i < g_.inputs.size(); ++i) position[g_.inputs[i]->walk_slot] = i;
  for (const NodePtr& p : g_.nodes) {
    const Node& n = *p;
    first_value_.push_back(static_cast<uint32_t>(values_.size()));
    if (n.op->is_view()) {
      add_view(n);
    } else if (n.op == &kInputOp) {
      add_computed(n, 0, {Place::Kind::input, static_cast<uint32_t>(position[n.walk_slot])});
    } else if (n.op == &kConstantOp) {
      add_computed(n, 0, {Place::Kind::constant, static_cast<uint32_t>(plan_.constants.size())});
      plan_.constants.push_back(row_major(n.attrs().as<ConstantAttrs>().value.tensor));
    } else {
      for (uint32_t k = 0; k < n.n_outputs; ++k) add_computed(n, k, {});
    }
  }
  for (const NodePtr& p : g_.inputs) {
    plan_.inputs.push_back(p->outputs()[0]);
    plan_.input_names.push_back(p->attrs().as<InputAttrs>().name);
  }
}

void Planner::mark_needed() {
  needed_.assign(g_.nodes.size(), false);
  for (const Edge& e : g_.outputs) needed_[e.node->walk_slot] = true;
  for (size_t i = g_.nodes.size(); i-- > 0;) {
    const Node& n = *g_.nodes[i];
    if (!needed_[i] && !n.op->impure) continue;
    needed_[i] = true;
    for (uint32_t k = 0; k < n.n_inputs; ++k) needed_[n.inputs()[k].node->walk_slot] = true;
  }
}

void Planner::list_steps() {
  step_of_.assign(g_.nodes.size(), kBefore);
  readers_.resize(values_.size());
  for (size_t i = 0; i < g_.nodes.size(); ++i) {
    const Node& n = *g_.nodes[i];
    if (!needed_[i] || n.op->is_view() || n.op == &kInputOp || n.op == &kConstantOp) continue;
    TANDEM_CHECK(n.op->kernel, n.op->name,
                 ": the shape of its result depends on values, so it cannot be part of a plan");
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      const Device device = n.outputs()[k].device;
      TANDEM_CHECK(device.is_cpu(), n.op->name, ": plans run on cpu, not on ", device);
      made_[first_value_[i] + k] = end();
    }
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      auto& readers = readers_[value(n.inputs()[k]).root];
      if (readers.empty() || readers.back() != &n) readers.push_back(&n);
    }
    step_of_[i] = end();
    steps_.push_back(&n);
  }
}

/// Moves the step that computes what an input is to hold behind the last one that reads what it
/// holds, so that it can be computed there; unless something in between depends on it.
void Planner::delay_writer(uint32_t input) {
  const uint32_t target = first_value_[g_.inputs[input]->walk_slot];
  const uint32_t root = values_[written_by_[input]].root;
  const int32_t step = made_[root];
  if (step == kBefore) return;
  const Node& n = *steps_[step];
  if (n.op->impure || checks_values(n)) return;
  int32_t last = step;
  for (const Node* reader : readers_[target]) last = std::max(last, step_of_[reader->walk_slot]);
  if (last == step) return;
  for (uint32_t k = 0; k < n.n_outputs; ++k)
    for (const Node* reader : readers_[first_value_[n.walk_slot] + k])
      if (step_of_[reader->walk_slot] <= last) return;
  std::rotate(steps_.begin() + step, steps_.begin() + step + 1, steps_.begin() + last + 1);
  for (int32_t s = step; s <= last; ++s) {
    const Node& moved = *steps_[s];
    step_of_[moved.walk_slot] = s;
    for (uint32_t k = 0; k < moved.n_outputs; ++k) made_[first_value_[moved.walk_slot] + k] = s;
  }
}

/// Marks the steps that read nothing but captured tensors that the plan does not write, constants
/// and what such steps made. Results are made anew in each call, and what is much larger than what
/// it is made of is not worth its memory.
void Planner::find_kept() {
  kept_.assign(steps_.size(), false);
  if (!options_.keep_prepared) return;
  std::vector<bool> steady(values_.size(), false), leaves(values_.size(), false);
  for (size_t i = plan_.n_args; i < g_.inputs.size(); ++i)
    if (written_by_[i] < 0) steady[first_value_[g_.inputs[i]->walk_slot]] = true;
  for (const NodePtr& n : g_.nodes)
    if (n->op == &kConstantOp) steady[first_value_[n->walk_slot]] = true;
  for (const Edge& e : g_.outputs) leaves[value(e).root] = true;

  std::vector<bool> read(g_.inputs.size(), false);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Node& n = *steps_[s];
    bool keep = !n.op->impure && n.n_inputs > 0;
    int64_t in = 0, out = 0;
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const Value& v = value(n.inputs()[k]);
      keep = keep && steady[v.root];
      in += v.bytes();
    }
    const uint32_t first = first_value_[n.walk_slot];
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      keep = keep && !leaves[first + k];
      out += values_[first + k].bytes();
    }
    if (!keep || out > 2 * in) continue;
    kept_[s] = true;
    for (uint32_t k = 0; k < n.n_outputs; ++k) steady[first + k] = true;
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const Buffer& b = memory_of(value(n.inputs()[k]));
      if (b.kind == Place::Kind::input) read[b.index] = true;
    }
  }
  for (uint32_t i = 0; i < read.size(); ++i)
    if (read[i]) plan_.kept_from.push_back(i);
}

void Planner::find_branches() {
  std::vector<double> cost;
  std::vector<std::vector<int32_t>> reads;
  for (const Node* n : steps_) {
    cost.push_back(serial_ns(*n));
    reads.emplace_back();
    for (uint32_t k = 0; k < n->n_inputs; ++k) {
      const int32_t from = made_[value(n->inputs()[k]).root];
      if (from != kBefore) reads.back().push_back(from);
    }
  }
  branches_ = runtime::find_branches(cost, reads);
  in_branches_.assign(steps_.size(), -1);
  for (size_t b = 0; b < branches_.size(); ++b)
    for (int32_t s = branches_[b].first; s <= branches_[b].last; ++s)
      in_branches_[s] = static_cast<int32_t>(b);
}

void Planner::find_lifetimes() {
  for (int32_t s = 0; s < end(); ++s)
    if (checks_values(*steps_[s])) last_check_ = s;
  for (uint32_t v = 0; v < values_.size(); ++v) {
    if (values_[v].root != v) continue;
    Buffer& b = buffers_[values_[v].buffer];
    b.first = made_[v] == kBefore ? kBefore : begins(made_[v]);
    b.last = made_[v] == kBefore ? kBefore : ends(made_[v]);
  }
  for (size_t s = 0; s < steps_.size(); ++s)
    for (uint32_t k = 0; k < steps_[s]->n_inputs; ++k)
      memory_of(value(steps_[s]->inputs()[k])).last = ends(static_cast<int32_t>(s));
  // What steps that run in every call read of those that do not stays where it is.
  for (size_t s = 0; s < steps_.size(); ++s)
    for (uint32_t k = 0; k < steps_[s]->n_inputs && !kept_[s]; ++k) {
      const Value& v = value(steps_[s]->inputs()[k]);
      if (!is_computed(v) || !kept_[made_[v.root]]) continue;
      memory_of(v).first = kBefore;
      memory_of(v).last = end();
    }
}

// -- results and writes ------------------------------------------------------------------------

void Planner::list_writes() {
  written_by_.assign(g_.inputs.size(), -1);
  for (const Graph::Write& w : g_.writes) {
    TANDEM_ASSERT(written_by_[w.input] < 0, "plan: input ", w.input, " is written twice");
    const Edge& from = g_.outputs[w.output];
    if (from.node != g_.inputs[w.input]) written_by_[w.input] = id(from);
  }
  for (uint32_t i = 0; i < written_by_.size(); ++i)
    if (written_by_[i] >= 0) plan_.written.push_back(i);
}

uint32_t Planner::new_memory(const TensorType& type) {
  plan_.memory.push_back(type);
  plan_.memory.back().weak = false;
  return static_cast<uint32_t>(plan_.memory.size() - 1);
}

void Planner::place_result(size_t k) {
  const uint32_t which = id(g_.outputs[k]);
  const Value& v = values_[which];
  Buffer& memory = memory_of(v);
  PlannedResult r;
  r.type = *v.type;
  r.type.weak = false;
  r.strides = v.strides;
  r.offset = v.offset / static_cast<int64_t>(size_of(v.type->dtype));
  r.whole = v.root == which;
  // What two results share was made one by the optimiser, not by the user: each gets its own.
  bool copied = !results_.insert(which).second;
  if (options_.dense_results) copied |= !r.whole || memory.kind != Place::Kind::arena;
  if (memory.kind == Place::Kind::constant ||
      (memory.kind == Place::Kind::input && written_by_[memory.index] >= 0))
    copied = true;

  if (copied) {
    r.index = new_memory(*v.type);
    r.strides = contiguous_strides(v.type->sizes);
    r.offset = 0;
    r.whole = true;
    const Copy copy{which, {Place::Kind::result, r.index, 0}};
    if (is_computed(v)) {
      after_.push_back(copy);
      memory.last = end();
    } else {
      before_.push_back(copy);
    }
  } else if (memory.kind == Place::Kind::input) {
    r.kind = PlannedResult::Kind::input;
    r.index = memory.index;
  } else {
    if (memory.kind == Place::Kind::arena) {
      memory.kind = Place::Kind::result;
      memory.index = new_memory(*values_[v.root].type);
    }
    memory.last = end();
    r.index = memory.index;
  }
  plan_.results.push_back(std::move(r));
}

void Planner::merge(uint32_t kept, uint32_t gone) {
  buffers_[gone].merged = kept;
  auto& parts = parts_[kept];
  parts.push_back(gone);
  if (const auto more = parts_.find(gone); more != parts_.end())
    parts.insert(parts.end(), more->second.begin(), more->second.end());
}

/// The inputs of n that lie in the buffer, by number.
const std::vector<uint32_t>& Planner::inputs_in(const Node& n, uint32_t buffer) const {
  constexpr uint32_t kFew = 16;
  found_.clear();
  if (n.n_inputs <= kFew) {
    for (uint32_t i = 0; i < n.n_inputs; ++i)
      if (buffer_of(value(n.inputs()[i])) == buffer) found_.push_back(i);
    return found_;
  }
  const bool fresh = !inputs_in_.contains(&n);
  auto& by_buffer = inputs_in_[&n];
  if (fresh)
    for (uint32_t i = 0; i < n.n_inputs; ++i)
      by_buffer[buffer_of(value(n.inputs()[i]))].push_back(i);
  const auto add = [&](uint32_t b) {
    if (const auto in = by_buffer.find(b); in != by_buffer.end())
      found_.insert(found_.end(), in->second.begin(), in->second.end());
  };
  add(buffer);
  if (const auto parts = parts_.find(buffer); parts != parts_.end())
    for (const uint32_t b : parts->second) add(b);
  return found_;
}

/// True iff the kernel of n may write output k to the buffer although some of its inputs lie there:
/// each element is read for the last time before it is written.
bool Planner::may_overwrite(const Node& n, uint32_t k, uint32_t buffer) const {
  if (const FusedGroup* group = fused_group(n)) return fused_may_overwrite(n, *group, k, buffer);
  const TensorType& out = n.outputs()[k];
  const bool pointwise = n.op->map != MapFn{0};
  for (const uint32_t i : inputs_in(n, buffer)) {
    const Value& in = value(n.inputs()[i]);
    // A kernel that is not pointwise begins by copying its first input and then changes parts of
    // it. One with several outputs makes each of the input in the same place of the list.
    if (!n.op->writes_in_place() || (!pointwise && i != k)) return false;
    if (in.offset != 0 || !in.contiguous || in.type->dtype != out.dtype ||
        !(in.type->sizes == out.sizes))
      return false;
  }
  return true;
}

bool Planner::fused_may_overwrite(const Node& n, const FusedGroup& group, uint32_t k,
                                  uint32_t buffer) const {
  // A product that is a result is made before anything else is read.
  if (group.product.kept && static_cast<int>(k) == group.product.output)
    return inputs_in(n, buffer).empty();
  // Sums have other shapes.
  if (static_cast<int>(k) >= group.n_stored) return inputs_in(n, buffer).empty();
  const size_t out = static_cast<size_t>(group.nest.n_inputs) + k;
  for (uint32_t other = 0; other < n.n_outputs; ++other)
    if (other != k && buffer_of(values_[first_value_[n.walk_slot] + other]) == buffer) return false;
  int readers = 0;
  for (const uint32_t i : inputs_in(n, buffer)) {
    const Value& in = value(n.inputs()[i]);
    if (++readers > 1 || in.offset != 0 || in.type->dtype != n.outputs()[k].dtype) return false;
    // Rows that are summed are read again when the loop has been over them.
    for (const FusedGroup::RowSum& s : group.sums.each)
      if (s.operand < group.nest.n_inputs && group.source[s.operand] == static_cast<int>(i))
        return false;
    for (size_t operand = 0; operand < group.source.size(); ++operand)
      if (group.source[operand] == static_cast<int>(i) &&
          (group.offsets[operand] != group.offsets[out] ||
           !(group.strides[operand] == group.strides[out])))
        return false;
  }
  return true;
}

bool Planner::can_write_directly(const Value& v, uint32_t input) const {
  const Value& root = values_[v.root];
  if (!is_computed(v) || buffers_[buffer_of(v)].kind != Place::Kind::arena) return false;
  if (v.offset != 0 || !v.contiguous || v.bytes() != root.bytes()) return false;
  const int32_t step = made_[v.root];
  if (step <= last_check_) return false;
  const Node& n = *steps_[step];
  const uint32_t target = buffer_of(values_[first_value_[g_.inputs[input]->walk_slot]]);
  const Buffer& old = buffers_[target];
  return old.last < begins(step) || (old.last == step && !branches_at(step) &&
                                     may_overwrite(n, v.root - first_value_[n.walk_slot], target));
}

void Planner::place_write(uint32_t input) {
  const auto which = static_cast<uint32_t>(written_by_[input]);
  const Value& v = values_[which];
  if (can_write_directly(v, input)) {
    const uint32_t target = buffer_of(values_[first_value_[g_.inputs[input]->walk_slot]]);
    merge(target, buffer_of(v));
    buffers_[target].last = end();
    separate_product(made_[v.root]);
    return;
  }
  Copy commit{which, {Place::Kind::input, input, 0}};
  Buffer& memory = memory_of(v);
  if (memory.kind == Place::Kind::input && !is_computed(v) && written_by_[memory.index] >= 0) {
    // The old contents of another input that changes as well: saved before anything is written.
    Buffer saved;
    saved.bytes = v.bytes();
    saved.last = end();
    commit.buffer = static_cast<int64_t>(buffers_.size());
    buffers_.push_back(saved);
    before_.push_back({which, {}, commit.buffer});
  } else {
    memory.last = end();
  }
  commits_.push_back(commit);
}

/// A product that is carried on from in the memory of an input is made elsewhere: in parts by the
/// threads that need them, or in the arena.
void Planner::separate_product(int32_t step) {
  const FusedGroup* group = fused_group(*steps_[step]);
  if (!group || !group->product.op || group->product.kept || product_buffer_.contains(step)) return;
  const DType dtype = steps_[step]->outputs()[group->product.output].dtype;
  Buffer buffer;
  buffer.bytes = numel_of(group->product.sizes) * static_cast<int64_t>(size_of(dtype));
  buffer.first = begins(step);
  buffer.last = ends(step);
  product_buffer_[step] = static_cast<uint32_t>(buffers_.size());
  buffers_.push_back(buffer);
}

/// The rows of its product that a fused step takes at a time; 0: all.
kernels::PartRows Planner::panel_of(int32_t step) const {
  const Node& n = *steps_[step];
  const FusedGroup& group = *fused_group(n);
  const FusedGroup::Product& product = group.product;
  if (product.row_dim < 0 || !goes_by_rows(step)) return {};
  const int64_t rows = product.sizes[0], columns = product.sizes[1];
  const FusedGroup::Product::Factor &first = product.factors[0], &second = product.factors[1];
  kernels::PartRows part = kernels::part_rows(
      n.outputs()[product.output].dtype, rows, columns, second.sizes[1 - product.column_dim],
      first.strides[product.row_dim] != 1, second.strides[product.column_dim] == 1);
  // Where the loop goes over the product in place anyway, parts save less than packing costs.
  if (part.packs && !product.kept && !product_buffer_.contains(step)) return {};
  if (part.rows == 0 || group.sums.each.empty()) return part;
  const kernels::RowReduction sums(kernels::ReduceFn::Sum, group.sums.dtype, rows, columns);
  if (sums.blocks() < get_num_threads()) return {};
  part.rows = (part.rows + sums.chunk_rows() - 1) / sums.chunk_rows() * sums.chunk_rows();
  return part;
}

/// True iff the step can go from some rows of its product to the next.
bool Planner::goes_by_rows(int32_t step) const {
  const Node& n = *steps_[step];
  const FusedGroup& group = *fused_group(n);
  const FusedGroup::Product& product = group.product;
  const int64_t rows = product.sizes[0], columns = product.sizes[1];
  if (rows == 0 || columns == 0) return false;
  if (!group.sums.each.empty() && (group.sums.rows != rows || group.sums.columns != columns))
    return false;
  // The loop must walk the product's elements in their order, whole rows of it at a time.
  const size_t out = product.kept ? group.strides.size() - 1
                                  : static_cast<size_t>(group.nest.n_inputs + product.output);
  for (size_t operand = 0; operand < group.source.size(); ++operand)
    if (group.source[operand] < 0 &&
        (group.offsets[operand] != 0 || !(group.strides[operand] == group.strides[out])))
      return false;
  if (group.offsets[out] != 0 || group.rows() * group.columns() != rows * columns) return false;
  if ((group.nest.outer_dims > 0 || group.nest.by_rows()) && group.rows() % rows != 0) return false;
  // What the loop overwrites must not be needed for the next part.
  for (const auto& factor : product.factors)
    for (uint32_t k = 0; k < n.n_outputs; ++k)
      if (buffer_of(value(n.inputs()[factor.input])) ==
          buffer_of(values_[first_value_[n.walk_slot] + k]))
        return false;
  return true;
}

Plan make_plan(const Graph& g, const PlanOptions& options) { return Planner(g, options).make(); }

StepCost cost_of(const Plan& plan, const Step& step) {
  StepCost cost;
  for (uint32_t k = 0; k < step.n_inputs + step.n_outputs; ++k) {
    const PlannedArray& a = plan.arrays[step.first + k];
    // What is repeated by broadcasting is read from memory once.
    int64_t elements = 1;
    for (size_t d = 0; d < a.strides.size(); ++d)
      if (a.strides[d] != 0 || a.type.sizes[d] == 0) elements *= a.type.sizes[d];
    (k < step.n_inputs ? cost.bytes_read : cost.bytes_written) +=
        elements * static_cast<int64_t>(size_of(a.type.dtype));
  }
  return cost;
}

}  // namespace tandem::runtime
