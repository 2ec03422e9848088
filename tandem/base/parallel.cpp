#include "tandem/base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/background_work.h"
#include "tandem/base/env.h"
#include "tandem/base/error.h"
#include "tandem/base/one_thread.h"
#include "tandem/base/signals_wait.h"

#if defined(_OPENMP) && !defined(TANDEM_THREAD_SANITIZER)
#include <omp.h>
#define TANDEM_USE_OPENMP 1
#else
#define TANDEM_USE_OPENMP 0
// Our own loops do without OpenMP here (see cmake/dependencies.cmake), but libgomp is in the
// process.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int);
#endif

namespace tandem {
namespace {

int default_threads() {
  const int64_t asked = env::num_threads();
  if (asked > 0) return static_cast<int>(asked);
#if TANDEM_USE_OPENMP
  return omp_get_max_threads();
#else
  return std::max(1u, std::thread::hardware_concurrency());
#endif
}

std::atomic<int> g_threads{0};
std::atomic<int> g_background{0};  // threads that work beside the program
thread_local bool t_inside = false;
thread_local bool t_signals_wait = false;

// How many threads a loop that begins now should use. Libraries are left as they are: the results
// of some depend on the number, and others plan with it.
int threads_now() {
  const int n = get_num_threads(), busy = g_background.load(std::memory_order_relaxed);
  if (busy == 0) [[likely]]
    return n;
  static const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(processors - busy, 1, n);
}

/// Signals that are sent to the thread wait from now on; tells what was so before.
sigset_t let_signals_wait() {
  sigset_t sent, before;
  sigfillset(&sent);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&sent, own);
  pthread_sigmask(SIG_BLOCK, &sent, &before);
  t_signals_wait = true;
  return before;
}

#if TANDEM_USE_OPENMP
/// Threads that OpenMP has made leave signals to the program's own, for good.
void serve_only() {
  if (!t_signals_wait && omp_get_thread_num() != 0) [[unlikely]]
    let_signals_wait();
}
#endif

/// The same for all that libraries will be lent for a loop of this thread.
void prepare_team() {
#if TANDEM_USE_OPENMP
  thread_local int prepared = 1;
  const int n = t_inside ? 1 : get_num_threads();
  if (n <= prepared) return;
#pragma omp parallel num_threads(n)
  serve_only();
  prepared = n;
#endif
}

}  // namespace

int get_num_threads() {
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = default_threads();
    g_threads.store(n, std::memory_order_relaxed);
  }
  return n;
}

void set_num_threads(int n) {
  TANDEM_CHECK(n > 0, "set_num_threads: expected a positive number of threads, got ", n);
  g_threads.store(n, std::memory_order_relaxed);
#ifndef TANDEM_THREAD_SANITIZER
  omp_set_num_threads(n);
#endif
}

LibraryThreads::LibraryThreads() : LibraryThreads(t_inside ? 1 : get_num_threads()) {}
LibraryThreads::LibraryThreads(int n) : before_(omp_get_max_threads()) {
#ifdef TANDEM_THREAD_SANITIZER
  n = 1;
#endif
  if (n != before_) omp_set_num_threads(n);
}
LibraryThreads::~LibraryThreads() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}

int get_num_interop_threads() { return 1; }

bool in_parallel_region() { return t_inside; }

OneThread::OneThread() : before_(std::exchange(t_inside, true)) {}
OneThread::~OneThread() { t_inside = before_; }

BackgroundWork::BackgroundWork() { g_background.fetch_add(1, std::memory_order_relaxed); }
BackgroundWork::~BackgroundWork() { g_background.fetch_sub(1, std::memory_order_relaxed); }

SignalsWait::SignalsWait() : outermost_(!t_signals_wait) {
  if (!outermost_) return;
  prepare_team();
  before_ = let_signals_wait();
}
SignalsWait::~SignalsWait() {
  if (!outermost_) return;
  t_signals_wait = false;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

namespace detail {

void parallel_ranges(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* context) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t grains = (end - begin + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<int64_t>(threads_now(), grains));
  if (threads <= 1 || t_inside) {
    fn(context, begin, end);
    return;
  }
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  auto work = [&](int which) {
    const int64_t from = begin + grains * which / threads * grain;
    const int64_t to = std::min(end, begin + grains * (which + 1) / threads * grain);
    if (from >= to) return;
    t_inside = true;
    try {
      fn(context, from, to);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
    t_inside = false;
  };
#if TANDEM_USE_OPENMP
#pragma omp parallel num_threads(threads)
  {
    serve_only();
    // The runtime may grant fewer threads than asked for; every share is still done.
    for (int w = omp_get_thread_num(); w < threads; w += omp_get_num_threads()) work(w);
  }
#else
  std::vector<std::thread> team;
  for (int w = 1; w < threads; ++w)
    team.emplace_back([&work, w] {
      let_signals_wait();
      work(w);
    });
  work(0);
  for (auto& t : team) t.join();
#endif
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace tandem
