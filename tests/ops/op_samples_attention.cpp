// Rows of attention.
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

enum class MaskKind { kNone, kBools, kNumbers, kCausal };

// softmax(scale * q k^T + mask) v, one query after the other.
ValuesList attend(const ValuesList& a, MaskKind kind, double scale = 0) {
  Values q = a[0], k = a[1], v = a[2];
  const auto leading = [](const Values& x) { return Sizes(x.sizes.begin(), x.sizes.end() - 2); };
  const Sizes lead = broadcast(broadcast(leading(q), leading(k)), leading(v));
  const auto spread = [&](const Values& x) {
    Sizes sizes = lead;
    sizes.insert(sizes.end(), x.sizes.end() - 2, x.sizes.end());
    return expand_to(x, sizes);
  };
  q = spread(q), k = spread(k), v = spread(v);
  const int64_t n_q = *(q.sizes.end() - 2), n_k = *(k.sizes.end() - 2), width = q.sizes.back(),
                v_width = v.sizes.back();
  if (scale == 0) scale = width > 0 ? 1 / std::sqrt(static_cast<double>(width)) : 1;
  Sizes score_sizes = lead, out_sizes = lead;
  score_sizes.insert(score_sizes.end(), {n_q, n_k});
  out_sizes.insert(out_sizes.end(), {n_q, v_width});
  Values mask;
  if (kind == MaskKind::kBools || kind == MaskKind::kNumbers) mask = expand_to(a[3], score_sizes);
  Values out = zeros_of(out_sizes);
  for (int64_t row = 0; row < count(lead) * n_q; ++row) {
    const int64_t head = row / n_q, i = row % n_q;
    std::vector<double> s(static_cast<size_t>(n_k));
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n_k; ++j) {
      double x = 0;
      for (int64_t c = 0; c < width; ++c)
        x += q.v[static_cast<size_t>(row * width + c)] *
             k.v[static_cast<size_t>((head * n_k + j) * width + c)];
      x *= scale;
      const auto at = static_cast<size_t>(row * n_k + j);
      if (kind == MaskKind::kNumbers) x += mask.v[at];
      if (kind == MaskKind::kBools && mask.v[at] == 0) x = -INFINITY;
      if (kind == MaskKind::kCausal && j > i) x = -INFINITY;
      s[static_cast<size_t>(j)] = x;
      top = std::max(top, x);
    }
    for (double& x : s) sum += x = std::exp(x - top);
    for (int64_t c = 0; c < v_width; ++c)
      for (int64_t j = 0; j < n_k; ++j)
        out.v[static_cast<size_t>(row * v_width + c)] +=
            s[static_cast<size_t>(j)] / sum *
            v.v[static_cast<size_t>((head * n_k + j) * v_width + c)];
  }
  return {out};
}

// The same on queries, keys and values in one, [length, batch, 3 * width], for two heads.
ValuesList attend_packed(const ValuesList& a, MaskKind kind) {
  const int64_t length = a[0].sizes[0], batch = a[0].sizes[1], width = a[0].sizes[2] / 3, heads = 2,
                each = width / heads;
  ValuesList apart;
  for (int64_t part = 0; part < 3; ++part) {
    Values x = zeros_of({batch, heads, length, each});
    each_index(x.sizes, [&](const Sizes& i) {
      x.at(i) = a[0].at({i[2], i[0], part * width + i[1] * each + i[3]});
    });
    apart.push_back(x);
  }
  if (a.size() > 1) apart.push_back(a[1]);
  const Values r = attend(apart, kind)[0];
  Values out = zeros_of({length, batch, width});
  each_index(r.sizes, [&](const Sizes& i) { out.at({i[2], i[0], i[1] * each + i[3]}) = r.at(i); });
  return {out};
}
template <MaskKind kind>
ValuesList attend_packed_with(const ValuesList& a) {
  return attend_packed(a, kind);
}

template <MaskKind kind>
ValuesList attend_with(const ValuesList& a) {
  return attend(a, kind);
}

}  // namespace

