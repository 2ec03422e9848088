// Rows of reductions and scans.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using Numbers = std::vector<double>;
using Fold = double (*)(const Numbers&);

double sum_of(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double mean_of(const Numbers& x) { return sum_of(x) / static_cast<double>(x.size()); }
double prod_of(const Numbers& x) {
  return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
}
double squares_about_mean(const Numbers& x) {
  const double m = mean_of(x);
  double s = 0;
  for (double v : x) s += (v - m) * (v - m);
  return s;
}
double var_of(const Numbers& x) {
  return squares_about_mean(x) / static_cast<double>(x.size() - 1);
}
double var0_of(const Numbers& x) { return squares_about_mean(x) / static_cast<double>(x.size()); }
double std_of(const Numbers& x) { return std::sqrt(var_of(x)); }
double max_of(const Numbers& x) { return *std::max_element(x.begin(), x.end()); }
double min_of(const Numbers& x) { return *std::min_element(x.begin(), x.end()); }
double argmax_of(const Numbers& x) {
  return static_cast<double>(std::max_element(x.begin(), x.end()) - x.begin());
}
double argmin_of(const Numbers& x) {
  return static_cast<double>(std::min_element(x.begin(), x.end()) - x.begin());
}
double any_of(const Numbers& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; });
}
double all_of(const Numbers& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return v != 0; });
}
double logsumexp_of(const Numbers& x) {
  const double top = x.empty() ? 0 : max_of(x);
  double s = 0;
  for (double v : x) s += std::exp(v - top);
  return top + std::log(s);
}
double norm_of(const Numbers& x) {
  double s = 0;
  for (double v : x) s += v * v;
  return std::sqrt(s);
}
double norm1_of(const Numbers& x) {
  double s = 0;
  for (double v : x) s += std::abs(v);
  return s;
}
double norm3_of(const Numbers& x) {
  double s = 0;
  for (double v : x) s += std::pow(std::abs(v), 3);
  return std::cbrt(s);
}
double norm_inf_of(const Numbers& x) {
  double s = 0;
  for (double v : x) s = std::max(s, std::abs(v));
  return s;
}
double nonzero_of(const Numbers& x) {
  return static_cast<double>(std::count_if(x.begin(), x.end(), [](double v) { return v != 0; }));
}

Reference folding(Sizes dims, bool keepdim, Fold f) {
  return [=](const ValuesList& a) -> ValuesList { return {reduce(a[0], dims, keepdim, f)}; };
}

// A function over all elements, over chosen dimensions, and with keepdim: the shapes that
// reductions go wrong at.
Row reduction(const char* name, std::vector<std::string> ops, Fold f, Fn whole, Fn first, Fn last,
              Fn outer_kept, const std::function<Input(Sizes)>& in, bool of_empty) {
  Row row{.name = name, .ops = std::move(ops), .tolerance64 = 1e-12, .tolerance32 = 4e-6};
  const auto add = [&](const char* label, const Fn& fn, Sizes shape, Sizes dims, bool keepdim) {
    if (!fn) return;
    row.samples.push_back({.label = label,
                           .inputs = {in(std::move(shape))},
                           .fn = fn,
                           .reference = folding(dims, keepdim, f)});
  };
  add("whole", whole, {3, 4}, {}, false);
  add("whole 0-d", whole, {}, {}, false);
  add("whole 1", whole, {1, 1}, {}, false);
  add("whole odd", whole, {67}, {}, false);
  add("first", first, {3, 4}, {0}, false);
  add("first of three", first, {3, 2, 2}, {0}, false);
  add("last", last, {3, 4}, {-1}, false);
  add("last of one", last, {5}, {-1}, false);
  add("last odd", last, {2, 37}, {-1}, false);
  add("outer and inner kept", outer_kept, {2, 3, 2}, {0, 2}, true);
  add("first empty outside", first, {3, 0}, {0}, false);
  add("last empty outside", last, {0, 3}, {-1}, false);
  if (of_empty) {
    add("whole of nothing", whole, {0}, {}, false);
    add("last of nothing", last, {3, 0}, {-1}, false);
    add("first of nothing", first, {0, 3}, {0}, false);
  }
  for (Sample& s : row.samples)
    if (count(s.inputs[0].sizes) > 20) s.grad = false;
  add("big whole", whole, {3, 70001}, {}, false);
  add("big first", first, {501, 403}, {0}, false);
  add("big last", last, {403, 501}, {-1}, false);
  add("big outer and inner", outer_kept, {40, 70, 81}, {0, 2}, true);
  for (Sample& s : row.samples) s.big = count(s.inputs[0].sizes) > 1000;
  return row;
}

