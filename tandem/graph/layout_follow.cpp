// What follows blocked convolutions in their layout.
#include "tandem/core/apply.h"
#include "tandem/graph/layout_detail.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/join_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/pool_op.h"
#include "tandem/ops/reduction_op.h"
#include "tandem/ops/view_op.h"

namespace tandem::layouts {
namespace {

constexpr int64_t kBlock = kernels::kChannelBlock;

bool can_be_blocked(const Dims& sizes) {
  return sizes.size() == 4 && sizes[1] % kBlock == 0 && numel_of(sizes) > 0;
}
bool is_one_element(const Dims& image) {
  return image.size() == 4 && image[2] == 1 && image[3] == 1;
}
/// The shape with dimensions of extent 1 in front.
Dims in_4d(const Dims& sizes) {
  Dims s;
  while (s.size() + sizes.size() < 4) s.push_back(1);
  for (int64_t extent : sizes) s.push_back(extent);
  return s;
}
Dims blocked_sizes(const Dims& s) { return {s[0], s[1] / kBlock, s[2], s[3], kBlock}; }

}  // namespace

Edge Blocker::along_rows(const Edge& e, int64_t n, int64_t channels, int64_t width) {
  Edge& made = rows_[{e.node.get(), e.index, width}];
  if (made.node) return made;
  const Edge split = view(e, {n, channels / kBlock, 1, 1, kBlock});
  const Dims sizes{n, channels / kBlock, 1, width, kBlock};
  const Edge wide = add(kExpand, {split}, ExpandAttrs{sizes});
  return made = add(kCopy, {wide}, CopyAttrs{sizes, type_of(e).dtype});
}

Edge Blocker::number_per_channel(const Edge& e, const Dims& shape) {
  return along_rows(e, 1, shape[1], shape[3]);
}

Edge Blocker::operand(const Edge& e, const Dims& shape) {
  const Dims& own = type_of(e).sizes;
  if (own.size() > 4) return {};
  if (own == shape) return blocked(e);
  if (numel_of(own) == 1) return plain(e);
  const Dims s = in_4d(own);
  if (s[1] == 1) return view(plain(e), {s[0], 1, s[2], s[3], 1});
  if (s[2] == 1 && s[3] == 1) return along_rows(plain(e), s[0], s[1], shape[3]);
  return add(kToBlocked, {view(plain(e), s)});
}

// A step that begins by zeroing the gradients adds each to zero. That changes nothing but -0.0,
// which a gradient by the weight never holds: it is a sum that begins with 0.
bool Blocker::added_to_zero(const Node& n) {
  if (n.op->map != MapFn::add || n.n_inputs != 2 || n.attrs().as<MapAttrs>().a != 1) return false;
  for (const int k : {0, 1}) {
    const Edge &zero = n.inputs()[k], &sum = n.inputs()[1 - k];
    if (zero.node->op != &kFull || sum.node->op != &kConvWeight) continue;
    const Scalar& value = zero.node->attrs().as<FullAttrs>().value;
    if (value.toDouble() != 0 || !same_type(type_of(sum), n.outputs()[0])) continue;
    kernels::ConvForm form;
    kernels::WeightOrder order;
    if (!can_block(*sum.node, &form, &order)) continue;
    set_plain(n, plain(sum));
    return true;
  }
  return false;
}

bool Blocker::pointwise(const Node& n) {
  const Dims& shape = n.outputs()[0].sizes;
  if (!can_be_blocked(shape)) return false;
  SmallVector<Edge, 4> inputs;
  for (uint32_t k = 0; k < n.n_inputs; ++k) {
    inputs.push_back(operand(n.inputs()[k], shape));
    if (!inputs.back().node) return false;
  }
  const Edge result = add(*n.op, inputs, n.attrs());
  if (!(type_of(result).sizes == blocked_sizes(shape)) ||
      type_of(result).dtype != n.outputs()[0].dtype)
    return false;
  set_blocked(n, result);
  return true;
}

bool Blocker::copy(const Node& n) {
  const Edge& from = n.inputs()[n.n_inputs - 1];
  const Dims& shape = n.outputs()[0].sizes;
  if (!is_blocked(from) || !can_be_blocked(shape) || !(type_of(from).sizes == shape)) return false;
  set_blocked(n,
              add(kCopy, {blocked(from)}, CopyAttrs{blocked_sizes(shape), n.outputs()[0].dtype}));
  return true;
}

bool Blocker::join(const Node& n) {
  CatAttrs attrs = n.attrs().as<CatAttrs>();
  SmallVector<Edge, 4> inputs;
  for (uint32_t k = 0; k < n.n_inputs; ++k) {
    if (!can_be_blocked(type_of(n.inputs()[k]).sizes) ||
        type_of(n.inputs()[k]).dtype != n.outputs()[0].dtype)
      return false;
    inputs.push_back(blocked(n.inputs()[k]));
  }
  if (attrs.dim == 1)
    for (int64_t& length : attrs.lengths) length /= kBlock;
  const Edge result = add(kCat, inputs, attrs);
  if (!(type_of(result).sizes == blocked_sizes(n.outputs()[0].sizes))) return false;
  set_blocked(n, result);
  return true;
}

// Both forms are there: as a view, a result shares memory with what it views. What nobody reads is
// dropped afterwards.
bool Blocker::slice(const Node& n) {
  SliceAttrs attrs = n.attrs().as<SliceAttrs>();
  if (!can_be_blocked(type_of(n.inputs()[0]).sizes) || !can_be_blocked(n.outputs()[0].sizes))
    return false;
  if (attrs.dim == 1) {
    if (attrs.start % kBlock || attrs.length % kBlock || attrs.step != 1) return false;
    attrs.start /= kBlock;
    attrs.length /= kBlock;
  }
  keep(n);
  set_blocked(n, add(kSlice, {blocked(n.inputs()[0])}, attrs));
  return true;
}

bool Blocker::reduction(const Node& n) {
  const Dims& shape = type_of(n.inputs()[0]).sizes;
  if (n.attr_type != attrs_of<ReduceAttrs> || !can_be_blocked(shape)) return false;
  const ReductionInfo info = n.op->reduction(n.attrs(), 4);
  if (info.fn == ReductionInfo::Fn::none) return false;
  const auto reduced = [&](int d) { return (info.dims >> d & 1) != 0; };
  // Channels that stay must come out in their order.
  if (!reduced(1))
    for (int d : {2, 3})
      if (!reduced(d) && shape[static_cast<size_t>(d)] != 1) return false;
  ReduceAttrs attrs = n.attrs().as<ReduceAttrs>();
  attrs.keepdim = false;
  attrs.dims = {};
  for (int d = 0; d < 4; ++d)
    if (reduced(d)) attrs.dims.push_back(d);
  if (reduced(1)) attrs.dims.push_back(4);
  const Edge result = add(*n.op, {blocked(n.inputs()[0])}, attrs);
  if (type_of(result).dtype != n.outputs()[0].dtype) return false;
  set_plain(n, view(result, n.outputs()[0].sizes));
  return true;
}

bool Blocker::sum_to(const Node& n) {
  const Dims &shape = type_of(n.inputs()[0]).sizes, &out = n.outputs()[0].sizes;
  if (!can_be_blocked(shape) || out.size() > 4) return false;
  const Dims s = in_4d(out);
  if (s[1] != shape[1] || s[2] != 1 || s[3] != 1) return false;
  const Dims sizes{s[0], s[1] / kBlock, 1, 1, kBlock};
  set_plain(n, view(add(kSumTo, {blocked(n.inputs()[0])}, SumToAttrs{sizes}), out));
  return true;
}

bool Blocker::norm(const Node& n) {
  const Edge& x = n.inputs()[n.op == &kChannelSums || n.op == &kChannelGrad ? 1 : 0];
  const Dims& shape = type_of(x).sizes;
  if (!can_be_blocked(shape) || type_of(x).dtype != kFloat) return false;
  const auto number = [&](uint32_t k) { return number_per_channel(plain(n.inputs()[k]), shape); };
  const auto map = [&](const char* op, const Edge& a, const Edge& b) {
    // x + 1 * y, x - 1 * y; a product takes no number.
    if (op[0] == 'm') return add(*find_op(op), {a, b});
    return add(*find_op(op), {a, b}, MapAttrs{1});
  };
  if (n.op == &kChannelMoments) {
    MomentsAttrs a = n.attrs().as<MomentsAttrs>();
    if (a.blocked) return false;
    a.blocked = true;
    const Edge made = add(*n.op, {blocked(x)}, a);
    for (uint32_t k = 0; k < n.n_outputs; ++k) values_[n.walk_slot][k].plain = {made.node, k};
    return true;
  }
  if (n.op == &kChannelSums) {
    if (n.attrs().as<ChannelAttrs>().blocked) return false;
    SmallVector<Edge, 6> inputs{blocked(n.inputs()[0]), blocked(x)};
    for (uint32_t k = 2; k < n.n_inputs; ++k) inputs.push_back(plain(n.inputs()[k]));
    const Edge made = add(*n.op, inputs, ChannelAttrs{true});
    for (uint32_t k = 0; k < n.n_outputs; ++k) values_[n.walk_slot][k].plain = {made.node, k};
    return true;
  }
  for (uint32_t k = 0; k < n.n_inputs; ++k)
    if (type_of(n.inputs()[k]).dtype != kFloat) return false;
  if (n.op == &kBatchNormalize) {
    if (n.attrs().as<NormalizeAttrs>().blocked) return false;
    // (x - mean) * (rstd * weight) + bias: pointwise, so that what follows joins it.
    Edge scale = plain(n.inputs()[2]);
    if (n.n_inputs > 3) scale = map("mul", scale, plain(n.inputs()[3]));
    Edge y = map("sub", blocked(x), number(1));
    y = map("mul", y, number_per_channel(scale, shape));
    if (n.n_inputs > 4) y = map("add", y, number(4));
    set_blocked(n, y);
    return true;
  }
  if (n.op == &kChannelGrad) {
    if (n.attrs().as<ChannelAttrs>().blocked) return false;
    // (g * (weight * scale) - a * scale) - (x - mean) * (b * scale).
    const Edge scale = plain(n.inputs()[5]);
    const Edge by_g = n.n_inputs > 6 ? map("mul", plain(n.inputs()[6]), scale) : scale;
    const Edge a = map("mul", plain(n.inputs()[3]), scale);
    const Edge b = map("mul", plain(n.inputs()[4]), scale);
    Edge left = map("mul", blocked(n.inputs()[0]), number_per_channel(by_g, shape));
    left = map("sub", left, number_per_channel(a, shape));
    Edge right = map("sub", blocked(x), number(2));
    right = map("mul", right, number_per_channel(b, shape));
    set_blocked(n, map("sub", left, right));
    return true;
  }
  return false;
}

template <class A>
bool Blocker::pooled(const Node& n) {
  A attrs = n.attrs().as<A>();
  if (attrs.channels_inner != 1) return false;
  attrs.channels_inner = kBlock;
  SmallVector<Edge, 2> inputs;
  for (uint32_t k = 0; k < n.n_inputs; ++k) {
    if (!can_be_blocked(type_of(n.inputs()[k]).sizes)) return false;
    inputs.push_back(blocked(n.inputs()[k]));
  }
  const Edge made = add(*n.op, inputs, attrs);
  for (uint32_t k = 0; k < n.n_outputs; ++k) {
    if (!(made.node->outputs()[k].sizes == blocked_sizes(n.outputs()[k].sizes))) return false;
  }
  for (uint32_t k = 0; k < n.n_outputs; ++k) values_[n.walk_slot][k].blocked = {made.node, k};
  return true;
}

bool Blocker::pool(const Node& n) {
  const bool plane = n.n_outputs > 0 && can_be_blocked(n.outputs()[0].sizes);
  if (!plane) return false;
  if (n.op == &kMaxPool) {
    // Indices that count within a plane are the user's; blocked ones are never seen.
    return pooled<MaxPoolAttrs>(n);
  }
  if (n.op == &kMaxPoolBackward || n.op == &kMaxPoolGather)
    return is_blocked(n.inputs()[1]) && pooled<PoolIndexAttrs>(n);
  if (n.op == &kAvgPool || n.op == &kAvgPoolBackward) return pooled<AvgPoolAttrs>(n);
  if (n.op == &kAdaptiveAvgPool || n.op == &kAdaptiveAvgPoolBackward)
    return pooled<AdaptivePoolAttrs>(n);
  return false;
}

bool Blocker::follow(const Node& n) {
  if (added_to_zero(n)) return true;
  bool any = false;
  for (uint32_t k = 0; k < n.n_inputs; ++k) any |= is_blocked(n.inputs()[k]);
  // The gradient of an average over whole images begins a chain of blocked ones.
  if (n.op == &kAdaptiveAvgPoolBackward || n.op == &kAvgPoolBackward)
    any |= is_one_element(type_of(n.inputs()[0]).sizes);
  if (!any || n.op->impure || n.op->random) return false;
  if (n.op->map != MapFn::none) return n.n_outputs == 1 && pointwise(n);
  if (n.op == &kCopy || n.op == &kCopyInto) return copy(n);
  if (n.op == &kCat) return join(n);
  if (n.op == &kSlice) return slice(n);
  if (n.op == &kSumTo) return sum_to(n);
  if (n.op->reduction) return reduction(n);
  return norm(n) || pool(n);
}

}  // namespace tandem::layouts
