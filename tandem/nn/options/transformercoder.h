#pragma once

#include "tandem/base/arg.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/modules/transformerlayer.h"

namespace tandem::nn {

/// Options of TransformerEncoder. All its layers begin as copies of the one given.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                            int64_t num_layers)
      : encoder_layer_(TransformerEncoderLayer(encoder_layer_options)), num_layers_(num_layers) {}

  TANDEM_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// What the result passes through at the end; may be empty.
  TANDEM_ARG(AnyModule, norm);
};

/// Options of TransformerDecoder. All its layers begin as copies of the one given.
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                            int64_t num_layers)
      : decoder_layer_(TransformerDecoderLayer(decoder_layer_options)), num_layers_(num_layers) {}

  TANDEM_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  TANDEM_ARG(int64_t, num_layers);
  /// What the result passes through at the end; may be empty.
  TANDEM_ARG(AnyModule, norm);
};

}  // namespace tandem::nn
