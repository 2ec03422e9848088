#include "tandem/base/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tandem/base/error.h"

namespace tandem::memory {
namespace {

using namespace detail;

constexpr size_t kChunk = 256 << 10;
// Blocks that all but fill a huge page get whole ones: the first touch of 4 KiB at a time takes
// eight times as long.
constexpr size_t kHugePage = 2 << 20;
constexpr size_t kHugeFrom = kHugePage / 8 * 7;

int64_t bytes_in(const FreeList* lists) {
  int64_t bytes = 0;
  for (int k = 0; k < kClasses; ++k)
    bytes += static_cast<int64_t>(lists[k].count.get() * k * kGranule);
  return bytes;
}

struct Central {
  std::mutex mutex;
  FreeList lists[kClasses]{};
  std::vector<ThreadPool*> threads;
  int64_t retired_current = 0, retired_peak = 0, retired_allocations = 0, retired_objects = 0;
  // Freed blocks of tensor data by size bin.
  std::vector<void*> bins[256];
  int64_t cached_data = 0;
};
// Never destroyed: tensors may outlive every other static.
Central& central() {
  static Central* c = new Central;
  return *c;
}

void out_of_memory(size_t bytes) {
  TANDEM_CHECK(false, "out of memory: could not allocate ", bytes, " bytes; tensors hold ",
               stats().current, " bytes now");
}

// On thread exit: free blocks and counts go to the centre.
void retire(void*) {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  ThreadPool& t = t_pool;
  for (int k = 0; k < kClasses; ++k) {
    while (FreeBlock* b = t.lists[k].head) {
      t.lists[k].head = b->next;
      b->next = c.lists[k].head;
      c.lists[k].head = b;
      c.lists[k].count.add(1);
    }
    t.lists[k].count.set(0);
  }
  c.retired_current += t.current.get();
  c.retired_peak += t.peak.get();
  c.retired_allocations += t.allocations.get();
  c.retired_objects += t.objects.get();
  t.current.set(0), t.peak.set(0), t.allocations.set(0), t.objects.set(0);
  std::erase(c.threads, &t);
  t.registered = false;
}

void register_thread() {
  // Not a thread-local's destructor: keys' come after all of those, which may free tensors. Should
  // a key of somebody else's free one later still, the thread registers again, and ends again.
  static const pthread_key_t key = [] {
    pthread_key_t k;
    TANDEM_CHECK(pthread_key_create(&k, &retire) == 0,
                 "this process has no thread-specific key left");
    return k;
  }();
  TANDEM_CHECK(pthread_setspecific(key, &t_pool) == 0, "out of memory: no room for a thread's key");
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.threads.push_back(&t_pool);
  t_pool.registered = true;
}

inline ThreadPool& pool() {
  if (!t_pool.registered) [[unlikely]]
    register_thread();
  return t_pool;
}

#if !TANDEM_PLAIN_MALLOC
// Refills list k with a batch from the centre, carving a new chunk when the centre has none.
[[gnu::noinline]] void refill(ThreadPool& t, int k) {
  const size_t size = k * kGranule;
  Central& c = central();
  std::lock_guard lock(c.mutex);
  if (!c.lists[k].head) {
    char* chunk = static_cast<char*>(std::aligned_alloc(kGranule, kChunk));
    TANDEM_CHECK(chunk, "out of memory: could not allocate ", kChunk, " bytes");
    for (size_t at = 0; at + size <= kChunk; at += size) {
      auto* b = reinterpret_cast<FreeBlock*>(chunk + at);
      b->next = c.lists[k].head;
      c.lists[k].head = b;
      c.lists[k].count.add(1);
    }
  }
  const uint32_t want = std::max<uint32_t>(8, static_cast<uint32_t>(16384 / size));
  while (t.lists[k].count.get() < want && c.lists[k].head) {
    FreeBlock* b = c.lists[k].head;
    c.lists[k].head = b->next;
    c.lists[k].count.add(-1);
    b->next = t.lists[k].head;
    t.lists[k].head = b;
    t.lists[k].count.add(1);
  }
}

// A list that only grows (one thread makes tensors, another drops them) hands half of it back.
[[gnu::noinline]] void spill(ThreadPool& t, int k) {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  for (uint32_t i = 0; i < kListLimit / 2; ++i) {
    FreeBlock* b = t.lists[k].head;
    t.lists[k].head = b->next;
    t.lists[k].count.add(-1);
    b->next = c.lists[k].head;
    c.lists[k].head = b;
    c.lists[k].count.add(1);
  }
}
#endif

// Size bins: four steps an octave, so at most a fifth of a block is wasted.
struct Bin {
  int index;
  size_t bytes;
};
Bin bin_of(size_t bytes) {
  const int octave = std::bit_width(bytes - 1);  // bytes <= 2^octave
  const size_t step = size_t{1} << (octave - 3);
  const size_t rounded = (bytes + step - 1) / step * step;
  const int quarter = static_cast<int>((rounded - (size_t{1} << (octave - 1))) / step);
  return {octave * 4 + quarter - 1, rounded};
}

void* system_allocate(size_t bytes) {
  const size_t align = bytes >= kHugeFrom ? kHugePage : kGranule;
  void* p = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  // What is left beyond the last whole huge page stays in small ones: a whole one would be wasted.
  if (p && bytes >= kHugeFrom) madvise(p, std::max(bytes, kHugePage), MADV_HUGEPAGE);
  return p;
}

}  // namespace

namespace detail {

constinit thread_local ThreadPool t_pool{};

void* allocate_object_slowly(size_t bytes) {
  ThreadPool& t = pool();
#if !TANDEM_PLAIN_MALLOC
  if (bytes <= kLargestSmall) {
    refill(t, static_cast<int>((bytes + kGranule - 1) / kGranule));
    return allocate_object(bytes);
  }
#endif
  void* p = std::aligned_alloc(kGranule, (bytes + kGranule - 1) / kGranule * kGranule);
  if (!p) out_of_memory(bytes);
  t.objects.add(1);
  return p;
}

void free_object_slowly(void* p, [[maybe_unused]] size_t bytes) {
  ThreadPool& t = pool();
#if !TANDEM_PLAIN_MALLOC
  if (bytes <= kLargestSmall) {
    const int k = static_cast<int>((bytes + kGranule - 1) / kGranule);
    if (t.lists[k].count.get() >= kListLimit) spill(t, k);
    return free_object(p, bytes);
  }
#endif
  t.objects.add(-1);
  std::free(p);
}

void* allocate_data(size_t bytes) {
  TANDEM_CHECK(bytes <= (size_t{1} << 46), "out of memory: a tensor of ", bytes,
               " bytes was asked for");
  const Bin bin = bin_of(std::max<size_t>(bytes, kGranule));
  void* p = nullptr;
#if !TANDEM_PLAIN_MALLOC
  {
    Central& c = central();
    std::lock_guard lock(c.mutex);
    auto& list = c.bins[bin.index];
    if (!list.empty()) {
      p = list.back();
      list.pop_back();
      c.cached_data -= static_cast<int64_t>(bin.bytes);
    }
  }
#endif
  if (!p) p = system_allocate(bin.bytes);
  if (!p) {
    trim();
    p = system_allocate(bin.bytes);
  }
  if (!p) out_of_memory(bytes);
  return p;
}

void free_data(void* p, [[maybe_unused]] size_t bytes) {
#if TANDEM_PLAIN_MALLOC
  std::free(p);
#else
  const Bin bin = bin_of(std::max<size_t>(bytes, kGranule));
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.bins[bin.index].push_back(p);
  c.cached_data += static_cast<int64_t>(bin.bytes);
#endif
}

}  // namespace detail

Stats stats() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  Stats s;
  s.current = c.retired_current;
  s.peak = c.retired_peak;
  s.allocations = c.retired_allocations;
  s.objects = c.retired_objects;
  s.cached = c.cached_data + bytes_in(c.lists);
  for (const ThreadPool* t : c.threads) {
    s.current += t->current.get();
    s.peak += t->peak.get();
    s.allocations += t->allocations.get();
    s.objects += t->objects.get();
    s.cached += bytes_in(t->lists);
  }
  return s;
}

void reset_peak() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.retired_peak = std::max<int64_t>(c.retired_current, 0);
  for (ThreadPool* t : c.threads) t->peak.set(std::max<int64_t>(t->current.get(), 0));
}

void trim() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  for (auto& list : c.bins) {
    for (void* p : list) std::free(p);
    list.clear();
    list.shrink_to_fit();
  }
  c.cached_data = 0;
}

}  // namespace tandem::memory
