#pragma once

#include "tandem/core/view_chain.h"
#include "tandem/graph/rewrite.h"

// What the files of simplify share. A rule gives the value that can stand for a node, or an empty
// edge.
namespace tandem {

bool same_edge(const Edge& a, const Edge& b);
/// True iff the value is known to lie in row-major order.
bool row_major(const Edge& e);
/// The same elements in another shape, not always in row-major order; empty if that would need a
/// copy.
Edge reshaped(Rewriter& r, const Edge& x, const Dims& sizes);

/// What those who read a value ask of where its elements lie.
enum class LayoutUse : char {
  any,      // nothing: each element is read by its place in the shape
  order,    // row-major order: a view of another shape or dtype, which some layouts do not allow
  strides,  // the very strides: as_strided, and the caller of a program
};
/// For each node, by its place.
std::vector<LayoutUse> layout_uses(const Rewriter& r);
/// True iff those who read the node can read the value instead.
bool fits(const Node& n, const Edge& value, LayoutUse use);

Edge simplify_view(Rewriter& r, const Node& n);
/// For view_scatter.
Edge simplify_scatter(Rewriter& r, const Node& n);

}  // namespace tandem
