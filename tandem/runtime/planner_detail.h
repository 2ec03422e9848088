#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tandem/kernels/matmul.h"
#include "tandem/runtime/branches.h"
#include "tandem/runtime/plan.h"

/// How make_plan works; for the files plan*.cpp only.
namespace tandem::runtime {

// When something happens: steps are numbered from 0 in the order of the graph. Copies that come
// before all of them happen at kBefore, copies that come after them at the number of steps.
inline constexpr int32_t kBefore = -1;

/// An output of a node.
struct Value {
  const TensorType* type = nullptr;
  uint32_t root = 0;   // the value in whose memory it lies: itself unless it is a view
  int64_t offset = 0;  // bytes from the root's start
  Dims strides;
  int64_t numel = 0;
  bool contiguous = true;
  uint32_t buffer = 0;  // of a root: where it lies

  int64_t bytes() const { return numel * static_cast<int64_t>(size_of(type->dtype)); }
};

/// Memory that one value has after another, and when it is in use.
struct Buffer {
  Place::Kind kind = Place::Kind::arena;
  uint32_t index = 0;
  int64_t bytes = 0;
  int32_t first = kBefore, last = kBefore;
  int64_t merged = -1;  // the buffer that it has become part of
  int64_t offset = 0;   // in the arena
};

/// Makes a plan, in several passes over the graph.
class Planner {
 public:
  Planner(const Graph& g, const PlanOptions& options) : g_(g), options_(options) {}

  Plan make();

 private:
  uint32_t id(const Edge& e) const { return first_value_[e.node->walk_slot] + e.index; }
  const Value& value(const Edge& e) const { return values_[id(e)]; }
  uint32_t buffer_of(const Value& v) const {
    int64_t b = values_[v.root].buffer;
    while (buffers_[b].merged >= 0) b = buffers_[b].merged;
    return static_cast<uint32_t>(b);
  }
  Buffer& memory_of(const Value& v) { return buffers_[buffer_of(v)]; }
  bool is_computed(const Value& v) const { return made_[v.root] > kBefore; }
  int32_t end() const { return static_cast<int32_t>(steps_.size()); }
  /// Steps in branches take place at the same time: what one of them needs is there from the first
  /// to the last.
  const Branches* branches_at(int32_t step) const {
    return in_branches_[step] < 0 ? nullptr : &branches_[in_branches_[step]];
  }
  int32_t begins(int32_t step) const {
    const Branches* b = branches_at(step);
    return b ? b->first : step;
  }
  int32_t ends(int32_t step) const {
    const Branches* b = branches_at(step);
    return b ? b->last : step;
  }

  void list_values();
  void add_value(Value v);
  void add_view(const Node& n);
  void add_computed(const Node& n, uint32_t k, Buffer buffer);
  void mark_needed();
  void list_steps();
  void delay_writer(uint32_t input);
  void find_kept();
  void find_branches();
  void find_lifetimes();
  void list_writes();
  void place_result(size_t k);
  uint32_t new_memory(const TensorType& type);
  void place_write(uint32_t input);
  bool can_write_directly(const Value& v, uint32_t input) const;
  void separate_product(int32_t step);
  kernels::PartRows panel_of(int32_t step) const;
  bool goes_by_rows(int32_t step) const;
  bool may_overwrite(const Node& n, uint32_t k, uint32_t buffer) const;
  void merge(uint32_t kept, uint32_t gone);
  const std::vector<uint32_t>& inputs_in(const Node& n, uint32_t buffer) const;
  bool fused_may_overwrite(const Node& n, const FusedGroup& group, uint32_t k,
                           uint32_t buffer) const;
  void reuse_dying(int32_t step);
  bool reuse_dying(int32_t step, uint32_t k);
  static int64_t bytes_within(const FusedGroup& group);
  void place_arena();
  void emit();
  void emit_copy(const PlannedArray& from, const PlannedArray& to);
  void emit_step(const Node& n);
  void emit_branches(const std::vector<int64_t>& position);
  static std::vector<uint32_t> overwritten_along(const FusedGroup& group, const PlannedLoop& loop);
  void emit_product(const FusedGroup& group, uint32_t first, int32_t step);
  PlannedLoop loop_of(const FusedGroup& group, uint32_t first, uint32_t n_inputs) const;
  PlannedArray array_of(const Value& v) const;
  static PlannedArray dense(const Place& place, const TensorType& type);

  struct Copy {
    uint32_t from;  // value
    Place to;
    int64_t buffer = -1;  // where in the arena it goes to, or comes from; unknown as yet
  };

  const Graph& g_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<uint32_t> first_value_;  // by node
  std::vector<Value> values_;
  std::vector<Buffer> buffers_;
  std::vector<int32_t> made_;  // by value: the step that computes it, or kBefore
  std::vector<bool> needed_;   // by node
  std::vector<const Node*> steps_;
  std::vector<int32_t> step_of_;                   // by node: its step, or kBefore
  std::vector<std::vector<const Node*>> readers_;  // by value that is a root: those among steps_
  std::vector<bool> kept_;                         // by step
  std::vector<Branches> branches_;
  std::vector<int32_t> in_branches_;  // by step: which, or -1
  int32_t last_check_ = kBefore;      // the last step that may refuse values
  std::vector<int64_t> written_by_;   // by input: the value that it is to hold, -1 if none
  std::vector<Copy> before_, after_, commits_;
  /// By node with many inputs: those that lie in a buffer. Buffers are entered as they were then,
  /// parts_ says which of them have become part of another.
  mutable std::unordered_map<const Node*, std::unordered_map<uint32_t, std::vector<uint32_t>>>
      inputs_in_;
  mutable std::vector<uint32_t> found_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> parts_;
  std::unordered_set<uint32_t> results_;        // values that are results
  std::map<int32_t, uint32_t> product_buffer_;  // by step: where its product is made, if aside
};

}  // namespace tandem::runtime
