// Rows of norms, dropout, embeddings and bilinear products.
#include <cmath>
#include <map>

#include "tandem/core/apply.h"
#include "tandem/ops/norm_op.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using Key = std::function<int64_t(const Sizes& index, const Sizes& sizes)>;

int64_t channel_of(const Sizes& i, const Sizes&) { return i[1]; }
int64_t block_channel_of(const Sizes& i, const Sizes& sizes) {
  return i[1] * sizes.back() + i.back();
}
template <int dims>
int64_t norm_row(const Sizes& i, const Sizes& sizes) {
  int64_t r = 0;
  for (size_t d = 0; d + dims < i.size(); ++d) r = r * sizes[d] + i[d];
  return r;
}
template <int dims>
int64_t column_of(const Sizes& i, const Sizes& sizes) {
  int64_t r = 0;
  for (size_t d = i.size() - dims; d < i.size(); ++d) r = r * sizes[d] + i[d];
  return r;
}
template <int groups>
int64_t group_of(const Sizes& i, const Sizes& sizes) {
  return i[0] * groups + i[1] / (sizes[1] / groups);
}

// (x - mean) / sqrt(var + eps) over the elements with one key, times weight and plus bias by
// another.
Reference normalizing(Key key, Key weight, double eps) {
  return [=](const ValuesList& a) -> ValuesList {
    const Values& x = a[0];
    std::map<int64_t, std::vector<double>> sets;
    each_index(x.sizes, [&](const Sizes& i) { sets[key(i, x.sizes)].push_back(x.at(i)); });
    std::map<int64_t, std::pair<double, double>> moments;
    for (const auto& [k, v] : sets) {
      double mean = 0, var = 0;
      for (double e : v) mean += e / static_cast<double>(v.size());
      for (double e : v) var += (e - mean) * (e - mean) / static_cast<double>(v.size());
      moments[k] = {mean, 1 / std::sqrt(var + eps)};
    }
    Values y = zeros_of(x.sizes);
    each_index(x.sizes, [&](const Sizes& i) {
      const auto [mean, rstd] = moments[key(i, x.sizes)];
      const auto w = static_cast<size_t>(weight(i, x.sizes));
      double v = (x.at(i) - mean) * rstd;
      if (a.size() > 1) v *= a[1].v[w];
      if (a.size() > 2) v += a[2].v[w];
      y.at(i) = v;
    });
    return {y};
  };
}

Tensor batch(const Tensor& x, const Tensor& w = {}, const Tensor& b = {}) {
  return batch_norm(x, w, b, {}, {}, true, 0.1, 1e-3);
}

// A batch norm of a tensor whose channels lie in blocks, as compiled programs make them.
Tensor blocked_batch(const Tensor& x, const Tensor& w, const Tensor& b) {
  const auto [mean, rstd, var] = apply_n<3>(kChannelMoments, {x}, MomentsAttrs{1e-3, true});
  return apply(kBatchNormalize, {x, mean, rstd, w, b}, NormalizeAttrs{true, true});
}

// The sums behind a norm and a ReLU, as compiled programs make them.
List gated_sums(const List& a) {
  const auto [sum, product] =
      apply_n<2>(kChannelSums, {a[0], a[1], a[2], a[3], a[4], a[5]}, ChannelAttrs{});
  return {sum, product};
}
ValuesList gated_sums_reference(const ValuesList& a) {
  Values sum = zeros_of({a[1].sizes[1]}), product = sum;
  each_index(a[1].sizes, [&](const Sizes& i) {
    const auto c = static_cast<size_t>(i[1]);
    const double d = (a[1].at(i) - a[2].v[c]) * a[3].v[c];
    if (!(d * a[4].v[c] + a[5].v[c] > 0)) return;
    sum.v[c] += a[0].at(i);
    product.v[c] += a[0].at(i) * d;
  });
  return {sum, product};
}

