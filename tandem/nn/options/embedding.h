#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  /// A row that gets no gradient and starts as zeros; negative ones count from the end.
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  /// Rows are shortened to this norm before they are used.
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  /// A row's gradient is divided by how often it was used.
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  /// Accepted; gradients are dense all the same.
  TANDEM_ARG(bool, sparse) = false;
  /// The rows, if they are known.
  TANDEM_ARG(Tensor, _weight) = Tensor();
};

struct EmbeddingFromPretrainedOptions {
  /// The rows are not trained.
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(bool, sparse) = false;
};

using EmbeddingBagMode = std::variant<enumtype::kSum, enumtype::kMean, enumtype::kMax>;

struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  TANDEM_ARG(Tensor, _weight) = Tensor();
  /// The last offset is the end of the last bag.
  TANDEM_ARG(bool, include_last_offset) = false;
  /// A row that counts for nothing.
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

struct EmbeddingBagFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

namespace functional {

struct EmbeddingFuncOptions {
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(bool, sparse) = false;
};

struct EmbeddingBagFuncOptions {
  /// Where bags begin, for inputs of one dimension.
  TANDEM_ARG(Tensor, offsets) = Tensor();
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2.;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, sparse) = false;
  /// Factors of single rows, for mode kSum.
  TANDEM_ARG(Tensor, per_sample_weights) = Tensor();
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

}  // namespace functional
}  // namespace tandem::nn
