#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// What becomes of the losses of single elements or samples.
namespace Reduction {
enum Reduction {
  None,  // they are the result
  Mean,  // of all, weighted where there are weights
  Sum,
  END
};
}  // namespace Reduction

// -- of numbers (loss.cpp) ----------------------------------------------------------------------

Tensor mse_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);
/// Quadratic up to a distance of beta, and linear from there on.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
                      double beta = 1.0);
/// delta times smooth_l1_loss.
Tensor huber_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
                  double delta = 1.0);
/// target * (log(target) - x): x is a logarithm, target one too if `log_target`.
Tensor kl_div(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean,
              bool log_target = false);
/// x are probabilities in [0, 1]; logarithms are bounded by -100.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target,
                            const std::optional<Tensor>& weight = {},
                            int64_t reduction = Reduction::Mean);
/// The same of sigmoid(x), without overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const std::optional<Tensor>& weight = {},
                                        const std::optional<Tensor>& pos_weight = {},
                                        int64_t reduction = Reduction::Mean);
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction);
/// log(1 + exp(-target * x)), targets being 1 and -1.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction = Reduction::Mean);
/// x where the target is 1, max(0, margin - x) where it is -1.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1.0,
                            int64_t reduction = Reduction::Mean);
/// max(0, -target * (x1 - x2) + margin).
Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                           double margin = 0.0, int64_t reduction = Reduction::Mean);
/// 1 - cos where the target is 1, max(0, cos - margin) where it is -1.
Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target,
                             double margin = 0.0, int64_t reduction = Reduction::Mean);
/// max(0, distance to the positive - distance to the negative + margin).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin = 1.0, double p = 2, double eps = 1e-06, bool swap = false,
                           int64_t reduction = Reduction::Mean);

// -- of classes (loss_class.cpp) ----------------------------------------------------------------

/// x [N, C] or [C] are logarithms of probabilities, target [N] or one number the right classes.
/// Samples of class ignore_index do not count.
Tensor nll_loss(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight = {},
                int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
/// The same for x [N, C, H, W] and target [N, H, W].
Tensor nll_loss2d(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight = {},
                  int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
/// The same for any number of dimensions behind the classes.
Tensor nll_loss_nd(const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight = {},
                   int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
/// Of scores x [N, C, ...] or [C] and right classes [N, ...], or probabilities of x's shape:
/// nll_loss of log_softmax(x), in one pass.
Tensor cross_entropy_loss(const Tensor& x, const Tensor& target,
                          const std::optional<Tensor>& weight = {},
                          int64_t reduction = Reduction::Mean, int64_t ignore_index = -100,
                          double label_smoothing = 0.0);
/// The loss of a support vector machine: for each sample the mean over all classes but the right
/// one of max(0, margin - x[right] + x[class])^p.
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p = 1,
                         const Scalar& margin = 1, const std::optional<Tensor>& weight = {},
                         int64_t reduction = Reduction::Mean);
/// The same for samples with several right classes: a row of targets ends with -1.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              int64_t reduction = Reduction::Mean);

// -- of sequences (loss_ctc.cpp) ----------------------------------------------------------------

/// Connectionist temporal classification of log_probs [T, N, C] or [T, C]. Targets are [N, S], or
/// of one dimension, one sample's after the other's; lengths are one number a sample. A sample that
/// cannot be aligned has the loss inf, or 0 without gradient if `zero_infinity`.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                bool zero_infinity = false);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0,
                int64_t reduction = Reduction::Mean, bool zero_infinity = false);

}  // namespace tandem
