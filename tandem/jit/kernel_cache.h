#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/core/loop_nest.h"

/// Machine code for loop nests, made on a background thread and kept on disk.
namespace tandem::jit {

/// The code of one nest. Nests that are equal share it.
struct Kernel {
  /// Null until the code is ready; then it stays what it is until the process ends.
  std::atomic<LoopFunction> function{nullptr};

  /// Bytes that LoopCall::scratch must point to for rows of that many columns; 0: it may be null.
  size_t scratch_bytes(int64_t columns) const {
    return scratch_per_column * static_cast<size_t>(columns) + scratch_fixed;
  }

  size_t scratch_per_column = 0;
  size_t scratch_fixed = 0;
};

struct Stats {
  int64_t requested = 0;         // different nests
  int64_t compiled = 0;          // made by LLVM in this process
  int64_t loaded_from_disk = 0;  // made by an earlier one
  int64_t failed = 0;            // neither: their function stays null
};

struct ForkHandlers;

/// A cache with a thread of its own. Programs use the functions below, which share one for the
/// process; tests make their own.
class KernelCache {
 public:
  struct Options {
    bool enabled = true;
    std::string folder;  // empty: nothing is kept on disk
  };
  /// As the environment says: TANDEM_JIT, TANDEM_CACHE.
  static Options options_of_environment();

  explicit KernelCache(Options options);
  /// Waits for the kernel that is being made; those that wait behind it are never made.
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  std::shared_ptr<Kernel> request(const LoopNest& nest);
  void prepare();
  /// See Pause.
  void pause();
  void resume();
  void wait_idle();
  Stats stats() const;
  /// Waits for the kernel that is being made and makes no more.
  void end_worker();

 private:
  struct State;
  friend struct ForkHandlers;
  std::unique_ptr<State> state_;
};

/// The kernel of a nest. Returns at once; the code is made in the background. Where there is no
/// code generator (TANDEM_JIT=off, a build or a machine without LLVM) it never becomes ready.
std::shared_ptr<Kernel> request(const LoopNest& nest);
/// Gets ready what the first request needs, so that it takes less time.
void prepare();
/// While one exists, but no longer than a few milliseconds, no kernel is begun: the first call of a
/// compiled function has the processor to itself.
class Pause {
 public:
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};
/// Waits until everything that was requested is ready or has failed.
void wait_idle();
Stats stats();

}  // namespace tandem::jit
