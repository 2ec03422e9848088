#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/dropout.h"

namespace tandem::nn::functional {

/// Elements become 0 with probability p, the others are divided by 1 - p.
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
/// Whole channels of [N, C, H, W] or [C, H, W].
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
/// Whole channels of [N, C, D, H, W] or [C, D, H, W].
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
/// Keeps mean and standard deviation; goes with SELU.
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

/// The same without options, as LibTorch has them.
namespace detail {
Tensor dropout(Tensor input, double p, bool training, bool inplace);
Tensor dropout2d(Tensor input, double p, bool training, bool inplace);
Tensor dropout3d(Tensor input, double p, bool training, bool inplace);
Tensor alpha_dropout(Tensor input, double p, bool training, bool inplace);
Tensor feature_alpha_dropout(Tensor input, double p, bool training, bool inplace);
}  // namespace detail

}  // namespace tandem::nn::functional
