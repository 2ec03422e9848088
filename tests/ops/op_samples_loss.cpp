// Rows of the losses and distances.
#include <cmath>
#include <numbers>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using Pair = double (*)(double, double);

// The results of the first of `results` as LibTorch's reductions make one number of them.
ValuesList reduced(const ValuesList& results, int64_t reduction) {
  if (reduction == Reduction::None) return results;
  double sum = 0;
  for (double v : results[0].v) sum += v;
  Values one = zeros_of({});
  one.v[0] = reduction == Reduction::Sum ? sum : sum / static_cast<double>(results[0].numel());
  return {one};
}
Reference reduced(const Reference& r, int64_t reduction) {
  return [=](const ValuesList& a) { return reduced(r(a), reduction); };
}

template <class F>
std::vector<Sample> reductions(const F& loss, const Reference& reference,
                               const std::vector<Input>& inputs) {
  std::vector<Sample> samples;
  const char* labels[] = {"none", "mean", "sum"};
  for (int64_t r : {Reduction::None, Reduction::Mean, Reduction::Sum})
    samples.push_back({.label = labels[r],
                       .inputs = inputs,
                       .fn = [=](const List& a) -> List { return {loss(a, r)}; },
                       .reference = reduced(reference, r)});
  return samples;
}

Row composite_loss(const char* name, std::vector<Sample> samples) {
  return {.name = name,
          .ops = {},
          .samples = std::move(samples),
          .dtypes = kFloats,
          .refuses_others = false,
          .tolerance32 = 2e-5,
          .tolerance16 = 3e-2};
}

void add_of_numbers(std::vector<Row>& rows) {
  const std::vector<Input> two = {real({3, 4}), real({3, 4}, 3, 5)};
  const auto add = [&](const char* name, auto loss, Pair f, std::vector<Input> inputs) {
    rows.push_back(composite_loss(name, reductions(loss, pointwise(f), inputs)));
  };
  add(
      "mse_loss", [](const List& a, int64_t r) { return mse_loss(a[0], a[1], r); },
      [](double x, double y) { return (x - y) * (x - y); }, two);
  add(
      "l1_loss", [](const List& a, int64_t r) { return l1_loss(a[0], a[1], r); },
      [](double x, double y) { return std::abs(x - y); }, two);
  add(
      "smooth_l1_loss", [](const List& a, int64_t r) { return smooth_l1_loss(a[0], a[1], r, 3); },
      [](double x, double y) {
        const double d = std::abs(x - y);
        return d < 3 ? d * d / 6 : d - 1.5;
      },
      two);
  rows.back().ops = {"smooth_l1", "smooth_l1_backward"};
  add(
      "huber_loss", [](const List& a, int64_t r) { return huber_loss(a[0], a[1], r, 3); },
      [](double x, double y) {
        const double d = std::abs(x - y);
        return d < 3 ? d * d / 2 : 3 * (d - 1.5);
      },
      two);
  rows.back().ops = {"smooth_l1", "smooth_l1_backward"};
  add(
      "kl_div", [](const List& a, int64_t r) { return kl_div(a[0], a[1], r); },
      [](double x, double y) { return y * (std::log(y) - x); },
      {real({3, 4}, -4, -2), real({3, 4}, 0.5, 2)});
  add(
      "kl_div log_target", [](const List& a, int64_t r) { return kl_div(a[0], a[1], r, true); },
      [](double x, double y) { return std::exp(y) * (y - x); }, {real({3, 4}), real({3, 4})});
  add(
      "binary_cross_entropy",
      [](const List& a, int64_t r) { return binary_cross_entropy(a[0], a[1], {}, r); },
      [](double x, double t) { return -t * std::log(x) - (1 - t) * std::log(1 - x); },
      {real({3, 5}, 0.1, 0.9), real({3, 5}, 0.1, 0.9)});
  rows.back().ops = {"binary_cross_entropy"};
  rows.back().samples.push_back({.label = "big",
                                 .inputs = {real({90, 501}, 0.1, 0.9), real({90, 501}, 0.1, 0.9)},
                                 .fn = FN(binary_cross_entropy(a[0], a[1], {}, Reduction::None)),
                                 .reference = pointwise([](double x, double t) {
                                   return -t * std::log(x) - (1 - t) * std::log(1 - x);
                                 }),
                                 .big = true});
  add(
      "binary_cross_entropy_with_logits",
      [](const List& a, int64_t r) {
        return binary_cross_entropy_with_logits(a[0], a[1], {}, {}, r);
      },
      [](double x, double t) { return (1 - t) * x + std::log1p(std::exp(-x)); },
      {real({3, 5}), real({3, 5}, 0, 1)});
  add(
      "poisson_nll_loss",
      [](const List& a, int64_t r) { return poisson_nll_loss(a[0], a[1], true, true, 1e-8, r); },
      [](double x, double t) {
        const double stirling =
            t <= 1 ? 0 : t * std::log(t) - t + 0.5 * std::log(2 * std::numbers::pi * t);
        return std::exp(x) - t * x + stirling;
      },
      {real({3, 4}), real({3, 4}, 0, 5).avoiding({1})});
  add(
      "soft_margin_loss", [](const List& a, int64_t r) { return soft_margin_loss(a[0], a[1], r); },
      [](double x, double t) { return std::log1p(std::exp(-t * x)); },
      {real({3, 4}), real({3, 4}, -1, 1)});
  add(
      "hinge_embedding_loss",
      [](const List& a, int64_t r) { return hinge_embedding_loss(a[0], a[1], 0.5, r); },
      [](double x, double t) { return t == 1 ? x : std::max(0.0, 0.5 - x); },
      {real({2, 3}).avoiding({0.5}), given({2, 3}, {1, -1, -1, 1, 1, -1}).constant()});
  rows.push_back(composite_loss(
      "margin_ranking_loss",
      reductions(
          [](const List& a, int64_t r) { return margin_ranking_loss(a[0], a[1], a[2], 0.5, r); },
          pointwise([](double x, double y, double t) { return std::max(0.0, -t * (x - y) + 0.5); }),
          {real({2, 3}), real({2, 3}, 3, 5), given({2, 3}, {1, -1, -1, 1, 1, -1}).constant()})));
}