void add_batch_norm(std::vector<Row>& rows) {
  const auto gated = [](Sizes x, bool big) {
    const int64_t c = x[1];
    return Sample{.label = big ? "big" : "small",
                  .inputs = {real(x), real(x), real({c}), real({c}, 0.5, 2), real({c}).constant(),
                             real({c}).constant()},
                  .big = big};
  };
  rows.push_back({.name = "gated channel_sums",
                  .ops = {"channel_sums"},
                  .fn = gated_sums,
                  .reference = gated_sums_reference,
                  .samples = {gated({2, 3, 2}, false), gated({5, 33, 301}, true)},
                  .dtypes = kFullFloats,
                  .refuses_others = false,
                  .tolerance64 = 1e-10,
                  .tolerance32 = 1e-4});
  const Reference trained = normalizing(channel_of, channel_of, 1e-3);
  rows.push_back(
      {.name = "batch_norm",
       .ops = {"channel_moments", "batch_normalize", "channel_sums", "channel_grad"},
       .fn = FN(batch(a[0], a[1], a[2])),
       .reference = trained,
       .samples = {{.label = "4-d", .inputs = {real({2, 3, 2, 2}), real({3}), real({3})}},
                   {.label = "2-d", .inputs = {real({4, 3}), real({3}), real({3})}},
                   {.label = "3-d", .inputs = {real({3, 2, 3}), real({2}), real({2})}},
                   {.label = "plain", .inputs = {real({3, 2, 2})}, .fn = FN(batch(a[0]))},
                   {.label = "far from zero",
                    .inputs = {real({8, 3, 50}, 1000, 1001), real({3}), real({3})},
                    .grad = false,
                    .dtypes = kFullFloats},
                   {.label = "no samples", .inputs = {real({0, 3, 2}), real({3}), real({3})}},
                   {.label = "no channels", .inputs = {real({2, 0, 2}), real({0}), real({0})}},
                   {.label = "small images",
                    .inputs = {real({9, 40, 7, 7}), real({40}), real({40})},
                    .big = true},
                   {.label = "large images",
                    .inputs = {real({2, 3, 201, 199}), real({3}), real({3})},
                    .big = true},
                   {.label = "one image",
                    .inputs = {real({1, 2, 100003}), real({2}), real({2})},
                    .big = true},
                   {.label = "many columns",
                    .inputs = {real({400, 301}), real({301}), real({301})},
                    .big = true}},
       .dtypes = kFloats,
       .tolerance64 = 1e-10,
       .tolerance32 = 1e-4});
  rows.push_back(
      {.name = "blocked_batch_norm",
       .ops = {"channel_moments", "batch_normalize", "channel_sums", "channel_grad"},
       .fn = FN(blocked_batch(a[0], a[1], a[2])),
       .reference = normalizing(block_channel_of, block_channel_of, 1e-3),
       .samples = {{.label = "8", .inputs = {real({1, 1, 3, 2, 8}), real({8}), real({8})}},
                   {.label = "2", .inputs = {real({2, 2, 3, 2}), real({4}), real({4})}},
                   {.label = "3", .inputs = {real({2, 2, 2, 3}), real({6}), real({6})}},
                   {.label = "big",
                    .inputs = {real({3, 5, 30, 31, 8}), real({40}), real({40})},
                    .big = true}},
       .dtypes = kFloats,
       .tolerance64 = 1e-10,
       .tolerance32 = 2e-5});
  // With given statistics it is pointwise, and differentiable by them.
  rows.push_back(
      {.name = "batch_norm of running statistics",
       .ops = {"batch_normalize", "channel_sums"},
       .fn = FN(batch_norm(a[0], a[1], a[2], a[3], a[4], false, 0.1, 1e-3)),
       .reference = [](const ValuesList& a) -> ValuesList {
         Values y = zeros_of(a[0].sizes);
         each_index(a[0].sizes, [&](const Sizes& i) {
           const auto c = static_cast<size_t>(i[1]);
           y.at(i) = (a[0].at(i) - a[3].v[c]) / std::sqrt(a[4].v[c] + 1e-3) * a[1].v[c] + a[2].v[c];
         });
         return {y};
       },
       .samples = {{.label = "4-d",
                    .inputs = {real({2, 3, 2, 2}), real({3}), real({3}), real({3}),
                               real({3}, 0.5, 2)}},
                   {.label = "2-d",
                    .inputs = {real({4, 3}), real({3}), real({3}), real({3}), real({3}, 0.5, 2)}}},
       .dtypes = kFloats,
       .tolerance16 = -1});
}

