// Mistakes in calls of losses and distances.
#include "tests/errors/error_cases.h"

namespace tandem::errors {
namespace {

Tensor classes(std::vector<int64_t> v) { return tensor(v, kLong); }

void add_class_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"a class that there is none of",
       Kind::kIndex,
       [](Things& t) {
         cross_entropy_loss(t.x, classes({0, 7}));
       },
       {"cross_entropy_loss", "Target 7", "sample 1", "3 classes"}},
      {"a negative class",
       Kind::kIndex,
       [](Things& t) {
         nll_loss(t.x, classes({-1, 0}));
       },
       {"nll_loss", "Target -1", "sample 0", "3 classes"}},
      {"a class out of range at a position of an image",
       Kind::kIndex,
       [](Things&) {
         cross_entropy_loss(zeros({2, 3, 4}), classes({0, 0, 0, 0, 0, 3, 0, 0}).reshape({2, 4}));
       },
       {"cross_entropy_loss", "Target 3", "sample 1", "position 1", "3 classes"}},
      {"a class out of range of a margin loss",
       Kind::kIndex,
       [](Things& t) {
         multi_margin_loss(t.x, classes({0, 3}));
       },
       {"multi_margin_loss", "Target 3", "sample 1", "3 classes"}},
      {"a class out of range among several",
       Kind::kIndex,
       [](Things& t) {
         multilabel_margin_loss(t.x, classes({0, 1, -1, 5, -1, -1}).reshape({2, 3}));
       },
       {"multilabel_margin_loss", "5", "sample 1", "3 classes"}},
      {"classes for another number of samples",
       Kind::kShape,
       [](Things& t) {
         cross_entropy_loss(t.x, classes({0, 1, 2}));
       },
       {"cross_entropy_loss", "batch_size (2)", "batch_size (3)", "[2, 3]"}},
      {"classes of another shape",
       Kind::kShape,
       [](Things&) {
         nll_loss_nd(zeros({2, 3, 4}), classes({0, 1}));
       },
       {"nll_loss", "[2, 3, 4]", "[2, 4]"}},
      {"classes that are no whole numbers",
       Kind::kType,
       [](Things& t) { nll_loss(t.x, zeros({2})); },
       {"nll_loss", "int64", "float32"}},
      {"scores that are whole numbers",
       Kind::kType,
       [](Things& t) {
         cross_entropy_loss(t.ints, classes({0, 1}));
       },
       {"cross_entropy_loss", "floating point", "int64"}},
      {"weights for another number of classes",
       Kind::kShape,
       [](Things& t) {
         cross_entropy_loss(t.x, classes({0, 1}), t.y);
       },
       {"cross_entropy_loss", "all 3 classes", "[4]"}},
      {"weights that are to be learnt",
       Kind::kError,
       [](Things& t) {
         nll_loss(t.x, classes({0, 1}), t.v).backward();
       },
       {"nll_loss", "weight", "not implemented"}},
      {"more smoothing than there is",
       Kind::kError,
       [](Things& t) {
         cross_entropy_loss(t.x, classes({0, 1}), {}, Reduction::Mean, -100, 1.5);
       },
       {"cross_entropy_loss", "label_smoothing", "1.5"}},
      {"a reduction that there is none of",
       Kind::kError,
       [](Things& t) { mse_loss(t.x, t.x, 7); },
       {"mse_loss", "reduction", "7"}},
      {"a third power of the margin",
       Kind::kError,
       [](Things& t) {
         multi_margin_loss(t.x, classes({0, 1}), 3);
       },
       {"multi_margin_loss", "p == 1", "3"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

void add_number_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"shapes that do not broadcast in a loss",
       Kind::kShape,
       [](Things& t) { mse_loss(t.x, t.y); },
       {"mse_loss", "[2, 3]", "[4]"}},
      {"a loss without a target",
       Kind::kError,
       [](Things& t) { l1_loss(t.x, t.none); },
       {"l1_loss", "target", "undefined"}},
      {"probabilities beyond 1",
       Kind::kError,
       [](Things& t) { binary_cross_entropy(t.x, t.x); },
       {"binary_cross_entropy", "between 0 and 1", "element 2", "2"}},
      {"probabilities and targets of two shapes",
       Kind::kShape,
       [](Things&) {
         binary_cross_entropy(zeros({2, 3}), zeros({3, 2}));
       },
       {"binary_cross_entropy", "[2, 3]", "[3, 2]"}},
      {"a negative beta",
       Kind::kError,
       [](Things& t) { smooth_l1_loss(t.x, t.x, Reduction::Mean, -1); },
       {"smooth_l1_loss", "beta", "-1"}},
      {"a delta of zero",
       Kind::kError,
       [](Things& t) { huber_loss(t.x, t.x, Reduction::Mean, 0); },
       {"huber_loss", "delta", "0"}},
      {"signs for another number of vectors",
       Kind::kShape,
       [](Things& t) { cosine_embedding_loss(t.x, t.x, t.x); },
       {"cosine_embedding_loss", "0D or 1D", "[2, 3]"}},
      {"pairs of points in three dimensions",
       Kind::kShape,
       [](Things&) {
         pdist(zeros({2, 3, 4}));
       },
       {"pdist", "2D", "3D"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

Tensor log_probs() { return zeros({5, 2, 3}); }

void add_sequence_cases(std::vector<Case>& cases) {
  const std::vector<Case> own = {
      {"more steps than there are",
       Kind::kError,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, 6}, {1, 1});
       },
       {"ctc_loss", "input_lengths", "at most 5", "6", "sample 1"}},
      {"more labels than there are",
       Kind::kError,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, 5}, {4, 1});
       },
       {"ctc_loss", "target_lengths", "at most 3", "4", "sample 0"}},
      {"a label that is no class",
       Kind::kIndex,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, 5}, {1, 2});
       },
       {"ctc_loss", "label 3", "sample 1", "3 classes"}},
      {"a negative length",
       Kind::kError,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, -1}, {1, 1});
       },
       {"ctc_loss", "input_lengths", "-1", "sample 1"}},
      {"labels left over",
       Kind::kError,
       [](Things&) {
         ctc_loss(log_probs(), classes({1, 2, 1, 2}), {5, 5}, {1, 1});
       },
       {"ctc_loss", "add up to 2", "4 targets"}},
      {"a blank that is no class",
       Kind::kError,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, 5}, {1, 1}, 3);
       },
       {"ctc_loss", "blank", "3 classes"}},
      {"lengths for another number of samples",
       Kind::kShape,
       [](Things& t) {
         ctc_loss(log_probs(), t.ints, {5, 5, 5}, {1, 1});
       },
       {"ctc_loss", "input_lengths", "[2]", "[3]"}},
      {"labels that are no whole numbers",
       Kind::kType,
       [](Things& t) {
         ctc_loss(log_probs(), t.x, {5, 5}, {1, 1});
       },
       {"ctc_loss", "targets", "integral", "float32"}},
      {"the gradient of a gradient of CTC",
       Kind::kError,
       [](Things&) {
         const Tensor x = log_probs().requires_grad_();
         const Tensor loss = ctc_loss(x, classes({1, 2}), {5, 5}, {1, 1});
         const Tensor g = autograd::grad({loss}, {x}, {}, true, true)[0];
         autograd::grad({g.sum()}, {x});
       },
       {"ctc_loss", "second derivative", "not implemented"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace

void add_loss_cases(std::vector<Case>& cases) {
  add_class_cases(cases);
  add_number_cases(cases);
  add_sequence_cases(cases);
}

}  // namespace tandem::errors