void add_attention_rows(std::vector<Row>& rows) {
  const Fn plain = FN(scaled_dot_product_attention(a[0], a[1], a[2]));
  const Fn masked = FN(scaled_dot_product_attention(a[0], a[1], a[2], a[3]));
  const Fn causal = FN(scaled_dot_product_attention(a[0], a[1], a[2], {}, 0, true));
  const Reference of_plain = attend_with<MaskKind::kNone>;
  const Reference of_bools = attend_with<MaskKind::kBools>;
  const Reference of_numbers = attend_with<MaskKind::kNumbers>;
  const Reference of_causal = attend_with<MaskKind::kCausal>;
  // Each query sees a key.
  const Input some = given_mask({2, 1, 2, 3}, {1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1});
  rows.push_back(
      {.name = "scaled_dot_product_attention",
       .ops = {"scaled_dot_product_attention", "scaled_dot_product_attention_backward"},
       .fn = plain,
       .reference = of_plain,
       .samples =
           {{.label = "plain", .inputs = {real({2, 3}), real({4, 3}), real({4, 2})}},
            {.label = "heads",
             .inputs = {real({2, 1, 2, 3}), real({2, 1, 3, 3}), real({2, 1, 3, 1})}},
            {.label = "broadcast", .inputs = {real({2, 1, 2, 3}), real({3, 2, 3}), real({2, 2})}},
            {.label = "one query", .inputs = {real({1, 3}), real({3, 3}), real({3, 4})}},
            {.label = "bools",
             .inputs = {real({2, 2, 2, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 2}), some},
             .fn = masked,
             .reference = of_bools},
            {.label = "numbers",
             .inputs = {real({2, 2, 3}), real({2, 3, 3}), real({2, 3, 2}), real({2, 3})},
             .fn = masked,
             .reference = of_numbers},
            {.label = "numbers by key",
             .inputs = {real({2, 2, 3}), real({2, 3, 3}), real({2, 3, 2}), real({2, 1, 3})},
             .fn = masked,
             .reference = of_numbers},
            {.label = "causal",
             .inputs = {real({2, 3, 2}), real({2, 3, 2}), real({2, 3, 2})},
             .fn = causal,
             .reference = of_causal},
            {.label = "causal, more keys",
             .inputs = {real({2, 2}), real({4, 2}), real({4, 2})},
             .fn = causal,
             .reference = of_causal},
            {.label = "causal, more queries",
             .inputs = {real({4, 2}), real({2, 2}), real({2, 2})},
             .fn = causal,
             .reference = of_causal},
            {.label = "scale",
             .inputs = {real({2, 3}), real({4, 3}), real({4, 2})},
             .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], {}, 0, false, 0.3)),
             .reference = [](const ValuesList& a) { return attend(a, MaskKind::kNone, 0.3); }},
            {.label = "no queries", .inputs = {real({0, 3}), real({4, 3}), real({4, 2})}},
            {.label = "no keys", .inputs = {real({2, 3}), real({0, 3}), real({0, 2})}},
            {.label = "no width", .inputs = {real({2, 0}), real({3, 0}), real({3, 2})}},
            {.label = "no heads", .inputs = {real({0, 2, 3}), real({0, 4, 3}), real({0, 4, 2})}},
            {.label = "big",
             .inputs = {real({3, 150, 40}), real({3, 601, 40}), real({3, 601, 24})},
             .big = true},
            {.label = "big, many heads",
             .inputs = {real({9, 70, 16}), real({9, 90, 16}), real({9, 90, 16})},
             .big = true},
            {.label = "big causal",
             .inputs = {real({2, 300, 8}), real({2, 300, 8}), real({2, 300, 8})},
             .fn = causal,
             .reference = of_causal,
             .big = true}},
       .dtypes = kFloats,
       .tolerance32 = 2e-5});
  rows.push_back(
      {.name = "scaled_dot_product_attention with dropout",
       .ops = {"scaled_dot_product_attention_dropout", "scaled_dot_product_attention_backward"},
       .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], {}, 0.4)),
       .samples = {{.label = "plain", .inputs = {real({2, 3}), real({5, 3}), real({5, 2})}},
                   {.label = "bools",
                    .inputs = {real({2, 2, 2, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 2}), some},
                    .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], a[3], 0.4))},
                   {.label = "numbers",
                    .inputs = {real({2, 2, 3}), real({2, 3, 3}), real({2, 3, 2}), real({2, 3})},
                    .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], a[3], 0.4))},
                   {.label = "causal",
                    .inputs = {real({2, 3, 2}), real({2, 3, 2}), real({2, 3, 2})},
                    .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], {}, 0.4, true))},
                   {.label = "all",
                    .inputs = {real({2, 3}), real({5, 3}), real({5, 2})},
                    .fn = FN(scaled_dot_product_attention(a[0], a[1], a[2], {}, 1))},
                   {.label = "big",
                    .inputs = {real({3, 150, 16}), real({3, 301, 16}), real({3, 301, 8})},
                    .big = true}},
       .dtypes = kFloats,
       .random = true});
  rows.push_back({.name = "packed_attention",
                  .ops = {"packed_attention", "packed_attention_backward"},
                  .fn = FN(packed_attention(a[0], 2)),
                  .reference = attend_packed_with<MaskKind::kNone>,
                  .samples = {{.label = "plain", .inputs = {real({3, 2, 12})}},
                              {.label = "bools",
                               .inputs = {real({2, 2, 6}), given_mask({2, 1, 1, 2}, {1, 0, 1, 1})},
                               .fn = FN(packed_attention(a[0], 2, a[1])),
                               .reference = attend_packed_with<MaskKind::kBools>},
                              {.label = "numbers",
                               .inputs = {real({3, 1, 12}), real({3, 3})},
                               .fn = FN(packed_attention(a[0], 2, a[1])),
                               .reference = attend_packed_with<MaskKind::kNumbers>},
                              {.label = "causal",
                               .inputs = {real({3, 2, 6})},
                               .fn = FN(packed_attention(a[0], 2, {}, 0, true)),
                               .reference = attend_packed_with<MaskKind::kCausal>},
                              {.label = "no tokens", .inputs = {real({0, 2, 6})}},
                              {.label = "no batch", .inputs = {real({3, 0, 6})}},
                              {.label = "no width", .inputs = {real({3, 2, 0})}},
                              {.label = "big", .inputs = {real({300, 5, 48})}, .big = true}},
                  .dtypes = kFloats,
                  .tolerance32 = 2e-5});
  rows.push_back({.name = "packed_attention with dropout",
                  .ops = {"packed_attention_dropout", "packed_attention_backward"},
                  .fn = FN(packed_attention(a[0], 2, {}, 0.4)),
                  .samples = {{.label = "plain", .inputs = {real({3, 2, 12})}},
                              {.label = "numbers",
                               .inputs = {real({3, 1, 12}), real({3, 3})},
                               .fn = FN(packed_attention(a[0], 2, a[1], 0.4))}},
                  .dtypes = kFloats,
                  .random = true});
  rows.push_back(
      {.name = "_scaled_dot_product_attention",
       .ops = {},
       .samples = {{.label = "weights",
                    .inputs = {real({2, 3}), real({4, 3}), real({4, 2})},
                    .fn = [](const List& a) -> List {
                      return {std::get<0>(
                          _scaled_dot_product_attention(a[0], a[1], a[2], {}, 0, true))};
                    },
                    .reference = of_plain},
                   {.label = "weights, bools",
                    .inputs = {real({2, 2, 2, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 2}), some},
                    .fn = [](const List& a) -> List {
                      return {std::get<0>(
                          _scaled_dot_product_attention(a[0], a[1], a[2], a[3], 0, true))};
                    },
                    .reference = of_bools},
                   {.label = "causal",
                    .inputs = {real({3, 2}), real({3, 2}), real({3, 2})},
                    .fn = [](const List& a) -> List {
                      return {std::get<0>(
                          _scaled_dot_product_attention(a[0], a[1], a[2], {}, 0, true, true))};
                    },
                    .reference = of_causal}},
       .dtypes = kFloats,
       .refuses_others = false,
       .tolerance32 = 2e-5,
       .tolerance16 = -1,
       .tolerance_layout = 2e-3});
}

}  // namespace tandem::table