void add_row_norms(std::vector<Row>& rows) {
  rows.push_back({.name = "layer_norm",
                  .ops = {"layer_norm", "layer_norm_grad", "layer_norm_sums"},
                  .fn = FN(layer_norm(a[0], {a[0].size(-1)}, a[1], a[2], 1e-3)),
                  .reference = normalizing(norm_row<1>, column_of<1>, 1e-3),
                  .samples = {{.label = "2-d", .inputs = {real({3, 4}), real({4}), real({4})}},
                              {.label = "3-d", .inputs = {real({2, 2, 5}), real({5}), real({5})}},
                              {.label = "1-d", .inputs = {real({5}), real({5}), real({5})}},
                              {.label = "plain",
                               .inputs = {real({3, 4})},
                               .fn = FN(layer_norm(a[0], {4}, {}, {}, 1e-3))},
                              {.label = "weight",
                               .inputs = {real({3, 4}), real({4})},
                               .fn = FN(layer_norm(a[0], {4}, a[1], {}, 1e-3))},
                              {.label = "two dimensions",
                               .inputs = {real({3, 2, 2}), real({2, 2}), real({2, 2})},
                               .fn = FN(layer_norm(a[0], {2, 2}, a[1], a[2], 1e-3)),
                               .reference = normalizing(norm_row<2>, column_of<2>, 1e-3)},
                              {.label = "empty", .inputs = {real({0, 4}), real({4}), real({4})}},
                              {.label = "big",
                               .inputs = {real({301, 503}), real({503}), real({503})},
                               .big = true},
                              {.label = "long",
                               .inputs = {real({3, 20011}), real({20011}), real({20011})},
                               .big = true}},
                  .dtypes = kFloats,
                  .tolerance64 = 1e-11,
                  .tolerance32 = 2e-5});
  rows.push_back(
      {.name = "group_norm",
       .ops = {"channel_moments", "group_normalize", "channel_sums", "channel_grad"},
       .fn = FN(group_norm(a[0], 2, a[1], a[2], 1e-3)),
       .reference = normalizing(group_of<2>, channel_of, 1e-3),
       .samples = {{.label = "4-d", .inputs = {real({2, 4, 2, 2}), real({4}), real({4})}},
                   {.label = "2-d", .inputs = {real({3, 6}), real({6}), real({6})}},
                   {.label = "plain",
                    .inputs = {real({2, 4, 3})},
                    .fn = FN(group_norm(a[0], 2, {}, {}, 1e-3))},
                   {.label = "no samples", .inputs = {real({0, 4, 2}), real({4}), real({4})}},
                   {.label = "big",
                    .inputs = {real({5, 34, 20, 21}), real({34}), real({34})},
                    .big = true}},
       .dtypes = kFloats,
       .tolerance64 = 1e-11,
       .tolerance32 = 2e-5});
  rows.push_back(
      {.name = "instance_norm",
       .ops = {"channel_moments", "group_normalize"},
       .fn = FN(instance_norm(a[0], a[1], a[2], {}, {}, true, 0.1, 1e-3)),
       .reference = normalizing([](const Sizes& i, const Sizes& s) { return i[0] * s[1] + i[1]; },
                                channel_of, 1e-3),
       .samples = {{.label = "3-d", .inputs = {real({2, 3, 4}), real({3}), real({3})}},
                   {.label = "plain",
                    .inputs = {real({2, 3, 2, 2})},
                    .fn = FN(instance_norm(a[0], {}, {}, {}, {}, true, 0.1, 1e-3))}},
       .dtypes = kFloats,
       .tolerance64 = 1e-11,
       .tolerance32 = 2e-5});
}

void add_dropout(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "dropout",
       .ops = {"masked_scale"},
       .inplace = INPLACE(dropout_(a[0], 0.3, true)),
       .samples = {{.label = "plain", .inputs = {real({4, 5})}, .fn = FN(dropout(a[0], 0.3, true))},
                   {.label = "all",
                    .inputs = {real({4, 5})},
                    .fn = FN(dropout(a[0], 1, true)),
                    .no_inplace = true},
                   {.label = "features",
                    .inputs = {real({4, 5, 2})},
                    .fn = FN(feature_dropout(a[0], 0.3, true)),
                    .no_inplace = true},
                   {.label = "alpha",
                    .inputs = {real({4, 5})},
                    .fn = FN(alpha_dropout(a[0], 0.3, true)),
                    .no_inplace = true},
                   {.label = "big",
                    .inputs = {real({300, 301})},
                    .fn = FN(dropout(a[0], 0.3, true)),
                    .big = true,
                    .no_inplace = true}},
       .dtypes = kFloats,
       .random = true});
  rows.push_back({.name = "rrelu",
                  .ops = {"leaky_relu"},
                  .fn = FN(rrelu(a[0], 0.1, 0.3, true)),
                  .samples = {{.label = "plain", .inputs = {real({4, 5}).avoiding({0})}}},
                  .dtypes = kFloats,
                  .random = true});
  rows.back().ops = {};
}

