#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/jit/kernel_cache.h"
#include "tandem/runtime/plan.h"

namespace tandem::kernels {
class RowReduction;
}
namespace tandem::runtime {

using jit::Pause;
using jit::prepare;

/// Runs a plan. Any number of threads may do so at once.
///
/// A call takes an instance: an arena and the arguments of all kernels, with pointers already in
/// place. Only the addresses of arguments and results differ from call to call, and only those that
/// changed are entered. Instances are kept and used again, so that steady calls allocate nothing
/// but their results. If a kernel throws, the instance goes back as well and the next call works.
class Executor {
 public:
  explicit Executor(Plan plan);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Takes the arguments, and reads and writes the tensors that the graph captured; or takes the
  /// arguments followed by others in their place.
  std::vector<Tensor> run(ArrayRef<Tensor> inputs) const;
  /// The same with two lists.
  std::vector<Tensor> run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured) const;
  /// The same; `results` has room for as many as the plan has.
  void run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, Tensor* results) const;
  /// Without tensors: data of every input in row-major order, and where to put every result.
  void run(void* const* inputs, void* const* results) const;

  const Plan& plan() const { return plan_; }
  /// Gives back the memory that is kept for the next call; the next call takes its time to get it
  /// again. Says how many bytes it was.
  int64_t release_idle() const;
  /// True iff a fused step, by the number of its loop, runs as machine code by now.
  bool is_ready(int32_t loop) const;
  /// How long a step took at least in those calls that were timed: some of the first, later one in
  /// 64. A fused step is timed anew when it runs as machine code.
  struct StepTime {
    int64_t calls = 0, ns = 0;
    bool as_machine_code = false;
  };
  StepTime time_of(size_t step) const;

 private:
  struct Instance;
  struct Call;
  class Lease;
  /// What a fused step runs: machine code once it is there, the ops of its body until then.
  struct Loop {
    const PlannedLoop* planned = nullptr;
    std::shared_ptr<jit::Kernel> kernel;
    std::vector<kernels::RowReduction> sums;  // as FusedGroup::sums
    std::vector<Graph::Write> over;           // which results lie over which inputs
    std::once_flag body_made;
    std::unique_ptr<Executor> body;
  };
  struct Patch {
    uint32_t position;  // of the pointer in the instance's block
    int64_t offset;     // what is added to the address
  };

  Instance* make_instance() const;
  static void bind(const Executor& e, Instance& instance, size_t outside, void* data);
  void bind_inputs(Instance& instance, ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured) const;
  void find_overlaps(Instance& instance) const;
  TensorImpl* stand_in(Instance& instance, size_t input, TensorImpl* t) const;
  void bind_results(Instance& instance) const;
  void collect_results(Instance& instance, ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured,
                       Tensor* results) const;
  void commit(Instance& instance, ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured) const;
  static void add_sums(Loop& loop);
  static void run_loop(const Call& call);
  static void run_body(const Call& call);
  static void run_rows(const Call& call, LoopFunction function);
  static void make_rows(const Call& call, int64_t from, int64_t to, char* where);
  static void run_step(const Call& call);
  bool still_prepared(Instance& instance) const;
  void run_steps(Instance& instance) const;
  void run_timed(Instance& instance) const;

  const Plan plan_;
  std::vector<bool> is_written_;       // by input
  std::vector<uint32_t> first_patch_;  // by what lies outside: inputs, then memory for results
  std::vector<Patch> patches_;
  std::unique_ptr<Loop[]> loops_;  // as in the plan
  // One instance is handed from call to call without a lock; more exist only if calls overlap.
  mutable std::atomic<Instance*> spare_{nullptr};
  mutable std::mutex mutex_;
  mutable std::vector<Instance*> more_spares_;
  mutable std::vector<StepTime> times_;  // by step; guarded by mutex_
};

/// Told of every step that this thread runs while it exists: for explain and the profiler.
class StepObserver {
 public:
  StepObserver();
  virtual ~StepObserver();
  StepObserver(const StepObserver&) = delete;
  StepObserver& operator=(const StepObserver&) = delete;
  /// `step` is a position in plan.steps; times are those of std::chrono::steady_clock.
  virtual void ran(const Plan& plan, size_t step, int64_t begin_ns, int64_t end_ns) = 0;

 private:
  StepObserver* outer_;
};

}  // namespace tandem::runtime
