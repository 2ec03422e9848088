#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Random numbers as a function of (seed, counter, position): Philox-4x32-10.
///
/// Nothing is kept between calls. What element i gets depends on the seed, the counter that the
/// caller passes and i (its row-major number), never on the number of threads or on the strides.
namespace tandem::kernels {

/// The block cipher: 128 random bits for a 128-bit counter and a 64-bit key.
struct PhiloxBlock {
  uint32_t word[4];
};
PhiloxBlock philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);

enum class RandomFn : uint8_t {
  Uniform,      // [a, b)
  Normal,       // mean a, standard deviation b
  Integers,     // whole numbers in [a, b); see fill_integers for the whole range of int64
  Bernoulli,    // 1 with probability a
  Exponential,  // rate a
  Geometric,    // number of trials up to the first success, with probability a
  Cauchy,       // median a, scale b
  LogNormal,    // exp of a normal with mean a and standard deviation b
};

/// Fills `out`. Uniform float32 numbers have 24 random bits, float64 ones 53; 16-bit floats are
/// rounded from float32 (uniform ones downwards, so that b is never reached).
void fill_random(RandomFn fn, const Array& out, uint64_t seed, uint64_t counter, double a,
                 double b);
/// Whole numbers low + [0, range); range 0 stands for 2^64.
void fill_integers(const Array& out, uint64_t seed, uint64_t counter, int64_t low, uint64_t range);
/// out[i] = 1 with probability p[i]; p is a float array of out's shape. Probabilities outside [0,
/// 1] are a ValueError.
void fill_bernoulli(const Array& out, uint64_t seed, uint64_t counter, const Array& p);
/// out[i] = a Poisson number of mean rates[i], which is a float array of out's shape. Rates below 0
/// and nan are a ValueError.
void fill_poisson(const Array& out, uint64_t seed, uint64_t counter, const Array& rates);
/// A random order of the numbers 0 .. out.numel - 1.
void fill_permutation(const Array& out, uint64_t seed, uint64_t counter);
/// Each row of `out` (int64, [m, k] or [k]): k columns drawn from the weights of that row (floats,
/// [m, n] or [n]; not negative, finite, not all zero: ValueError else), with or without putting
/// back.
void fill_multinomial(const Array& weights, bool replacement, uint64_t seed, uint64_t counter,
                      const Array& out);

/// How far the counter must move on after one of the calls above has filled n elements (for
/// multinomial: m * n weights or m * k samples, whichever is more).
inline uint64_t counters_used(int64_t n) { return static_cast<uint64_t>(n / 2 + 1); }

}  // namespace tandem::kernels
