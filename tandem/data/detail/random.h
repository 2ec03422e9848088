#pragma once

#include <cstdint>

namespace tandem::data::detail {

/// Numbers that lie near each other give seeds that do not.
inline uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Random numbers for one element of a generated set: they depend on the set's seed and the
/// element's index, and on nothing else.
class ElementRandom {
 public:
  ElementRandom(uint64_t seed, uint64_t index) : state_(mix(seed ^ mix(index))) {}
  uint64_t operator()() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  /// From 0 to n - 1.
  int64_t below(int64_t n) {
    using Wide = unsigned __int128;
    return static_cast<int64_t>(Wide{(*this)()} * static_cast<uint64_t>(n) >> 64);
  }
  /// From low to high, both possible.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  /// In [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// With mean 0 and standard deviation 1.
  double normal();

 private:
  uint64_t state_;
};

}  // namespace tandem::data::detail
