#pragma once

#include <functional>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

/// What stands between the two linear layers of a transformer's layer.
using activation_t =
    std::variant<enumtype::kReLU, enumtype::kGELU, std::function<Tensor(const Tensor&)>>;

/// Options of TransformerEncoderLayer.
///
///     auto options = TransformerEncoderLayerOptions(512, 8).dropout(0.2);
struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}

  /// The width of what goes in and out.
  TANDEM_ARG(int64_t, d_model);
  TANDEM_ARG(int64_t, nhead);
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
};

/// Options of TransformerDecoderLayer.
struct TransformerDecoderLayerOptions {
  TransformerDecoderLayerOptions(int64_t d_model, int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}

  /// The width of what goes in and out.
  TANDEM_ARG(int64_t, d_model);
  TANDEM_ARG(int64_t, nhead);
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
};

}  // namespace tandem::nn
