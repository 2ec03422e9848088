#pragma once

#include <utility>

/// An option of an options struct, with LibTorch's manners: `o.stride(2)` sets it and gives the
/// options back, so that calls can be chained; `o.stride()` reads it.
///
///     struct PoolOptions {
///       TANDEM_ARG(int64_t, stride) = 1;
///     };
#define TANDEM_ARG(type, name)                          \
 public:                                                \
  const type& name() const noexcept { return name##_; } \
  type& name() noexcept { return name##_; }             \
  auto& name(type value) {                              \
    name##_ = std::move(value);                         \
    return *this;                                       \
  }                                                     \
                                                        \
 private:                                               \
  type name##_
