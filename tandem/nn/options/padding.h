#pragma once

#include <variant>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"
#include "tandem/base/expanding_array.h"

namespace tandem::nn {

/// For ReflectionPad1d, 2d and 3d: two numbers for each dimension, the last one first, or one for
/// all.
template <size_t D>
struct ReflectionPadOptions {
  ReflectionPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  TANDEM_ARG(ExpandingArray<D * 2>, padding);
};
using ReflectionPad1dOptions = ReflectionPadOptions<1>;
using ReflectionPad2dOptions = ReflectionPadOptions<2>;
using ReflectionPad3dOptions = ReflectionPadOptions<3>;

template <size_t D>
struct ReplicationPadOptions {
  ReplicationPadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  TANDEM_ARG(ExpandingArray<D * 2>, padding);
};
using ReplicationPad1dOptions = ReplicationPadOptions<1>;
using ReplicationPad2dOptions = ReplicationPadOptions<2>;
using ReplicationPad3dOptions = ReplicationPadOptions<3>;

struct ZeroPad2dOptions {
  ZeroPad2dOptions(ExpandingArray<4> padding) : padding_(padding) {}
  TANDEM_ARG(ExpandingArray<4>, padding);
};

template <size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value)
      : padding_(padding), value_(value) {}
  TANDEM_ARG(ExpandingArray<D * 2>, padding);
  /// What the border is filled with.
  TANDEM_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

namespace functional {

/// pad(x, PadFuncOptions({1, 1, 2, 0}).mode(kReflect)): two numbers for each dimension, the last
/// one first.
struct PadFuncOptions {
  using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate,
                              enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TANDEM_ARG(std::vector<int64_t>, pad);
  TANDEM_ARG(mode_t, mode) = kConstant;
  /// What the border is filled with if the mode is kConstant.
  TANDEM_ARG(double, value) = 0;
};

}  // namespace functional
}  // namespace tandem::nn