Values embedded(const Values& weight, const Values& index) {
  Values y{index.sizes, {}};
  const int64_t d = weight.sizes[1];
  y.sizes.push_back(d);
  for (double i : index.v)
    for (int64_t k = 0; k < d; ++k) y.v.push_back(weight.at({static_cast<int64_t>(i), k}));
  return y;
}

void add_embedding(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "embedding",
       .ops = {"embedding", "embedding_backward"},
       .fn = FN(embedding(a[0], a[1])),
       .reference = [](const ValuesList& a) -> ValuesList { return {embedded(a[0], a[1])}; },
       .samples = {{.label = "1-d", .inputs = {real({5, 3}), index({6}, 0, 5)}},
                   {.label = "2-d", .inputs = {real({5, 2}), index({2, 3}, 0, 5)}},
                   {.label = "0-d", .inputs = {real({5, 2}), index({}, 0, 5)}},
                   {.label = "empty", .inputs = {real({5, 2}), index({0}, 0, 5)}},
                   {.label = "by frequency",
                    .inputs = {real({4, 2}), given_index({5}, {1, 3, 1, 1, 0})},
                    .fn = FN(embedding(a[0], a[1], -1, true)),
                    .grad = false},
                   {.label = "big",
                    .inputs = {real({301, 70}), index({2000}, 0, 301)},
                    .big = true}},
       .dtypes = kFloats,
       .refuses_others = false});
  rows.push_back({.name = "embedding_dense_backward",
                  .ops = {"embedding_backward"},
                  .fn = FN(embedding_dense_backward(a[0], a[1], 4, 2, false)),
                  .reference = [](const ValuesList& a) -> ValuesList {
                    Values y = zeros_of({4, a[0].sizes.back()});
                    for (size_t i = 0; i < a[1].v.size(); ++i)
                      for (int64_t k = 0; k < y.sizes[1]; ++k)
                        if (a[1].v[i] != 2)
                          y.at({static_cast<int64_t>(a[1].v[i]), k}) +=
                              a[0].v[i * static_cast<size_t>(y.sizes[1]) + static_cast<size_t>(k)];
                    return {y};
                  },
                  .samples = {{.label = "padding",
                               .inputs = {real({5, 2}), given_index({5}, {1, 2, 1, 3, 2})}},
                              {.label = "2-d", .inputs = {real({2, 3, 2}), index({2, 3}, 0, 4)}},
                              {.label = "by frequency",
                               .inputs = {real({5, 2}), given_index({5}, {1, 2, 1, 3, 1})},
                               .fn = FN(embedding_dense_backward(a[0], a[1], 4, 2, true)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values y = zeros_of({4, 2});
                                 for (size_t i = 0; i < 5; ++i)
                                   for (int64_t k = 0; k < 2; ++k) {
                                     const auto r = static_cast<int64_t>(a[1].v[i]);
                                     const double g = a[0].v[2 * i + static_cast<size_t>(k)];
                                     if (r != 2) y.at({r, k}) += r == 1 ? g / 3 : g;
                                   }
                                 return {y};
                               }}},
                  .dtypes = kFloats,
                  .refuses_others = false});
  rows.push_back({.name = "embedding_renorm_",
                  .ops = {"embedding_renorm"},
                  .fn = FN(embedding_renorm_(a[0].detach().clone(), a[1], 1.0, 2.0)),
                  .reference = [](const ValuesList& a) -> ValuesList {
                    Values y = a[0];
                    for (double i : {0.0, 2.0}) {
                      double norm = 0;
                      for (int64_t k = 0; k < 3; ++k)
                        norm += std::pow(y.at({static_cast<int64_t>(i), k}), 2);
                      norm = std::sqrt(norm);
                      for (int64_t k = 0; norm > 1 && k < 3; ++k)
                        y.at({static_cast<int64_t>(i), k}) *= 1 / (norm + 1e-7);
                    }
                    return {y};
                  },
                  .samples = {{.inputs = {real({4, 3}), given_index({3}, {2, 0, 2})}}},
                  .grad = Grad::kNo,
                  .dtypes = kFloats,
                  .refuses_others = false,
                  .tolerance16 = -1});
  const auto bag = [](int64_t mode) {
    return [mode](const ValuesList& a) -> ValuesList {
      Values y = zeros_of({3, a[0].sizes[1]});
      // Bags [0, 2), [2, 2) and [2, 5).
      const int64_t first[] = {0, 2, 2, 5};
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t k = 0; k < y.sizes[1]; ++k) {
          double v = 0;
          for (int64_t i = first[b]; i < first[b + 1]; ++i) {
            const double e = a[0].at({static_cast<int64_t>(a[1].v[static_cast<size_t>(i)]), k}) *
                             (a.size() > 3 ? a[3].v[static_cast<size_t>(i)] : 1);
            if (mode == 2)
              v = i == first[b] ? e : std::max(v, e);
            else
              v += e / (mode == 1 ? static_cast<double>(first[b + 1] - first[b]) : 1);
          }
          y.at({b, k}) = v;
        }
      return {y};
    };
  };
  const Input offsets = given_index({3}, {0, 2, 2});
  rows.push_back(
      {.name = "embedding_bag",
       .ops = {"embedding_bag", "embedding_backward"},
       .samples = {{.label = "sum",
                    .inputs = {real({5, 3}), index({5}, 0, 5), offsets},
                    .fn = FN(std::get<0>(embedding_bag(a[0], a[1], a[2], false, 0))),
                    .reference = bag(0)},
                   {.label = "weighted",
                    .inputs = {real({5, 3}), index({5}, 0, 5), offsets, real({5})},
                    .fn = FN(std::get<0>(embedding_bag(a[0], a[1], a[2], false, 0, false, a[3]))),
                    .reference = bag(0)},
                   {.label = "mean",
                    .inputs = {real({5, 3}), index({5}, 0, 5), offsets},
                    .fn = FN(std::get<0>(embedding_bag(a[0], a[1], a[2], false, 1))),
                    .reference = bag(1)},
                   {.label = "max",
                    .inputs = {distinct({5, 3}), given_index({5}, {1, 4, 0, 3, 2}), offsets},
                    .fn = FN(std::get<0>(embedding_bag(a[0], a[1], a[2], false, 2))),
                    .reference = bag(2)},
                   {.label = "last offset",
                    .inputs = {real({5, 3}), index({5}, 0, 5), given_index({4}, {0, 2, 2, 5})},
                    .fn =
                        FN(std::get<0>(embedding_bag(a[0], a[1], a[2], false, 0, false, {}, true))),
                    .reference = bag(0)}},
       .dtypes = kFloats,
       .refuses_others = false,
       .tolerance32 = 1e-5,
       .tolerance16 = -1});
}

}  // namespace

