#pragma once

#include <csignal>

namespace tandem {

/// While one exists, signals wait: no handler runs on this thread, nor on those that loops begun by
/// it run on. What a thread does wrong itself (SIGSEGV and the like) is reported at once.
///
/// For code that uses the stack pointer for something else, where a handler would write its frame
/// into whatever lies below. oneDNN's products without packing do so: for long sums they let it
/// point to memory from malloc().
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  const bool outermost_;
  sigset_t before_;
};

}  // namespace tandem
