// Rows of softmax and its logarithm.
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

std::vector<double> softmax_of(const std::vector<double>& x, bool log) {
  double top = -INFINITY, sum = 0;
  for (double v : x) top = std::max(top, v);
  for (double v : x) sum += std::exp(v - top);
  std::vector<double> r;
  for (double v : x) r.push_back(log ? v - top - std::log(sum) : std::exp(v - top) / sum);
  return r;
}

template <int dim, bool log>
ValuesList softmax_reference(const ValuesList& a) {
  return {along(a[0], dim, [](const std::vector<double>& x) { return softmax_of(x, log); })};
}

}  // namespace

void add_softmax_rows(std::vector<Row>& rows) {
  const auto samples = [](Fn last, Fn first, Reference ref_last, Reference ref_first) {
    return std::vector<Sample>{
        {.label = "last", .inputs = {real({2, 5})}, .fn = last, .reference = ref_last},
        {.label = "first", .inputs = {real({3, 2})}, .fn = first, .reference = ref_first},
        {.label = "3-d first", .inputs = {real({3, 2, 2})}, .fn = first, .reference = ref_first},
        {.label = "0-d", .inputs = {real({})}, .fn = last, .reference = ref_last},
        {.label = "empty", .inputs = {real({0, 4})}, .fn = last, .reference = ref_last},
        {.label = "far apart",
         .inputs = {given({2, 3}, {1000, 0, -1000, 88, 89, -90})},
         .fn = last,
         .reference = ref_last,
         .grad = false,
         .dtypes = kFullFloats},
        {.label = "big",
         .inputs = {real({400, 503})},
         .fn = last,
         .reference = ref_last,
         .big = true},
        {.label = "big first",
         .inputs = {real({503, 400})},
         .fn = first,
         .reference = ref_first,
         .big = true}};
  };
  rows.push_back({.name = "softmax",
                  .ops = {"softmax"},
                  .samples = samples(FN(softmax(a[0], -1)), FN(softmax(a[0], 0)),
                                     softmax_reference<-1, false>, softmax_reference<0, false>),
                  .dtypes = kFloats});
  rows.push_back({.name = "log_softmax",
                  .ops = {"log_softmax"},
                  .samples = samples(FN(log_softmax(a[0], -1)), FN(log_softmax(a[0], 0)),
                                     softmax_reference<-1, true>, softmax_reference<0, true>),
                  .dtypes = kFloats});
}

}  // namespace tandem::table
