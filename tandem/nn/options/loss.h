#pragma once

#include <functional>
#include <optional>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/loss.h"

namespace tandem {

namespace enumtype {
/// The number that functions on tensors take for .reduction(kMean) and its like.
template <class... Ts>
Reduction::Reduction reduction_get_enum(const std::variant<Ts...>& v) {
  const std::string name = get_enum_name(v);
  if (name == "kNone") return Reduction::None;
  if (name == "kMean") return Reduction::Mean;
  TANDEM_CHECK(name == "kSum", name, " is not a valid value for reduction");
  return Reduction::Sum;
}
}  // namespace enumtype

namespace nn {

/// What becomes of the losses of single elements or samples.
using LossReduction = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;

struct L1LossOptions {
  using reduction_t = LossReduction;
  L1LossOptions() = default;
  L1LossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  L1LossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  L1LossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using L1LossFuncOptions = L1LossOptions;
}

struct KLDivLossOptions {
  using reduction_t =
      std::variant<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
  KLDivLossOptions() = default;
  KLDivLossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  KLDivLossOptions(enumtype::kBatchMean reduction) : reduction_(reduction) {}
  KLDivLossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  KLDivLossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  /// The target is a logarithm too.
  TANDEM_ARG(bool, log_target) = false;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using KLDivFuncOptions = KLDivLossOptions;
}

struct MSELossOptions {
  using reduction_t = LossReduction;
  MSELossOptions() = default;
  MSELossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  MSELossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  MSELossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using MSELossFuncOptions = MSELossOptions;
}

struct BCELossOptions {
  using reduction_t = LossReduction;
  /// Broadcast to the losses of single elements.
  TANDEM_ARG(Tensor, weight) = {};
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using BinaryCrossEntropyFuncOptions = BCELossOptions;
}

struct HingeEmbeddingLossOptions {
  using reduction_t = LossReduction;
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
}

struct MultiMarginLossOptions {
  using reduction_t = LossReduction;
  /// 1 or 2.
  TANDEM_ARG(int64_t, p) = 1;
  TANDEM_ARG(double, margin) = 1.0;
  /// One number a class.
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
}

struct CosineEmbeddingLossOptions {
  using reduction_t = LossReduction;
  TANDEM_ARG(double, margin) = 0.0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
}

struct MultiLabelMarginLossOptions {
  using reduction_t = LossReduction;
  MultiLabelMarginLossOptions() = default;
  MultiLabelMarginLossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  MultiLabelMarginLossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  MultiLabelMarginLossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
}

struct SoftMarginLossOptions {
  using reduction_t = LossReduction;
  SoftMarginLossOptions() = default;
  SoftMarginLossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  SoftMarginLossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  SoftMarginLossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
}

struct MultiLabelSoftMarginLossOptions {
  using reduction_t = LossReduction;
  /// One number a class.
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
}

struct TripletMarginLossOptions {
  using reduction_t = LossReduction;
  TANDEM_ARG(double, margin) = 1.0;
  /// Of the norm.
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(double, eps) = 1e-6;
  /// The negative may be compared with the positive instead, if that is nearer.
  TANDEM_ARG(bool, swap) = false;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
}

struct TripletMarginWithDistanceLossOptions {
  using reduction_t = LossReduction;
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  /// None: pairwise_distance.
  TANDEM_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
  TANDEM_ARG(double, margin) = 1.0;
  TANDEM_ARG(bool, swap) = false;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
}

struct CTCLossOptions {
  using reduction_t = LossReduction;
  TANDEM_ARG(int64_t, blank) = 0;
  /// Samples that cannot be aligned count as 0.
  TANDEM_ARG(bool, zero_infinity) = false;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using CTCLossFuncOptions = CTCLossOptions;
}

struct SmoothL1LossOptions {
  using reduction_t = LossReduction;
  SmoothL1LossOptions() = default;
  SmoothL1LossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  SmoothL1LossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  SmoothL1LossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  /// Where the quadratic part ends.
  TANDEM_ARG(double, beta) = 1.0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
}

struct HuberLossOptions {
  using reduction_t = LossReduction;
  HuberLossOptions() = default;
  HuberLossOptions(enumtype::kNone reduction) : reduction_(reduction) {}
  HuberLossOptions(enumtype::kMean reduction) : reduction_(reduction) {}
  HuberLossOptions(enumtype::kSum reduction) : reduction_(reduction) {}
  /// Where the quadratic part ends.
  TANDEM_ARG(double, delta) = 1.0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using HuberLossFuncOptions = HuberLossOptions;
}

struct PoissonNLLLossOptions {
  using reduction_t = LossReduction;
  /// The input is the logarithm of the rate.
  TANDEM_ARG(bool, log_input) = true;
  /// With Stirling's approximation of log(target!).
  TANDEM_ARG(bool, full) = false;
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
}

struct MarginRankingLossOptions {
  using reduction_t = LossReduction;
  TANDEM_ARG(double, margin) = 0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
}

struct NLLLossOptions {
  using reduction_t = LossReduction;
  /// One number a class.
  TANDEM_ARG(Tensor, weight) = {};
  /// Samples of this class do not count.
  TANDEM_ARG(int64_t, ignore_index) = -100;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using NLLLossFuncOptions = NLLLossOptions;
}

struct CrossEntropyLossOptions {
  using reduction_t = LossReduction;
  /// One number a class.
  TANDEM_ARG(Tensor, weight) = {};
  /// Samples of this class do not count.
  TANDEM_ARG(int64_t, ignore_index) = -100;
  /// The part of the probability that all classes share.
  TANDEM_ARG(double, label_smoothing) = 0.0;
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
}

struct BCEWithLogitsLossOptions {
  using reduction_t = LossReduction;
  /// Broadcast to the losses of single elements.
  TANDEM_ARG(Tensor, weight) = {};
  /// Of positive examples.
  TANDEM_ARG(Tensor, pos_weight) = {};
  TANDEM_ARG(reduction_t, reduction) = kMean;
};
namespace functional {
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
}

}  // namespace nn
}  // namespace tandem
