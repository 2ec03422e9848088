// Rows of copies, conversions and creation.
#include <numeric>

#include "tandem/core/apply.h"
#include "tandem/core/view_chain.h"
#include "tandem/ops/copy_op.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Values filled(Sizes sizes, double x) {
  Values v = zeros_of(std::move(sizes));
  for (double& e : v.v) e = x;
  return v;
}

ValuesList same_as_input(const ValuesList& a) { return {a[0]}; }

void add_copies(std::vector<Row>& rows) {
  rows.push_back({.name = "clone",
                  .ops = {"copy"},
                  .fn = FN1(clone),
                  .reference = same_as_input,
                  .samples = {{.label = "plain", .inputs = {real({2, 3})}}},
                  .pointwise = true});
  rows.push_back({.name = "detached_values",
                  .ops = {"detach"},
                  .fn = FN(apply(kDetach, {a[0]})),
                  .reference = same_as_input,
                  .samples = {{.label = "plain", .inputs = {real({2, 3})}, .grad = false}},
                  .pointwise = true});
  // What gradients it is for: tests/compile/hidden_writes_test.
  rows.push_back(
      {.name = "hidden_write",
       .ops = {"hidden_write"},
       .fn = FN(apply(kHiddenWrite, {a[0], a[1]})),
       .reference = [](const ValuesList& a) { return ValuesList{a[1]}; },
       .samples = {{.label = "plain", .inputs = {real({2, 3}), real({2, 3})}, .grad = false},
                   {.label = "empty", .inputs = {real({0, 3}), real({0, 3})}, .grad = false},
                   {.label = "the same values",
                    .inputs = {real({2, 3})},
                    .fn = FN(apply(kHiddenWrite, {a[0], a[0].detach()})),
                    .reference = same_as_input}}});
  rows.push_back({.name = "contiguous",
                  .ops = {"copy"},
                  .fn = FN(a[0].t().contiguous()),
                  .reference = picking(
                      [](const ValuesList& a) {
                        return Sizes{a[0].sizes[1], a[0].sizes[0]};
                      },
                      [](const Sizes& i, const Sizes&) {
                        return Sizes{i[1], i[0]};
                      }),
                  .samples = {{.label = "plain", .inputs = {real({2, 3})}},
                              {.label = "empty", .inputs = {real({0, 3})}},
                              {.label = "big", .inputs = {real({501, 403})}, .big = true}}});
  rows.push_back({.name = "to",
                  .ops = {"copy"},
                  .samples = {{.label = "double",
                               .inputs = {real({2, 3})},
                               .fn = FN(a[0].to(kDouble)),
                               .reference = same_as_input},
                              {.label = "int",
                               .inputs = {real({2, 3}, 0, 90)},
                               .fn = FN(a[0].to(kInt)),
                               .reference = same_as_input,
                               .grad = false},
                              {.label = "bool",
                               .inputs = {given({3}, {0, 2, -1})},
                               .fn = FN(a[0].to(kBool)),
                               .reference = same_as_input,
                               .grad = false},
                              {.label = "copy",
                               .inputs = {real({2, 3})},
                               .fn = FN(a[0].to(a[0].dtype(), false, true)),
                               .reference = same_as_input}},
                  .out = Out::kUnchecked});
  rows.push_back(
      {.name = "copy_",
       .ops = {"copy_into"},
       .fn = [](const List& a) -> List {
         Tensor x = a[0].clone();
         x.copy_(a[1]);
         return {x};
       },
       .reference = [](const ValuesList& a) -> ValuesList { return {expand_to(a[1], a[0].sizes)}; },
       .inplace = INPLACE(a[0].copy_(a[1])),
       .samples = {{.label = "plain", .inputs = {real({2, 3}), real({2, 3})}},
                   {.label = "broadcast", .inputs = {real({2, 3}), real({3})}},
                   {.label = "0-d", .inputs = {real({2, 3}), real({})}},
                   {.label = "big", .inputs = {real({301, 703}), real({301, 1})}, .big = true}}});
}

