#include "tandem/nn/modules/embedding.h"

#include "tandem/nn/functional/embedding.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

// Row numbers count from the end when negative; the options hold them counted from the start.
template <class Options>
void wrap_padding(const char* name, Options& o) {
  if (!o.padding_idx()) return;
  const int64_t rows = o.num_embeddings();
  int64_t padding = *o.padding_idx();
  TANDEM_CHECK(padding >= -rows && padding < rows, name,
               ": Padding_idx must be within num_embeddings, got ", padding, " for ", rows,
               " rows");
  if (padding < 0) padding += rows;
  o.padding_idx(padding);
}

template <class Options>
Tensor first_weight(const char* name, const Options& o) {
  TANDEM_CHECK(o.num_embeddings() >= 0 && o.embedding_dim() >= 0, name,
               ": num_embeddings and embedding_dim must not be negative, got ", o.num_embeddings(),
               " and ", o.embedding_dim());
  if (!o._weight().defined()) return empty({o.num_embeddings(), o.embedding_dim()});
  const Dims expected{o.num_embeddings(), o.embedding_dim()};
  TANDEM_CHECK_SHAPE(o._weight().sizes() == IntArrayRef(expected), name,
                     ": Shape of _weight does not match num_embeddings and embedding_dim: ",
                     o._weight().sizes(), " and ", expected);
  return o._weight();
}

template <class Options>
void fill_weight(const Tensor& weight, const Options& o) {
  const NoGradGuard no_grad;
  init::normal_(weight);
  if (o.padding_idx() && weight.size(0) > 0) weight.select(0, *o.padding_idx()).zero_();
}

template <class Options>
void print_table(std::ostream& stream, const char* name, const Options& o) {
  stream << PrintedName{name} << "(num_embeddings=" << o.num_embeddings()
         << ", embedding_dim=" << o.embedding_dim();
}
template <class Options>
void print_norm(std::ostream& stream, const Options& o) {
  if (o.max_norm()) stream << ", max_norm=" << *o.max_norm();
  if (o.norm_type() != 2) stream << ", norm_type=" << o.norm_type();
  if (o.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (o.sparse()) stream << ", sparse=true";
}

void check_table(const Tensor& embeddings) {
  TANDEM_CHECK_SHAPE(embeddings.dim() == 2,
                     "Embeddings parameter is expected to be 2-dimensional, got shape ",
                     embeddings.sizes());
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(const EmbeddingOptions& options_) : options(options_) {
  EmbeddingImpl::reset();
}
void EmbeddingImpl::reset() {
  wrap_padding("Embedding", options);
  weight = register_parameter("weight", first_weight("Embedding", options));
  if (!options._weight().defined()) reset_parameters();
}
void EmbeddingImpl::reset_parameters() { fill_weight(weight, options); }
void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  print_table(stream, "Embedding", options);
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  print_norm(stream, options);
  stream << ")";
}
Tensor EmbeddingImpl::forward(const Tensor& indices) {
  const ForwardScope scope(*this);
  return functional::embedding(indices, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq())
                                   .sparse(options.sparse()));
}

Embedding Embedding::from_pretrained(const Tensor& embeddings,
                                     const EmbeddingFromPretrainedOptions& o) {
  check_table(embeddings);
  Embedding embedding(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                          ._weight(embeddings)
                          .padding_idx(o.padding_idx())
                          .max_norm(o.max_norm())
                          .norm_type(o.norm_type())
                          .scale_grad_by_freq(o.scale_grad_by_freq())
                          .sparse(o.sparse()));
  embedding->weight.set_requires_grad(!o.freeze());
  return embedding;
}

EmbeddingBagImpl::EmbeddingBagImpl(const EmbeddingBagOptions& options_) : options(options_) {
  EmbeddingBagImpl::reset();
}
void EmbeddingBagImpl::reset() {
  wrap_padding("EmbeddingBag", options);
  weight = register_parameter("weight", first_weight("EmbeddingBag", options));
  if (!options._weight().defined()) reset_parameters();
}
void EmbeddingBagImpl::reset_parameters() { fill_weight(weight, options); }
void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  print_table(stream, "EmbeddingBag", options);
  print_norm(stream, options);
  if (!std::holds_alternative<enumtype::kMean>(options.mode()))
    stream << ", mode=" << enumtype::get_enum_name(options.mode());
  if (options.include_last_offset()) stream << ", include_last_offset=true";
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}
Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets,
                                 const Tensor& per_sample_weights) {
  const ForwardScope scope(*this);
  return functional::embedding_bag(input, weight,
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq())
                                       .mode(options.mode())
                                       .sparse(options.sparse())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx()));
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings,
                                           const EmbeddingBagFromPretrainedOptions& o) {
  check_table(embeddings);
  EmbeddingBag bag(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                       ._weight(embeddings)
                       .max_norm(o.max_norm())
                       .norm_type(o.norm_type())
                       .scale_grad_by_freq(o.scale_grad_by_freq())
                       .mode(o.mode())
                       .sparse(o.sparse())
                       .include_last_offset(o.include_last_offset())
                       .padding_idx(o.padding_idx()));
  bag->weight.set_requires_grad(!o.freeze());
  return bag;
}

}  // namespace tandem::nn
