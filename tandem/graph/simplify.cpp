#include "tandem/graph/simplify.h"

#include <cmath>
#include <optional>

#include "tandem/core/apply.h"
#include "tandem/core/recorder.h"
#include "tandem/graph/simplify_detail.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/reduction_op.h"
#include "tandem/ops/view_op.h"

namespace tandem {
namespace {

// What is left of the number after it was converted to the dtype.
std::optional<Scalar> stored(const FullAttrs& f) {
  if (f.value.isFloatingPoint() && !is_floating(f.dtype)) return std::nullopt;
  Scalar value;
  dispatch(f.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
      value = f.value.to<T>();
    else
      value = T(f.value.toFloat());
  });
  return value;
}

// The number that the value is everywhere, if there is one.
std::optional<Scalar> number_of(Edge e) {
  while (e.node->op->view && type_of(e).dtype == type_of(e.node->inputs()[0]).dtype)
    e = e.node->inputs()[0];
  if (e.node->op == &kFull) return stored(e.node->attrs().as<FullAttrs>());
  if (e.node->op != &kConstantOp) return std::nullopt;
  const TensorImpl& t = *e.node->attrs().as<ConstantAttrs>().value.tensor.impl();
  if (t.numel != 1 || !t.data) return std::nullopt;
  Scalar value;
  dispatch(t.type.dtype, [&]<class T>(T) { value = *static_cast<const T*>(t.data); });
  return value;
}

bool is_number(const Edge& e, double wanted) {
  const auto value = number_of(e);
  return value && value->toDouble() == wanted;
}

double first_param(const Node& n) { return n.attrs().type ? n.attrs().as<MapAttrs>().a : 0; }

// What the value is the negative of, if it is that.
Edge negative_of(const Edge& e) {
  const bool negative = e.node->op->map == MapFn::neg && is_floating(type_of(e).dtype);
  return negative ? e.node->inputs()[0] : Edge();
}

// x + a * y.
Edge simplify_add(Rewriter& r, const Node& n) {
  const Edge &x = n.inputs()[0], &y = n.inputs()[1];
  const double a = first_param(n);
  const bool real = is_floating(n.outputs()[0].dtype);
  // -0.0 is the one real number that can be added to all others without a trace.
  const auto nothing = [real](double v) { return v == 0 && (!real || std::signbit(v)); };
  if (const auto v = number_of(y); v && nothing(a * v->toDouble())) return x;
  if (const auto v = number_of(x); v && a == 1 && nothing(v->toDouble())) return y;
  if (const Edge p = negative_of(y); p.node) return r.add(*find_op("sub"), {x, p}, n.attrs());
  if (const Edge p = negative_of(x); p.node && a == 1)
    return r.add(*find_op("sub"), {y, p}, n.attrs());
  return {};
}

// x - a * y.
Edge simplify_sub(Rewriter& r, const Node& n) {
  const double a = first_param(n);
  const bool real = is_floating(n.outputs()[0].dtype);
  if (const auto v = number_of(n.inputs()[1])) {
    const double product = a * v->toDouble();
    if (product == 0 && (!real || !std::signbit(product))) return n.inputs()[0];
  }
  if (const Edge p = negative_of(n.inputs()[1]); p.node)
    return r.add(*find_op("add"), {n.inputs()[0], p}, n.attrs());
  return {};
}

// x * number, where the result is of x's own type; else nothing.
Edge times(Rewriter& r, const Edge& x, double number, const TensorType& type) {
  if (type_of(x).weak || !same_type(type_of(x), type)) return {};
  const RecorderScope eager(nullptr);
  return r.add(*find_op("mul"), {x, r.constant(wrapped_number(number))});
}

// The sign of a product is that of its factors: a number takes it over.
Edge simplify_mul(Rewriter& r, const Node& n) {
  const Edge &x = n.inputs()[0], &y = n.inputs()[1];
  if (is_number(y, 1)) return x;
  if (is_number(x, 1)) return y;
  const Edge p = negative_of(x), q = negative_of(y);
  if (p.node && q.node) return r.add(*n.op, {p, q}, n.attrs());
  if (!p.node && !q.node) return {};
  const auto v = number_of(p.node ? y : x);
  return v ? times(r, p.node ? p : q, -v->toDouble(), n.outputs()[0]) : Edge();
}

Edge simplify_neg(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  if (x.node->op == n.op) return x.node->inputs()[0];
  if (x.node->op->map != MapFn::mul || !is_floating(type_of(x).dtype)) return {};
  for (int k = 0; k < 2; ++k)
    if (const auto v = number_of(x.node->inputs()[1 - k]))
      return times(r, x.node->inputs()[k], -v->toDouble(), n.outputs()[0]);
  return {};
}

// x / 1 is x, and a power of two is better multiplied by: both round the same real number.
Edge simplify_div(Rewriter& r, const Node& n) {
  const auto v = number_of(n.inputs()[1]);
  if (!v) return {};
  const Edge& x = n.inputs()[0];
  const double by = v->toDouble();
  if (by == 1) return x;
  int exponent;
  constexpr int kMaxExponent = 100;  // far from where a float32, or its reciprocal, would lose bits
  if (std::abs(std::frexp(by, &exponent)) != 0.5 || std::abs(exponent) > kMaxExponent) return {};
  return times(r, x, 1 / by, n.outputs()[0]);
}

const Node& input_node(const Node& n) { return *n.inputs()[0].node; }

bool same_map(const Node& a, const Node& b) {
  return a.op->map == b.op->map && a.attrs() == b.attrs();
}

Edge simplify_map(Rewriter& r, const Node& n) {
  switch (n.op->map) {
    case MapFn::add:
      return simplify_add(r, n);
    case MapFn::sub:
      return simplify_sub(r, n);
    case MapFn::mul:
      return simplify_mul(r, n);
    case MapFn::div:
      return simplify_div(r, n);
    case MapFn::neg:
      return simplify_neg(r, n);
    case MapFn::bitwise_not:
      if (input_node(n).op == n.op) return input_node(n).inputs()[0];
      return {};
    case MapFn::logical_not:
      if (input_node(n).op == n.op && type_of(input_node(n).inputs()[0]).dtype == kBool)
        return input_node(n).inputs()[0];
      return {};
    case MapFn::abs:
      // Unsigned numbers have no sign to lose.
      if (input_node(n).op->map == MapFn::neg && is_floating(n.outputs()[0].dtype))
        return r.add(*n.op, {input_node(n).inputs()[0]}, n.attrs());
      [[fallthrough]];
    case MapFn::relu:
    case MapFn::floor:
    case MapFn::ceil:
    case MapFn::round:
    case MapFn::trunc:
    case MapFn::clamp:
      // Once is as good as twice.
      if (same_map(n, input_node(n))) return n.inputs()[0];
      return {};
    case MapFn::square:
      if ((input_node(n).op->map == MapFn::neg || input_node(n).op->map == MapFn::abs) &&
          is_floating(n.outputs()[0].dtype))
        return r.add(*n.op, {input_node(n).inputs()[0]}, n.attrs());
      return {};
    case MapFn::where:
      if (same_edge(n.inputs()[1], n.inputs()[2])) return n.inputs()[1];
      return {};
    case MapFn::maximum:
    case MapFn::minimum:
      if (same_edge(n.inputs()[0], n.inputs()[1])) return n.inputs()[0];
      return {};
    default:
      return {};
  }
}

// True iff every value of one dtype is a value of the other.
bool lossless(DType from, DType to) {
  if (from == to || from == kBool) return true;
  if (is_floating(from) != is_floating(to)) return false;
  if (is_floating(from)) return size_of(from) < size_of(to);
  if (from == kByte) return size_of(to) > 1 && to != kBool;
  return size_of(from) < size_of(to) && to != kByte && to != kBool;
}

Edge simplify_copy(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  if (same_type(type_of(x), n.outputs()[0])) return row_major(x) ? x : Edge();
  // There and back again: through a type that holds more.
  const Node& from = *x.node;
  if (from.op == &kCopy) {
    const Edge& y = from.inputs()[0];
    if (type_of(y).sizes == type_of(x).sizes && lossless(type_of(y).dtype, type_of(x).dtype) &&
        same_type(type_of(y), n.outputs()[0]))
      return row_major(y) ? y : r.add(kCopy, {y}, n.attrs());
  }
  return {};
}

// Sums, means, products and extremes of one element each are that element.
Edge simplify_reduction(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  const TensorType &in = type_of(x), &out = n.outputs()[0];
  if (in.dtype != out.dtype || in.weak) return {};
  const ReductionInfo info = n.op->reduction(n.attrs(), static_cast<int>(in.sizes.size()));
  if (info.fn == ReductionInfo::Fn::none) return {};
  if (info.fn == ReductionInfo::Fn::norm2) return {};
  for (size_t d = 0; d < in.sizes.size(); ++d)
    if (info.dims >> d & 1 && in.sizes[d] != 1) return {};
  return reshaped(r, x, out.sizes);
}

Edge simplify_sum_to(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  if (numel_of(type_of(x).sizes) != numel_of(n.outputs()[0].sizes) ||
      numel_of(n.outputs()[0].sizes) == 0)
    return {};
  return reshaped(r, x, n.outputs()[0].sizes);
}

Edge simplify_node(Rewriter& r, const Node& n) {
  if (n.n_outputs != 1 || n.n_inputs == 0 || n.op->impure || n.op->random) return {};
  if (n.op->map != MapFn{0}) return simplify_map(r, n);
  if (n.op->view) return simplify_view(r, n);
  if (n.op->reduction) return simplify_reduction(r, n);
  if (n.op == &kCopy) return simplify_copy(r, n);
  if (n.op == &kDetach) return n.inputs()[0];
  if (n.op == &kHiddenWrite) return n.inputs()[1];
  if (n.op == &kCopyInto) return r.add(kCopy, {n.inputs()[1]}, n.attrs());
  if (n.op == &kFill) {
    const TensorType& t = n.outputs()[0];
    return r.add(kFull, {}, FullAttrs{t.sizes, t.dtype, t.device, n.attrs().as<FillAttrs>().value});
  }
  if (n.op == &kSumTo) return simplify_sum_to(r, n);
  if (n.op == &kViewScatter) return simplify_scatter(r, n);
  return {};
}

}  // namespace