// What the backward walk does to the gradient of something that was broadcast.
void add_sum_to_size(std::vector<Row>& rows) {
  rows.push_back({.name = "sum_to_size",
                  .ops = {"sum_to_size"},
                  .samples = {{.label = "row",
                               .inputs = {real({2, 3})},
                               .fn = FN(a[0].sum_to_size({3})),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {0}, false, [](const std::vector<double>& x) {
                                   return std::accumulate(x.begin(), x.end(), 0.0);
                                 })};
                               }},
                              {.label = "column",
                               .inputs = {real({2, 3})},
                               .fn = FN(a[0].sum_to_size({2, 1})),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {1}, true, [](const std::vector<double>& x) {
                                   return std::accumulate(x.begin(), x.end(), 0.0);
                                 })};
                               }},
                              {.label = "to 0-d",
                               .inputs = {real({2, 3})},
                               .fn = FN(a[0].sum_to_size(Sizes{})),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {reduce(a[0], {}, false, [](const std::vector<double>& x) {
                                   return std::accumulate(x.begin(), x.end(), 0.0);
                                 })};
                               }}},
                  .refuses_others = false});
}

void add_fills(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "fill_",
       .ops = {"fill"},
       .fn = [](const List& a) -> List {
         Tensor x = a[0].clone();
         x.fill_(3);
         return {x};
       },
       .reference = [](const ValuesList& a) -> ValuesList { return {filled(a[0].sizes, 3)}; },
       .inplace = INPLACE(a[0].fill_(3)),
       .samples = {{.label = "number", .inputs = {real({2, 3})}},
                   {.label = "zero",
                    .inputs = {real({2, 3})},
                    .fn = [](const List& a) -> List {
                      Tensor x = a[0].clone();
                      x.zero_();
                      return {x};
                    },
                    .reference = [](const ValuesList& a) -> ValuesList {
                      return {zeros_of(a[0].sizes)};
                    },
                    .inplace = INPLACE(a[0].zero_())},
                   {.label = "big", .inputs = {real({210003})}, .big = true}}});
  const auto creation = [&](const char* name, std::vector<Sample> samples) {
    rows.push_back({.name = name, .ops = {}, .samples = std::move(samples), .grad = Grad::kNo});
  };
  const auto of = [](Sizes sizes, double x) -> Reference {
    return [=](const ValuesList&) -> ValuesList { return {filled(sizes, x)}; };
  };
  creation("full", {{.label = "plain",
                     .inputs = {real({})},
                     .fn = FN(full({2, 3}, 3, a[0].options())),
                     .reference = of({2, 3}, 3)},
                    {.label = "0-d",
                     .inputs = {real({})},
                     .fn = FN(full(Sizes{}, 3, a[0].options())),
                     .reference = of({}, 3)}});
  rows.back().ops = {"full"};
  creation("zeros", {{.label = "plain",
                      .inputs = {real({})},
                      .fn = FN(zeros({2, 3}, a[0].options())),
                      .reference = of({2, 3}, 0)}});
  creation("ones", {{.label = "plain",
                     .inputs = {real({})},
                     .fn = FN(ones({2, 3}, a[0].options())),
                     .reference = of({2, 3}, 1)}});
  creation("full_like", {{.label = "plain",
                          .inputs = {real({2, 3})},
                          .fn = FN(full_like(a[0], 3)),
                          .reference = of({2, 3}, 3)}});
  creation("zeros_like", {{.label = "plain",
                           .inputs = {real({2, 3})},
                           .fn = FN1(zeros_like),
                           .reference = of({2, 3}, 0)}});
  creation("ones_like", {{.label = "plain",
                          .inputs = {real({2, 3})},
                          .fn = FN1(ones_like),
                          .reference = of({2, 3}, 1)}});
  creation("new_full", {{.label = "full",
                         .inputs = {real({2})},
                         .fn = FN(a[0].new_full({2, 3}, 3)),
                         .reference = of({2, 3}, 3)},
                        {.label = "zeros",
                         .inputs = {real({2})},
                         .fn = FN(a[0].new_zeros({2, 3})),
                         .reference = of({2, 3}, 0)},
                        {.label = "ones",
                         .inputs = {real({2})},
                         .fn = FN(a[0].new_ones({2, 3})),
                         .reference = of({2, 3}, 1)}});
  creation("empty_like",
           {{.label = "plain", .inputs = {real({2, 3})}, .fn = FN1(empty_like)},
            {.label = "new_empty", .inputs = {real({2, 3})}, .fn = FN(a[0].new_empty({4}))}});
  rows.back().unwritten = true;
}

}  // namespace

void add_misc_rows(std::vector<Row>& rows) {
  add_copies(rows);
  add_sum_to_size(rows);
  add_fills(rows);
}

}  // namespace tandem::table
