#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises each channel (dimension 1): in training by the mean and variance of the batch, which
/// also move the running ones on, otherwise by the running ones.
Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var, bool training, double momentum,
                  double eps, bool cudnn_enabled = true);
/// The same with the mean and 1 / sqrt(variance + eps) that were used; in evaluation both are
/// empty.
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias,
                                                     const std::optional<Tensor>& running_mean,
                                                     const std::optional<Tensor>& running_var,
                                                     bool training, double momentum, double eps);
/// In training, with the running statistics moved on by a factor that is itself a tensor of one
/// element, such as 1 / (number of batches).
Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& factor, double eps);

/// Normalises over the last dimensions, whose extents are given.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                  const std::optional<Tensor>& weight = std::nullopt,
                  const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
                  bool cudnn_enable = true);
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input,
                                                     IntArrayRef normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps);

/// Normalises each sample over groups of channels.
Tensor group_norm(const Tensor& input, int64_t num_groups,
                  const std::optional<Tensor>& weight = std::nullopt,
                  const std::optional<Tensor>& bias = std::nullopt, double eps = 1e-5,
                  bool cudnn_enabled = true);

/// Normalises each channel of each sample.
Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled = true);

}  // namespace tandem
