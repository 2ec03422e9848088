#pragma once

#include <memory>

#include "tandem/core/graph.h"
#include "tandem/core/loop_nest.h"

namespace tandem {

/// Several nodes as one kernel: what graph/fuse makes and runtime/ runs.
///
/// The inputs of a fused node are whole values in row-major order; views of them are part of the
/// group and have become strides.
struct FusedGroup {
  /// A kernel made of a nest looks nothing up, so it cannot refuse an index. Whoever runs it does
  /// that first, with check_indices; the body's own kernels do it by themselves.
  struct IndexCheck {
    int operand;     // that is read: int64, one index a row
    int64_t extent;  // indices are in [0, extent)
    int64_t dim;     // for the message
    const char* op;  // for the message
  };
  /// A matrix product that the kernel carries on from while it is in the cache. Where others need
  /// it as well it is the last of the node's results, which the nest does not store. Else it is
  /// written to the memory of one of the results, which overwrites it; where that result lies in
  /// the memory of an input the product needs memory of its own.
  struct Product {
    struct Factor {  // where an input of the product lies
      int input;     // of the fused node
      int64_t offset;
      Dims sizes, strides;
    };
    const OpDef* op = nullptr;  // null: there is none
    AttrBox attrs;
    std::vector<Factor> factors;
    Dims sizes;         // of the product
    int output = -1;    // the result that has the product's dtype and as many elements
    bool kept = false;  // that result is the product itself
    /// The dimension of the first factor that is the product's first; -1: it has no parts. Else
    /// the dimension of the second factor that is the product's second.
    int row_dim = -1, column_dim = -1;
  };

  /// Reductions over rows of `columns` elements that the nest stores or reads: results of the node
  /// behind the others. Rows are added up as they are made, some at a time.
  struct RowSum {
    ReductionInfo::Fn fn;
    int operand;  // of the nest: the rows
    int output;   // of the node
    friend bool operator==(const RowSum&, const RowSum&) = default;
  };
  struct RowSums {
    std::vector<RowSum> each;
    DType dtype = DType::Undefined;
    int64_t rows = 0, columns = 0;
    friend bool operator==(const RowSums&, const RowSums&) = default;
  };

  Graph body;  // the nodes it stands for, views included; runs without the jit
  LoopNest nest;
  std::vector<int> source;       // by operand that is read: the node's input; -1: the product
  std::vector<int64_t> offsets;  // the same: its first element, counted from the value's start
  Dims extents;                  // as LoopCall::extents
  std::vector<Dims> strides;     // by operand, as LoopCall::strides; then of a product that is kept
  /// How many of the operands that the nest writes are results: the node's first ones. The others
  /// are rows that nobody needs but their sums.
  int n_stored = 0;
  std::vector<IndexCheck> checks;
  Product product;
  RowSums sums;

  /// Number of rows and columns that the kernel walks.
  int64_t rows() const;
  int64_t columns() const { return extents.back(); }
};

struct FusedAttrs {
  std::shared_ptr<const FusedGroup> group;
  TANDEM_FIELDS(group)
};
/// Its inputs and outputs are those of the body. The kernel runs the body op by op.
extern const OpDef kFused;

/// The group of a fused node; null for any other node.
const FusedGroup* fused_group(const Node& n);
/// True iff running the node may fail because of the values it is given; see OpDef::checks_values.
bool checks_values(const Node& n);

/// Throws an IndexError if the group would look up an index that is out of range. `inputs` are the
/// fused node's, row-major.
void check_indices(const FusedGroup& group, const Array* inputs);

bool operator==(const std::shared_ptr<const FusedGroup>& a,
                const std::shared_ptr<const FusedGroup>& b);
std::ostream& operator<<(std::ostream& out, const std::shared_ptr<const FusedGroup>& g);

}  // namespace tandem

/// Equal groups have equal hashes.
template <>
struct std::hash<std::shared_ptr<const tandem::FusedGroup>> {
  size_t operator()(const std::shared_ptr<const tandem::FusedGroup>& g) const {
    return g ? g->nest.hash() : 0;
  }
};
