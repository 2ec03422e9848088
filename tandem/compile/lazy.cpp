#include "tandem/compile/lazy.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

#include "tandem/compile/program.h"
#include "tandem/core/apply.h"
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

// Stands for what could not be computed, and says why.
class Failed final : public Recorder {
 public:
  explicit Failed(std::string why) : why_(std::move(why)) {}
  void look(TensorImpl* t, const char* call) override {
    TANDEM_CHECK(false, call, ": this tensor (", t->type,
                 ") was recorded by a LazyGuard and could not be computed: ", why_);
  }
  void look(const OpDef& op) override {
    TANDEM_CHECK(false, op.name, ": an argument could not be computed: ", why_);
  }

 private:
  const std::string why_;
};

// Tensors may outlive everything, and failures are rare: they are kept.
Recorder* failed(const std::string& why) {
  static std::mutex mutex;
  static auto* all = new std::list<Failed>;
  const std::lock_guard lock(mutex);
  return &all->emplace_back(why);
}

// What can be computed of the results, op by op; the others are undefined. Inputs that the graph
// writes may have been written already.
std::vector<Tensor> run_what_can_be(const Graph& g) {
  g.number();
  std::vector<std::vector<Tensor>> values(g.nodes.size());
  for (size_t i = 0; i < g.inputs.size(); ++i) values[g.inputs[i]->walk_slot] = {g.captured[i]};
  for (const Graph::Write& w : g.writes) values[g.inputs[w.input]->walk_slot] = {Tensor()};
  for (const NodePtr& n : g.nodes) {
    if (n->op == &kInputOp) continue;
    std::vector<Tensor>& out = values[n->walk_slot];
    out.resize(n->n_outputs);
    std::vector<TensorArg> args;
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      const Edge& e = n->inputs()[i];
      args.push_back(values[e.node->walk_slot][e.index]);
    }
    const auto is_missing = [](const TensorArg& a) { return !a.impl; };
    if (std::any_of(args.begin(), args.end(), is_missing)) continue;
    try {
      if (n->op == &kConstantOp)
        out[0] = n->attrs().as<ConstantAttrs>().value.tensor;
      else
        apply(*n->op, args, n->attrs(), out.data());
    } catch (const Error&) {
      out.assign(n->n_outputs, Tensor());
    }
  }
  std::vector<Tensor> results;
  for (const Edge& e : g.outputs) results.push_back(values[e.node->walk_slot][e.index]);
  return results;
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
    if (owns(t->storage.get())) return flush();
    Recorder* other = t->storage->pending.load(std::memory_order_acquire);
    if (other && other != this) other->look(t, call);
  }
  void look(const OpDef&) override { flush(); }
  void changing(TensorImpl* t) override {
    if (owns(t->storage.get())) flush();
  }
  bool keeps_branches() const override { return false; }
  void touch_grad(Node&) override {}
  void make_room() override {
    if (graph_.nodes.size() >= kMostNodes) flush();
  }

  void flush();
  void forget();
  int64_t runs = 0;

 private:
  void rescue(const Graph& g, const std::vector<Storage*>& wanted, const Error& e);
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
    } else if (b.captured < 0 && s->kind == Storage::Kind::kPending &&
               s->refs.load(std::memory_order_acquire) > 1) {
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
    std::vector<uint32_t> versions;
    for (const Storage* s : written) versions.push_back(s->version.load(std::memory_order_relaxed));
    std::vector<Tensor> results;
    try {
      results = program->run({captured_.data(), captured_.size()});
    } catch (const Error& e) {
      unmark.back = nullptr;  // they keep what was written so far
      rescue(g, wanted, e);
      throw;
    }
    unmark.back = nullptr;
    ++runs;
    // Writes were counted when they were recorded.
    for (size_t i = 0; i < written.size(); ++i)
      written[i]->version.store(versions[i], std::memory_order_relaxed);
    for (size_t i = 0; i < wanted.size(); ++i) give_memory(*wanted[i], results[i]);
  }
  forget();
}

// One value that cannot be computed is no reason to lose the others that were pending with it.
void LazyRecorder::rescue(const Graph& g, const std::vector<Storage*>& wanted, const Error& e) {
  const std::vector<Tensor> results = run_what_can_be(g);
  Recorder* failure = nullptr;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (results[i].defined()) {
      give_memory(*wanted[i], results[i].clone());
    } else {
      if (!failure) failure = failed(e.what());
      wanted[i]->pending.store(failure, std::memory_order_release);
    }
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
  own_inputs_.clear();
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
