#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Where tensors get their memory from.
///
/// Small blocks come from thread-local free lists without a lock; larger ones from a shared cache
/// of freed blocks, so that a training loop asks the system for memory only in its first step.
namespace tandem::memory {

struct Stats {
  int64_t current = 0;      // bytes that live tensors hold
  int64_t peak = 0;         // the most `current` has been since start or reset_peak()
  int64_t allocations = 0;  // storages made so far
  int64_t cached = 0;       // bytes kept for reuse, not held by any tensor
  int64_t objects = 0;      // live tensors, storages and graph nodes
};

/// `peak` is exact for one thread; with several it is at most the sum of the threads' own peaks.
Stats stats();
void reset_peak();
/// Gives cached memory back to the system.
void trim();

namespace detail {

// Sanitizers see every block only when nothing is reused.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TANDEM_PLAIN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TANDEM_PLAIN_MALLOC 1
#endif
#endif
#ifndef TANDEM_PLAIN_MALLOC
#define TANDEM_PLAIN_MALLOC 0
#endif

inline constexpr size_t kGranule = 64;
inline constexpr size_t kLargestSmall = 4096;
inline constexpr int kClasses = kLargestSmall / kGranule + 1;
inline constexpr uint32_t kListLimit = 512;

struct FreeBlock {
  FreeBlock* next;
};

// Written by one thread, read by any: relaxed loads and stores cost what plain ones do.
template <class T>
struct Counter {
  std::atomic<T> value;
  void add(T n) { set(get() + n); }
  void set(T n) { value.store(n, std::memory_order_relaxed); }
  T get() const { return value.load(std::memory_order_relaxed); }
};

struct FreeList {
  FreeBlock* head;
  Counter<uint32_t> count;
};

struct ThreadPool {
  FreeList lists[kClasses];  // by size in granules
  Counter<int64_t> current, peak, allocations, objects;
  bool
      registered;  // True iff the centre knows it: what it holds is collected when the thread ends.
};
// Trivially destructible on purpose: it stays usable while other thread-locals are torn down.
extern constinit thread_local ThreadPool t_pool;

void* allocate_object_slowly(size_t bytes);
void free_object_slowly(void* p, size_t bytes);

/// A block for a tensor, a node or another small object; 64-byte aligned.
inline void* allocate_object(size_t bytes) {
  if (!TANDEM_PLAIN_MALLOC && bytes <= kLargestSmall) [[likely]] {
    FreeList& list = t_pool.lists[(bytes + kGranule - 1) / kGranule];
    if (FreeBlock* b = list.head) [[likely]] {
      list.head = b->next;
      list.count.add(-1);
      t_pool.objects.add(1);
      return b;
    }
  }
  return allocate_object_slowly(bytes);
}

inline void free_object(void* p, size_t bytes) {
  if (!TANDEM_PLAIN_MALLOC && bytes <= kLargestSmall) [[likely]] {
    FreeList& list = t_pool.lists[(bytes + kGranule - 1) / kGranule];
    if (t_pool.registered && list.count.get() < kListLimit) [[likely]] {
      auto* b = static_cast<FreeBlock*>(p);
      b->next = list.head;
      list.head = b;
      list.count.add(1);
      t_pool.objects.add(-1);
      return;
    }
  }
  free_object_slowly(p, bytes);
}

/// Memory for tensor values; 64-byte aligned, 2 MiB aligned with huge pages when large.
void* allocate_data(size_t bytes);
void free_data(void* p, size_t bytes);

/// Bookkeeping of tensor bytes: a storage of that size was made, or (negative) is gone.
inline void count_storage(int64_t bytes) {
  ThreadPool& t = t_pool;
  t.current.add(bytes);
  if (bytes < 0) return;
  t.allocations.add(1);
  if (t.current.get() > t.peak.get()) t.peak.set(t.current.get());
}

}  // namespace detail
}  // namespace tandem::memory
