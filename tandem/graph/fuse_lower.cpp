#include "tandem/graph/fuse_lower.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "tandem/kernels/scalar_expr.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/gather_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/reduction_op.h"

namespace tandem::fusing {
namespace {

const TensorType& type_of(const Edge& e) { return e.node->outputs()[e.index]; }

/// In which type a value of that dtype is held between instructions.
LaneType lane_of(DType t) {
  if (t == kBool) return LaneType::mask;
  if (t == kDouble) return LaneType::f64;
  return is_floating(t) ? LaneType::f32 : LaneType::i64;
}
/// In which type an op computes whose results have that dtype: truth values count as integers.
LaneType compute_lane(DType t) { return t == kBool ? LaneType::i64 : lane_of(t); }

/// The dimensions that the kernel walks, outermost first, and how many elements of the walk one
/// step along each is.
struct Walk {
  Dims extents, steps;
  explicit Walk(const Group& g) {
    int64_t whole = g.numel;
    for (size_t k = g.cuts.size(); k-- > 0;) {
      extents.push_back(whole / g.cuts[k]);
      steps.push_back(g.cuts[k]);
      whole = g.cuts[k];
    }
    extents.push_back(whole);
    steps.push_back(1);
  }
};

/// The instructions of a group.
class Program {
 public:
  explicit Program(std::vector<ScalarInstr>& program) : program_(program) {}

  int16_t record(const ScalarInstr& i) { return kernels::record(i, program_); }
  LaneType lane(int16_t i) const { return program_[static_cast<size_t>(i)].type; }

  int16_t load(int operand, LaneType type) {
    return record({.op = ScalarOp::load, .type = type, .index = static_cast<int16_t>(operand)});
  }
  int16_t constant(double value, LaneType type) {
    if (type == LaneType::mask) return as(constant(value, LaneType::i64), type);
    return record({.op = ScalarOp::constant, .type = type, .value = value});
  }
  int16_t binary(ScalarOp op, LaneType type, int16_t a, int16_t b) {
    return record({.op = op, .type = type, .a = a, .b = b});
  }
  int16_t select(int16_t mask, int16_t yes, int16_t no) {
    return record({.op = ScalarOp::select, .type = lane(yes), .a = mask, .b = yes, .c = no});
  }
  int16_t as(int16_t a, LaneType type) {
    if (lane(a) == type) return a;
    return record({.op = ScalarOp::convert, .type = type, .a = a});
  }
  int16_t reduce(int16_t a, Combining combine) {
    return record({.op = ScalarOp::reduce, .type = lane(a), .combine = combine, .a = a});
  }
  int16_t formula(MapFn fn, LaneType compute, ArrayRef<int16_t> operands,
                  const kernels::MapParams& params) {
    return kernels::record_formula(fn, compute, operands, params, program_);
  }

  /// What is left of a computed value when it is stored as `dtype` and read again.
  int16_t stored(int16_t a, DType dtype) {
    const LaneType type = lane_of(dtype);
    a = as(a, type);
    if (type == LaneType::mask || dtype == kFloat || dtype == kDouble || dtype == kLong) return a;
    return record({.op = ScalarOp::narrow, .type = type, .dtype = dtype, .a = a});
  }

  /// A value of one dtype converted to another, as kernels::copy does it.
  int16_t converted(int16_t a, DType from, DType to) {
    if (from == to) return a;
    const bool to_small = isIntegralType(to) && size_of(to) < 8;
    if (is_floating(from) && to_small) {
      // Through int32: what does not fit there is its smallest value.
      const LaneType type = lane(a);
      const int16_t low = constant(type == LaneType::f64 ? -0x1p31 - 1 : -0x1p31, type);
      const int16_t high = constant(0x1p31, type);
      const int16_t above = binary(ScalarOp::gt, LaneType::mask, a, low);
      const int16_t below = binary(ScalarOp::lt, LaneType::mask, a, high);
      const int16_t fits = binary(ScalarOp::mask_and, LaneType::mask, above, below);
      a = select(fits, as(a, LaneType::i64), constant(-0x1p31, LaneType::i64));
    }
    return stored(a, to);
  }

