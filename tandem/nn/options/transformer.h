#pragma once

#include "tandem/base/arg.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/options/transformerlayer.h"

namespace tandem::nn {

/// Options of Transformer.
///
///     auto options = TransformerOptions(512, 8).num_encoder_layers(4);
struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers,
                     int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}

  /// The width of what goes in and out.
  TANDEM_ARG(int64_t, d_model) = 512;
  TANDEM_ARG(int64_t, nhead) = 8;
  TANDEM_ARG(int64_t, num_encoder_layers) = 6;
  TANDEM_ARG(int64_t, num_decoder_layers) = 6;
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
  /// Modules in place of the usual encoder and decoder, unless they are empty.
  TANDEM_ARG(AnyModule, custom_encoder);
  TANDEM_ARG(AnyModule, custom_decoder);
};

}  // namespace tandem::nn