// -- vectors ------------------------------------------------------------------------------------

double norm_of_difference(const std::vector<double>& d, double p) {
  double sum = 0;
  for (double v : d) sum += std::pow(std::abs(v), p);
  return std::pow(sum, 1 / p);
}
std::vector<double> loss_row(const Values& x, int64_t r) {
  const int64_t n = x.sizes.back();
  return {x.v.begin() + r * n, x.v.begin() + (r + 1) * n};
}
std::vector<double> minus(std::vector<double> a, const std::vector<double>& b, double eps = 0) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += eps - b[i];
  return a;
}
double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) dot += a[i] * b[i];
  return dot / norm_of_difference(a, 2) / norm_of_difference(b, 2);
}
// One number for each row of the inputs, which are matrices.
Reference by_row(std::function<double(const std::vector<std::vector<double>>&, int64_t)> f) {
  return [=](const ValuesList& a) -> ValuesList {
    Values out = zeros_of({a[0].sizes[0]});
    for (int64_t r = 0; r < a[0].sizes[0]; ++r) {
      std::vector<std::vector<double>> rows;
      for (const Values& x : a)
        rows.push_back(x.dim() == 2 ? loss_row(x, r) : std::vector<double>{x.v[r]});
      out.v[r] = f(rows, r);
    }
    return {out};
  };
}

template <int p>
ValuesList pdist_of(const ValuesList& a) {
  Values out;
  for (int64_t i = 0; i < a[0].sizes[0]; ++i)
    for (int64_t j = i + 1; j < a[0].sizes[0]; ++j)
      out.v.push_back(norm_of_difference(minus(loss_row(a[0], i), loss_row(a[0], j)), p));
  out.sizes = {out.numel()};
  return {out};
}

template <int p>
ValuesList cdist_of(const ValuesList& a) {
  const int64_t n = a[0].sizes[0], m = a[1].sizes[0];
  Values out = zeros_of({n, m});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j)
      out.v[static_cast<size_t>(i * m + j)] =
          norm_of_difference(minus(loss_row(a[0], i), loss_row(a[1], j)), p);
  return {out};
}

