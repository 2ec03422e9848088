// Rows of what orders values.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using Numbers = std::vector<double>;

// Positions in the order of their values; equal values keep their order.
std::vector<size_t> order_of(const Numbers& x, bool descending) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return descending ? x[i] > x[j] : x[i] < x[j]; });
  return order;
}

template <bool descending>
Numbers sorted(const Numbers& x) {
  Numbers r;
  for (size_t i : order_of(x, descending)) r.push_back(x[i]);
  return r;
}
template <bool descending>
Numbers positions(const Numbers& x) {
  Numbers r;
  for (size_t i : order_of(x, descending)) r.push_back(static_cast<double>(i));
  return r;
}
template <int64_t dim, bool descending>
ValuesList sort_reference(const ValuesList& a) {
  return {along(a[0], dim, sorted<descending>), along(a[0], dim, positions<descending>)};
}

List pair_of_results(std::tuple<Tensor, Tensor> t) { return {std::get<0>(t), std::get<1>(t)}; }

Numbers first(Numbers x, size_t n) {
  x.resize(n);
  return x;
}

Numbers cummax_of(const Numbers& x) {
  Numbers r;
  for (double v : x) r.push_back(r.empty() ? v : std::max(r.back(), v));
  return r;
}
Numbers cummin_of(const Numbers& x) {
  Numbers r;
  for (double v : x) r.push_back(r.empty() ? v : std::min(r.back(), v));
  return r;
}

// Where the running extreme was met.
Numbers where_met(const Numbers& x, Numbers (*running)(const Numbers&)) {
  Numbers r;
  const Numbers best = running(x);
  for (size_t i = 0; i < x.size(); ++i)
    r.push_back(i && best[i] == best[i - 1] && x[i] != best[i] ? r.back() : static_cast<double>(i));
  return r;
}

void add_running_extremes(std::vector<Row>& rows) {
  const auto add = [&](const char* name, Fn first, Fn last, Numbers (*f)(const Numbers&)) {
    const auto reference = [f](int64_t dim) -> Reference {
      return [=](const ValuesList& a) -> ValuesList {
        return {along(a[0], dim, f),
                along(a[0], dim, [f](const Numbers& x) { return where_met(x, f); })};
      };
    };
    rows.push_back(
        {.name = name,
         .ops = {name},
         .samples =
             {{.label = "first",
               .inputs = {distinct({3, 4})},
               .fn = first,
               .reference = reference(0)},
              {.label = "last",
               .inputs = {distinct({3, 4})},
               .fn = last,
               .reference = reference(-1)},
              {.label = "0-d", .inputs = {distinct({})}, .fn = first, .reference = reference(0)},
              {.label = "empty",
               .inputs = {distinct({3, 0})},
               .fn = last,
               .reference = reference(-1)},
              {.label = "big",
               .inputs = {distinct({401, 503})},
               .fn = last,
               .reference = reference(-1),
               .big = true}},
         .dtypes = kAllButBool,
         .out = Out::kUnchecked,
         .refuses_others = false});
  };
  add(
      "cummax", [](const List& a) { return pair_of_results(cummax(a[0], 0)); },
      [](const List& a) { return pair_of_results(cummax(a[0], -1)); }, cummax_of);
  add(
      "cummin", [](const List& a) { return pair_of_results(cummin(a[0], 0)); },
      [](const List& a) { return pair_of_results(cummin(a[0], -1)); }, cummin_of);
}

