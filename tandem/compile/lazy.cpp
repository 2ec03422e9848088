#include "tandem/compile/lazy.h"

#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

#include "tandem/compile/program.h"
#include "tandem/core/recorder.h"

namespace tandem {
namespace {

// Programs by structure, the ones used last in front.
class ProgramCache {
 public:
  std::shared_ptr<const Program> get(const Graph& g) {
    const size_t hash = structural_hash(g);
    const std::lock_guard lock(mutex_);
    for (auto e = entries_.begin(); e != entries_.end(); ++e) {
      if (e->hash != hash || !same(e->graph, g)) continue;
      entries_.splice(entries_.begin(), entries_, e);
      return e->program;
    }
    // The tensors belong to the call, not to the program.
    Graph own = g.clone();
    for (Tensor& t : own.captured) t = Tensor();
    auto program = std::make_shared<Program>(own);
    entries_.push_front({hash, std::move(own), std::move(program)});
    ++made_;
    if (entries_.size() > kMost) entries_.pop_back();
    return entries_.front().program;
  }
  int64_t made() const { return made_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMost = 256;
  struct Entry {
    size_t hash;
    Graph graph;
    std::shared_ptr<const Program> program;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::atomic<int64_t> made_{0};
};

ProgramCache& cache() {
  static auto* programs = new ProgramCache;
  return *programs;
}

// A storage gets the memory of a result that nobody else has.
void give_memory(Storage& s, const Tensor& result) {
  Tensor own = result;
  const TensorImpl* t = own.impl();
  const bool alone = t->contiguous && t->offset == 0 && t->storage->nbytes == s.nbytes &&
                     t->storage->refs.load(std::memory_order_relaxed) == 1;
  if (!alone) own = own.clone();
  intrusive_ptr<Storage> memory = own.impl()->storage;
  s.data = memory->data;
  s.kind = Storage::Kind::kForeign;
  s.deleter = new std::function<void(void*)>([memory](void*) {});
  s.pending.store(nullptr, std::memory_order_release);
}

class LazyRecorder final : public Recorder {
 public:
  LazyRecorder() : thread_(std::this_thread::get_id()) {}

  void look(TensorImpl* t, const char* call) override {
    TANDEM_CHECK(
        std::this_thread::get_id() == thread_, call, ": a pending tensor (", t->type,
        ") is looked at by another thread than the one that deferred it. Call eval() there "
        "first.");
    // Also for what was only read: its values may be changed through the pointer that is asked for.
    if (owns(t->storage.get())) flush();
  }
  void look(const OpDef&) override { flush(); }
  bool keeps_branches() const override { return false; }
  void touch_grad(Node&) override {}
  void make_room() override {
    if (graph_.nodes.size() >= kMostNodes) flush();
  }

  void flush();
  void forget();
  int64_t runs = 0;

 private:
  static constexpr size_t kMostNodes = 20000;
  bool is_constant(const TensorImpl* t) const override { return t->type.weak; }
  void wrote_outside(Storage& s) override { s.pending.store(this, std::memory_order_release); }

  std::thread::id thread_;
};

void LazyRecorder::flush() {
  Graph g;
  g.nodes = graph_.nodes;
  g.inputs = captured_inputs_;
  g.captured = captured_;
  std::vector<Storage*> wanted, written;
  for (Storage* s : order_) {
    const Binding& b = bindings_.at(s);
    if (b.captured >= 0 && b.written) {
      g.writes.push_back({0, static_cast<uint32_t>(b.captured)});
      written.push_back(s);
    } else if (s->kind == Storage::Kind::kPending && s->refs.load(std::memory_order_acquire) > 1) {
      // Tensors that are only held here are of no use to anyone any more.
      wanted.push_back(s);
      g.outputs.push_back(b.value);
    }
  }
  g.n_results = g.outputs.size();
  for (size_t i = 0; i < written.size(); ++i) {
    g.writes[i].output = static_cast<uint32_t>(g.outputs.size());
    g.outputs.push_back(bindings_.at(written[i]).value);
  }
  if (!g.outputs.empty()) {
    const RecorderScope eager(nullptr);
    const NoGradGuard no_grad;
    const auto program = cache().get(g);
    // For whoever runs the program the tensors are as they were before the writes.
    struct Unmark {
      std::vector<Storage*>& storages;
      Recorder* back;
      explicit Unmark(std::vector<Storage*>& s, Recorder* r) : storages(s), back(r) {
        set(nullptr);
      }
      ~Unmark() { set(back); }
      void set(Recorder* r) {
        for (Storage* s : storages) s->pending.store(r, std::memory_order_release);
      }
    } unmark(written, this);
    const std::vector<Tensor> results = program->run({captured_.data(), captured_.size()});
    unmark.back = nullptr;
    ++runs;
    for (size_t i = 0; i < wanted.size(); ++i) give_memory(*wanted[i], results[i]);
  }
  forget();
}

void LazyRecorder::forget() {
  release_bindings();
  graph_ = Graph();
  captured_inputs_.clear();
  captured_.clear();
  order_.clear();
  grad_slots_.clear();
  grad_slot_of_.clear();
  written_outside_.clear();
  is_written_outside_.clear();
  differentiable_.clear();
  differentiable_edges_.clear();
  view_inputs_.clear();
}

LazyRecorder& recorder() {
  thread_local LazyRecorder r;
  return r;
}

}  // namespace

LazyGuard::LazyGuard()
    : before_(t_mode.recorder),
      made_in_before_(t_mode.made_in),
      exceptions_(std::uncaught_exceptions()) {
  if (before_) return;  // something is recorded or deferred already
  outermost_ = true;
  t_mode.recorder = &recorder();
  t_mode.made_in = recorder().id();
}

LazyGuard::~LazyGuard() noexcept(false) {
  if (!outermost_) return;
  t_mode.recorder = before_;
  t_mode.made_in = made_in_before_;
  if (std::uncaught_exceptions() > exceptions_) {
    // Something went wrong in the scope. What can be computed still is.
    try {
      recorder().flush();
    } catch (...) {
      recorder().forget();
    }
    return;
  }
  try {
    recorder().flush();
  } catch (...) {
    recorder().forget();
    throw;
  }
}

bool is_pending(const Tensor& t) { return t.defined() && t.impl()->is_pending(); }

void eval(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined()) t.impl()->need_values("eval");
}

namespace lazy {
Stats stats() { return {recorder().runs, cache().made()}; }
}  // namespace lazy

}  // namespace tandem