void add_of_vectors(std::vector<Row>& rows) {
  rows.push_back(composite_loss("cdist", {}));
  rows.back().ops = {"cdist", "cdist_backward"};
  rows.back().samples = {{.label = "1",
                          .inputs = {real({2, 3}), real({4, 3}, 3, 5)},
                          .fn = FN(cdist(a[0], a[1], 1)),
                          .reference = cdist_of<1>},
                         {.label = "2",
                          .inputs = {real({2, 3}), real({4, 3})},
                          .fn = FN(cdist(a[0], a[1])),
                          .reference = cdist_of<2>},
                         {.label = "3",
                          .inputs = {real({2, 3}), real({4, 3}, 3, 5)},
                          .fn = FN(cdist(a[0], a[1], 3)),
                          .reference = cdist_of<3>},
                         {.label = "by a product",
                          .inputs = {real({2, 3}), real({4, 3}, 3, 5)},
                          .fn = FN(cdist(a[0], a[1], 2, 1)),
                          .reference = cdist_of<2>,
                          .dtypes = kFullFloats},
                         {.label = "big",
                          .inputs = {real({150, 37}), real({140, 37})},
                          .fn = FN(cdist(a[0], a[1], 1)),
                          .reference = cdist_of<1>,
                          .big = true},
                         {.label = "empty",
                          .inputs = {real({2, 0}), real({3, 0})},
                          .fn = FN(cdist(a[0], a[1], 1)),
                          .reference = cdist_of<1>}};
  rows.push_back(composite_loss("pairwise_distance", {}));
  rows.back().samples = {{.label = "2",
                          .inputs = {real({3, 4}), real({3, 4}, 3, 5)},
                          .fn = FN(pairwise_distance(a[0], a[1])),
                          .reference = by_row([](const auto& x, int64_t) {
                            return norm_of_difference(minus(x[0], x[1], 1e-6), 2);
                          })},
                         {.label = "3",
                          .inputs = {real({3, 4}), real({3, 4}, 3, 5)},
                          .fn = FN(pairwise_distance(a[0], a[1], 3)),
                          .reference = by_row([](const auto& x, int64_t) {
                            return norm_of_difference(minus(x[0], x[1], 1e-6), 3);
                          })}};
  rows.push_back(composite_loss(
      "cosine_similarity",
      {{.label = "plain",
        .inputs = {real({3, 4}), real({3, 4}, 3, 5)},
        .fn = FN(cosine_similarity(a[0], a[1])),
        .reference = by_row([](const auto& x, int64_t) { return cosine(x[0], x[1]); })}}));
  rows.push_back(composite_loss(
      "pdist",
      {{.label = "2", .inputs = {real({4, 3})}, .fn = FN(pdist(a[0])), .reference = pdist_of<2>},
       {.label = "3",
        .inputs = {real({4, 3})},
        .fn = FN(pdist(a[0], 3)),
        .reference = pdist_of<3>}}));
  rows.push_back(composite_loss(
      "cosine_embedding_loss",
      reductions(
          [](const List& a, int64_t r) { return cosine_embedding_loss(a[0], a[1], a[2], 0.1, r); },
          by_row([](const auto& x, int64_t) {
            const double c = cosine(x[0], x[1]);
            return x[2][0] == 1 ? 1 - c : std::max(0.0, c - 0.1);
          }),
          {real({3, 4}, 1, 3), real({3, 4}, 1, 5), given({3}, {1, -1, -1}).constant()})));
  rows.push_back(
      composite_loss("triplet_margin_loss",
                     reductions(
                         [](const List& a, int64_t r) {
                           return triplet_margin_loss(a[0], a[1], a[2], 9, 2, 1e-6, false, r);
                         },
                         by_row([](const auto& x, int64_t) {
                           return std::max(0.0, 9 + norm_of_difference(minus(x[0], x[1], 1e-6), 2) -
                                                    norm_of_difference(minus(x[0], x[2], 1e-6), 2));
                         }),
                         {real({3, 4}), real({3, 4}, 3, 5), real({3, 4}, -5, -3)})));
}

// -- classes ------------------------------------------------------------------------------------

struct ClassLoss {
  bool scores = false;  // not logarithms of probabilities yet
  int64_t reduction = Reduction::Mean;
  double smoothing = 0;
};

