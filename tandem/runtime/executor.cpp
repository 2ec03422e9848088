#include "tandem/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tandem/base/memory.h"
#include "tandem/base/parallel.h"
#include "tandem/core/apply.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/runtime/executor_detail.h"

namespace tandem::runtime {
namespace {

constinit thread_local StepObserver* t_observer = nullptr;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const Tensor& input_of(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, size_t i) {
  return i < arguments.size() ? arguments[i] : captured[i - arguments.size()];
}

std::string name_of_input(const Plan& plan, size_t i) {
  const std::string& name = plan.input_names[i];
  const bool argument = i < plan.n_args;
  return str(argument ? "argument " : "captured tensor ", argument ? i : i - plan.n_args,
             name.empty() ? "" : " (" + name + ")");
}

[[noreturn, gnu::cold]] void wrong_input(const Plan& plan, size_t i, const Tensor& got) {
  TANDEM_CHECK(got.defined(), "plan: ", name_of_input(plan, i),
               " is an undefined tensor, expected ", plan.inputs[i]);
  TANDEM_CHECK_TYPE(got.dtype() == plan.inputs[i].dtype, "plan: ", name_of_input(plan, i),
                    ": expected ", plan.inputs[i], ", got ", got.impl()->type);
  TANDEM_CHECK_SHAPE(false, "plan: ", name_of_input(plan, i), ": expected ", plan.inputs[i],
                     ", got ", got.impl()->type, got.device().is_cpu() ? "" : " on ",
                     got.device().is_cpu() ? "" : got.device().str());
  __builtin_unreachable();
}

void copy(const TensorImpl& from, const TensorImpl& to) {
  const Array source = from.array(), target = to.array();
  kCopy.kernel({kCopy, &source, 1, &target, 1, {}});
}

}  // namespace

/// What one call of the plan works with.
struct Executor::Instance {
  explicit Instance(const Plan& plan) : plan(plan) {}
  ~Instance() {
    if (!arena) return;
    memory::detail::free_data(arena, plan.arena_bytes);
    memory::detail::count_storage(-plan.arena_bytes);
  }

  const Plan& plan;
  char* arena = nullptr;
  /// Everything that holds addresses in one block: the arrays of all steps, then the operands of
  /// all loops.
  std::unique_ptr<char[]> block;
  Array* arrays() const { return reinterpret_cast<Array*>(block.get()); }
  void** operands() const {
    return reinterpret_cast<void**>(block.get() + plan.arrays.size() * sizeof(Array));
  }
  std::vector<Call> calls;           // one a step
  std::vector<KernelArgs> products;  // those that fused steps begin with
  std::vector<void*> bound;          // by what lies outside: the address that was last entered
  std::vector<TensorImpl*> given;    // by input, of this call
  std::vector<void*> seen;      // by input: the address of `given` when overlaps were last sought
  std::vector<char*> seen_end;  // the end of its storage then
  std::vector<std::pair<char*, char*>> written;  // storages that are written, by address
  std::vector<bool> overlaps;  // by input: it shares memory with one that is written
  std::vector<intrusive_ptr<TensorImpl>> held;   // by input: what stands in for it in this call
  bool holding = false;                          // True iff some of `held` is set.
  std::vector<intrusive_ptr<TensorImpl>> fresh;  // by memory for results
  /// What the steps that are kept were made of, by plan.kept_from. Holding the storages makes sure
  /// that no other takes their place.
  struct Source {
    intrusive_ptr<Storage> storage;
    const void* data = nullptr;
    uint32_t version = 0, hidden_writes = 0;
    bool operator==(const Source&) const = default;
  };
  std::vector<Source> sources;
  bool countable = false;  // True iff every write to what is kept of this call's tensors is seen.
  bool prepared = false;   // True iff what the arena keeps was made of `sources`.
  bool leave_out = false;  // True iff this call leaves out what is kept.
  uint64_t runs = 0;       // that it was used for

