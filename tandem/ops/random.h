#pragma once

#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// Seeds the default generator. The numbers that follow are the same whatever the number of
/// threads.
Generator manual_seed(uint64_t seed);
uint64_t initial_seed();
/// The generator that is used where none is given.
Generator default_generator();
Generator make_generator(uint64_t seed);
/// Seed and counter of the default generator.
Tensor get_rng_state();
void set_rng_state(const Tensor& state);

/// Uniform in [0, 1).
Tensor rand(IntArrayRef size, const TensorOptions& o = {});
Tensor rand(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& o = {});
Tensor rand_like(const Tensor& t, const TensorOptions& o = {},
                 std::optional<MemoryFormat> f = std::nullopt);
/// Normal with mean 0 and standard deviation 1.
Tensor randn(IntArrayRef size, const TensorOptions& o = {});
Tensor randn(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& o = {});
Tensor randn_like(const Tensor& t, const TensorOptions& o = {},
                  std::optional<MemoryFormat> f = std::nullopt);
/// Whole numbers in [low, high), int64 unless options say another dtype.
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& o = {});
Tensor randint(int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& o = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& o = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& o = {});
Tensor randint_like(const Tensor& t, int64_t high, const TensorOptions& o = {},
                    std::optional<MemoryFormat> f = std::nullopt);
Tensor randint_like(const Tensor& t, int64_t low, int64_t high, const TensorOptions& o = {},
                    std::optional<MemoryFormat> f = std::nullopt);
/// The numbers 0 .. n-1 in random order, int64 unless options say another dtype.
Tensor randperm(int64_t n, const TensorOptions& o = {});
Tensor randperm(int64_t n, std::optional<Generator> generator, const TensorOptions& o = {});

/// Normal numbers whose mean and standard deviation are given, each as a number or for each
/// element.
Tensor normal(const Tensor& mean, double std = 1, std::optional<Generator> g = std::nullopt);
Tensor normal(double mean, const Tensor& std, std::optional<Generator> g = std::nullopt);
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> g = std::nullopt);
Tensor normal(double mean, double std, IntArrayRef size, std::optional<Generator> g = std::nullopt,
              const TensorOptions& o = {});

/// 1 with the probability that x holds (or p), else 0.
Tensor bernoulli(const Tensor& x, std::optional<Generator> generator = std::nullopt);
Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> generator = std::nullopt);
/// Poisson numbers whose means x holds.
Tensor poisson(const Tensor& x, std::optional<Generator> generator = std::nullopt);
/// Column numbers drawn from rows of weights.
Tensor multinomial(const Tensor& x, int64_t num_samples, bool replacement = false,
                   std::optional<Generator> generator = std::nullopt);

}  // namespace tandem
