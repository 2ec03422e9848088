#pragma once

#include <cstdint>
#include <memory>

namespace tandem {

class Tensor;

/// Where random numbers come from: a seed and a counter that moves on with every draw. By
/// reference, as tensors are: copies share their state. Any number of threads may draw from one
/// generator.
///
///   auto g = make_generator(42);
///   randn({3}, g);
class Generator {
 public:
  /// Undefined: stands for the default generator.
  Generator() = default;
  explicit Generator(uint64_t seed);

  bool defined() const { return static_cast<bool>(impl_); }
  void set_current_seed(uint64_t seed) const;
  uint64_t current_seed() const;
  /// Sets a seed that nobody could guess, and gives it.
  uint64_t seed() const;
  /// Seed and counter (two int64 numbers), to be put back by set_state.
  Tensor get_state() const;
  void set_state(const Tensor& state) const;
  Generator clone() const;
  friend bool operator==(const Generator& a, const Generator& b) { return a.impl_ == b.impl_; }

  /// Seed and counter as a tensor for one op that fills this many elements; the counter moves on
  /// past them.
  Tensor draw(int64_t elements) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tandem
