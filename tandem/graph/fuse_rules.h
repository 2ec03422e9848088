#pragma once

#include <vector>

#include "tandem/core/graph.h"

/// How the fuser sees single nodes: what they compute over which elements, and how they reach what
/// they read. See fuse.h.
namespace tandem::fusing {

/// A value's position in the fused walk: one for each element, one for each row, or one alone.
enum class Level : uint8_t { element, row, single };

enum class Kind : uint8_t {
  none,     // not fused
  view,     // becomes strides
  fill,     // the same number everywhere: becomes a constant
  across,   // OpDef::reduction over leading dimensions: may follow the group of what it reads
  map,      // OpDef::map
  convert,  // to another dtype, or a copy
  reduce,   // OpDef::reduction over trailing dimensions
  pick,     // gather of one element a row
  put,      // scatter of one element a row
};

/// True for matrix products, which a group may take up where they end.
bool is_product(const Node& n);
/// What a node of Kind::reduce or across combines its elements by.
ReductionInfo::Fn reduction_of(const Node& n);

/// How the elements of a node's space and those of a value that it reads correspond.
enum class Relation : uint8_t {
  same,    // element i reads element i
  rows,    // element i reads element i / columns
  single,  // all read the only element
  other,   // as strides say; the value must lie in memory
};

/// One thing that a node reads: a value, seen through views and broadcasting.
struct Use {
  const Edge* edge = nullptr;  // as the node names it
  Edge base;                   // what it is a view of
  int64_t offset = 0;
  Dims strides;  // in elements of base, over the dimensions of the node's space
  Relation relation = Relation::other;
  int64_t columns = 0;     // of Relation::rows
  bool constant = false;   // the base is of Kind::fill
  bool in_memory = false;  // must not be computed by the same kernel
};

/// Boundaries between dimensions that cannot be walked as one, as numbers of elements: a boundary
/// at 12 lies between a dimension of stride 12 and those within. Rising; each divides the next.
using Cuts = SmallVector<int64_t, 6>;
/// Adds the cuts of b, times `factor`, to a. False if there is then no order of dimensions that has
/// all of them.
bool unite(Cuts& a, const Cuts& b, int64_t factor);

struct Info {
  Kind kind = Kind::none;
  Dims space;           // the elements that the node walks
  int64_t numel = 0;    // of the space
  int64_t columns = 0;  // elements a row, for kinds that need whole rows or reduce them; else 0
  SmallVector<Use, 3> uses;
  Cuts cuts;
  double number = 0;  // of Kind::fill
  /// True iff the node's result is one value a row of its space.
  bool by_row() const { return kind == Kind::reduce || kind == Kind::pick; }
  bool fusable() const { return kind >= Kind::map; }
};

/// Where a value lies in the memory of the value that it is a view of, or of itself.
struct Place {
  Edge base;
  Dims strides;
  int64_t offset = 0;
  bool known = true;  // false: beyond a view that changes the dtype
};

/// By node; the graph's nodes are numbered (walk_slot).
struct Analysis {
  std::vector<Info> infos;
  std::vector<Place> places;  // of each node's first output
  Place place(const Edge& e) const;
};
Analysis analyse(const Graph& g);

}  // namespace tandem::fusing
