#pragma once

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

/// A block for a tensor, a node or another small object; 64-byte aligned.
void* allocate_object(size_t bytes);
void free_object(void* p, size_t bytes);

/// Memory for tensor values; 64-byte aligned, 2 MiB aligned with huge pages when large.
void* allocate_data(size_t bytes);
void free_data(void* p, size_t bytes);

/// Bookkeeping of tensor bytes that lie inside an object block or outside Tandem.
void count_storage(int64_t bytes);

}  // namespace detail
}  // namespace tandem::memory
