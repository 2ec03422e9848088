#pragma once

#include <optional>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/base/expanding_array.h"
#include "tandem/core/tensor.h"

// Extents are given as one number for all dimensions or one for each; windows lie side by side
// unless a stride is given.
namespace tandem::nn {

template <size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  /// Windows that only partly lie inside at the end are taken too.
  TANDEM_ARG(bool, ceil_mode) = false;
  /// The padding's zeros count as elements.
  TANDEM_ARG(bool, count_include_pad) = true;
  /// What sums are divided by in place of the number of elements.
  TANDEM_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;

template <size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;

/// An extent that is missing is that of the input.
template <class Size>
struct AdaptiveMaxPoolOptions {
  AdaptiveMaxPoolOptions(Size output_size) : output_size_(output_size) {}
  TANDEM_ARG(Size, output_size);
};
using AdaptiveMaxPool1dOptions = AdaptiveMaxPoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveMaxPool3dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <class Size>
struct AdaptiveAvgPoolOptions {
  AdaptiveAvgPoolOptions(Size output_size) : output_size_(output_size) {}
  TANDEM_ARG(Size, output_size);
};
using AdaptiveAvgPool1dOptions = AdaptiveAvgPoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveAvgPool3dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size)
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

/// Either output_size or output_ratio says how large the result is.
template <size_t D>
struct FractionalMaxPoolOptions {
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(std::optional<ExpandingArray<D>>, output_size) = std::nullopt;
  TANDEM_ARG(std::optional<ExpandingArrayDouble>, output_ratio) = std::nullopt;
  /// Random numbers to use instead of drawing some.
  TANDEM_ARG(Tensor, _random_samples) = Tensor();
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

/// The norm_type-th root of the sum of norm_type-th powers.
template <size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(bool, ceil_mode) = false;
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;

namespace functional {

using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;

template <size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size)
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride);
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  /// What was pooled may have had several sizes: this one is meant.
  TANDEM_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;

}  // namespace functional
}  // namespace tandem::nn