// Of x [N, C, ...], target [N, ...], and weights if there are any; class 1 is ignored.
ValuesList class_loss(const ValuesList& a, const ClassLoss& o) {
  const int64_t classes = a[0].sizes[1];
  Values losses = zeros_of(a[1].sizes);
  double total = 0;
  size_t at = 0;
  each_index(a[1].sizes, [&](const Sizes& index) {
    const size_t here = at++;
    const auto x = [&](int64_t c) {
      Sizes full = index;
      full.insert(full.begin() + 1, c);
      return a[0].at(full);
    };
    const auto w = [&](int64_t c) { return a.size() > 2 ? a[2].v[static_cast<size_t>(c)] : 1.0; };
    const int64_t right = static_cast<int64_t>(a[1].v[here]);
    if (right == 1) return;
    double sum = 0, rest = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x(c));
    const double lse = o.scores ? std::log(sum) : 0;
    for (int64_t c = 0; c < classes; ++c) rest += w(c) * (lse - x(c));
    losses.v[here] = (1 - o.smoothing) * w(right) * (lse - x(right)) +
                     o.smoothing / static_cast<double>(classes) * rest;
    total += w(right);
  });
  if (o.reduction != Reduction::Mean) return reduced({losses}, o.reduction);
  ValuesList sum = reduced({losses}, Reduction::Sum);
  sum[0].v[0] /= total;
  return sum;
}

Sample class_sample(std::string label, std::vector<Input> inputs, ClassLoss o) {
  return {.label = std::move(label),
          .inputs = std::move(inputs),
          .fn = [o](const List& a) -> List {
            const std::optional<Tensor> w = a.size() > 2 ? std::optional(a[2]) : std::nullopt;
            return {o.scores ? cross_entropy_loss(a[0], a[1], w, o.reduction, 1, o.smoothing)
                             : nll_loss_nd(a[0], a[1], w, o.reduction, 1)};
          },
          .reference = [o](const ValuesList& a) { return class_loss(a, o); }};
}

std::vector<Sample> class_samples(bool scores) {
  const Input x = real({3, 4}), t = given_index({3}, {2, 1, 3});
  const Input w = real({4}, 0.5, 2).constant();
  std::vector<Sample> samples;
  const char* labels[] = {" none", " mean", " sum"};
  for (int64_t r : {Reduction::None, Reduction::Mean, Reduction::Sum}) {
    const ClassLoss o{scores, r, 0};
    samples.push_back(class_sample(std::string("plain") + labels[r], {x, t}, o));
    samples.push_back(class_sample(std::string("weights") + labels[r], {x, t, w}, o));
    samples.push_back(class_sample(std::string("3-d") + labels[r],
                                   {real({2, 3, 2}), given_index({2, 2}, {0, 2, 1, 0})}, o));
    if (!scores) continue;
    samples.push_back(class_sample(std::string("smooth") + labels[r], {x, t, w}, {true, r, 0.3}));
    samples.push_back(class_sample(
        std::string("3-d smooth") + labels[r],
        {real({2, 3, 2}), given_index({2, 2}, {0, 2, 1, 0}), real({3}, 0.5, 2).constant()},
        {true, r, 0.3}));
  }
  const ClassLoss none{scores, Reduction::None, 0};
  samples.push_back(class_sample("empty", {real({0, 4}), index({0}, 0, 4)}, none));
  samples.push_back(class_sample("big", {real({300, 203}), index({300}, 0, 203)}, none));
  samples.back().big = true;
  samples.push_back(class_sample("big 3-d", {real({5, 7, 999}), index({5, 999}, 0, 7)}, none));
  samples.back().big = true;
  return samples;
}

// One input for the scores, one for the classes.
ValuesList multi_margin_of(const ValuesList& a) {
  Values out = zeros_of({a[0].sizes[0]});
  for (int64_t r = 0; r < a[0].sizes[0]; ++r) {
    const auto x = loss_row(a[0], r);
    const size_t right = static_cast<size_t>(a[1].v[static_cast<size_t>(r)]);
    for (size_t c = 0; c < x.size(); ++c)
      if (c != right) out.v[r] += std::pow(std::max(0.0, 5 - x[right] + x[c]), 2) / x.size();
  }
  return {out};
}

ValuesList multilabel_margin_of(const ValuesList& a) {
  Values out = zeros_of({a[0].sizes[0]});
  for (int64_t r = 0; r < a[0].sizes[0]; ++r) {
    const auto x = loss_row(a[0], r), t = loss_row(a[1], r);
    size_t n = 0;
    while (n < t.size() && t[n] >= 0) ++n;
    for (size_t k = 0; k < n; ++k)
      for (size_t c = 0; c < x.size(); ++c)
        if (std::find(t.begin(), t.begin() + n, double(c)) == t.begin() + n)
          out.v[r] += std::max(0.0, 1 - x[static_cast<size_t>(t[k])] + x[c]) / x.size();
  }
  return {out};
}

