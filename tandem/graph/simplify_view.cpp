#include <algorithm>
#include <iterator>

#include "tandem/graph/simplify_detail.h"
#include "tandem/ops/view_op.h"

namespace tandem {
namespace {

// Where a value lies in the memory of the value that it views, which is in row-major order.
struct Layout {
  Dims sizes, strides;
  int64_t offset = 0;

  friend bool operator==(const Layout& a, const Layout& b) {
    return a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset;
  }
  /// The elements from the first to the last one that it shows.
  int64_t end() const {
    int64_t last = offset;
    for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    return last + 1;
  }
};

// Empty if a view on the way changes the dtype.
std::optional<Layout> layout_of(const Edge& e) {
  SmallVector<const Node*, 8> chain;
  const Node* n = e.node.get();
  for (; n->op->view; n = n->inputs()[0].node.get()) {
    if (n->outputs()[0].dtype != type_of(n->inputs()[0]).dtype) return std::nullopt;
    chain.push_back(n);
  }
  const Edge& base = chain.empty() ? e : chain.back()->inputs()[0];
  Layout l{type_of(base).sizes, contiguous_strides(type_of(base).sizes), 0};
  for (size_t i = chain.size(); i-- > 0;) {
    const Node& v = *chain[i];
    Dims strides;
    int64_t offset = 0;
    v.op->view({*v.op, l.sizes, l.strides, v.outputs()[0].sizes, v.attrs(), strides, offset});
    l = {v.outputs()[0].sizes, strides, l.offset + offset};
  }
  return l;
}

// What a view_scatter writes to, in its base.
std::optional<Layout> written_by(const Node& scatter) {
  const auto& s = scatter.attrs().as<ViewScatterAttrs>();
  const TensorType& base = scatter.outputs()[0];
  if (!s.strides.empty() || type_of(scatter.inputs()[1]).dtype != base.dtype) return std::nullopt;
  Layout l;
  s.chain.locate(base, contiguous_strides(base.sizes), l.sizes, l.strides, l.offset);
  return l;
}

// The same view ops once more, on another value.
Edge view_again(Rewriter& r, const Node& view, const Node* old_base, const Edge& base) {
  SmallVector<const Node*, 8> chain;
  for (const Node* n = &view; n != old_base; n = n->inputs()[0].node.get()) chain.push_back(n);
  Edge e = base;
  for (size_t i = chain.size(); i-- > 0;) e = r.add(*chain[i]->op, {e}, chain[i]->attrs());
  return e;
}

// Reading what was just written, or what lies beside it.
Edge simplify_read(Rewriter& r, const Node& n) {
  const Node* scatter = memory_of(&n);
  if (scatter->op != &kViewScatter || r.seen(n)) return {};
  const auto read = layout_of({NodePtr(const_cast<Node*>(&n)), 0});
  const auto written = written_by(*scatter);
  if (!read || !written) return {};
  if (*read == *written) return scatter->inputs()[1];
  if (numel_of(read->sizes) > 0 && numel_of(written->sizes) > 0 &&
      (read->end() <= written->offset || written->end() <= read->offset) &&
      row_major(scatter->inputs()[0]))
    return view_again(r, n, scatter, scatter->inputs()[0]);
  return {};
}

Edge simplify_permute(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  const Dims& dims = n.attrs().as<PermuteAttrs>().dims;
  bool moved = false;
  for (size_t i = 0; i < dims.size(); ++i) moved |= dims[i] != static_cast<int64_t>(i);
  if (!moved) return x;
  if (x.node->op != &kPermute) return {};
  const Dims& first = x.node->attrs().as<PermuteAttrs>().dims;
  Dims both;
  for (const int64_t d : dims) both.push_back(first[static_cast<size_t>(d)]);
  return r.add(kPermute, {x.node->inputs()[0]}, PermuteAttrs{both});
}

Edge simplify_slice(Rewriter& r, const Node& n) {
  const Edge& x = n.inputs()[0];
  const auto& s = n.attrs().as<SliceAttrs>();
  if (x.node->op != &kSlice) return {};
  const auto& first = x.node->attrs().as<SliceAttrs>();
  if (first.dim != s.dim || s.length == 0) return {};
  return r.add(
      kSlice, {x.node->inputs()[0]},
      SliceAttrs{s.dim, first.start + s.start * first.step, s.length, first.step * s.step});
}

// True iff dimensions of extent 1 are all that tells the shapes apart: any layout has such views.
bool same_but_for_ones(const Dims& a, const Dims& b) {
  Dims of_a, of_b;
  std::copy_if(a.begin(), a.end(), std::back_inserter(of_a), [](int64_t n) { return n != 1; });
  std::copy_if(b.begin(), b.end(), std::back_inserter(of_b), [](int64_t n) { return n != 1; });
  return of_a == of_b;
}

}  // namespace

std::vector<LayoutUse> layout_uses(const Rewriter& r) {
  std::vector<LayoutUse> uses(r.nodes().size(), LayoutUse::any);
  for (size_t i = uses.size(); i-- > 0;) {
    const Node& n = *r.nodes()[i];
    if (r.seen(n)) uses[i] = LayoutUse::strides;
    if (!n.op->view) continue;
    // What is asked of a view is asked of what it views, by way of its strides.
    LayoutUse use = uses[i];
    if ((n.op == &kView &&
         !same_but_for_ones(n.outputs()[0].sizes, type_of(n.inputs()[0]).sizes)) ||
        n.outputs()[0].dtype != type_of(n.inputs()[0]).dtype)
      use = std::max(use, LayoutUse::order);
    if (n.op == &kAsStrided) use = LayoutUse::strides;
    LayoutUse& of_input = uses[n.inputs()[0].node->walk_slot];
    of_input = std::max(of_input, use);
  }
  return uses;
}

bool fits(const Node& n, const Edge& value, LayoutUse use) {
  if (use == LayoutUse::any || (!n.op->view && row_major(value))) return true;
  // The rules that turn views of a value into others of the same one keep the strides.
  const Node *from = memory_of(&n), *to = memory_of(value);
  if (n.op->view && from == to) return true;
  const auto now = layout_of(value);
  if (!now) return false;
  if (use == LayoutUse::order && is_contiguous(now->sizes, now->strides)) return true;
  const auto before = layout_of({NodePtr(const_cast<Node*>(&n)), 0});
  if (!before || before->strides != now->strides) return false;
  // as_strided may look beyond a view, at what else is in its memory.
  return !n.op->view || use != LayoutUse::strides ||
         (before->offset == now->offset && from->n_outputs == 1 && to->n_outputs == 1 &&
          numel_of(from->outputs()[0].sizes) == numel_of(to->outputs()[0].sizes));
}

Edge simplify_view(Rewriter& r, const Node& n) {
  if (const Edge value = simplify_read(r, n); value.node) return value;
  const Edge& x = n.inputs()[0];
  if (n.op == &kPermute) return simplify_permute(r, n);
  // A view, an expansion or a slice with nothing to change.
  if ((n.op == &kView || n.op == &kExpand || n.op == &kSlice) &&
      same_type(type_of(x), n.outputs()[0]))
    return x;
  if (n.op == &kView && x.node->op == &kView && row_major(x))
    return r.add(kView, {x.node->inputs()[0]}, ViewAttrs{n.outputs()[0].sizes});
  if (n.op == &kExpand && x.node->op == &kExpand)
    return r.add(kExpand, {x.node->inputs()[0]}, n.attrs());
  if (n.op == &kSlice) return simplify_slice(r, n);
  return {};
}

Edge simplify_scatter(Rewriter& r, const Node& n) {
  const auto written = written_by(n);
  if (!written) return {};
  const Edge &base = n.inputs()[0], &value = n.inputs()[1];
  // All of it, in order: what was there before does not matter.
  const TensorType& type = n.outputs()[0];
  if (written->offset == 0 && numel_of(written->sizes) == numel_of(type.sizes) &&
      is_contiguous(written->sizes, written->strides))
    return reshaped(r, value, type.sizes);
  // The same part twice: the first time does not matter.
  if (base.node->op == &kViewScatter && written_by(*base.node) == written)
    return r.add(kViewScatter, {base.node->inputs()[0], value}, n.attrs());
  return {};
}

}  // namespace tandem
