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
  Graph body;                    // the nodes it stands for, views included; runs without the jit
  LoopNest nest;
  std::vector<int> source;       // by operand that is read: the node's input it lies in
  std::vector<int64_t> offsets;  // by operand: its first element, counted from the value's start
  Dims extents;                  // as LoopCall::extents
  std::vector<Dims> strides;     // by operand, as LoopCall::strides
};

struct FusedAttrs {
  std::shared_ptr<const FusedGroup> group;
  TANDEM_FIELDS(group)
};
extern const OpDef kFused;

bool operator==(const std::shared_ptr<const FusedGroup>& a,
                const std::shared_ptr<const FusedGroup>& b);
std::ostream& operator<<(std::ostream& out, const std::shared_ptr<const FusedGroup>& g);

}  // namespace tandem