void add_of_classes(std::vector<Row>& rows) {
  rows.push_back({.name = "nll_loss",
                  .ops = {"nll_loss", "nll_loss_backward"},
                  .samples = class_samples(false),
                  .dtypes = kFloats,
                  .tolerance32 = 1e-5});
  rows.push_back({.name = "cross_entropy_loss",
                  .ops = {"cross_entropy_loss", "cross_entropy_loss_backward"},
                  .samples = class_samples(true),
                  .dtypes = kFloats,
                  .tolerance32 = 1e-5});
  rows.push_back(composite_loss(
      "multi_margin_loss",
      reductions(
          [](const List& a, int64_t r) { return multi_margin_loss(a[0], a[1], 2, 5, {}, r); },
          multi_margin_of, {real({3, 4}), given_index({3}, {2, 1, 3})})));
  rows.back().ops = {"check_classes"};
  rows.push_back(composite_loss(
      "multilabel_margin_loss",
      reductions([](const List& a, int64_t r) { return multilabel_margin_loss(a[0], a[1], r); },
                 multilabel_margin_of,
                 {real({3, 4}), given_index({3, 4}, {3, 0, -1, 1, -1, 2, 1, 0, 2, 1, 0, 3})})));
  rows.back().ops = {"multilabel_margin_loss"};
}

// -- sequences ----------------------------------------------------------------------------------

// The sum over all paths of the softmax of the scores [T, N, C].
double ctc_of(const Values& x, int64_t n, int64_t steps, const std::vector<int64_t>& labels) {
  const int64_t classes = x.sizes[2];
  double sum = 0;
  int64_t paths = 1;
  for (int64_t t = 0; t < steps; ++t) paths *= classes;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> text;
    double probability = 1;
    int64_t rest = path, last = -1;
    for (int64_t t = 0; t < steps; ++t, rest /= classes) {
      const int64_t c = rest % classes;
      if (c != 0 && c != last) text.push_back(c);
      last = c;
      double all = 0;
      for (int64_t k = 0; k < classes; ++k) all += std::exp(x.at({t, n, k}));
      probability *= std::exp(x.at({t, n, c})) / all;
    }
    if (text == labels) sum += probability;
  }
  return -std::log(sum);
}

void add_of_sequences(std::vector<Row>& rows) {
  const Fn none = FN(ctc_loss(a[0].log_softmax(2), a[1], a[2], a[3], 0, Reduction::None));
  const Reference reference = [](const ValuesList& a) -> ValuesList {
    Values out = zeros_of({a[0].sizes[1]});
    size_t used = 0;
    for (int64_t n = 0; n < out.sizes[0]; ++n) {
      const size_t i = static_cast<size_t>(n);
      std::vector<int64_t> labels;
      for (size_t k = 0; k < static_cast<size_t>(a[3].v[i]); ++k)
        labels.push_back(static_cast<int64_t>(
            a[1].dim() == 2 ? a[1].at({n, static_cast<int64_t>(k)}) : a[1].v[used + k]));
      used += labels.size();
      out.v[i] = ctc_of(a[0], n, static_cast<int64_t>(a[2].v[i]), labels);
    }
    return {out};
  };
  const Input x = real({5, 2, 3}), in = given_index({2}, {5, 4}), of = given_index({2}, {2, 1});
  rows.push_back(
      {.name = "ctc_loss",
       .ops = {"ctc_loss"},
       .samples = {{.label = "padded",
                    .inputs = {x, given_index({2, 3}, {1, 1, 0, 2, 0, 0}), in, of},
                    .fn = none,
                    .reference = reference},
                   {.label = "flat",
                    .inputs = {x, given_index({3}, {1, 2, 1}), in, of},
                    .fn = none,
                    .reference = reference},
                   {.label = "one empty",
                    .inputs = {x, given_index({2, 2}, {1, 2, 0, 0}), in, given_index({2}, {2, 0})},
                    .fn = none,
                    .reference = reference}},
       .grad = Grad::kOnce,
       .dtypes = kFloats,
       .refuses_others = false,
       .tolerance32 = 2e-5,
       .tolerance16 = 3e-2});
}

}  // namespace

void add_loss_rows(std::vector<Row>& rows) {
  add_of_numbers(rows);
  add_of_vectors(rows);
  add_of_classes(rows);
  add_of_sequences(rows);
}

}  // namespace tandem::table
