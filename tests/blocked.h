#pragma once

namespace tandem::test {

/// Whether convolutions in compiled programs must use blocked layouts here: that needs AVX2, and
/// oneDNN, which ThreadSanitizer cannot see into and is built without. The library is not asked,
/// because its answer is what is tested.
inline bool convolutions_are_blocked() {
#ifdef TANDEM_THREAD_SANITIZER
  return false;
#else
  return __builtin_cpu_supports("avx2") != 0;
#endif
}

}  // namespace tandem::test