void add_counting(std::vector<Row>& rows) {
  rows.push_back({.name = "nanmedian",
                  .ops = {"nanmedian"},
                  .samples = {{.label = "whole",
                               .inputs = {distinct({3, 4})},
                               .fn = FN(nanmedian(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {}, false, [](const Numbers& x) {
                                   return sorted<false>(x)[(x.size() - 1) / 2];
                                 })};
                               }},
                              {.label = "with a nan",
                               .inputs = {given({4}, {NAN, 3, 1, 2})},
                               .fn = FN(nanmedian(a[0])),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{}, {2}}};
                               },
                               .grad = false,
                               .dtypes = kFloats}},
                  .dtypes = kAllButBool,
                  .out = Out::kUnchecked,
                  .refuses_others = false});
  rows.push_back(
      {.name = "mode",
       .ops = {"mode"},
       .samples = {{.label = "last",
                    .inputs = {given({2, 4}, {1, 2, 2, 0, 0, 1, 2, 0})},
                    .fn = FN(std::get<0>(mode(a[0]))),
                    .reference = [](const ValuesList&) -> ValuesList {
                      return {Values{{2}, {2, 0}}};
                    },
                    .grad = false},
                   // One value a row is the most frequent by far, so that small steps keep it so.
                   {.label = "alone", .inputs = {real({3, 1})}, .fn = FN(std::get<0>(mode(a[0])))}},
       .dtypes = kAllButBool,
       .refuses_others = false});
  rows.push_back({.name = "searchsorted",
                  .ops = {"searchsorted"},
                  .samples = {{.label = "left",
                               .inputs = {given({4}, {1, 3, 3, 5}), given({2, 2}, {3, 0, 4, 6})},
                               .fn = FN(searchsorted(a[0], a[1])),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{2, 2}, {1, 0, 3, 4}}};
                               }},
                              {.label = "bucketize, right",
                               .inputs = {given({4}, {1, 3, 3, 5}), given({2}, {3, 0})},
                               .fn = FN(bucketize(a[1], a[0], false, true)),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{2}, {3, 0}}};
                               }}},
                  .grad = Grad::kNo,
                  .dtypes = kAllButBool,
                  .out = Out::kLong,
                  .refuses_others = false});
  rows.push_back({.name = "histc",
                  .ops = {"histc"},
                  .samples = {{.label = "four bins",
                               .inputs = {given({6}, {0, 1, 1, 3, 4, 9})},
                               .fn = FN(histc(a[0], 4, 0, 4)),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{4}, {1, 2, 0, 2}}};
                               }}},
                  .grad = Grad::kNo,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back({.name = "bincount",
                  .ops = {"bincount"},
                  .samples = {{.label = "plain",
                               .inputs = {given({5}, {0, 2, 2, 3, 0})},
                               .fn = FN(bincount(a[0])),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{4}, {2, 0, 2, 1}}};
                               }}},
                  .grad = Grad::kNo,
                  .dtypes = kInts,
                  .out = Out::kLong,
                  .dynamic = true,
                  .refuses_others = false});
  rows.push_back({.name = "unique",
                  .ops = {"unique"},
                  .samples = {{.label = "all three",
                               .inputs = {given({5}, {3, 1, 3, 2, 1})},
                               .fn = [](const List& a) -> List {
                                 auto [u, inverse, counts] = _unique2(a[0], true, true, true);
                                 return {u, inverse, counts};
                               },
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{3}, {1, 2, 3}}, Values{{5}, {2, 0, 2, 1, 0}},
                                         Values{{3}, {2, 1, 2}}};
                               }},
                              {.label = "consecutive",
                               .inputs = {given({5}, {1, 1, 2, 1, 1})},
                               .fn = [](const List& a) -> List {
                                 auto [u, inverse, counts] = unique_consecutive(a[0], true, true);
                                 return {u, inverse, counts};
                               },
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{3}, {1, 2, 1}}, Values{{5}, {0, 0, 1, 2, 2}},
                                         Values{{3}, {2, 1, 2}}};
                               }}},
                  .grad = Grad::kNo,
                  .dtypes = kAllButBool,
                  .out = Out::kUnchecked,
                  .dynamic = true,
                  .refuses_others = false});
}

// A quantile halfway between two elements.
void add_quantiles(std::vector<Row>& rows) {
  const auto halfway = [](const Numbers& x) {
    const Numbers s = sorted<false>(x);
    return (s[1] + s[2]) / 2;
  };
  rows.push_back({.name = "quantile",
                  .ops = {},
                  .samples = {{.label = "last",
                               .inputs = {distinct({3, 4})},
                               .fn = FN(quantile(a[0], 0.5, -1)),
                               .reference = [=](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {-1}, false, halfway)};
                               }},
                              {.label = "first kept",
                               .inputs = {distinct({4, 3})},
                               .fn = FN(nanquantile(a[0], 0.5, 0, true)),
                               .reference = [=](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {0}, true, halfway)};
                               }},
                              {.label = "a third along rows",
                               .inputs = {given({2, 4}, {3, 0, 9, 6, 1, 4, 2, 3})},
                               .fn = FN(quantile(a[0], 1.0 / 3, 1)),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{2}, {3, 2}}};
                               }},
                              {.label = "all",
                               .inputs = {distinct({2, 2})},
                               .fn = FN(quantile(a[0], 0.5)),
                               .reference = [=](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {}, false, halfway)};
                               }}},
                  .dtypes = kFullFloats});
}

