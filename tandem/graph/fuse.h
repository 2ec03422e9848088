#pragma once

#include "tandem/core/fused.h"

namespace tandem {

/// Makes one kernel of nodes that walk the same elements, so that what lies between them never goes
/// to memory.
///
/// A fused kernel walks elements in rows (core/loop_nest.h). Pointwise ops give one value an
/// element; reductions over trailing dimensions give one a row, which the same kernel may use over
/// the row's elements: softmax, layer norm, cross entropy and their gradients are one kernel each.
/// Views and broadcasting become strides, numbers become constants or single values, and gather and
/// scatter of one element a row become comparisons with the column.
///
/// The order of work:
/// * fuse_expand: ops that have a composite are replaced by it, where all its parts then join a
/// group
///   with something else.
/// * fuse_rules: each node on its own: what it computes over which elements, how it reaches its
/// inputs.
/// * fuse_groups: nodes join the groups of what they read, then groups that read the same value
/// join,
///   as long as every value is met where it is made and groups do not depend on each other in a
///   ring.
/// * fuse_lower: a group becomes a LoopNest with strides, and a body that does the same op by op.
///
/// A value that is needed outside its group is written once. Nothing is computed twice. Results
/// have the bits that the single ops give: each op computes in the type it has alone, and rounds as
/// it would.
Graph fuse(Graph g);

}  // namespace tandem
