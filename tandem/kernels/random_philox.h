#pragma once

#include <cstdint>

#include "tandem/kernels/random.h"

/// Inner loops of random.cpp, compiled for each instruction set.
namespace tandem::kernels {

/// words[4 * i .. 4 * i + 3] = the block of counter + i, for i in [0, blocks).
/// They lie aligned to 8 bytes.
void philox_words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t* words);

/// Standard normals from words by the Box-Muller formula: 4 words make 4 floats or 2 doubles.
/// Blocks of 4 words; the logarithm, sine and cosine are worked out here, the same on every
/// machine.
void normals(const uint32_t* words, int64_t blocks, float* out);
void normals(const uint32_t* words, int64_t blocks, double* out);

/// In [0, 1): 24 bits, or 53.
void uniforms(const uint32_t* words, int64_t blocks, float* out);
void uniforms(const uint32_t* words, int64_t blocks, double* out);

/// -log(u) for u = (word + 1) / 2^32 or from 53 bits: standard exponentials, finite and not
/// negative.
void exponentials(const uint32_t* words, int64_t blocks, float* out);
void exponentials(const uint32_t* words, int64_t blocks, double* out);

}  // namespace tandem::kernels