// Functions made of other rows' functions.
void add_statistics(std::vector<Row>& rows) {
  rows.push_back({.name = "dist",
                  .ops = {},
                  .fn = FN2(dist),
                  .samples = {{.label = "plain",
                               .inputs = {real({2, 3}), real({3})},
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 const Values y = expand_to(a[1], a[0].sizes);
                                 double s = 0;
                                 for (size_t i = 0; i < y.v.size(); ++i)
                                   s += std::pow(a[0].v[i] - y.v[i], 2);
                                 return {Values{{}, {std::sqrt(s)}}};
                               }}},
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back({.name = "diff",
                  .ops = {},
                  .samples = {{.label = "once",
                               .inputs = {real({2, 4})},
                               .fn = FN(diff(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {along(a[0], -1, [](const Numbers& x) {
                                   return Numbers{x[1] - x[0], x[2] - x[1], x[3] - x[2]};
                                 })};
                               }},
                              {.label = "twice",
                               .inputs = {real({3})},
                               .fn = FN(diff(a[0], 2)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {Values{{1}, {a[0].v[2] - 2 * a[0].v[1] + a[0].v[0]}}};
                               }}},
                  .dtypes = kAllButBool,
                  .refuses_others = false,
                  .tolerance16 = 2e-2});
  rows.push_back(
      {.name = "trapz",
       .ops = {},
       .samples = {{.label = "unit steps",
                    .inputs = {real({3})},
                    .fn = FN(trapz(a[0])),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {Values{{}, {a[0].v[0] / 2 + a[0].v[1] + a[0].v[2] / 2}}};
                    }},
                   {.label = "uneven",
                    .inputs = {real({3}), given({3}, {0, 1, 3})},
                    .fn = FN(trapezoid(a[0], a[1])),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {Values{{}, {(a[0].v[0] + a[0].v[1]) / 2 + a[0].v[1] + a[0].v[2]}}};
                    }}},
       .dtypes = kFullFloats,
       .refuses_others = false});
  rows.push_back({.name = "cov",
                  .ops = {},
                  .samples = {{.label = "two variables",
                               .inputs = {real({2, 4})},
                               .fn = FN(cov(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({2, 2});
                                 double mean[2] = {0, 0};
                                 for (int64_t i = 0; i < 8; ++i) mean[i / 4] += a[0].v[i] / 4;
                                 each_index(out.sizes, [&](const Sizes& i) {
                                   for (int64_t k = 0; k < 4; ++k)
                                     out.at(i) += (a[0].at({i[0], k}) - mean[i[0]]) *
                                                  (a[0].at({i[1], k}) - mean[i[1]]) / 3;
                                 });
                                 return {out};
                               }}},
                  .dtypes = kFullFloats,
                  .refuses_others = false,
                  .tolerance_layout = 1e-5});
}

}  // namespace