#define REDUCTION(f, fold, in, of_empty)                                                     \
  rows.push_back(reduction(#f, {#f}, fold, FN(f(a[0])), FN(f(a[0], {0})), FN(f(a[0], {-1})), \
                           FN(f(a[0], {0, 2}, true)), in, of_empty))

Input any_real(Sizes s) { return real(std::move(s)); }
Input near_one(Sizes s) { return real(std::move(s), 0.8, 1.2); }
Input ordered(Sizes s) { return distinct(std::move(s)); }
// Zeros among ones, so that any and all depend on every element.
Input mostly_zero(Sizes s) {
  Numbers v(count(s), 0.0);
  if (v.size() > 2) v[v.size() / 2] = 1;
  return v.empty() ? real(std::move(s)) : given(std::move(s), v);
}
Input mostly_one(Sizes s) {
  Numbers v(count(s), 1.0);
  if (v.size() > 2) v[v.size() / 2] = 0;
  return v.empty() ? real(std::move(s)) : given(std::move(s), v);
}

void add_sums(std::vector<Row>& rows) {
  REDUCTION(sum, sum_of, any_real, true);
  rows.back().out = Out::kSum;
  rows.back().tolerance32 = 2e-5;
  REDUCTION(mean, mean_of, any_real, false);
  rows.back().dtypes = kFloats;
  rows.push_back(reduction("logsumexp", {"logsumexp"}, logsumexp_of, nullptr,
                           FN(logsumexp(a[0], {0})), FN(logsumexp(a[0], {-1})),
                           FN(logsumexp(a[0], {0, 2}, true)), any_real, false));
  rows.back().out = Out::kFloat;
  rows.push_back(reduction("prod", {"prod"}, prod_of, FN(prod(a[0])), FN(prod(a[0], 0)),
                           FN(prod(a[0], -1)), nullptr, near_one, true));
  rows.back().out = Out::kSum;
  rows.back().tolerance32 = 1e-4;
  rows.push_back(reduction("var", {"var"}, var_of, FN(var(a[0])), FN(var(a[0], IntArrayRef{0})),
                           FN(var(a[0], IntArrayRef{-1})),
                           FN(var(a[0], IntArrayRef{0, 2}, true, true)), any_real, false));
  std::erase_if(rows.back().samples,
                [](const Sample& s) { return s.label == "whole 0-d" || s.label == "whole 1"; });
  rows.back().dtypes = kFloats;
  rows.back().samples.push_back({.label = "biased",
                                 .inputs = {real({3, 4})},
                                 .fn = FN(var(a[0], IntArrayRef{0}, false)),
                                 .reference = folding({0}, false, var0_of)});
  rows.push_back(reduction("std", {"std"}, std_of, FN(tandem::std(a[0])),
                           FN(tandem::std(a[0], IntArrayRef{0})),
                           FN(tandem::std(a[0], IntArrayRef{-1})),
                           FN(tandem::std(a[0], IntArrayRef{0, 2}, true, true)), any_real, false));
  std::erase_if(rows.back().samples,
                [](const Sample& s) { return s.label == "whole 0-d" || s.label == "whole 1"; });
  rows.back().dtypes = kFloats;
  rows.back().tolerance16 = 1e-2;
  rows.push_back(
      {.name = "var_mean",
       .ops = {"var_mean", "std_mean"},
       .samples =
           {{.label = "deviation",
             .inputs = {real({3, 4})},
             .fn = [](const List& a) -> List {
               auto [v, m] = std_mean(a[0], IntArrayRef{-1});
               return {v, m};
             },
             .reference = [](const ValuesList& a) -> ValuesList {
               return {reduce(a[0], {-1}, false, std_of), reduce(a[0], {-1}, false, mean_of)};
             }},
            {.label = "last",
             .inputs = {real({3, 4})},
             .fn = [](const List& a) -> List {
               auto [v, m] = var_mean(a[0], IntArrayRef{-1});
               return {v, m};
             },
             .reference = [](const ValuesList& a) -> ValuesList {
               return {reduce(a[0], {-1}, false, var_of), reduce(a[0], {-1}, false, mean_of)};
             }}},
       .dtypes = kFloats,
       .tolerance16 = 1e-2});
  rows.push_back(reduction("count_nonzero", {"count_nonzero"}, nonzero_of, FN(count_nonzero(a[0])),
                           FN(count_nonzero(a[0], 0)), FN(count_nonzero(a[0], IntArrayRef(-1))),
                           nullptr, mostly_one, true));
  rows.back().grad = Grad::kNo;
  rows.back().out = Out::kLong;
  rows.push_back(reduction("nansum", {"nansum"}, sum_of, FN(nansum(a[0])), FN(nansum(a[0], {0})),
                           FN(nansum(a[0], {-1})), nullptr, any_real, true));
  rows.back().out = Out::kSum;
  rows.back().tolerance32 = 2e-5;
}