 private:
  std::vector<ScalarInstr>& program_;
};

class Lowering {
 public:
  Lowering(const Graph& g, const Analysis& analysis, const Grouping& grouping, int group)
      : g_(g),
        analysis_(analysis),
        grouping_(grouping),
        number_(group),
        group_(grouping.groups[static_cast<size_t>(group)]),
        walk_(group_),
        fused_(std::make_shared<FusedGroup>()),
        program_(fused_->nest.program) {}

  Lowered run(const std::vector<int>& needed) {
    if (group_.product >= 0) take_product(needed);
    for (int m : group_.members) {
      copy_to_body(static_cast<size_t>(m));
      values_[m] = compute(static_cast<size_t>(m));
    }
    for (int s : group_.sums) copy_to_body(static_cast<size_t>(s));
    Operands rows_at;
    for (int s : group_.sums) {
      const Info& info = analysis_.infos[static_cast<size_t>(s)];
      if (!inside(*info.uses[0].base.node))
        rows_at[summed(s)] = operand(info.uses[0], info.space, Level::element);
    }
    place_numbers();
    fused_->nest.n_inputs = static_cast<int>(fused_->nest.operands.size());
    std::vector<int> outputs = needed;
    for (int m : needed) rows_at[{m, 0}] = store(m);
    fused_->n_stored = static_cast<int>(needed.size());
    if (!group_.sums.empty()) take_sums(rows_at, outputs);
    if (fused_->product.kept) {
      fused_->offsets.push_back(0);
      fused_->strides.push_back(walk_.steps);
      outputs.insert(outputs.begin() + fused_->n_stored, group_.product);
    }
    Graph& body = fused_->body;
    for (int m : outputs) body.outputs.push_back({in_body_.at(&node(m)), 0});
    body.n_results = body.outputs.size();
    collapse();
    classify_operands();
    return {fused_, std::move(inputs_), std::move(numbers_), std::move(outputs)};
  }

 private:
  static constexpr int kFirstNumber = -2;  // sources of numbers go down from here

  const Node& node(int m) const { return *g_.nodes[static_cast<size_t>(m)]; }
  Level level(int m) const { return grouping_.levels[static_cast<size_t>(m)]; }
  bool is_own_product(const Node& n) const {
    return static_cast<int>(n.walk_slot) == group_.product;
  }
  bool inside(const Node& n) const {
    return grouping_.group_of[n.walk_slot] == number_ && !is_own_product(n);
  }

  // -- the body --------------------------------------------------------------------------------

  NodePtr add_copy(const Node& n, const OpDef& op, AttrRef attrs, ArrayRef<Edge> inputs) {
    NodePtr copy = Node::make(op, inputs.size(), n.n_outputs, 0, attrs);
    for (size_t k = 0; k < inputs.size(); ++k) copy->inputs()[k] = inputs[k];
    for (uint32_t k = 0; k < n.n_outputs; ++k) copy->outputs()[k] = n.outputs()[k];
    fused_->body.nodes.push_back(copy);
    in_body_[&n] = copy;
    return copy;
  }

  void copy_to_body(size_t m) {
    const Node& n = *g_.nodes[m];
    SmallVector<Edge, 3> inputs;
    // copy_into is a plain copy here: nobody looks at what it overwrites.
    const bool copies = analysis_.infos[m].kind == Kind::convert;
    for (uint32_t k = copies ? n.n_inputs - 1 : 0; k < n.n_inputs; ++k)
      inputs.push_back(body_edge(n.inputs()[k]));
    add_copy(n, copies ? kCopy : *n.op, n.attrs(), inputs);
  }

