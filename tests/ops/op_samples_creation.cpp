// Rows of sequences, special matrices and random numbers.
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Reference always(Values v) {
  return [v = std::move(v)](const ValuesList&) -> ValuesList { return {v}; };
}

// A function of nothing but the options; the input only says which dtype and device.
Sample made(const char* label, Fn fn, Values v) {
  return {
      .label = label, .inputs = {real({})}, .fn = std::move(fn), .reference = always(std::move(v))};
}

Values sequence(int64_t n, double start, double step) {
  Values v = zeros_of({n});
  for (int64_t i = 0; i < n; ++i) v.v[i] = start + step * static_cast<double>(i);
  return v;
}

void add_sequences(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "arange",
       .ops = {"arange"},
       .samples = {made("to", FN(arange(5, a[0].options())), sequence(5, 0, 1)),
                   made("from to", FN(arange(2, 7, a[0].options())), sequence(5, 2, 1)),
                   made("step", FN(arange(1, 8, 3, a[0].options())), sequence(3, 1, 3)),
                   made("nothing", FN(arange(3, 3, a[0].options())), sequence(0, 0, 0)),
                   made("big", FN(arange(0, 200001, a[0].options())), sequence(200001, 0, 1))},
       .grad = Grad::kNo,
       .dtypes = kAllButBool,
       .refuses_others = false});
  rows.back().samples.back().big = true;
  rows.push_back(
      {.name = "linspace",
       .ops = {},
       .samples = {made("five", FN(linspace(0, 8, 5, a[0].options())), sequence(5, 0, 2)),
                   made("one", FN(linspace(3, 9, 1, a[0].options())), sequence(1, 3, 0))},
       .grad = Grad::kNo,
       .dtypes = kAllButBool,
       .refuses_others = false});
  Values powers = zeros_of({3});
  powers.v = {1, 10, 100};
  rows.push_back({.name = "logspace",
                  .ops = {},
                  .samples = {made("three", FN(logspace(0, 2, 3, 10.0, a[0].options())), powers)},
                  .grad = Grad::kNo,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  Values square = zeros_of({3, 3}), wide = zeros_of({2, 3});
  for (int64_t i = 0; i < 3; ++i) square.at({i, i}) = 1;
  for (int64_t i = 0; i < 2; ++i) wide.at({i, i}) = 1;
  rows.push_back({.name = "eye",
                  .ops = {"eye"},
                  .samples = {made("square", FN(eye(3, a[0].options())), square),
                              made("wide", FN(eye(2, 3, a[0].options())), wide)},
                  .grad = Grad::kNo});
  rows.push_back({.name = "tril_indices",
                  .ops = {"tril_indices"},
                  .samples = {{.label = "lower",
                               .inputs = {},
                               .fn = FN(tril_indices(3, 2)),
                               .reference = always({{2, 5}, {0, 1, 1, 2, 2, 0, 0, 1, 0, 1}})},
                              {.label = "upper",
                               .inputs = {},
                               .fn = FN(triu_indices(2, 3, 1)),
                               .reference = always({{2, 3}, {0, 0, 1, 1, 2, 2}})}},
                  .grad = Grad::kNo,
                  .dtypes = bit(kLong),
                  .out = Out::kLong,
                  .refuses_others = false});
}

void add_random(std::vector<Row>& rows) {
  const auto drawn = [&](const char* name, std::vector<std::string> ops,
                         std::vector<Sample> samples, uint32_t dtypes) {
    rows.push_back({.name = name,
                    .ops = std::move(ops),
                    .samples = std::move(samples),
                    .grad = Grad::kNo,
                    .dtypes = dtypes,
                    .random = true,
                    .refuses_others = false});
  };
  const auto like = [](Fn fn, bool big = false) -> Sample {
    return {.label = big ? "big" : "plain",
            .inputs = {real(big ? Sizes{210001} : Sizes{2, 3})},
            .fn = std::move(fn),
            .big = big};
  };
  drawn("rand", {"random", "random_advance"},
        {like(FN(rand({3, 5}, a[0].options()))), like(FN1(rand_like), true)}, kFloats);
  drawn("randn", {"random"}, {like(FN(randn({3, 5}, a[0].options()))), like(FN1(randn_like), true)},
        kFloats);
  drawn("randint", {"random_integers"},
        {like(FN(randint(-3, 9, {3, 5}, a[0].options()))), like(FN(randint_like(a[0], 100)), true)},
        kAllButBool & ~bit(kByte));
  drawn("randperm", {"randperm"},
        {like(FN(randperm(11, a[0].options()))), like(FN(randperm(50021, a[0].options())), true)},
        bit(kLong) | kFullFloats);
  const auto fills = [&](const char* name, std::vector<std::string> ops, Fn fn, InPlace inplace,
                         uint32_t dtypes) {
    drawn(name, std::move(ops), {like(fn), like(fn, true)}, dtypes);
    rows.back().inplace = std::move(inplace);
    rows.back().grad = Grad::kTwice;  // which is zero, but flows
  };
  fills("uniform_", {"random_fill"}, FN(a[0].clone().uniform_(-1, 2)),
        INPLACE(a[0].uniform_(-1, 2)), kFloats);
  fills("normal_", {"random_fill"}, FN(a[0].clone().normal_(1, 2)), INPLACE(a[0].normal_(1, 2)),
        kFloats);
  fills("exponential_", {"random_fill"}, FN(a[0].clone().exponential_(2)),
        INPLACE(a[0].exponential_(2)), kFloats);
  fills("random_", {"random_fill_integers"}, FN(a[0].clone().random_(0, 9)),
        INPLACE(a[0].random_(0, 9)), kAllButBool);
  fills("bernoulli_", {}, FN(a[0].clone().bernoulli_(0.3)), INPLACE(a[0].bernoulli_(0.3)), kFloats);
  drawn(
      "bernoulli", {"bernoulli"},
      {{.label = "plain", .inputs = {real({3, 4}, 0, 1)}, .fn = FN(bernoulli(a[0]))},
       {.label = "big", .inputs = {real({210001}, 0, 1)}, .fn = FN(bernoulli(a[0])), .big = true}},
      kFloats);
  rows.back().grad = Grad::kTwice;
  drawn("poisson", {"poisson"},
        {{.label = "plain", .inputs = {real({3, 4}, 0, 40)}, .fn = FN(poisson(a[0]))},
         {.label = "big", .inputs = {real({210001}, 0, 40)}, .fn = FN(poisson(a[0])), .big = true}},
        kFloats);
  rows.back().grad = Grad::kTwice;
  drawn(
      "multinomial", {"multinomial"},
      {{.label = "plain", .inputs = {real({3, 4}, 0.1, 1)}, .fn = FN(multinomial(a[0], 2))},
       {.label = "replaced", .inputs = {real({4}, 0.1, 1)}, .fn = FN(multinomial(a[0], 9, true))}},
      kFullFloats);
  rows.back().out = Out::kLong;
}

}  // namespace

void add_creation_rows(std::vector<Row>& rows) {
  add_sequences(rows);
  add_random(rows);
}

}  // namespace tandem::table
