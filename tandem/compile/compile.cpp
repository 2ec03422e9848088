#include "tandem/compile/compile.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "tandem/base/memory.h"
#include "tandem/base/warning.h"
#include "tandem/compile/call.h"
#include "tandem/compile/variant.h"
#include "tandem/core/recorder.h"
#include "tandem/runtime/executor.h"

namespace tandem::detail {

struct CompiledFunction::Impl {
  explicit Impl(CompileOptions o) : options(o) {}

  CompileOptions options;
  std::mutex recording;  // held while a new graph is made
  // Found without a lock: variants are only ever added, and live until the function does.
  std::atomic<Variant*> newest{nullptr}, latest{nullptr};
  std::vector<std::shared_ptr<Variant>> all;
  size_t forgotten = 0;  // variants of before the last reset(), at the front of `all`
  bool warned = false;   // that no more graphs are made

  Variant* find(const Args& args, const structure::Key& key) const {
    Variant* v = latest.load(std::memory_order_acquire);
    if (v && v->fits(args, key)) return v;
    for (v = newest.load(std::memory_order_acquire); v; v = v->older)
      if (v->fits(args, key)) return v;
    return nullptr;
  }

  Variant* add(const Args& args, const structure::Key& key, const Body& body);
  void release_others();
};

/// A first step, which finds no gradients yet, is seldom run again, and its plan's memory is as
/// large as that of all later ones: a function that gets another graph gives back what its others
/// keep.
void CompiledFunction::Impl::release_others() {
  constexpr int64_t kMuch = 16 << 20;
  int64_t bytes = 0;
  for (const auto& v : all) bytes += v->release_idle();
  if (bytes > kMuch) memory::trim();
}

Variant* CompiledFunction::Impl::add(const Args& args, const structure::Key& key,
                                     const Body& body) {
  const std::lock_guard lock(recording);
  if (Variant* v = find(args, key)) return v;  // another thread was faster
  if (all.size() - forgotten >= options.max_graphs) {
    if (!std::exchange(warned, true))
      TANDEM_WARN(
          "compile: ", options.max_graphs,
          " graphs were made for one function (CompileOptions::max_graphs). Calls that need "
          "another one run eager. explain() says why each was made.");
    return nullptr;
  }
  release_others();
  // Told by what the graph that is most alike has otherwise.
  Variant::Mismatch why{-1, "the first call"};
  for (size_t i = forgotten; i < all.size(); ++i)
    if (Variant::Mismatch m; !all[i]->fits(args, key, &m) && m.rank > why.rank) why = std::move(m);
  auto v = Variant::make(args, key, body);
  v->reason = std::move(why.words);
  v->older = newest.load(std::memory_order_relaxed);
  all.push_back(v);
  newest.store(v.get(), std::memory_order_release);
  return v.get();
}

CompiledFunction::CompiledFunction(CompileOptions options)
    : impl_(std::make_unique<Impl>(options)) {
  runtime::prepare();
}
CompiledFunction::~CompiledFunction() = default;

bool CompiledFunction::is_inlined() { return t_mode.recorder != nullptr; }

Args CompiledFunction::call(const Args& args, const structure::Key& key, const Body& body,
                            std::shared_ptr<const void>* like) {
  // Whoever looks for the op that went wrong needs the ops: nothing is compiled then.
  Variant* v = t_mode.anomaly ? nullptr : impl_->find(args, key);
  const bool as_it_is =
      !v && (t_mode.anomaly || std::any_of(args.begin(), args.end(), is_declared));
  std::optional<runtime::Pause> first_call;
  if (!v && !as_it_is) {
    first_call.emplace();
    v = impl_->add(args, key, body);
  }
  if (!v) {  // or too many graphs
    const std::vector<Tensor> results = body({args.data(), args.size()}, like);
    return {results.begin(), results.end()};
  }
  impl_->latest.store(v, std::memory_order_release);
  v->calls.fetch_add(1, std::memory_order_relaxed);
  if (like) *like = v->like;
  if (impl_->options.verify) return run_verified(*v, args, body, like, impl_->options);
  return run(*v, args);
}

void CompiledFunction::explain(std::ostream& out) const {
  const std::lock_guard lock(impl_->recording);
  const size_t n = impl_->all.size() - impl_->forgotten;
  out << "compiled function: " << n << (n == 1 ? " graph" : " graphs") << '\n';
  for (size_t i = 0; i < n; ++i) {
    const Variant& v = *impl_->all[impl_->forgotten + i];
    const Recording& r = v.recording;
    out << "graph " << i << ", made because: " << v.reason << '\n' << "  arguments:";
    for (const auto& a : v.signature.args) out << "  " << a.type;
    out << "\n  tensors from outside: " << r.graph.captured.size() << " read, "
        << r.graph.writes.size() << " written; gradients left: " << r.grads.size()
        << "; recorded ops: " << r.graph.nodes.size() << "; calls: " << v.calls << '\n';
    for (const std::string& op : r.one_by_one)
      out << "  vmap runs " << op << " one sample after the other: it has no batching rule\n";
    v.program->explain(out);
    if (v.backward) {
      out << "  gradient of graph " << i << ": keeps " << v.halves.n_kept
          << " values of the call\n";
      v.backward->explain(out);
    }
  }
  if (n >= impl_->options.max_graphs)
    out << "no more graphs are made (CompileOptions::max_graphs): other calls run eager\n";
}

const Graph& CompiledFunction::graph() const {
  const Variant* v = impl_->latest.load(std::memory_order_acquire);
  TANDEM_CHECK(v, "graph: the compiled function has not been called yet");
  return v->recording.graph;
}

const Graph& CompiledFunction::optimised_graph() const {
  const Variant* v = impl_->latest.load(std::memory_order_acquire);
  TANDEM_CHECK(v, "optimised_graph: the compiled function has not been called yet");
  return v->program->graph();
}

size_t CompiledFunction::graph_count() const {
  const std::lock_guard lock(impl_->recording);
  return impl_->all.size() - impl_->forgotten;
}

void CompiledFunction::reset() {
  const std::lock_guard lock(impl_->recording);
  impl_->newest.store(nullptr, std::memory_order_release);
  impl_->latest.store(nullptr, std::memory_order_release);
  // Other threads may be looking at them: they stay until the function goes.
  impl_->forgotten = impl_->all.size();
}

}  // namespace tandem::detail