bool same_edge(const Edge& a, const Edge& b) { return a.node == b.node && a.index == b.index; }

bool row_major(const Edge& e) {
  const Node* n = e.node.get();
  while (n->op == &kView) n = n->inputs()[0].node.get();
  return !n->op->view;
}

Edge reshaped(Rewriter& r, const Edge& x, const Dims& sizes) {
  if (type_of(x).sizes == sizes) return x;
  return row_major(x) ? r.add(kView, {x}, ViewAttrs{sizes}) : Edge();
}

Graph simplify(Graph g) {
  Rewriter r(std::move(g));
  const std::vector<LayoutUse> uses = layout_uses(r);
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    Edge value = simplify_node(r, *n);
    // What a rule has made may be a case for the next. The bound is a precaution: each rule makes
    // the program simpler.
    constexpr int kMaxRules = 8;
    for (int i = 0; value.node && r.is_new(*value.node) && i < kMaxRules; ++i) {
      const Edge next = simplify_node(r, *value.node);
      if (!next.node || !same_type(type_of(next), type_of(value))) break;
      value = next;
    }
    // What an op computes is fresh and in row-major order; what a rule has found in its place may
    // be a view that is not.
    if (value.node && !fits(*n, value, uses[n->walk_slot])) {
      const TensorType& type = n->outputs()[0];
      value = r.add(kCopy, {value}, CopyAttrs{type.sizes, type.dtype});
    }
    if (!value.node || !r.replace(*n, value)) r.keep(*n);
  }
  return r.finish();
}

}  // namespace tandem
