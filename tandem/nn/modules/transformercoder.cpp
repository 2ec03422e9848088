#include "tandem/nn/modules/transformercoder.h"

#include <ostream>

#include "tandem/nn/modules/normalization.h"

namespace tandem::nn {
namespace {

// Copies of a layer, all with values of their own.
template <class Layer>
ModuleList copies(const Layer& layer, int64_t n, const char* name) {
  TANDEM_CHECK(n > 0, name, ": num_layers must be positive, got ", n);
  TANDEM_CHECK(!layer.is_empty(), name, ": the layer given is empty");
  ModuleList list;
  for (int64_t i = 0; i < n; ++i) list->push_back(layer->clone());
  return list;
}

template <class Layer>
void reset_layers(ModuleListImpl& layers) {
  for (const auto& layer : layers) layer->template as<Layer>()->reset_parameters();
}

void reset_norm(const AnyModule& norm) {
  // Only of this kind is it known how.
  if (norm.is_empty()) return;
  if (auto* layer_norm = norm.ptr()->as<LayerNorm>()) layer_norm->reset_parameters();
}

}  // namespace

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options_)
    : options(std::move(options_)) {
  reset();
}

void TransformerEncoderImpl::reset() {
  layers = register_module(
      "layers", copies(options.encoder_layer(), options.num_layers(), "TransformerEncoder"));
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  reset_layers<TransformerEncoderLayer>(*layers);
  reset_norm(norm);
}

void TransformerEncoderImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TransformerEncoderImpl"};
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask,
                                       const Tensor& src_key_padding_mask) {
  ForwardScope scope(*this);
  Tensor x = src;
  for (const auto& layer : *layers)
    x = layer->as<TransformerEncoderLayer>()->forward(x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward<Tensor>(x);
}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options_)
    : options(std::move(options_)) {
  reset();
}

void TransformerDecoderImpl::reset() {
  layers = register_module(
      "layers", copies(options.decoder_layer(), options.num_layers(), "TransformerDecoder"));
  if (options.norm().is_empty()) return;
  norm = options.norm().clone();
  register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  reset_layers<TransformerDecoderLayer>(*layers);
  reset_norm(norm);
}

void TransformerDecoderImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TransformerDecoderImpl"};
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory,
                                       const Tensor& tgt_mask, const Tensor& memory_mask,
                                       const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  ForwardScope scope(*this);
  Tensor x = tgt;
  for (const auto& layer : *layers)
    x = layer->as<TransformerDecoderLayer>()->forward(
        x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward<Tensor>(x);
}

}  // namespace tandem::nn
