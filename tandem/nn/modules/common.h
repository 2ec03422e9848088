#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "tandem/nn/module.h"

/// For modules whose forward() has arguments with defaults: lets AnyModule and Sequential call it
/// with those left out. Each argument is given with its position, the first of them first.
///
///     struct ScaleImpl : nn::Module {
///       Tensor forward(const Tensor& x, double factor = 2, bool shift = false);
///      protected:
///       FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(2.0)}, {2, nn::AnyValue(false)})
///     };
#define FORWARD_HAS_DEFAULT_ARGS(...)                                                             \
  bool _forward_has_default_args() override { return true; }                                      \
  unsigned int _forward_num_required_args() override {                                            \
    return ::tandem::nn::detail::DefaultArgs({__VA_ARGS__}).front().first;                        \
  }                                                                                               \
  std::vector<::tandem::nn::AnyValue> _forward_populate_default_args(                             \
      std::vector<::tandem::nn::AnyValue>&& arguments) override {                                 \
    return ::tandem::nn::detail::with_defaults(std::move(arguments),                              \
                                               ::tandem::nn::detail::DefaultArgs({__VA_ARGS__})); \
  }

namespace tandem::nn::detail {

using DefaultArgs = std::vector<std::pair<unsigned int, AnyValue>>;
/// The arguments, and the defaults for positions that they do not reach.
std::vector<AnyValue> with_defaults(std::vector<AnyValue>&& arguments, const DefaultArgs& defaults);

}  // namespace tandem::nn::detail
