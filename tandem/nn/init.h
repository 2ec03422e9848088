#pragma once

#include <tuple>
#include <variant>

#include "tandem/base/enum.h"
#include "tandem/core/tensor.h"

/// First values of parameters. Each function fills a tensor, whatever it held, hidden from
/// autograd, and gives it back.
namespace tandem::nn::init {

using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D,
                 enumtype::kConvTranspose1D, enumtype::kConvTranspose2D, enumtype::kConvTranspose3D,
                 enumtype::kSigmoid, enumtype::kTanh, enumtype::kReLU, enumtype::kLeakyReLU>;
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;

/// In its scope, on its thread, random first values are left out: new layers hold whatever was in
/// their memory. For networks whose weights come from a file right afterwards: the values that
/// nobody will see take most of the time that a big network is made in.
class SkipGuard {
 public:
  SkipGuard();
  ~SkipGuard();
  SkipGuard(const SkipGuard&) = delete;
  SkipGuard& operator=(const SkipGuard&) = delete;

 private:
  bool before_;
};

/// By what a layer's weights are scaled for the activation that follows it; param is the slope of a
/// leaky ReLU.
double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

Tensor constant_(Tensor tensor, Scalar value);
Tensor ones_(Tensor tensor);
Tensor zeros_(Tensor tensor);
/// The identity, for matrices.
Tensor eye_(Tensor matrix);
/// The identity, for weights of convolutions: as many channels as possible pass unchanged.
Tensor dirac_(Tensor tensor);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
/// Rows, or columns if there are more of those, that are orthogonal to each other.
Tensor orthogonal_(Tensor tensor, double gain = 1.0);
/// Normal values, of which a share in each column is zero.
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);
// Scaled such that signals, or gradients for kFanOut, keep their variance from layer to layer.
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                       NonlinearityType nonlinearity = kLeakyReLU);
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                        NonlinearityType nonlinearity = kLeakyReLU);
// The same for the mean of both.
Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);

/// From how many inputs an output of the layer is made, and to how many outputs an input goes.
std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace tandem::nn::init