void add_norms(std::vector<Row>& rows) {
  const auto away = [](Sizes s) { return real(std::move(s)).avoiding({0}); };
  rows.push_back(reduction("norm", {"norm"}, norm_of, FN(norm(a[0])), FN(norm(a[0], 2, {0})),
                           FN(norm(a[0], 2, {-1})), FN(norm(a[0], 2, {0, 2}, true)), away, false));
  rows.back().dtypes = kFloats;
  rows.back().tolerance16 = 1e-2;
  rows.back().tolerance32 = 2e-5;
  const auto extra = [&](const char* label, Fn fn, Fold f) {
    rows.back().samples.push_back({.label = label,
                                   .inputs = {away({3, 4})},
                                   .fn = std::move(fn),
                                   .reference = folding({}, false, f)});
  };
  extra("p 1", FN(norm(a[0], 1)), norm1_of);
  extra("p 3", FN(norm(a[0], 3)), norm3_of);
  extra("p inf", FN(norm(a[0], INFINITY)), norm_inf_of);
  extra("p 0", FN(norm(a[0], 0)), nonzero_of);
  rows.back().samples.back().grad = false;
}

// Results and positions of max and min along a dimension.
template <int64_t dim, bool keepdim, bool largest>
ValuesList extreme_reference(const ValuesList& a) {
  return {reduce(a[0], {dim}, keepdim, largest ? max_of : min_of),
          reduce(a[0], {dim}, keepdim, largest ? argmax_of : argmin_of)};
}

void add_extremes_of_rows(std::vector<Row>& rows) {
  REDUCTION(amax, max_of, ordered, false);
  REDUCTION(amin, min_of, ordered, false);
  const auto pair = [](std::tuple<Tensor, Tensor> t) -> List {
    return {std::get<0>(t), std::get<1>(t)};
  };
  rows.push_back({.name = "max", .ops = {"max", "max_dim"}, .samples = {}, .out = Out::kUnchecked});
  rows.back().samples = {
      {.label = "whole",
       .inputs = {distinct({3, 4})},
       .fn = FN1(max),
       .reference = folding({}, false, max_of)},
      {.label = "of two",
       .inputs = {real({2, 3}), real({2, 3})},
       .fn = FN2(max),
       .reference = pointwise([](double x, double y) { return std::max(x, y); })},
      {.label = "whole 0-d",
       .inputs = {distinct({})},
       .fn = FN1(max),
       .reference = folding({}, false, max_of)},
      {.label = "last",
       .inputs = {distinct({3, 4})},
       .fn = [=](const List& a) { return pair(max(a[0], -1)); },
       .reference = extreme_reference<-1, false, true>},
      {.label = "first kept",
       .inputs = {distinct({3, 4})},
       .fn = [=](const List& a) { return pair(max(a[0], 0, true)); },
       .reference = extreme_reference<0, true, true>},
      {.label = "big",
       .inputs = {distinct({301, 703})},
       .fn = [=](const List& a) { return pair(max(a[0], -1)); },
       .reference = extreme_reference<-1, false, true>,
       .big = true}};
  rows.push_back({.name = "min", .ops = {"min", "min_dim"}, .samples = {}, .out = Out::kUnchecked});
  rows.back().samples = {
      {.label = "whole",
       .inputs = {distinct({3, 4})},
       .fn = FN1(min),
       .reference = folding({}, false, min_of)},
      {.label = "of two",
       .inputs = {real({2, 3}), real({2, 3})},
       .fn = FN2(min),
       .reference = pointwise([](double x, double y) { return std::min(x, y); })},
      {.label = "whole 0-d",
       .inputs = {distinct({})},
       .fn = FN1(min),
       .reference = folding({}, false, min_of)},
      {.label = "last",
       .inputs = {distinct({3, 4})},
       .fn = [=](const List& a) { return pair(min(a[0], -1)); },
       .reference = extreme_reference<-1, false, false>},
      {.label = "first kept",
       .inputs = {distinct({3, 4})},
       .fn = [=](const List& a) { return pair(min(a[0], 0, true)); },
       .reference = extreme_reference<0, true, false>},
      {.label = "big",
       .inputs = {distinct({301, 703})},
       .fn = [=](const List& a) { return pair(min(a[0], -1)); },
       .reference = extreme_reference<-1, false, false>,
       .big = true}};
  rows.push_back(
      {.name = "aminmax",
       .ops = {},
       .samples = {{.label = "last",
                    .inputs = {distinct({3, 4})},
                    .fn = [=](const List& a) { return pair(aminmax(a[0], -1)); },
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {reduce(a[0], {-1}, false, min_of), reduce(a[0], {-1}, false, max_of)};
                    }}}});
  rows.push_back(reduction("argmax", {"argmax"}, argmax_of, FN(argmax(a[0])), FN(argmax(a[0], 0)),
                           FN(argmax(a[0], -1)), nullptr, ordered, false));
  rows.back().grad = Grad::kNo;
  rows.back().out = Out::kLong;
  rows.back().dtypes = kAllButBool;
  rows.back().refuses_others = false;
  rows.push_back(reduction("argmin", {"argmin"}, argmin_of, FN(argmin(a[0])), FN(argmin(a[0], 0)),
                           FN(argmin(a[0], -1)), nullptr, ordered, false));
  rows.back().grad = Grad::kNo;
  rows.back().out = Out::kLong;
  rows.back().dtypes = kAllButBool;
  rows.back().refuses_others = false;
  rows.push_back(reduction("any", {"any"}, any_of, FN(any(a[0])), FN(any(a[0], 0)),
                           FN(any(a[0], -1)), nullptr, mostly_zero, true));
  rows.back().grad = Grad::kNo;
  rows.back().out = Out::kUnchecked;  // bool, but uint8 of uint8: tests/core/promotion_test.cpp
  rows.push_back(reduction("all", {"all"}, all_of, FN(all(a[0])), FN(all(a[0], 0)),
                           FN(all(a[0], -1)), nullptr, mostly_one, true));
  rows.back().grad = Grad::kNo;
  rows.back().out = Out::kUnchecked;
}