  // The body's name for a value that a member reads.
  Edge body_edge(const Edge& e) {
    const Node& n = *e.node;
    if (const auto found = in_body_.find(&n); found != in_body_.end() && n.n_outputs == 1)
      return {found->second, 0};
    if (n.op->is_view()) return {add_copy(n, *n.op, n.attrs(), {body_edge(n.inputs()[0])}), 0};
    if (analysis_.infos[n.walk_slot].kind == Kind::fill) {
      const TensorType& t = n.outputs()[0];
      const Scalar value =
          n.op == &kFill ? n.attrs().as<FillAttrs>().value : n.attrs().as<FullAttrs>().value;
      return {add_copy(n, kFull, FullAttrs{t.sizes, t.dtype, t.device, value}, {}), 0};
    }
    return {fused_->body.inputs[static_cast<size_t>(input(e))], 0};
  }

  // The position of a value among the fused node's inputs.
  int input(const Edge& e) {
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].node == e.node && inputs_[k].index == e.index) return static_cast<int>(k);
    const int position = static_cast<int>(inputs_.size());
    inputs_.push_back(e);
    add_body_input(type_of(e));
    return position;
  }
  void add_body_input(const TensorType& type) {
    Graph& body = fused_->body;
    const auto position = static_cast<int64_t>(body.inputs.size());
    NodePtr in = Node::make(kInputOp, 0, 1, 0, InputAttrs{position, "", type});
    in->outputs()[0] = type;
    body.nodes.push_back(in);
    body.inputs.push_back(std::move(in));
  }

