#include "tandem/jit/kernel_cache.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "tandem/base/background_work.h"
#include "tandem/base/env.h"
#include "tandem/jit/code_generator.h"
#include "tandem/jit/disk_cache.h"
#include "tandem/jit/object_loader.h"
#include "tandem/jit/schedule.h"

namespace tandem::jit {
namespace {

struct NestHash {
  size_t operator()(const LoopNest& n) const { return n.hash(); }
};

constexpr std::chrono::milliseconds kLongestPause(5);

// Ends the workers of all caches; kernels that were not made by then never will be.
void end_workers();

}  // namespace

/// Note: forks and ends
/// The worker holds `working` while it makes a kernel, and nobody forks or ends the process in the
/// middle of that: a child would inherit LLVM's locks as they were. After a fork the child has no
/// worker; the next request starts one, which goes on with what is in the queue.
/// When the process ends, the worker must have ended before LLVM's own statics go, some of which
/// are made by the work itself. What was registered last with atexit runs first; the worker
/// therefore registers its end anew after each kernel that it has made.
struct KernelCache::State {
  explicit State(Options o) : options(std::move(o)), disk(options.enabled ? options.folder : "") {}

  struct Job {
    LoopNest nest;
    std::shared_ptr<Kernel> kernel;
  };

  void start_worker() {
    if (worker_runs || stop) return;
    worker_runs = true;
    worker = std::thread([this] {
      step_back();
      work();
    });
  }

  /// Wakes up without taking the processor from whoever woke it: otherwise the call that ends a
  /// pause would return some milliseconds later now and then.
  static void step_back() {
#ifdef SCHED_BATCH
    const sched_param same{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &same);
#endif
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [this] { return stop || !queue.empty(); });
      if (pauses > 0) wake.wait_for(lock, kLongestPause, [this] { return stop || pauses == 0; });
      if (stop) return;
      Job job = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      int64_t Stats::*outcome;
      {
        const std::lock_guard making(working);
        outcome = make(job);
        if (outcome != &Stats::loaded_from_disk) std::atexit(&end_workers);
      }
      lock.lock();
      ++(counts.*outcome);
      busy = false;
      if (queue.empty()) idle.notify_all();
    }
  }

  // Which counter goes up.
  int64_t Stats::*make(const Job& job) const {
    try {
      const std::string key = "version " + std::to_string(kGeneratorVersion) + "\nmachine " +
                              machine_key() + "\n" + job.nest.str();
      std::string why;
      if (const auto object = disk.read(key)) {
        if (void* code = load_object(*object, kKernelSymbol, &why)) {
          job.kernel->function.store(reinterpret_cast<LoopFunction>(code),
                                     std::memory_order_release);
          return &Stats::loaded_from_disk;
        }
      }
      const BackgroundWork work;
      const std::string object = generate_object(job.nest);
      void* code = load_object(object, kKernelSymbol, &why);
      TANDEM_CHECK(code != nullptr, "jit: the object cannot be loaded: ", why);
      job.kernel->function.store(reinterpret_cast<LoopFunction>(code), std::memory_order_release);
      disk.write(key, object);
      return &Stats::compiled;
    } catch (const std::exception& e) {
      // The program runs without this kernel, slower.
      if (log) std::cerr << "tandem: " << e.what() << "\n" << job.nest.str();
      return &Stats::failed;
    }
  }

  const Options options;
  const DiskCache disk;
  const bool log = env::logs("jit");  // asked now: the worker may run while the process ends
  mutable std::mutex mutex;
  std::mutex working;
  std::condition_variable wake, idle;
  std::unordered_map<LoopNest, std::shared_ptr<Kernel>, NestHash> kernels;
  std::deque<Job> queue;
  Stats counts;
  int pauses = 0;
  bool busy = false, stop = false, worker_runs = false;
  std::thread worker;
};

