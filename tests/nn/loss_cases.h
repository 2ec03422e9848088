#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// Losses and distances in all their variants, written with names that LibTorch and Tandem share.
// loss_values.inc holds what LibTorch 1.13.1 makes of them: each loss, then its gradients by the
// inputs, printed by a program that includes this file and <torch/torch.h>:
//
//   int main() {
//     std::printf("// Printed by LibTorch 1.13.1 from loss_cases.h.\n");
//     for (const loss_cases::Case& c : loss_cases::all()) {
//       std::printf("{\"%s\", {", c.name.c_str());
//       for (double v : loss_cases::values(c))
//         if (v == INFINITY) std::printf("INFINITY, "); else std::printf("%.15g, ", v);
//       std::printf("}},\n");
//     }
//   }
namespace loss_cases {

namespace F = torch::nn::functional;
using torch::Tensor;
using List = std::vector<Tensor>;

struct Case {
  std::string name;
  List inputs;  // the gradient is by these
  std::function<Tensor(const List&)> loss;
};

/// Numbers that look random: sines.
inline Tensor wave(std::vector<int64_t> sizes, double seed, double scale = 1.5, double shift = 0) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  Tensor t = torch::empty({n}, torch::kDouble);
  for (int64_t i = 0; i < n; ++i)
    t.data_ptr<double>()[i] = std::sin(12.9898 * static_cast<double>(i) + seed) * scale + shift;
  return t.reshape(sizes);
}
inline Tensor whole(std::vector<int64_t> values, std::vector<int64_t> sizes) {
  return torch::tensor(values, torch::kLong).reshape(sizes);
}
inline Tensor signs(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(i % 3 == 1 ? -1 : 1);
  return torch::tensor(v, torch::kDouble);
}

/// The loss, then the gradients of its weighted sum by the inputs, as numbers.
inline std::vector<double> values(const Case& c) {
  List inputs;
  for (const Tensor& t : c.inputs) inputs.push_back(t.clone().set_requires_grad(true));
  const Tensor loss = c.loss(inputs);
  (loss * wave(loss.sizes().vec(), 0.5, 1, 2)).sum().backward();
  std::vector<double> out;
  const auto add = [&](const Tensor& t) {
    const Tensor flat = t.detach().reshape({-1}).contiguous();
    for (int64_t i = 0; i < flat.numel(); ++i) out.push_back(flat[i].item<double>());
  };
  add(loss);
  for (const Tensor& t : inputs) add(t.grad());
  return out;
}

