#include "tandem/graph/layout.h"

#include <algorithm>

#include "tandem/base/deterministic.h"
#include "tandem/core/recorder.h"
#include "tandem/graph/dce.h"
#include "tandem/graph/layout_detail.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/view_op.h"

namespace tandem {
namespace layouts {
namespace {

constexpr int64_t kBlock = kernels::kChannelBlock;
// Multiplications below which a convolution is not worth a reorder.
constexpr int64_t kWorth = 1 << 15;

bool is_convolution(const Node& n) {
  return n.op == &kConvForward || n.op == &kConvInput || n.op == &kConvWeight;
}

bool is_one_element(const Dims& image) { return image[2] == 1 && image[3] == 1; }

kernels::ConvPart part_of(const Node& n) {
  return n.op == &kConvForward ? kernels::ConvPart::y
         : n.op == &kConvInput ? kernels::ConvPart::x
                               : kernels::ConvPart::w;
}

}  // namespace

bool can_block(const Node& n, kernels::ConvForm* form, kernels::WeightOrder* order) {
  if (!is_convolution(n)) return false;
  const TensorType &a = type_of(n.inputs()[0]), &b = type_of(n.inputs()[1]), &c = n.outputs()[0];
  if (c.dtype != kFloat || c.dim() != 4 || !c.device.is_cpu()) return false;
  const auto& attrs = n.attrs().as<ConvAttrs>();
  switch (part_of(n)) {
    case kernels::ConvPart::y:
      *form = conv_form(attrs, a.sizes, b.sizes, c.sizes);
      break;
    case kernels::ConvPart::x:
      *form = conv_form(attrs, c.sizes, b.sizes, a.sizes);
      break;
    case kernels::ConvPart::w:
      *form = conv_form(attrs, a.sizes, c.sizes, b.sizes);
      break;
  }
  const int64_t products = form->batch * form->out_channels * form->out_numel() *
                           (form->in_channels / form->groups) * form->kernel_numel();
  return products >= kWorth && kernels::blocked_conv_order(part_of(n), *form, order);
}

Edge Blocker::add(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs) {
  return {NodePtr(&append(out_, op, inputs, attrs)), 0};
}

Edge Blocker::view(const Edge& e, const Dims& sizes) {
  return type_of(e).sizes == sizes ? e : add(kView, {e}, ViewAttrs{sizes});
}

void Blocker::keep(const Node& n) {
  SmallVector<Edge, 4> inputs;
  for (uint32_t k = 0; k < n.n_inputs; ++k) inputs.push_back(plain(n.inputs()[k]));
  NodePtr copy = Node::make(*n.op, inputs.size(), n.n_outputs, 0, n.attrs());
  for (size_t k = 0; k < inputs.size(); ++k) copy->inputs()[k] = inputs[k];
  for (uint32_t k = 0; k < n.n_outputs; ++k) {
    copy->outputs()[k] = n.outputs()[k];
    values_[n.walk_slot][k].plain = {copy, k};
  }
  out_.nodes.push_back(std::move(copy));
}

Edge Blocker::plain(const Edge& e) {
  Forms& f = forms(e);
  // An image of one element is the same in both layouts.
  if (!f.plain.node)
    f.plain = is_one_element(type_of(e).sizes) ? view(f.blocked, type_of(e).sizes)
                                               : add(kFromBlocked, {f.blocked});
  return f.plain;
}

Edge Blocker::blocked(const Edge& e) {
  if (!is_blocked(e)) {
    const Edge made = make_blocked(e);
    forms(e).blocked = made;
  }
  return forms(e).blocked;
}

Edge Blocker::make_blocked(const Edge& e) {
  const TensorType& t = type_of(e);
  const Dims sizes{t.sizes[0], t.sizes[1] / kBlock, t.sizes[2], t.sizes[3], kBlock};
  // What is the same in many places need not be moved.
  if (e.node->op == &kFull) {
    FullAttrs f = e.node->attrs().as<FullAttrs>();
    f.sizes = sizes;
    return add(kFull, {}, f);
  }
  if (e.node->op == &kExpand) {
    const Edge from = operand(e.node->inputs()[0], t.sizes);
    if (from.node) return add(kExpand, {from}, ExpandAttrs{sizes});
  }
  return is_one_element(t.sizes) ? view(plain(e), sizes) : add(kToBlocked, {plain(e)});
}

Edge Blocker::weight(const Edge& w, kernels::WeightOrder order) {
  Edge& made = weights_[{w.node.get(), w.index, order}];
  if (!made.node)
    made = add(kToBlockedWeight, {plain(w)}, WeightOrderAttrs{static_cast<int64_t>(order)});
  return made;
}

bool Blocker::convolution(const Node& n) {
  kernels::ConvForm f;
  kernels::WeightOrder order;
  if (!can_block(n, &f, &order)) return false;
  const auto& c = n.attrs().as<ConvAttrs>();
  BlockedConvAttrs b{c.stride, c.padding, c.dilation, c.groups, {}, static_cast<int64_t>(order)};
  const bool plain_x = order == kernels::WeightOrder::plain_in;
  const Edge &first = n.inputs()[0], &second = n.inputs()[1];
  switch (part_of(n)) {
    case kernels::ConvPart::y: {
      b.sizes = {f.out[0], f.out[1]};
      SmallVector<Edge, 3> inputs{plain_x ? plain(first) : blocked(first), weight(second, order)};
      if (n.n_inputs > 2) inputs.push_back(plain(n.inputs()[2]));
      set_blocked(n, add(kBlockedConv, inputs, b));
      return true;
    }
    case kernels::ConvPart::x: {
      b.sizes = {f.in[0], f.in[1]};
      Edge x = add(kBlockedConvInput, {blocked(first), weight(second, order)}, b);
      // A transposed convolution's bias has no place in the loop for gradients.
      if (n.n_inputs > 2)
        x = add(*find_op("add"),
                {x, number_per_channel(plain(n.inputs()[2]), n.outputs()[0].sizes)}, MapAttrs{1});
      set_blocked(n, x);
      return true;
    }
    case kernels::ConvPart::w: {
      b.sizes = {f.kernel[0], f.kernel[1]};
      const Edge x = plain_x ? plain(first) : blocked(first);
      b.plain = kernels::prefers_blocked_conv_weight(f);
      const Edge w = add(kBlockedConvWeight, {x, blocked(second)}, b);
      set_plain(n, b.plain ? w : add(kFromBlockedWeight, {w}, WeightOrderAttrs{b.order}));
      return true;
    }
  }
  return false;
}

Graph Blocker::run() {
  g_.number();
  values_.resize(g_.nodes.size());
  for (const NodePtr& n : g_.nodes) {
    values_[n->walk_slot].resize(n->n_outputs);
    if (!convolution(*n) && !follow(*n)) keep(*n);
  }
  for (const NodePtr& n : g_.inputs) out_.inputs.push_back(values_[n->walk_slot][0].plain.node);
  for (const Edge& e : g_.outputs) out_.outputs.push_back(plain(e));
  out_.captured = g_.captured;
  out_.writes = g_.writes;
  out_.n_results = g_.n_results;
  return std::move(out_);
}

}  // namespace layouts

Graph layout(Graph g) {
  using namespace layouts;
  // oneDNN may split a blocked convolution by the number of threads.
  if (deterministic_algorithms()) return g;
  kernels::ConvForm form;
  kernels::WeightOrder order;
  const auto count = std::count_if(g.nodes.begin(), g.nodes.end(),
                                   [&](const NodePtr& n) { return can_block(*n, &form, &order); });
  if (count < 2) return g;
  // Passes run whenever values are needed, also while ops are recorded.
  const RecorderScope eager(nullptr);
  g = dce(fold_norms(std::move(g)));
  return dce(join_ends(dce(Blocker(g).run())));
}

}  // namespace tandem