  // The product's memory is that of a result, or it comes behind them; the body has it as a node.
  void take_product(const std::vector<int>& needed) {
    const size_t number = static_cast<size_t>(group_.product);
    const Node& n = *g_.nodes[number];
    copy_to_body(number);
    FusedGroup::Product& p = fused_->product;
    p.op = n.op;
    p.attrs = AttrBox(n.attrs());
    p.sizes = n.outputs()[0].sizes;
    p.kept = group_.product_into < 0;
    const auto into = std::find(needed.begin(), needed.end(), group_.product_into);
    p.output = static_cast<int>(into - needed.begin());
    if (n.op == &kMm) {
      p.row_dim = n.attrs().as<MatmulAttrs>().trans_a ? 1 : 0;
      p.column_dim = n.attrs().as<MatmulAttrs>().trans_b ? 0 : 1;
    }
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const Edge& e = n.inputs()[k];
      const Place place = analysis_.place(e);
      p.factors.push_back({input(place.base), place.offset, type_of(e).sizes, place.strides});
    }
  }

  // -- results ---------------------------------------------------------------------------------

  // The nest stores what member m gives. Returns the operand.
  int store(int m) {
    LoopNest& nest = fused_->nest;
    const DType dtype = node(m).outputs()[0].dtype;
    const bool by_row = level(m) != Level::element;
    nest.operands.push_back({dtype, by_row ? Along::still : Along::unit});
    nest.stores.push_back(values_.at(m));
    fused_->offsets.push_back(0);
    Dims strides;
    for (int64_t step : walk_.steps) strides.push_back(own_step(step, level(m)));
    fused_->strides.push_back(strides);
    return static_cast<int>(nest.operands.size()) - 1;
  }

  // By node and which of its results it is: the operand that holds a value.
  using Operands = std::map<std::pair<int, uint32_t>, int>;

  // The value whose rows sum s adds up.
  Operands::key_type summed(int s) const {
    const Edge& base = analysis_.infos[static_cast<size_t>(s)].uses[0].base;
    return {static_cast<int>(base.node->walk_slot), base.index};
  }
  // Sums are results behind all others; rows that are no results are stored for them.
  void take_sums(Operands& rows_at, std::vector<int>& outputs) {
    FusedGroup::RowSums& sums = fused_->sums;
    sums.columns = analysis_.infos[static_cast<size_t>(group_.sums[0])].columns;
    sums.rows = group_.numel / sums.columns;
    sums.dtype = node(group_.sums[0]).outputs()[0].dtype;
    for (int s : group_.sums) {
      const auto rows = summed(s);
      if (!rows_at.contains(rows)) rows_at[rows] = store(rows.first);
      const int output = static_cast<int>(outputs.size()) + (fused_->product.kept ? 1 : 0);
      sums.each.push_back({reduction_of(node(s)), rows_at.at(rows), output});
      outputs.push_back(s);
    }
  }

  // -- operands --------------------------------------------------------------------------------

  // How far one step of the walk goes in a value that is computed at that level.
  int64_t own_step(int64_t step, Level at) const {
    if (at == Level::element) return step;
    if (at == Level::single || step < group_.columns) return 0;
    return step / group_.columns;
  }

  // Strides over the walk for strides over the dimensions of a member's space.
  Dims over_walk(const Dims& space, const Dims& strides, Level at) const {
    // Dimensions that run on are taken as one first, so that any cut within them is met.
    SmallVector<int64_t, 6> size, stride, within;  // innermost first
    int64_t numel = 1;
    for (size_t d = space.size(); d-- > 0;) {
      if (space[d] == 1) continue;
      if (!size.empty() && strides[d] == size.back() * stride.back()) {
        size.back() *= space[d];
      } else {
        size.push_back(space[d]);
        stride.push_back(strides[d]);
        within.push_back(numel);
      }
      numel *= space[d];
    }
    Dims result;
    for (int64_t walk_step : walk_.steps) {
      const int64_t step = own_step(walk_step, at);
      int64_t found = 0;
      if (step > 0)
        for (size_t r = 0; r < size.size(); ++r)
          if (step >= within[r] && step < within[r] * size[r])
            found = stride[r] * (step / within[r]);
      result.push_back(found);
    }
    return result;
  }

  // Numbers that are part of what a kernel computes. Others, such as one over the number of
  // samples, are arguments, so that one kernel serves them all.
  static bool is_usual(double number) {
    return number == 0 || std::abs(number) == 1 || std::abs(number) == 2 || std::isinf(number) ||
           std::isnan(number);
  }
  int number_operand(double number, DType dtype) {
    const Tensor value = full({}, number, dtype);
    int at = 0;
    for (const Tensor& t : numbers_) {
      if (t.dtype() == dtype &&
          std::memcmp(t.const_data_ptr(), value.const_data_ptr(), size_of(dtype)) == 0)
        break;
      ++at;
    }
    if (at == static_cast<int>(numbers_.size())) numbers_.push_back(value);
    // The inputs before it are not all known yet.
    const int source = kFirstNumber - at;
    for (size_t k = 0; k < fused_->source.size(); ++k)
      if (fused_->source[k] == source) return static_cast<int>(k);
    return add_operand(dtype, source, 0, Dims(walk_.steps.size(), 0));
  }
  // Gives numbers their places behind the other inputs. The body has its own.
  void place_numbers() {
    for (int& source : fused_->source)
      if (source <= kFirstNumber)
        source = static_cast<int>(inputs_.size()) + (kFirstNumber - source);
    for (const Tensor& t : numbers_) add_body_input(t.impl()->type);
  }

  int operand(const Use& u, const Dims& space, Level at) {
    const int source = is_own_product(*u.base.node) ? -1 : input(u.base);
    Dims strides = over_walk(space, u.strides, at);
    for (size_t k = 0; k < fused_->strides.size(); ++k)
      if (fused_->source[k] == source && fused_->offsets[k] == u.offset &&
          fused_->strides[k] == strides)
        return static_cast<int>(k);
    return add_operand(type_of(u.base).dtype, source, u.offset, std::move(strides));
  }
  int add_operand(DType dtype, int source, int64_t offset, Dims strides) {
    fused_->nest.operands.push_back({dtype, Along::strided});
    fused_->source.push_back(source);
    fused_->offsets.push_back(offset);
    fused_->strides.push_back(std::move(strides));
    return static_cast<int>(fused_->strides.size()) - 1;
  }

  // -- instructions ----------------------------------------------------------------------------

  // What member m reads by use k, held as `type`.
  int16_t read(size_t m, size_t k, LaneType type) {
    const Info& info = analysis_.infos[m];
    const Use& u = info.uses[k];
    if (u.constant) {
      const double number = analysis_.infos[u.base.node->walk_slot].number;
      if (is_usual(number)) return program_.constant(number, type);
      return program_.load(number_operand(number, type_of(u.base).dtype), type);
    }
    if (inside(*u.base.node))
      return program_.as(values_.at(static_cast<int>(u.base.node->walk_slot)), type);
    const Level at = info.by_row() ? Level::element : level(static_cast<int>(m));
    return program_.load(operand(u, info.space, at), type);
  }
  // The same held in the type of its dtype.
  int16_t read(size_t m, size_t k) {
    return read(m, k, lane_of(type_of(*analysis_.infos[m].uses[k].edge).dtype));
  }

  int16_t compute(size_t m) {
    const Node& n = *g_.nodes[m];
    const DType out = n.outputs()[0].dtype;
    switch (analysis_.infos[m].kind) {
      case Kind::map:
        return map(n, m);
      case Kind::convert:
        return program_.converted(read(m, 0), type_of(*analysis_.infos[m].uses[0].edge).dtype, out);
      case Kind::reduce:
        return reduction(n, m);
      case Kind::pick:
        return pick(n, m);
      case Kind::put:
        return put(n, m);
      default:
        break;
    }
    TANDEM_ASSERT(false, "fuse: ", n.op->name, " has no rule");
    return -1;
  }

  // As map_kernel does it: computed in the type of the result, or for truth values in that of what
  // is compared.
  int16_t map(const Node& n, size_t m) {
    const DType out = n.outputs()[0].dtype;
    DType compute = out;
    if (compute == kBool) {
      Promotion p;
      for (uint32_t k = 0; k < n.n_inputs; ++k) p.add(type_of(n.inputs()[k]));
      compute = p.result();
    }
    kernels::MapParams params;
    if (n.attr_type) {
      const auto& a = n.attrs().as<MapAttrs>();
      params = {a.a, a.b, a.c};
    }
    const LaneType type = compute_lane(compute);
    const bool picks = kernels::map_info(n.op->map).kind == kernels::MapKind::pick;
    SmallVector<int16_t, 3> operands;
    for (size_t k = 0; k < analysis_.infos[m].uses.size(); ++k)
      operands.push_back(read(m, k, picks && k == 0 ? LaneType::mask : type));
    return program_.stored(program_.formula(n.op->map, type, operands, params), out);
  }

  int16_t reduction(const Node& n, size_t m) {
    using Fn = ReductionInfo::Fn;
    const DType out = n.outputs()[0].dtype;
    const Fn fn = reduction_of(n);
    int16_t x = read(m, 0, compute_lane(out));
    const LaneType type = program_.lane(x);
    if (fn == Fn::norm2) x = program_.binary(ScalarOp::mul, type, x, x);
    const Combining combine = fn == Fn::prod  ? Combining::prod
                              : fn == Fn::max ? Combining::max
                              : fn == Fn::min ? Combining::min
                                              : Combining::sum;
    x = program_.reduce(x, combine);
    if (fn == Fn::mean) {
      const int16_t n_columns = program_.record({.op = ScalarOp::columns, .type = type});
      x = program_.binary(ScalarOp::div, type, x, n_columns);
    }
    if (fn == Fn::norm2) x = program_.record({.op = ScalarOp::sqrt, .type = type, .a = x});
    return program_.stored(x, out);
  }

  // True where the column is the row's index. The index is looked at before the kernel runs.
  int16_t at_index(const Node& n, size_t m, int64_t dim) {
    const Info& info = analysis_.infos[m];
    const int index = operand(info.uses[1], info.space, Level::element);
    const auto same = [&](const FusedGroup::IndexCheck& c) {
      return c.operand == index && c.extent == info.columns;
    };
    if (std::none_of(fused_->checks.begin(), fused_->checks.end(), same))
      fused_->checks.push_back({index, info.columns, dim, n.op->name});
    const int16_t column = program_.record({.op = ScalarOp::column, .type = LaneType::i64});
    return program_.binary(ScalarOp::eq, LaneType::mask, column,
                           program_.load(index, LaneType::i64));
  }

  // The row's one element at the index: the sum of it and of zeros, negative ones where the sign of
  // a zero could be lost.
  int16_t pick(const Node& n, size_t m) {
    const DType out = n.outputs()[0].dtype;
    const int16_t x = read(m, 0, compute_lane(out));
    const LaneType type = program_.lane(x);
    const int16_t zero = program_.constant(type == LaneType::i64 ? 0.0 : -0.0, type);
    const int16_t here = at_index(n, m, n.attrs().as<GatherAttrs>().dim);
    const int16_t sum = program_.reduce(program_.select(here, x, zero), Combining::sum);
    return program_.as(sum, lane_of(out));
  }

  int16_t put(const Node& n, size_t m) {
    const auto& s = n.attrs().as<ScatterAttrs>();
    const DType out = n.outputs()[0].dtype;
    const int16_t x = read(m, 0);
    int16_t there = read(m, 2);
    if (s.fn == kernels::ScatterFn::Add)
      there = program_.stored(program_.binary(ScalarOp::add, program_.lane(x), x, there), out);
    return program_.select(at_index(n, m, s.dim), there, x);
  }

  // -- the shape of the walk -------------------------------------------------------------------

  // Neighbouring dimensions that all operands walk through without a jump become one. Rows stay,
  // those that are summed as well: the kernel runs some of them at a time.
  void collapse() {
    std::vector<Dims>& strides = fused_->strides;
    Dims extents = walk_.extents;
    for (size_t d = extents.size() - 1; d > 0; --d) {
      const auto ends = [&](int64_t columns) {
        return columns && walk_.steps[d] < columns && walk_.steps[d - 1] >= columns;
      };
      if (ends(group_.columns) || ends(fused_->sums.columns)) continue;
      const auto runs_on = [&](const Dims& s) { return s[d - 1] == extents[d] * s[d]; };
      if (!std::all_of(strides.begin(), strides.end(), runs_on)) continue;
      extents[d - 1] *= extents[d];
      extents.erase(extents.begin() + d);
      for (Dims& s : strides) s.erase(s.begin() + (d - 1));
    }
    fused_->extents = std::move(extents);
    fused_->nest.outer_dims = static_cast<int>(fused_->extents.size()) - 1;
  }

  void classify_operands() {
    for (int k = 0; k < fused_->nest.n_inputs; ++k) {
      const Dims& s = fused_->strides[static_cast<size_t>(k)];
      Along& along = fused_->nest.operands[static_cast<size_t>(k)].along;
      if (std::all_of(s.begin(), s.end(), [](int64_t x) { return x == 0; }))
        along = Along::scalar;
      else
        along = s.back() == 0 ? Along::still : s.back() == 1 ? Along::unit : Along::strided;
    }
  }

  const Graph& g_;
  const Analysis& analysis_;
  const Grouping& grouping_;
  int number_;
  const Group& group_;
  Walk walk_;
  std::shared_ptr<FusedGroup> fused_;
  Program program_;
  std::vector<Edge> inputs_;
  std::vector<Tensor> numbers_;
  std::unordered_map<const Node*, NodePtr> in_body_;
  std::unordered_map<int, int16_t> values_;  // by member: the instruction of its result
};

}  // namespace

Lowered lower(const Graph& g, const Analysis& analysis, const Grouping& grouping, int group,
              const std::vector<int>& needed) {
  return Lowering(g, analysis, grouping, group).run(needed);
}

}  // namespace tandem::fusing