inline void add_of_numbers(std::vector<Case>& all) {
  const Tensor x = wave({2, 3}, 1), y = wave({2, 3}, 2);
  const auto add = [&](std::string name, List inputs, std::function<Tensor(const List&)> loss) {
    all.push_back({std::move(name), std::move(inputs), std::move(loss)});
  };
  add("mse", {x, y}, [](const List& a) { return F::mse_loss(a[0], a[1]); });
  add("mse none", {x, y}, [](const List& a) { return F::mse_loss(a[0], a[1], torch::kNone); });
  add("mse sum", {x, y}, [](const List& a) { return F::mse_loss(a[0], a[1], torch::kSum); });
  add("l1", {x, y}, [](const List& a) { return F::l1_loss(a[0], a[1]); });
  add("smooth_l1", {x, y}, [](const List& a) { return F::smooth_l1_loss(a[0], a[1]); });
  add("smooth_l1 beta", {x, y},
      [](const List& a) { return torch::smooth_l1_loss(a[0], a[1], torch::Reduction::None, 0.4); });
  add("smooth_l1 beta 0", {x, y},
      [](const List& a) { return torch::smooth_l1_loss(a[0], a[1], torch::Reduction::Sum, 0); });
  add("huber", {x, y}, [](const List& a) {
    return F::huber_loss(a[0], a[1], F::HuberLossFuncOptions().delta(0.7).reduction(torch::kNone));
  });
  const Tensor q = torch::softmax(y, 1);
  add("kl_div", {x, q},
      [](const List& a) { return F::kl_div(a[0], a[1], F::KLDivFuncOptions(torch::kBatchMean)); });
  add("kl_div log", {x, y}, [](const List& a) {
    return F::kl_div(a[0], a[1], F::KLDivFuncOptions(torch::kNone).log_target(true));
  });
  const Tensor p = wave({2, 3}, 3, 0.4, 0.5), t = wave({2, 3}, 4, 0.5, 0.5);
  const Tensor w = wave({3}, 5, 0.5, 1);
  add("bce", {p, t}, [](const List& a) { return F::binary_cross_entropy(a[0], a[1]); });
  add("bce weight", {p, t}, [w](const List& a) {
    return F::binary_cross_entropy(
        a[0], a[1], F::BinaryCrossEntropyFuncOptions().weight(w).reduction(torch::kSum));
  });
  add("bce at the ends", {torch::tensor({0., 1., 0., 1.}, torch::kDouble)}, [](const List& a) {
    return F::binary_cross_entropy(a[0], torch::tensor({0., 0., 1., 1.}, torch::kDouble),
                                   F::BinaryCrossEntropyFuncOptions().reduction(torch::kNone));
  });
  add("bce logits", {x, t},
      [](const List& a) { return F::binary_cross_entropy_with_logits(a[0], a[1]); });
  add("bce logits weights", {x, t}, [w](const List& a) {
    return F::binary_cross_entropy_with_logits(
        a[0], a[1],
        F::BinaryCrossEntropyWithLogitsFuncOptions().weight(w).pos_weight(w * 2).reduction(
            torch::kNone));
  });
  add("bce logits far", {torch::tensor({-800., 800., 30.}, torch::kDouble)}, [](const List& a) {
    return F::binary_cross_entropy_with_logits(
        a[0], torch::tensor({1., 0., 0.25}, torch::kDouble),
        F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
  });
  const Tensor counts = torch::tensor({0., 1., 4., 2., 7., 3.}, torch::kDouble).reshape({2, 3});
  add("poisson_nll", {x}, [counts](const List& a) {
    return F::poisson_nll_loss(a[0], counts, F::PoissonNLLLossFuncOptions().full(true));
  });
  add("poisson_nll rate", {p}, [counts](const List& a) {
    return F::poisson_nll_loss(
        a[0], counts, F::PoissonNLLLossFuncOptions().log_input(false).reduction(torch::kNone));
  });
  const Tensor s = signs(6).reshape({2, 3});
  add("soft_margin", {x}, [s](const List& a) {
    return F::soft_margin_loss(a[0], s, F::SoftMarginLossFuncOptions(torch::kNone));
  });
  add("hinge_embedding", {x}, [s](const List& a) {
    return F::hinge_embedding_loss(
        a[0], s, F::HingeEmbeddingLossFuncOptions().margin(0.5).reduction(torch::kNone));
  });
  add("margin_ranking", {x, y}, [s](const List& a) {
    return F::margin_ranking_loss(
        a[0], a[1], s, F::MarginRankingLossFuncOptions().margin(0.5).reduction(torch::kNone));
  });
  add("multilabel_soft_margin", {x}, [w](const List& a) {
    return F::multilabel_soft_margin_loss(
        a[0], torch::tensor({1., 0., 0., 1., 1., 0.}, torch::kDouble).reshape({2, 3}),
        F::MultilabelSoftMarginLossFuncOptions().weight(w).reduction(torch::kNone));
  });
}

inline void add_of_vectors(std::vector<Case>& all) {
  const Tensor x = wave({4, 3}, 1), y = wave({4, 3}, 2), z = wave({4, 3}, 3);
  const auto add = [&](std::string name, List inputs, std::function<Tensor(const List&)> loss) {
    all.push_back({std::move(name), std::move(inputs), std::move(loss)});
  };
  add("cosine_embedding", {x, y}, [](const List& a) {
    return F::cosine_embedding_loss(
        a[0], a[1], signs(4),
        F::CosineEmbeddingLossFuncOptions().margin(0.2).reduction(torch::kNone));
  });
  add("cosine_embedding one", {x[0], y[0]}, [](const List& a) {
    return F::cosine_embedding_loss(a[0], a[1], torch::tensor(-1., torch::kDouble));
  });
  add("triplet_margin", {x, y, z}, [](const List& a) {
    return F::triplet_margin_loss(a[0], a[1], a[2],
                                  F::TripletMarginLossFuncOptions().reduction(torch::kNone));
  });
  add("triplet_margin swap p 3", {x, y, z}, [](const List& a) {
    return F::triplet_margin_loss(a[0], a[1], a[2],
                                  F::TripletMarginLossFuncOptions().p(3).margin(2).swap(true));
  });
  add("triplet_margin_with_distance", {x, y, z}, [](const List& a) {
    return F::triplet_margin_with_distance_loss(
        a[0], a[1], a[2],
        F::TripletMarginWithDistanceLossFuncOptions()
            .distance_function(
                [](const Tensor& u, const Tensor& v) { return (u - v).abs().sum(-1); })
            .margin(1.5)
            .swap(true)
            .reduction(torch::kSum));
  });
  for (double p : {1.0, 2.0, 2.5, double(INFINITY)})
    add("pairwise_distance " + std::to_string(p), {x, y}, [p](const List& a) {
      return F::pairwise_distance(a[0], a[1],
                                  F::PairwiseDistanceFuncOptions().p(p).keepdim(p == 1));
    });
  add("cosine_similarity", {x, y}, [](const List& a) { return F::cosine_similarity(a[0], a[1]); });
  add("cosine_similarity small", {x * 1e-10, y}, [](const List& a) {
    return F::cosine_similarity(a[0], a[1], F::CosineSimilarityFuncOptions().dim(0).eps(1e-3));
  });
  for (double p : {1.0, 2.0, 3.0, double(INFINITY)}) {
    add("pdist " + std::to_string(p), {x}, [p](const List& a) { return F::pdist(a[0], p); });
    add("cdist " + std::to_string(p), {x, wave({2, 3}, 4)},
        [p](const List& a) { return torch::cdist(a[0], a[1], p); });
  }
  add("cdist product", {x, wave({2, 3}, 4)},
      [](const List& a) { return torch::cdist(a[0], a[1], 2, 1); });
}

inline void add_of_classes(std::vector<Case>& all) {
  const Tensor x = wave({3, 4}, 1), w = wave({4}, 5, 0.5, 1), t = whole({2, 0, 3}, {3});
  const Tensor some = whole({2, -100, 3}, {3}), x3 = wave({2, 3, 2}, 1);
  const Tensor t3 = whole({0, 2, 1, 1}, {2, 2}), w3 = wave({3}, 5, 0.5, 1);
  const auto add = [&](std::string name, List inputs, std::function<Tensor(const List&)> loss) {
    all.push_back({std::move(name), std::move(inputs), std::move(loss)});
  };
  using torch::Reduction::Mean;
  using torch::Reduction::None;
  using torch::Reduction::Sum;
  const std::vector<std::pair<const char*, int64_t>> reductions = {
      {" none", None}, {" mean", Mean}, {" sum", Sum}};
  for (const auto& [label, r] : reductions) {
    const auto reduction = r;
    add(std::string("nll") + label, {x},
        [=](const List& a) { return torch::nll_loss(a[0], t, w, reduction); });
    add(std::string("nll ignored") + label, {x},
        [=](const List& a) { return torch::nll_loss(a[0], some, w, reduction); });
    add(std::string("nll 3-d") + label, {x3},
        [=](const List& a) { return torch::nll_loss_nd(a[0], t3, {}, reduction, 1); });
    add(std::string("cross_entropy") + label, {x},
        [=](const List& a) { return torch::cross_entropy_loss(a[0], t, {}, reduction); });
    add(std::string("cross_entropy weight ignored") + label, {x},
        [=](const List& a) { return torch::cross_entropy_loss(a[0], some, w, reduction); });
    add(std::string("cross_entropy smooth") + label, {x}, [=](const List& a) {
      return torch::cross_entropy_loss(a[0], some, {}, reduction, -100, 0.3);
    });
    add(std::string("cross_entropy smooth weight") + label, {x}, [=](const List& a) {
      return torch::cross_entropy_loss(a[0], some, w, reduction, -100, 0.3);
    });
    add(std::string("cross_entropy 3-d") + label, {x3},
        [=](const List& a) { return torch::cross_entropy_loss(a[0], t3, w3, reduction, 1, 0.2); });
    const Tensor p = torch::softmax(wave({3, 4}, 7), 1);
    add(std::string("cross_entropy probabilities") + label, {x, p}, [=](const List& a) {
      return torch::cross_entropy_loss(a[0], a[1], w, reduction, -100, 0.3);
    });
    add(std::string("cross_entropy probabilities 3-d") + label,
        {x3, torch::softmax(wave({2, 3, 2}, 7), 1)},
        [=](const List& a) { return torch::cross_entropy_loss(a[0], a[1], {}, reduction); });
    add(std::string("multi_margin") + label, {x},
        [=](const List& a) { return torch::multi_margin_loss(a[0], t, 1, 1, {}, reduction); });
    add(std::string("multi_margin 2 weight") + label, {x},
        [=](const List& a) { return torch::multi_margin_loss(a[0], t, 2, 0.7, w, reduction); });
    add(std::string("multilabel_margin") + label, {x}, [=](const List& a) {
      return torch::multilabel_margin_loss(
          a[0], whole({3, 0, -1, 1, -1, 2, 1, 0, 2, 1, 0, 3}, {3, 4}), reduction);
    });
  }
  add("nll2d", {wave({1, 3, 2, 2}, 1)}, [](const List& a) {
    return torch::nll_loss2d(a[0], whole({0, 1, 2, 1}, {1, 2, 2}), wave({3}, 5, 0.5, 1));
  });
  add("cross_entropy one", {x[0]}, [](const List& a) {
    return torch::cross_entropy_loss(a[0], torch::tensor(1, torch::kLong), {}, None);
  });
  add("multi_margin one", {x[0]}, [](const List& a) {
    return torch::multi_margin_loss(a[0], torch::tensor(1, torch::kLong), 1, 1, {}, None);
  });
  add("multilabel_margin one", {x[0]}, [](const List& a) {
    return torch::multilabel_margin_loss(a[0], whole({3, 1, -1, 0}, {4}), None);
  });
}

inline void add_of_sequences(std::vector<Case>& all) {
  const auto add = [&](std::string name, List inputs, std::function<Tensor(const List&)> loss) {
    all.push_back({std::move(name), std::move(inputs), std::move(loss)});
  };
  using torch::Reduction::Mean;
  using torch::Reduction::None;
  using torch::Reduction::Sum;
  const Tensor x = torch::log_softmax(wave({6, 3, 4}, 1), 2);
  const Tensor padded = whole({1, 2, 2, 3, 1, 0, 1, 1, 0}, {3, 3}),
               flat = whole({1, 2, 2, 3, 1}, {5});
  for (int64_t r : {None, Mean, Sum})
    add("ctc padded " + std::to_string(r), {x}, [=](const List& a) {
      return torch::ctc_loss(a[0], padded, whole({6, 5, 4}, {3}), whole({3, 2, 2}, {3}), 0, r);
    });
  add("ctc flat, one empty", {x}, [=](const List& a) {
    return torch::ctc_loss(a[0], flat, whole({6, 3, 6}, {3}), whole({3, 0, 2}, {3}), 0, None);
  });
  add("ctc lists", {x}, [=](const List& a) {
    return torch::ctc_loss(a[0], flat, {6, 5, 5}, {2, 1, 2}, 0, None);
  });
  add("ctc blank 3", {x}, [=](const List& a) {
    return torch::ctc_loss(a[0], whole({0, 1, 2, 2, 1, 1}, {3, 2}), whole({6, 6, 6}, {3}),
                           whole({2, 2, 2}, {3}), 3, None);
  });
  add("ctc impossible", {x}, [=](const List& a) {
    return torch::ctc_loss(a[0], padded, whole({6, 5, 2}, {3}), whole({3, 2, 2}, {3}), 0, None,
                           true);
  });
  add("ctc of scores", {wave({6, 3, 4}, 1)}, [=](const List& a) {
    return F::ctc_loss(torch::log_softmax(a[0], 2), padded, whole({6, 5, 4}, {3}),
                       whole({3, 2, 2}, {3}));
  });
  add("ctc one", {torch::log_softmax(wave({6, 4}, 1), 1)}, [=](const List& a) {
    return torch::ctc_loss(a[0], whole({1, 3}, {2}), whole({6}, {1}), whole({2}, {1}));
  });
}

inline std::vector<Case> all() {
  std::vector<Case> cases;
  add_of_numbers(cases);
  add_of_vectors(cases);
  add_of_classes(cases);
  add_of_sequences(cases);
  return cases;
}

}  // namespace loss_cases
