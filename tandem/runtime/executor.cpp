#include "tandem/runtime/executor.h"

#include <chrono>
#include <cstring>

#include "tandem/base/memory.h"
#include "tandem/core/apply.h"
#include "tandem/core/tensor_impl.h"

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

/// What one call works with.
struct Executor::Instance {
  explicit Instance(const Plan& plan) : plan(plan) {}
  ~Instance() {
    if (!arena) return;
    memory::detail::free_data(arena, plan.arena_bytes);
    memory::detail::count_storage(-plan.arena_bytes);
  }

  const Plan& plan;
  char* arena = nullptr;
  std::vector<Array> arrays;       // of all steps
  std::vector<KernelArgs> calls;   // one a step
  std::vector<void*> bound;        // by what lies outside: the address that was last entered
  std::vector<TensorImpl*> given;  // by input, of this call
  std::vector<void*> seen;     // by input: the address of `given` when overlaps were last sought
  std::vector<bool> overlaps;  // by input: it shares memory with one that is written
  std::vector<intrusive_ptr<TensorImpl>> held;   // by input: what stands in for it in this call
  bool holding = false;                          // True iff some of `held` is set.
  std::vector<intrusive_ptr<TensorImpl>> fresh;  // by memory for results
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

Executor::Executor(Plan plan) : plan_(std::move(plan)), is_written_(plan_.inputs.size(), false) {
  for (const uint32_t i : plan_.written) is_written_[i] = true;
  const size_t n_inputs = plan_.inputs.size();
  std::vector<std::vector<Patch>> by_outside(n_inputs + plan_.memory.size());
  for (size_t a = 0; a < plan_.arrays.size(); ++a) {
    const Place& place = plan_.arrays[a].place;
    const Patch patch{static_cast<uint32_t>(a * sizeof(Array) + offsetof(Array, data)),
                      place.offset};
    if (place.kind == Place::Kind::input) by_outside[place.index].push_back(patch);
    if (place.kind == Place::Kind::result) by_outside[n_inputs + place.index].push_back(patch);
  }
  for (const auto& patches : by_outside) {
    first_patch_.push_back(static_cast<uint32_t>(patches_.size()));
    patches_.insert(patches_.end(), patches.begin(), patches.end());
  }
  first_patch_.push_back(static_cast<uint32_t>(patches_.size()));
}

Executor::~Executor() {
  delete spare_.load();
  for (Instance* i : more_spares_) delete i;
}

Executor::Instance* Executor::make_instance() const {
  auto instance = std::make_unique<Instance>(plan_);
  if (plan_.arena_bytes > 0) {
    instance->arena = static_cast<char*>(memory::detail::allocate_data(plan_.arena_bytes));
    memory::detail::count_storage(plan_.arena_bytes);
  }
  instance->arrays.reserve(plan_.arrays.size());
  for (const PlannedArray& a : plan_.arrays) {
    void* data = nullptr;
    if (a.place.kind == Place::Kind::arena) data = instance->arena + a.place.offset;
    if (a.place.kind == Place::Kind::constant)
      data = static_cast<char*>(plan_.constants[a.place.index].impl()->data) + a.place.offset;
    instance->arrays.push_back({data, a.type.sizes.data(), a.strides.data(), a.numel,
                                static_cast<int32_t>(a.type.sizes.size()), a.type.dtype,
                                a.contiguous, a.type.weak});
  }
  instance->calls.reserve(plan_.steps.size());
  for (const Step& s : plan_.steps) {
    const Array* first = instance->arrays.data() + s.first;
    instance->calls.push_back({*s.op, first, static_cast<int>(s.n_inputs), first + s.n_inputs,
                               static_cast<int>(s.n_outputs), s.attrs()});
  }
  const size_t n_inputs = plan_.inputs.size();
  instance->bound.resize(n_inputs + plan_.memory.size());
  instance->given.resize(n_inputs);
  instance->seen.resize(n_inputs);
  instance->overlaps.resize(n_inputs);
  instance->held.resize(n_inputs);
  instance->fresh.resize(plan_.memory.size());
  return instance.release();
}

// -- one call ----------------------------------------------------------------------------------

inline void Executor::bind(const Executor& e, Instance& instance, size_t outside, void* data) {
  if (instance.bound[outside] == data) return;
  instance.bound[outside] = data;
  char* block = reinterpret_cast<char*>(instance.arrays.data());
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
  auto range = [&](size_t i) {
    const Storage& s = *instance.given[i]->storage;
    return std::pair(static_cast<char*>(s.data), static_cast<char*>(s.data) + s.nbytes);
  };
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    instance.overlaps[i] = false;
    if (!instance.given[i]) continue;
    instance.seen[i] = instance.given[i]->data;
    if (is_written_[i]) continue;
    const auto [begin, end] = range(i);
    for (const uint32_t w : plan_.written) {
      const auto [written, written_end] = range(w);
      if (begin < written_end && written < end) instance.overlaps[i] = true;
    }
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
      results[k] = fresh ? Tensor(instance.fresh[r.index]) : input_of(arguments, captured, r.index);
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

void Executor::run_steps(Instance& instance) const {
  for (const KernelArgs& call : instance.calls) call.op.kernel(call);
}

void Executor::run_observed(Instance& instance) const {
  for (size_t s = 0; s < instance.calls.size(); ++s) {
    const int64_t begin = now_ns();
    instance.calls[s].op.kernel(instance.calls[s]);
    const int64_t end = now_ns();
    if (t_observer) t_observer->ran(plan_, s, begin, end);
  }
}

void Executor::run(ArrayRef<Tensor> arguments, ArrayRef<Tensor> captured, Tensor* results) const {
  TANDEM_CHECK(arguments.size() + captured.size() == plan_.inputs.size(), "plan: expected ",
               plan_.n_args, " arguments and ", plan_.inputs.size() - plan_.n_args,
               " captured tensors, got ", arguments.size(), " and ", captured.size());
  const Lease instance(*this);
  bind_inputs(*instance, arguments, captured);
  bind_results(*instance);
  if (t_observer) [[unlikely]]
    run_observed(*instance);
  else
    run_steps(*instance);
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
