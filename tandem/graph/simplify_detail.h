#pragma once

#include "tandem/core/view_chain.h"
#include "tandem/graph/rewrite.h"

// What the files of simplify share. A rule gives the value that can stand for a node, or an empty
// edge.
namespace tandem {

bool same_edge(const Edge& a, const Edge& b);
/// True iff the value is known to lie in row-major order.
bool row_major(const Edge& e);
/// The same elements in another shape; empty if that would need a copy.
Edge reshaped(Rewriter& r, const Edge& x, const Dims& sizes);

Edge simplify_view(Rewriter& r, const Node& n);
/// For view_scatter.
Edge simplify_scatter(Rewriter& r, const Node& n);

}  // namespace tandem
