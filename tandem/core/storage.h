#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "tandem/base/intrusive_ptr.h"
#include "tandem/core/device.h"

namespace tandem {

class Recorder;

/// A counted block of memory that one or more tensors look into.
struct Storage {
  std::atomic<uint32_t> refs{1};
  /// Counts in-place writes; what autograd saved is valid only at the version it was saved at.
  std::atomic<uint32_t> version{0};
  /// Counts the writes that autograd is not told of: those of tensors made by data().
  std::atomic<uint32_t> hidden_writes{0};
  void* data = nullptr;
  int64_t nbytes = 0;
  /// The op that wrote last in place, for error messages; a string literal.
  std::atomic<const char*> last_writer{nullptr};
  Device device;
  /// True iff somebody outside has had its address, and may write without being counted.
  std::atomic<bool> exposed{false};
  enum class Kind : uint8_t { kInline, kBlock, kForeign, kMeta, kPending } kind = Kind::kInline;
  /// The recorder under which it was made with memory: its contents are then a constant of what is
  /// recorded. 0 outside of recordings.
  uint32_t made_in = 0;
  /// Set iff what it holds has not been computed yet: who knows how to. See core/recorder.h.
  std::atomic<Recorder*> pending{nullptr};
  std::function<void(void*)>* deleter = nullptr;  // only for foreign memory

  static intrusive_ptr<Storage> make(int64_t nbytes, Device device);
  /// Memory owned by someone else; `deleter` runs when the last tensor is gone.
  static intrusive_ptr<Storage> foreign(void* data, int64_t nbytes,
                                        std::function<void(void*)> deleter);
  /// Without memory until fill() is called: what it holds is a value that the recorder knows.
  static intrusive_ptr<Storage> make_pending(int64_t nbytes, Device device, Recorder* recorder);
  /// Gives a pending storage memory, uninitialised.
  void fill();
  void bump(const char* writer) {
    version.fetch_add(1, std::memory_order_relaxed);
    last_writer.store(writer, std::memory_order_relaxed);
  }
  void expose() {
    if (!exposed.load(std::memory_order_relaxed)) exposed.store(true, std::memory_order_relaxed);
  }
  static void destroy(Storage* s);
};

inline void retain(Storage* s) { s->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(Storage* s) {
  // Whoever holds the only reference may skip the locked decrement.
  if (s->refs.load(std::memory_order_acquire) == 1 ||
      s->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    Storage::destroy(s);
}

}  // namespace tandem