void add_sort_rows(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "sort",
       .ops = {"sort"},
       .samples = {{.label = "last",
                    .inputs = {distinct({3, 4})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0])); },
                    .reference = sort_reference<-1, false>},
                   {.label = "first descending",
                    .inputs = {distinct({4, 3})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0], 0, true)); },
                    .reference = sort_reference<0, true>},
                   {.label = "0-d",
                    .inputs = {distinct({})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0])); },
                    .reference = sort_reference<-1, false>},
                   {.label = "empty",
                    .inputs = {distinct({3, 0})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0])); },
                    .reference = sort_reference<-1, false>},
                   {.label = "ties keep their order",
                    .inputs = {given({7}, {2, 1, 2, 1, 0, 2, 0})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0], true, 0, false)); },
                    .reference = sort_reference<-1, false>,
                    .grad = false},
                   {.label = "big",
                    .inputs = {distinct({301, 703})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0])); },
                    .reference = sort_reference<-1, false>,
                    .big = true},
                   {.label = "big row",
                    .inputs = {distinct({200003})},
                    .fn = [](const List& a) { return pair_of_results(sort(a[0])); },
                    .reference = sort_reference<-1, false>,
                    .big = true}},
       .out = Out::kUnchecked});
  rows.push_back({.name = "argsort",
                  .ops = {},
                  .samples = {{.label = "last",
                               .inputs = {distinct({3, 4})},
                               .fn = FN(argsort(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {along(a[0], -1, positions<false>)};
                               }},
                              {.label = "first descending",
                               .inputs = {distinct({4, 3})},
                               .fn = FN(argsort(a[0], 0, true)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {along(a[0], 0, positions<true>)};
                               }}},
                  .grad = Grad::kNo,
                  .out = Out::kLong});
  rows.push_back({.name = "msort",
                  .ops = {},
                  .fn = FN1(msort),
                  .samples = {{.label = "plain",
                               .inputs = {distinct({4, 3})},
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {along(a[0], 0, sorted<false>)};
                               }}}});
  rows.push_back(
      {.name = "topk",
       .ops = {"topk"},
       .samples =
           {{.label = "largest",
             .inputs = {distinct({3, 5})},
             .fn = [](const List& a) { return pair_of_results(topk(a[0], 2)); },
             .reference = [](const ValuesList& a) -> ValuesList {
               return {
                   along(a[0], -1, [](const Numbers& x) { return first(sorted<true>(x), 2); }),
                   along(a[0], -1, [](const Numbers& x) { return first(positions<true>(x), 2); })};
             }},
            {.label = "smallest first",
             .inputs = {distinct({5, 3})},
             .fn = [](const List& a) { return pair_of_results(topk(a[0], 3, 0, false)); },
             .reference = [](const ValuesList& a) -> ValuesList {
               return {
                   along(a[0], 0, [](const Numbers& x) { return first(sorted<false>(x), 3); }),
                   along(a[0], 0, [](const Numbers& x) { return first(positions<false>(x), 3); })};
             }},
            {.label = "big",
             .inputs = {distinct({31, 7001})},
             .fn = [](const List& a) { return pair_of_results(topk(a[0], 5)); },
             .reference = [](const ValuesList& a) -> ValuesList {
               return {
                   along(a[0], -1, [](const Numbers& x) { return first(sorted<true>(x), 5); }),
                   along(a[0], -1, [](const Numbers& x) { return first(positions<true>(x), 5); })};
             },
             .big = true}},
       .dtypes = kAllButBool,
       .out = Out::kUnchecked,
       .refuses_others = false});
  rows.push_back(
      {.name = "kthvalue",
       .ops = {"kthvalue"},
       .samples = {{.label = "last",
                    .inputs = {distinct({3, 5})},
                    .fn = [](const List& a) { return pair_of_results(kthvalue(a[0], 2)); },
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {reduce(a[0], {-1}, false,
                                     [](const Numbers& x) { return sorted<false>(x)[1]; }),
                              reduce(a[0], {-1}, false,
                                     [](const Numbers& x) { return positions<false>(x)[1]; })};
                    }}},
       .dtypes = kAllButBool,
       .out = Out::kUnchecked,
       .refuses_others = false});
  rows.push_back(
      {.name = "median",
       .ops = {"median"},
       .samples = {{.label = "whole",
                    .inputs = {distinct({3, 4})},
                    .fn = FN(median(a[0])),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {reduce(a[0], {}, false, [](const Numbers& x) {
                        return sorted<false>(x)[(x.size() - 1) / 2];
                      })};
                    }},
                   {.label = "last",
                    .inputs = {distinct({3, 5})},
                    .fn = [](const List& a) { return pair_of_results(median(a[0], -1)); },
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {reduce(a[0], {-1}, false,
                                     [](const Numbers& x) {
                                       return sorted<false>(x)[(x.size() - 1) / 2];
                                     }),
                              reduce(a[0], {-1}, false, [](const Numbers& x) {
                                return positions<false>(x)[(x.size() - 1) / 2];
                              })};
                    }}},
       .dtypes = kAllButBool,
       .out = Out::kUnchecked,
       .refuses_others = false});
  add_running_extremes(rows);
  add_counting(rows);
  add_quantiles(rows);
  add_statistics(rows);
}

}  // namespace tandem::table