namespace {

// The caches that exist, so that forks can stop their workers.
struct Caches {
  std::mutex mutex;
  std::vector<KernelCache*> list;
};
Caches& caches() {
  static Caches& all = *new Caches;
  return all;
}

void end_workers() {
  const std::lock_guard lock(caches().mutex);
  for (KernelCache* c : caches().list) c->end_worker();
}

}  // namespace

struct ForkHandlers {
  static void before() {
    caches().mutex.lock();
    for (KernelCache* c : caches().list) {
      c->state_->working.lock();
      c->state_->mutex.lock();
    }
  }
  static void in_parent() {
    for (KernelCache* c : caches().list) {
      c->state_->mutex.unlock();
      c->state_->working.unlock();
    }
    caches().mutex.unlock();
  }
  static void in_child() {
    for (KernelCache* c : caches().list) {
      KernelCache::State& s = *c->state_;
      // The thread is not there any more: its handle is given up without waiting for it.
      if (s.worker_runs) new (&s.worker) std::thread;
      s.worker_runs = false;
      s.busy = false;
      new (&s.wake) std::condition_variable;
      new (&s.idle) std::condition_variable;
      s.mutex.unlock();
      s.working.unlock();
      if (!s.queue.empty()) s.start_worker();
    }
    caches().mutex.unlock();
  }
};

KernelCache::Options KernelCache::options_of_environment() {
  return {env::jit_enabled(), env::cache_dir()};
}

KernelCache::KernelCache(Options options) : state_(std::make_unique<State>(std::move(options))) {
  static const bool once = [] {
    pthread_atfork(&ForkHandlers::before, &ForkHandlers::in_parent, &ForkHandlers::in_child);
    return true;
  }();
  (void)once;
  const std::lock_guard lock(caches().mutex);
  caches().list.push_back(this);
}

KernelCache::~KernelCache() {
  {
    const std::lock_guard lock(caches().mutex);
    std::erase(caches().list, this);
  }
  end_worker();
}

void KernelCache::end_worker() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->queue.clear();
  }
  state_->wake.notify_all();
  state_->idle.notify_all();
  if (state_->worker.joinable()) state_->worker.join();
}

std::shared_ptr<Kernel> KernelCache::request(const LoopNest& nest) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  auto [at, is_new] = s.kernels.try_emplace(nest);
  if (!is_new) return at->second;
  at->second = std::make_shared<Kernel>();
  const Schedule schedule(nest);
  at->second->scratch_per_column = schedule.scratch_per_column;
  at->second->scratch_fixed = schedule.scratch_fixed;
  ++s.counts.requested;
  if (s.options.enabled && can_generate()) {
    s.queue.push_back({nest, at->second});
    s.start_worker();
    s.wake.notify_one();
  }
  return at->second;
}

void KernelCache::prepare() {
  if (!state_->options.enabled || !can_generate()) return;
  const std::lock_guard lock(state_->mutex);
  state_->start_worker();
}

void KernelCache::pause() {
  const std::lock_guard lock(state_->mutex);
  ++state_->pauses;
}

void KernelCache::resume() {
  {
    const std::lock_guard lock(state_->mutex);
    --state_->pauses;
  }
  state_->wake.notify_all();
}

void KernelCache::wait_idle() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return state_->queue.empty() && !state_->busy; });
}

Stats KernelCache::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

namespace {

// Made at the first request and ended, with its thread, when the process ends.
KernelCache& process_cache() {
  static auto* cache =
      new KernelCache(KernelCache::options_of_environment());  // code is used to the end
  return *cache;
}

// Destructors of the main thread's own objects are the first thing that happens at exit.
struct MainThread {
  ~MainThread() {
    if (gettid() == getpid()) stop_generating();
  }
};

}  // namespace

std::shared_ptr<Kernel> request(const LoopNest& nest) {
  thread_local const MainThread here;
  (void)here;
  return process_cache().request(nest);
}
void prepare() { process_cache().prepare(); }
Pause::Pause() { process_cache().pause(); }
Pause::~Pause() { process_cache().resume(); }
void wait_idle() { process_cache().wait_idle(); }
Stats stats() { return process_cache().stats(); }

}  // namespace tandem::jit