void add_norm_rows(std::vector<Row>& rows) {
  add_batch_norm(rows);
  add_row_norms(rows);
  add_dropout(rows);
  add_embedding(rows);
  rows.push_back({.name = "bilinear",
                  .ops = {"mm", "bmm"},
                  .fn = FN(bilinear(a[0], a[1], a[2], a[3])),
                  .reference = [](const ValuesList& a) -> ValuesList {
                    const int64_t n = a[0].sizes[0], out = a[2].sizes[0];
                    Values y = zeros_of({n, out});
                    for (int64_t r = 0; r < n; ++r)
                      for (int64_t o = 0; o < out; ++o) {
                        double sum = a[3].v[static_cast<size_t>(o)];
                        for (int64_t i = 0; i < a[2].sizes[1]; ++i)
                          for (int64_t j = 0; j < a[2].sizes[2]; ++j)
                            sum += a[0].at({r, i}) * a[2].at({o, i, j}) * a[1].at({r, j});
                        y.at({r, o}) = sum;
                      }
                    return {y};
                  },
                  .samples = {{.inputs = {real({3, 2}), real({3, 4}), real({2, 2, 4}), real({2})}}},
                  .dtypes = kFloats,
                  .refuses_others = false,
                  .tolerance32 = 1e-5,
                  .tolerance16 = -1,
                  .tolerance_layout = 1e-5});
}

}  // namespace tandem::table
