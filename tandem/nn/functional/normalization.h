#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/batchnorm.h"
#include "tandem/nn/options/instancenorm.h"
#include "tandem/nn/options/normalization.h"

namespace tandem::nn::functional {

/// Normalises each channel: in training by the batch's own statistics, which also move the running
/// ones on; otherwise by the running ones.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
/// Normalises each channel of each sample.
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
/// Normalises over the last dimensions.
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
/// Normalises groups of channels of each sample.
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
/// Divides by the strength of neighbouring channels.
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);
/// The same with the sum over a window that is as wide on both sides, over [N, C, H, W].
Tensor cross_map_lrn2d(const Tensor& input, const CrossMapLRN2dFuncOptions& options);
/// Divides by the p-norm along a dimension.
Tensor normalize(const Tensor& input, NormalizeFuncOptions options = {});

}  // namespace tandem::nn::functional
