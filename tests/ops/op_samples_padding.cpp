// Rows of borders.
#include <algorithm>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// Where coordinate i of a dimension of that size comes from; -1: the border's value.
using Continue = int64_t (*)(int64_t i, int64_t size);

int64_t mirrored(int64_t i, int64_t n) { return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i; }
int64_t repeated(int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); }
int64_t around(int64_t i, int64_t n) { return ((i % n) + n) % n; }
int64_t nothing(int64_t i, int64_t n) { return i >= 0 && i < n ? i : -1; }

Reference padded(Sizes pad, Continue source, double value = 0) {
  return [=](const ValuesList& a) -> ValuesList {
    Sizes sizes = a[0].sizes;
    for (size_t i = 0; i < pad.size(); ++i) sizes[sizes.size() - 1 - i / 2] += pad[i];
    Values out = zeros_of(sizes);
    each_index(sizes, [&](const Sizes& at) {
      Sizes from = at;
      bool inside = true;
      for (size_t i = 0; i < pad.size(); i += 2) {
        const size_t d = sizes.size() - 1 - i / 2;
        from[d] = source(at[d] - pad[i], a[0].sizes[d]);
        inside = inside && from[d] >= 0;
      }
      out.at(at) = inside ? a[0].at(from) : value;
    });
    return {out};
  };
}

Sample padded_sample(const char* label, Sizes in, Sizes pad, Continue source, Fn fn,
                     double value = 0) {
  return {.label = label,
          .inputs = {real(std::move(in))},
          .fn = std::move(fn),
          .reference = padded(std::move(pad), source, value)};
}

}  // namespace

void add_padding_rows(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "constant_pad_nd",
       .ops = {"constant_pad_nd"},
       .samples = {
           padded_sample("last", {2, 3}, {1, 2}, nothing, FN(constant_pad_nd(a[0], {1, 2}, 1)), 1),
           padded_sample("two", {2, 3, 2}, {1, 0, 2, 1}, nothing, FN(pad(a[0], {1, 0, 2, 1}))),
           padded_sample("cut", {3, 4}, {-1, 2, 1, -2}, nothing,
                         FN(constant_pad_nd(a[0], {-1, 2, 1, -2}))),
           padded_sample("first only", {2, 3, 2}, {0, 0, 0, 0, 1, 2}, nothing,
                         FN(constant_pad_nd(a[0], {0, 0, 0, 0, 1, 2}))),
           padded_sample("none", {2, 3}, {0, 0}, nothing, FN(constant_pad_nd(a[0], {0, 0}))),
           padded_sample("empty", {0, 3}, {1, 1, 2, 0}, nothing,
                         FN(constant_pad_nd(a[0], {1, 1, 2, 0}))),
           padded_sample("0-d", {}, {}, nothing, FN(constant_pad_nd(a[0], {}))),
       }});
  Sample big = padded_sample("big", {4, 3, 90, 91}, {3, 3, 2, 1}, nothing,
                             FN(constant_pad_nd(a[0], {3, 3, 2, 1})));
  big.big = true;
  rows.back().samples.push_back(big);

  rows.push_back(
      {.name = "reflection_pad",
       .ops = {"pad", "pad_backward"},
       .samples = {
           padded_sample("1d", {2, 4}, {3, 1}, mirrored, FN(reflection_pad1d(a[0], {3, 1}))),
           padded_sample("2d", {1, 2, 3, 4}, {2, 1, 0, 2}, mirrored,
                         FN(reflection_pad2d(a[0], {2, 1, 0, 2}))),
           padded_sample("2d without samples", {2, 3, 4}, {2, 1, 1, 2}, mirrored,
                         FN(reflection_pad2d(a[0], {2, 1, 1, 2}))),
           padded_sample("3d", {1, 1, 3, 2, 3}, {0, 2, 1, 0, 1, 2}, mirrored,
                         FN(reflection_pad3d(a[0], {0, 2, 1, 0, 1, 2}))),
           padded_sample("cut", {2, 5}, {-2, 2}, mirrored, FN(reflection_pad1d(a[0], {-2, 2}))),
           padded_sample("by name", {1, 2, 3}, {2, 2}, mirrored, FN(pad(a[0], {2, 2}, "reflect"))),
       }});
  big = padded_sample("big", {4, 3, 90, 91}, {3, 3, 2, 1}, mirrored,
                      FN(reflection_pad2d(a[0], {3, 3, 2, 1})));
  big.big = true;
  rows.back().samples.push_back(big);

  rows.push_back(
      {.name = "replication_pad",
       .ops = {"pad", "pad_backward"},
       .samples = {
           padded_sample("1d", {1, 2, 3}, {4, 1}, repeated, FN(replication_pad1d(a[0], {4, 1}))),
           padded_sample("2d", {1, 2, 3, 4}, {2, 1, 0, 5}, repeated,
                         FN(replication_pad2d(a[0], {2, 1, 0, 5}))),
           padded_sample("3d", {1, 1, 2, 2, 3}, {1, 2, 2, 1, 1, 2}, repeated,
                         FN(replication_pad3d(a[0], {1, 2, 2, 1, 1, 2}))),
           padded_sample("by name", {2, 3}, {-1, 2}, repeated, FN(pad(a[0], {-1, 2}, "replicate"))),
       }});
  rows.push_back(
      {.name = "pad circular",
       .ops = {"pad", "pad_backward"},
       .samples = {
           padded_sample("1d", {1, 2, 3}, {1, 2}, around, FN(pad(a[0], {1, 2}, "circular"))),
           padded_sample("2d", {1, 1, 3, 3}, {3, 3, 3, 1}, around,
                         FN(pad(a[0], {3, 3, 3, 1}, "circular"))),
           padded_sample("3d", {1, 2, 2, 3}, {3, 3, 2, 1, 2, 2}, around,
                         FN(_pad_circular(a[0], {3, 3, 2, 1, 2, 2}))),
       }});
}

}  // namespace tandem::table
