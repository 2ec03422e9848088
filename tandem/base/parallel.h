#pragma once

#include <cstdint>
#include <type_traits>

namespace tandem {

/// How many threads a parallel region may use; the default is OMP_NUM_THREADS or all cores.
int get_num_threads();
void set_num_threads(int n);
/// Threads for parallelism between ops; Tandem runs ops one after another, so this is 1.
int get_num_interop_threads();
bool in_parallel_region();
/// While one exists, the OpenMP regions that a library opens on this thread use n threads: OpenMP
/// keeps that number for each thread of the program, ours holds for the process. Under the thread
/// sanitizer always one, because the library's threads are not instrumented.
class LibraryThreads {
 public:
  /// As many as our own loops would use here.
  LibraryThreads();
  explicit LibraryThreads(int n);
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  int before_;
};

namespace detail {
using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
void parallel_ranges(int64_t begin, int64_t end, int64_t grain, RangeFn fn, void* context);
}  // namespace detail

/// Calls fn(b, e) for ranges that together cover [begin, end).
///
/// Ranges are cut at multiples of `grain` from `begin`, so what one call sees depends on the shape
/// of the work and never on the number of threads: a call always receives whole grains. A reduction
/// that keeps one partial result a grain is therefore bit-identical for any thread count. An
/// exception thrown by fn reaches the caller.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& fn) {
  if (begin >= end) return;
  if (end - begin <= grain) {
    fn(begin, end);
    return;
  }
  detail::parallel_ranges(
      begin, end, grain,
      [](void* context, int64_t b, int64_t e) { (*static_cast<const F*>(context))(b, e); },
      const_cast<void*>(static_cast<const void*>(&fn)));
}

}  // namespace tandem
