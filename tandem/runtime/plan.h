#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/core/fused.h"

namespace tandem::runtime {

/// Where a value lies while a plan runs: so many bytes into the arena, an input, memory made for a
/// result, or a constant.
struct Place {
  enum class Kind : uint8_t { arena, input, result, constant } kind = Kind::arena;
  uint32_t index = 0;  // which input, result memory or constant
  int64_t offset = 0;

  bool operator==(const Place&) const = default;
};

/// A value, or a view of one, as a kernel sees it. Views need no step: they are other strides.
struct PlannedArray {
  Place place;
  TensorType type;
  Dims strides;
  int64_t numel = 0;
  bool contiguous = true;

  int64_t bytes() const { return numel * static_cast<int64_t>(size_of(type.dtype)); }
};

/// One call of a kernel.
struct Step {
  const OpDef* op = nullptr;
  NodePtr node;        // holds the attributes; empty for copies that the plan itself adds
  uint32_t first = 0;  // arrays[first ...] of the plan are what it reads, then what it writes
  uint32_t n_inputs = 0;
  uint32_t n_outputs = 0;
  bool in_place = false;  // True iff an output lies where an input did.
  int32_t loop = -1;      // of a fused step: which of the plan's loops
  bool kept = false;      // True iff what it makes may stay for the next call.

  AttrRef attrs() const { return node ? node->attrs() : AttrRef(); }
};

/// How a fused step calls its kernel.
struct PlannedLoop {
  const FusedGroup* group = nullptr;  // owned by the step's node
  std::vector<Place> operands;
  std::vector<int64_t> strides;  // as LoopCall wants them
  /// What is split among threads: rows, or elements where rows need not be whole.
  int64_t count = 0, grain = 1;
  /// Where the group begins with a product: arrays[product ...] of the plan are its factors, then
  /// where it goes to. If `panel` is not 0, only that many rows of it are made at a time: where
  /// they belong, or, if that is `aside`, in memory of the thread that carries on from them.
  uint32_t product = 0;
  int64_t panel = 0;
  bool aside = false;
  bool panel_of_thread = false;  // True iff one thread alone makes all rows at once.
  /// Operands that the loop overwrites where they are, and that lie as the product does.
  std::vector<uint32_t> overwritten;
};

/// Steps that may run at the same time; see runtime/branches.h.
struct PlannedBranches {
  uint32_t first = 0, count = 0;  // which steps
  std::vector<std::vector<uint32_t>> lanes;
};

/// One of the values that the function returns.
struct PlannedResult {
  enum class Kind : uint8_t {
    fresh,  // in memory made for this call
    input,  // an input itself, or a view of it
  } kind = Kind::fresh;
  uint32_t index = 0;  // of the memory or of the input
  bool whole = true;   // False iff it is a view, described by the rest.
  TensorType type;
  Dims strides;
  int64_t offset = 0;  // elements of its dtype
};

struct PlanOptions {
  /// Every result is a block of its own in row-major order, in memory that the caller has: what the
  /// bodies of fused groups need.
  bool dense_results = false;
  /// What depends on captured tensors alone (weights in another order, norms folded into them) is
  /// kept in the arena from call to call and made again when one of them has changed.
  bool keep_prepared = false;
};

/// A graph turned into a list of calls on planned memory: plain data, never changed once made.
///
/// Note: write-back order
/// Graph::writes says which inputs are to hold which values in the end. Such a value is computed
/// straight into the input's memory if nothing reads the old contents after the step that computes
/// it (that step itself may, element by element) and no later step may refuse its values; an
/// exception then leaves the user's tensors as they were. Otherwise the value is kept in the arena
/// and copied by one of the last steps. Old contents that a result or another write still wants are
/// saved by the first steps.
struct Plan {
  std::vector<TensorType> inputs;  // arguments, then captured tensors
  std::vector<std::string> input_names;
  size_t n_args = 0;
  std::vector<Tensor> captured;
  std::vector<Tensor> constants;   // in row-major order
  std::vector<TensorType> memory;  // what is made for each call, to hold results
  std::vector<PlannedResult> results;
  std::vector<uint32_t> written;  // inputs that change
  std::vector<PlannedArray> arrays;
  std::vector<Step> steps;
  std::vector<PlannedLoop> loops;
  std::vector<PlannedBranches> branches;  // in order
  std::vector<uint32_t> kept_from;        // inputs that steps which are kept depend on

  int64_t arena_bytes = 0;
  int64_t intermediate_bytes = 0;  // what the values between inputs and results hold in total
};

/// Makes a plan of a graph in the order of its nodes; those that nothing depends on are left out.
Plan make_plan(const Graph& g, const PlanOptions& options = {});

/// The bytes that a step reads and writes.
struct StepCost {
  int64_t bytes_read = 0, bytes_written = 0;
};
StepCost cost_of(const Plan& plan, const Step& step);

}  // namespace tandem::runtime
