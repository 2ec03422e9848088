#pragma once

#include "tandem/core/op.h"

namespace tandem {

/// Attributes of the ops that work on channels. Channels are dimension 1; of a blocked tensor
/// [N, C / k, ..., k] channel c is c / k in dimension 1 and c % k in the last one.
struct ChannelAttrs {
  bool blocked = false;
  TANDEM_FIELDS(blocked)
};

struct MomentsAttrs {
  double eps = 1e-5;
  bool blocked = false;
  TANDEM_FIELDS(eps, blocked)
};
/// x -> mean, 1 / sqrt(variance + eps), variance: [C] each, in the type that is computed in.
extern const OpDef kChannelMoments;

struct NormalizeAttrs {
  bool training = false;
  bool blocked = false;
  TANDEM_FIELDS(training, blocked)
};
/// x, mean, rstd [, weight, bias] -> ((x - mean) * rstd) * weight + bias.
///
/// With `training`, mean and rstd are kChannelMoments of the same x, and the gradient by x takes
/// that into account: it is the whole derivative, and none flows back through mean and rstd.
extern const OpDef kBatchNormalize;

/// g, x, mean, rstd [, weight, bias] -> the sums over each channel of g and of g * (x - mean) *
/// rstd: the gradients by bias and weight. With weight and bias, g counts only where the normalised
/// x is positive, as behind a ReLU.
extern const OpDef kChannelSums;

/// g, x, mean, a, b, scale [, weight] -> ((g * weight - a) - (x - mean) * b) * scale: the gradient
/// by x, once its sums are known.
extern const OpDef kChannelGrad;

struct GroupAttrs {
  int64_t groups = 1;
  TANDEM_FIELDS(groups)
};
/// x, mean, rstd [, weight, bias] with mean and rstd the moments of each sample's groups: [N * G].
extern const OpDef kGroupNormalize;

struct RowNormAttrs {
  int64_t dims = 1;  // trailing dimensions that make up a row
  double eps = 1e-5;
  TANDEM_FIELDS(dims, eps)
};
/// x [, weight [, bias]] -> y, mean, rstd.
extern const OpDef kLayerNorm;
/// g, x, mean, rstd [, weight] -> the gradient by x for fixed mean and rstd's dependence on it.
extern const OpDef kLayerNormGrad;
/// g, x, mean, rstd -> the gradients by weight and bias.
extern const OpDef kLayerNormSums;

}  // namespace tandem