// -- scans
// --------------------------------------------------------------------------------------------

using Scan = Numbers (*)(const Numbers&);

Numbers cumsum_of(const Numbers& x) {
  Numbers r;
  double s = 0;
  for (double v : x) r.push_back(s += v);
  return r;
}
Numbers cumprod_of(const Numbers& x) {
  Numbers r;
  double s = 1;
  for (double v : x) r.push_back(s *= v);
  return r;
}
Numbers logcumsumexp_of(const Numbers& x) {
  Numbers r;
  for (size_t i = 0; i < x.size(); ++i) r.push_back(logsumexp_of({x.begin(), x.begin() + i + 1}));
  return r;
}
Reference scanning(int64_t dim, Scan f) {
  return [=](const ValuesList& a) -> ValuesList { return {along(a[0], dim, f)}; };
}

Row scan(const char* name, Scan f, Fn first, Fn last, const std::function<Input(Sizes)>& in) {
  Row row{.name = name, .ops = {name}, .tolerance32 = 4e-6};
  const auto add = [&](const char* label, const Fn& fn, Sizes shape, int64_t dim) {
    row.samples.push_back({.label = label,
                           .inputs = {in(std::move(shape))},
                           .fn = fn,
                           .reference = scanning(dim, f)});
  };
  add("first", first, {3, 4}, 0);
  add("last", last, {3, 4}, -1);
  add("3-d first", first, {3, 2, 2}, 0);
  add("0-d", first, {}, 0);
  add("empty", last, {3, 0}, -1);
  add("empty outside", last, {0, 3}, -1);
  add("big first", first, {37, 5701}, 0);
  add("big last", last, {5701, 37}, -1);
  for (Sample& s : row.samples) s.big = count(s.inputs[0].sizes) > 1000;
  return row;
}

void add_scans(std::vector<Row>& rows) {
  rows.push_back(scan("cumsum", cumsum_of, FN(cumsum(a[0], 0)), FN(cumsum(a[0], -1)), any_real));
  rows.back().out = Out::kSum;
  rows.back().tolerance32 = 2e-5;
  rows.push_back(
      scan("cumprod", cumprod_of, FN(cumprod(a[0], 0)), FN(cumprod(a[0], -1)), near_one));
  rows.back().ops = {"cumprod", "shift", "recurrence"};
  rows.back().out = Out::kSum;
  rows.back().tolerance32 = 2e-5;
  rows.push_back(scan("logcumsumexp", logcumsumexp_of, FN(logcumsumexp(a[0], 0)),
                      FN(logcumsumexp(a[0], -1)), any_real));
  rows.back().dtypes = kFloats;
}

}  // namespace

void add_reduce_rows(std::vector<Row>& rows) {
  add_sums(rows);
  add_norms(rows);
  add_extremes_of_rows(rows);
  add_scans(rows);
}

}  // namespace tandem::table