  /// True iff the steps of the next call are to be timed: calls 2, 4, 8, ... and one in 64. The
  /// first one is not, as it meets cold memory.
  bool is_timed() {
    const uint64_t n = ++runs;
    return n > 1 && ((n & (n - 1)) == 0 || n % 64 == 0);
  }
};

/// An instance for the time of one call.
class Executor::Lease {
 public:
  explicit Lease(const Executor& e) : executor_(e) {
    instance_ = e.spare_.exchange(nullptr, std::memory_order_acquire);
    if (instance_) return;
    {
      std::lock_guard lock(e.mutex_);
      if (!e.more_spares_.empty()) {
        instance_ = e.more_spares_.back();
        e.more_spares_.pop_back();
        return;
      }
    }
    instance_ = e.make_instance();
  }
  ~Lease() {
    if (instance_->holding) {
      for (auto& h : instance_->held) h = nullptr;
      instance_->holding = false;
    }
    for (auto& f : instance_->fresh) f = nullptr;
    Instance* none = nullptr;
    if (executor_.spare_.compare_exchange_strong(none, instance_, std::memory_order_release,
                                                 std::memory_order_relaxed))
      return;
    std::lock_guard lock(executor_.mutex_);
    executor_.more_spares_.push_back(instance_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Instance& operator*() const { return *instance_; }
  Instance* operator->() const { return instance_; }

 private:
  const Executor& executor_;
  Instance* instance_;
};

// -- making ------------------------------------------------------------------------------------

Executor::Executor(Plan plan)
    : plan_(std::move(plan)), is_written_(plan_.inputs.size(), false), times_(plan_.steps.size()) {
  for (const uint32_t i : plan_.written) is_written_[i] = true;
  const size_t n_inputs = plan_.inputs.size();
  std::vector<std::vector<Patch>> by_outside(n_inputs + plan_.memory.size());
  auto enter = [&](const Place& place, size_t position) {
    const Patch patch{static_cast<uint32_t>(position), place.offset};
    if (place.kind == Place::Kind::input) by_outside[place.index].push_back(patch);
    if (place.kind == Place::Kind::result) by_outside[n_inputs + place.index].push_back(patch);
  };
  size_t position = 0;
  for (const PlannedArray& a : plan_.arrays) {
    enter(a.place, position + offsetof(Array, data));
    position += sizeof(Array);
  }
  for (const PlannedLoop& l : plan_.loops)
    for (const Place& operand : l.operands) {
      enter(operand, position);
      position += sizeof(void*);
    }
  for (const auto& patches : by_outside) {
    first_patch_.push_back(static_cast<uint32_t>(patches_.size()));
    patches_.insert(patches_.end(), patches.begin(), patches.end());
  }
  first_patch_.push_back(static_cast<uint32_t>(patches_.size()));

  loops_ = std::make_unique<Loop[]>(plan_.loops.size());
  for (const Step& s : plan_.steps) {
    if (s.loop < 0) continue;
    Loop& loop = loops_[s.loop];
    loop.planned = &plan_.loops[s.loop];
    loop.kernel = jit::request(loop.planned->group->nest);
    add_sums(loop);
    if (!s.in_place) continue;
    const PlannedArray* arrays = &plan_.arrays[s.first];
    for (uint32_t k = 0; k < s.n_outputs; ++k) {
      const PlannedArray& out = arrays[s.n_inputs + k];
      for (uint32_t i = 0; i < s.n_inputs; ++i)
        if (arrays[i].place == out.place && arrays[i].numel == out.numel && out.numel > 0)
          loop.over.push_back({k, i});
    }
  }
}

Executor::~Executor() {
  delete spare_.load();
  for (Instance* i : more_spares_) delete i;
}

int64_t Executor::release_idle() const {
  int64_t bytes = 0;
  const auto release = [&](Instance* i) {
    if (i) bytes += plan_.arena_bytes;
    delete i;
  };
  release(spare_.exchange(nullptr, std::memory_order_acquire));
  const std::lock_guard lock(mutex_);
  for (Instance* i : more_spares_) release(i);
  more_spares_.clear();
  return bytes;
}

bool Executor::is_ready(int32_t loop) const {
  return loops_[loop].kernel->function.load(std::memory_order_acquire) != nullptr;
}

Executor::StepTime Executor::time_of(size_t step) const {
  const std::lock_guard lock(mutex_);
  return times_[step];
}

Executor::Instance* Executor::make_instance() const {
  auto instance = std::make_unique<Instance>(plan_);
  if (plan_.arena_bytes > 0) {
    instance->arena = static_cast<char*>(memory::detail::allocate_data(plan_.arena_bytes));
    memory::detail::count_storage(plan_.arena_bytes);
  }
  // Addresses of inputs and results are entered by the calls.
  auto address = [&](const Place& place) -> void* {
    if (place.kind == Place::Kind::arena) return instance->arena + place.offset;
    if (place.kind == Place::Kind::constant)
      return static_cast<char*>(plan_.constants[place.index].impl()->data) + place.offset;
    return nullptr;
  };
  size_t n_operands = 0;
  for (const PlannedLoop& l : plan_.loops) n_operands += l.operands.size();
  instance->block =
      std::make_unique<char[]>(plan_.arrays.size() * sizeof(Array) + n_operands * sizeof(void*));
  Array* array = instance->arrays();
  for (const PlannedArray& a : plan_.arrays)
    new (array++) Array{address(a.place),
                        a.type.sizes.data(),
                        a.strides.data(),
                        a.numel,
                        static_cast<int32_t>(a.type.sizes.size()),
                        a.type.dtype,
                        a.contiguous,
                        a.type.weak};
  std::vector<void**> first_operand;
  void** operand = instance->operands();
  for (const PlannedLoop& l : plan_.loops) {
    first_operand.push_back(operand);
    for (const Place& place : l.operands) *operand++ = address(place);
  }

  instance->calls.reserve(plan_.steps.size());
  instance->products.reserve(plan_.loops.size());
  for (const Step& s : plan_.steps) {
    const Array* first = instance->arrays() + s.first;
    Call call{{*s.op, first, static_cast<int>(s.n_inputs), first + s.n_inputs,
               static_cast<int>(s.n_outputs), s.attrs()}};
    if (s.loop >= 0) {
      const PlannedLoop& l = plan_.loops[s.loop];
      call.loop = &loops_[s.loop];
      call.loop_call = {first_operand[s.loop], l.group->extents.data(), l.strides.data(), nullptr};
      if (const FusedGroup::Product& p = l.group->product; p.op) {
        const Array* factors = instance->arrays() + l.product;
        const auto n = static_cast<int>(p.factors.size());
        instance->products.push_back({*p.op, factors, n, factors + n, 1, p.attrs.ref()});
        call.product = &instance->products.back();
      }
    }
    call.kept = s.kept;
    instance->calls.push_back(call);
  }
  const size_t n_inputs = plan_.inputs.size();
  instance->bound.resize(n_inputs + plan_.memory.size());
  instance->given.resize(n_inputs);
  instance->seen.resize(n_inputs);
  instance->seen_end.resize(n_inputs);
  instance->overlaps.resize(n_inputs);
  instance->held.resize(n_inputs);
  instance->fresh.resize(plan_.memory.size());
  return instance.release();
}

// -- one call ----------------------------------------------------------------------------------

inline void Executor::bind(const Executor& e, Instance& instance, size_t outside, void* data) {
  if (instance.bound[outside] == data) return;
  instance.bound[outside] = data;
  char* block = instance.block.get();
  for (uint32_t p = e.first_patch_[outside]; p < e.first_patch_[outside + 1]; ++p) {
    void* address = static_cast<char*>(data) + e.patches_[p].offset;
    std::memcpy(block + e.patches_[p].position, &address, sizeof(address));
  }
}

/// A copy in row-major order that stands in for an input until the call ends.
TensorImpl* Executor::stand_in(Instance& instance, size_t input, TensorImpl* t) const {
  instance.held[input] = TensorImpl::make(plan_.inputs[input]);
  instance.holding = true;
  copy(*t, *instance.held[input]);
  return instance.held[input].get();
}

/// Finds the inputs whose memory is that of a tensor which the plan writes: they are to have the
/// values from before the call until its end.
void Executor::find_overlaps(Instance& instance) const {
  auto begin_of = [&](size_t i) { return static_cast<char*>(instance.given[i]->storage->data); };
  auto end_of = [&](size_t i) { return begin_of(i) + instance.given[i]->storage->nbytes; };
  auto& ranges = instance.written;
  bool moved = ranges.empty();
  for (const uint32_t w : plan_.written)
    moved |= instance.seen[w] != instance.given[w]->data || instance.seen_end[w] != end_of(w);
  if (moved) {
    ranges.clear();
    for (const uint32_t w : plan_.written) ranges.emplace_back(begin_of(w), end_of(w));
    std::sort(ranges.begin(), ranges.end());
    // From now on: where the ranges up to this one end.
    for (size_t r = 1; r < ranges.size(); ++r)
      ranges[r].second = std::max(ranges[r].second, ranges[r - 1].second);
  }
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    if (!instance.given[i]) {
      instance.overlaps[i] = false;
      continue;
    }
    char *begin = begin_of(i), *end = end_of(i);
    if (!moved && instance.seen[i] == instance.given[i]->data && instance.seen_end[i] == end)
      continue;
    instance.seen[i] = instance.given[i]->data;
    instance.seen_end[i] = end;
    instance.overlaps[i] = false;
    if (is_written_[i] || begin == end) continue;
    const auto after =
        std::lower_bound(ranges.begin(), ranges.end(), std::pair<char*, char*>(end, nullptr));
    instance.overlaps[i] = after != ranges.begin() && begin < std::prev(after)->second;
  }
}

void Executor::bind_inputs(Instance& instance, ArrayRef<Tensor> arguments,
                           ArrayRef<Tensor> captured) const {
  const size_t n = plan_.inputs.size();
  bool moved = false;
  for (size_t i = 0; i < n; ++i) {
    const Tensor& given = input_of(arguments, captured, i);
    TensorImpl* t = given.impl();
    if (!t || !(t->type == plan_.inputs[i])) [[unlikely]] {
      // What was undefined when the graph was made is read by nobody.
      instance.given[i] = nullptr;
      if (plan_.inputs[i].dtype == DType::Undefined) continue;
      wrong_input(plan_, i, given);
    }
    if (!t->data || t->is_pending()) [[unlikely]]
      t->need_values("run");
    instance.given[i] = t;
    moved |= instance.seen[i] != t->data;
  }
  if (moved && !plan_.written.empty()) find_overlaps(instance);
  for (size_t i = 0; i < n; ++i) {
    TensorImpl* t = instance.given[i];
    if (!t) continue;
    if (!t->contiguous || instance.overlaps[i]) [[unlikely]]
      t = stand_in(instance, i, t);
    bind(*this, instance, i, t->data);
  }
}

void Executor::bind_results(Instance& instance) const {
  for (size_t k = 0; k < plan_.memory.size(); ++k) {
    instance.fresh[k] = TensorImpl::make(plan_.memory[k]);
    bind(*this, instance, plan_.inputs.size() + k, instance.fresh[k]->data);
  }
}

void Executor::collect_results(Instance& instance, ArrayRef<Tensor> arguments,
                               ArrayRef<Tensor> captured, Tensor* results) const {
  for (size_t k = 0; k < plan_.results.size(); ++k) {
    const PlannedResult& r = plan_.results[k];
    const bool fresh = r.kind == PlannedResult::Kind::fresh;
    if (r.whole) {
      // Not the input itself: what becomes of the result is nothing that it should know of.
      results[k] = fresh ? Tensor(instance.fresh[r.index])
                         : Tensor(input_of(arguments, captured, r.index).impl()->alias());
      continue;
    }
    const TensorImpl* base = fresh                    ? instance.fresh[r.index].get()
                             : instance.held[r.index] ? instance.held[r.index].get()
                                                      : instance.given[r.index];
    auto view = intrusive_ptr<TensorImpl>::adopt(TensorImpl::blank());
    view->type = r.type;
    view->strides = r.strides;
    view->numel = numel_of(r.type.sizes);
    view->contiguous = is_contiguous(r.type.sizes, r.strides);
    view->inference = base->inference;
    const auto size = static_cast<int64_t>(size_of(r.type.dtype));
    const auto base_size = static_cast<int64_t>(size_of(base->type.dtype));
    view->offset = base->offset * base_size / size + r.offset;
    view->storage = base->storage;
    view->data = static_cast<char*>(base->data) + r.offset * size;
    results[k] = Tensor(std::move(view));
  }
}

/// After the last step: inputs that were written in a stand-in get their values, and autograd
/// learns that they changed.
void Executor::commit(Instance& instance, ArrayRef<Tensor> arguments,
                      ArrayRef<Tensor> captured) const {
  for (const uint32_t i : plan_.written) {
    TensorImpl* t = input_of(arguments, captured, i).impl();
    if (instance.held[i]) copy(*instance.held[i], *t);
    t->bump("compiled function");
  }
}

namespace {

// A kernel does not know for which op it runs; in eager, the function that was called says so.
[[noreturn, gnu::cold]] void rethrow_named(const OpDef& op, const IndexError& e) {
  const std::string_view text = e.what();
  if (text.starts_with(str(op.name, ":"))) throw e;
  throw IndexError(str(op.name, ": ", text));
}

}  // namespace

inline void Executor::run_step(const Call& call) {
  if (call.loop) return run_loop(call);
  try {
    call.args.op.kernel(call.args);
  } catch (const IndexError& e) {
    rethrow_named(call.args.op, e);
  }
}

/// True iff what the arena keeps of an earlier call is what this one would make. Notes what it will
/// have been made of.
bool Executor::still_prepared(Instance& instance) const {
  bool same = instance.prepared;
  bool countable = true;
  instance.sources.resize(plan_.kept_from.size());
  for (size_t k = 0; k < plan_.kept_from.size(); ++k) {
    const TensorImpl* t = instance.given[plan_.kept_from[k]];
    const Storage* storage = t ? t->storage.get() : nullptr;
    if (!storage || !t->contiguous || storage->exposed.load(std::memory_order_relaxed)) {
      countable = false;
      continue;
    }
    const Instance::Source now = {t->storage, t->data,
                                  storage->version.load(std::memory_order_relaxed),
                                  storage->hidden_writes.load(std::memory_order_relaxed)};
    if (instance.sources[k] == now) continue;
    same = false;
    instance.sources[k] = now;
  }
  instance.prepared = false;  // should a step throw
  instance.countable = countable;
  return same && countable;
}

void Executor::run_steps(Instance& instance) const {
  const auto run = [&](const Call& call) {
    if (!call.kept || !instance.leave_out) run_step(call);
  };
  const Call* call = instance.calls.data();
  const Call* const end = call + instance.calls.size();
  for (const PlannedBranches& b : plan_.branches) {
    for (const Call* first = instance.calls.data() + b.first; call < first; ++call) run(*call);
    parallel_for(0, static_cast<int64_t>(b.lanes.size()), 1, [&](int64_t from, int64_t to) {
      for (int64_t lane = from; lane < to; ++lane)
        for (const uint32_t s : b.lanes[lane]) run(instance.calls[s]);
    });
    call += b.count;
  }
  for (; call < end; ++call) run(*call);
}

/// All steps on this thread, one after the other: beside others they would take longer.
void Executor::run_timed(Instance& instance) const {
  for (size_t s = 0; s < instance.calls.size(); ++s) {
    const Call& call = instance.calls[s];
    if (call.kept && instance.leave_out) continue;
    const bool ready = call.loop && call.loop->kernel->function.load(std::memory_order_acquire);
    const int64_t begin = now_ns();
    run_step(call);
    const int64_t end = now_ns();
    if (t_observer) t_observer->ran(plan_, s, begin, end);
    const std::lock_guard lock(mutex_);
    StepTime& t = times_[s];
    if (t.as_machine_code != ready) t = {0, 0, ready};
    t.ns = t.calls++ == 0 ? end - begin : std::min(t.ns, end - begin);
  }
}

void Executor::run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, Tensor* results) const {
  TANDEM_CHECK(arguments.size() + captured.size() == plan_.inputs.size(), "plan: expected ",
               plan_.n_args, " arguments and ", plan_.inputs.size() - plan_.n_args,
               " captured tensors, got ", arguments.size(), " and ", captured.size());
  const Lease instance(*this);
  bind_inputs(*instance, arguments, captured);
  bind_results(*instance);
  if (!plan_.kept_from.empty()) instance->leave_out = still_prepared(*instance);
  if (instance->is_timed() || t_observer) [[unlikely]]
    run_timed(*instance);
  else
    run_steps(*instance);
  instance->prepared = instance->countable;
  if (!plan_.written.empty()) commit(*instance, arguments, captured);
  collect_results(*instance, arguments, captured, results);
}

std::vector<Tensor> Executor::run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured) const {
  std::vector<Tensor> results(plan_.results.size());
  run(arguments, captured, results.data());
  return results;
}

std::vector<Tensor> Executor::run(ArrayRef<Tensor> inputs) const {
  return run(inputs, inputs.size() == plan_.inputs.size() ? ArrayRef<Tensor>()
                                                          : ArrayRef<Tensor>(plan_.captured));
}

void Executor::run(void* const* inputs, void* const* results) const {
  const Lease instance(*this);
  for (size_t i = 0; i < plan_.inputs.size(); ++i) bind(*this, *instance, i, inputs[i]);
  for (size_t k = 0; k < plan_.memory.size(); ++k)
    bind(*this, *instance, plan_.inputs.size() + k, results[k]);
  run_steps(*instance);
}

// -- observers ---------------------------------------------------------------------------------

StepObserver::StepObserver() : outer_(std::exchange(t_observer, this)) {}
StepObserver::~StepObserver() { t_observer = outer_; }

}  // namespace tandem::runtime
