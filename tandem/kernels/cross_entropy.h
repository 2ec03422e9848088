#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Losses of scores for classes, x [N, C, ...], and the class that is right in each place, target
/// [N, ...]. `weight` [C] may be null. Places with the class `ignore` count as nothing; any other
/// class that there is none of is refused with its place.
namespace tandem::kernels {

enum class LossSum : uint8_t { None, Mean, Sum };  // in the order of tandem::Reduction

struct ClassLossOptions {
  const char* name = "";  // of the op, for messages
  LossSum sum = LossSum::Mean;
  int64_t ignore = -100;
  double smoothing = 0;  // the part of the weight that all classes share
};

/// Cross entropy of softmax(x) in one pass over each row: loss ([N, ...], or one value), lse
/// [N, ...] the logarithms of the sums of exponentials, and total, the weight of all that counts:
/// what a mean divides by.
void cross_entropy(const ClassLossOptions& o, const Array& x, const Array& target,
                   const Array* weight, const Array& loss, const Array& lse, const Array& total);
/// Its gradient by x, given that by the loss.
void cross_entropy_backward(const ClassLossOptions& o, const Array& grad, const Array& x,
                            const Array& target, const Array* weight, const Array& lse,
                            const Array& total, const Array& grad_x);

/// The same where x are logarithms of probabilities already; without smoothing.
void nll_loss(const ClassLossOptions& o, const Array& x, const Array& target, const Array* weight,
              const Array& loss, const Array& total);
void nll_loss_backward(const ClassLossOptions& o, const Array& grad, const Array& target,
                       const Array* weight, const Array& total, const Array& grad_x);

/// For each row of x [N, C], with targets [N, C] that name classes up to the first -1: the sum of
/// max(0, 1 - (x[j] - x[i])) / C over all j among the row's targets and i that are not, and its
/// gradient by x.
void multilabel_margin_loss(const Array& x, const Array& target, const Array& loss,
                            const Array& slope);

/// Copies classes; one outside of [0, classes) is refused with its place.
void check_classes(const char* name, const Array& target, int64_t classes, const Array& out);

}  // namespace tandem::kernels
