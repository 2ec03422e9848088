// Rows of what joins, repeats and rearranges.
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// The result's element i is the element of the input that `from` names; none: 0.
using From = std::function<std::optional<Sizes>(const Sizes&)>;

Sample moved(const char* label, Sizes in, Fn fn, Sizes out, From from, InPlace inplace = nullptr) {
  return {.label = label,
          .inputs = {real(std::move(in))},
          .fn = std::move(fn),
          .reference = [out, from](const ValuesList& a) -> ValuesList {
            Values result = zeros_of(out);
            each_index(out, [&](const Sizes& i) {
              if (auto place = from(i)) result.at(i) = a[0].at(*place);
            });
            return {result};
          },
          .inplace = std::move(inplace)};
}

void add_joins(std::vector<Row>& rows) {
  const auto joined = [](int64_t dim) -> Reference {
    return [dim](const ValuesList& a) -> ValuesList {
      Sizes sizes = a[0].sizes;
      sizes[dim] = 0;
      for (const Values& v : a) sizes[dim] += v.sizes[dim];
      Values out = zeros_of(sizes);
      int64_t start = 0;
      for (const Values& v : a) {
        each_index(v.sizes, [&](const Sizes& i) {
          Sizes place = i;
          place[dim] += start;
          out.at(place) = v.at(i);
        });
        start += v.sizes[dim];
      }
      return {out};
    };
  };
  rows.push_back({.name = "cat",
                  .ops = {"cat", "slice"},
                  .samples = {{.label = "rows",
                               .inputs = {real({2, 3}), real({1, 3}), real({4, 3})},
                               .fn = FN(cat(a)),
                               .reference = joined(0)},
                              {.label = "columns",
                               .inputs = {real({2, 3}), real({2, 0}), real({2, 1})},
                               .fn = FN(concat(a, -1)),
                               .reference = joined(1)},
                              {.label = "one",
                               .inputs = {real({2, 3})},
                               .fn = FN(concatenate(a, 1)),
                               .reference = joined(1)},
                              {.label = "big",
                               .inputs = {real({300, 400}), real({300, 77})},
                               .fn = FN(cat(a, 1)),
                               .reference = joined(1),
                               .big = true},
                              {.label = "hstack",
                               .inputs = {real({2, 3}), real({2, 1})},
                               .fn = FN(hstack(a)),
                               .reference = joined(1)},
                              {.label = "vstack",
                               .inputs = {real({2, 3}), real({1, 3})},
                               .fn = FN(vstack(a)),
                               .reference = joined(0)},
                              {.label = "dstack",
                               .inputs = {real({2, 2, 1}), real({2, 2, 3})},
                               .fn = FN(dstack(a)),
                               .reference = joined(2)},
                              {.label = "column_stack",
                               .inputs = {real({2, 3}), real({2, 1})},
                               .fn = FN(column_stack(a)),
                               .reference = joined(1)}}});
  const auto stacked = [](int64_t dim) -> Reference {
    return [dim](const ValuesList& a) -> ValuesList {
      Sizes sizes = a[0].sizes;
      sizes.insert(sizes.begin() + dim, static_cast<int64_t>(a.size()));
      Values out = zeros_of(sizes);
      each_index(sizes, [&](const Sizes& i) {
        Sizes place = i;
        place.erase(place.begin() + dim);
        out.at(i) = a[i[dim]].at(place);
      });
      return {out};
    };
  };
  rows.push_back({.name = "stack",
                  .ops = {"cat"},
                  .samples = {{.label = "first",
                               .inputs = {real({2, 3}), real({2, 3})},
                               .fn = FN(stack(a)),
                               .reference = stacked(0)},
                              {.label = "middle",
                               .inputs = {real({2, 3}), real({2, 3}), real({2, 3})},
                               .fn = FN(stack(a, 1)),
                               .reference = stacked(1)},
                              {.label = "last",
                               .inputs = {real({2, 3}), real({2, 3})},
                               .fn = FN(stack(a, -1)),
                               .reference = stacked(2)},
                              {.label = "0-d",
                               .inputs = {real({}), real({}), real({})},
                               .fn = FN(stack(a)),
                               .reference = stacked(0)},
                              {.label = "empty",
                               .inputs = {real({0}), real({0})},
                               .fn = FN(stack(a)),
                               .reference = stacked(0)}}});
  rows.push_back(
      {.name = "block_diag",
       .ops = {"slice", "copy_into"},
       .samples = {
           {.label = "two",
            .inputs = {real({2, 1}), real({2})},
            .fn = FN(block_diag(a)),
            .reference = [](const ValuesList& a) -> ValuesList {
              return {Values{{3, 3}, {a[0].v[0], 0, 0, a[0].v[1], 0, 0, 0, a[1].v[0], a[1].v[1]}}};
            }}}});
}

void add_repeats(std::vector<Row>& rows) {
  rows.push_back({.name = "repeat",
                  .ops = {"expand", "copy"},
                  .samples = {moved("rows and columns", {2, 3}, FN(a[0].repeat({2, 2})), {4, 6},
                                    [](const Sizes& i) {
                                      return Sizes{i[0] % 2, i[1] % 3};
                                    }),
                              moved("leading", {3}, FN(a[0].repeat({2, 1})), {2, 3},
                                    [](const Sizes& i) { return Sizes{i[1]}; }),
                              moved("none", {2, 3}, FN(a[0].repeat({0, 1})), {0, 3},
                                    [](const Sizes& i) { return i; })}});
  rows.push_back(
      {.name = "tile",
       .ops = {"expand", "copy"},
       .samples = {moved("fewer", {2, 3}, FN(tile(a[0], {2})), {2, 6}, [](const Sizes& i) {
         return Sizes{i[0], i[1] % 3};
       })}});
  rows.push_back(
      {.name = "repeat_interleave",
       .ops = {"expand", "copy"},
       .samples = {moved("number", {2, 3}, FN(repeat_interleave(a[0], 2, 1)), {2, 6},
                         [](const Sizes& i) {
                           return Sizes{i[0], i[1] / 2};
                         }),
                   moved("flat", {2, 2}, FN(a[0].repeat_interleave(3)), {12}, [](const Sizes& i) {
                     return Sizes{i[0] / 6, i[0] / 3 % 2};
                   })}});
  rows.push_back({.name = "repeat_interleave by tensor",
                  .ops = {"index"},
                  .samples = {{.label = "rows",
                               .inputs = {real({3, 2}), given_index({3}, {2, 0, 1})},
                               .fn = FN(repeat_interleave(a[0], a[1], 0)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 const std::vector<double>& v = a[0].v;
                                 return {Values{{3, 2}, {v[0], v[1], v[0], v[1], v[4], v[5]}}};
                               }}},
                  .dynamic = true,
                  .tolerance16 = 1e-2});
}

void add_orders(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "flip",
       .ops = {"flip"},
       .samples = {
           moved("both", {2, 3}, FN(flip(a[0], {0, 1})), {2, 3},
                 [](const Sizes& i) {
                   return Sizes{1 - i[0], 2 - i[1]};
                 }),
           moved("fliplr", {2, 3}, FN(fliplr(a[0])), {2, 3},
                 [](const Sizes& i) {
                   return Sizes{i[0], 2 - i[1]};
                 }),
           moved("flipud", {2, 3}, FN(a[0].flipud()), {2, 3},
                 [](const Sizes& i) {
                   return Sizes{1 - i[0], i[1]};
                 }),
           moved("empty", {0, 3}, FN(a[0].flip({0})), {0, 3}, [](const Sizes& i) { return i; }),
           moved("rot90", {2, 3}, FN(rot90(a[0])), {3, 2},
                 [](const Sizes& i) {
                   return Sizes{i[1], 2 - i[0]};
                 }),
           moved("rot270", {2, 3}, FN(a[0].rot90(-1)), {3, 2}, [](const Sizes& i) {
             return Sizes{1 - i[1], i[0]};
           })}});
  rows.push_back({.name = "roll",
                  .ops = {"roll"},
                  .samples = {moved("columns", {2, 5}, FN(roll(a[0], 2, 1)), {2, 5},
                                    [](const Sizes& i) {
                                      return Sizes{i[0], (i[1] + 3) % 5};
                                    }),
                              moved("both", {2, 5}, FN(a[0].roll({-1, 7}, {1, 0})), {2, 5},
                                    [](const Sizes& i) {
                                      return Sizes{(i[0] + 1) % 2, (i[1] + 1) % 5};
                                    }),
                              moved("flat", {2, 3}, FN(a[0].roll(1)), {2, 3}, [](const Sizes& i) {
                                const int64_t k = (i[0] * 3 + i[1] + 5) % 6;
                                return Sizes{k / 3, k % 3};
                              })}});
  const auto triangle = [](int64_t diagonal, bool upper) -> From {
    return [=](const Sizes& i) -> std::optional<Sizes> {
      const int64_t d = i[i.size() - 1] - i[i.size() - 2];
      if (upper ? d < diagonal : d > diagonal) return std::nullopt;
      return i;
    };
  };
  rows.push_back({.name = "tril",
                  .ops = {"triangle"},
                  .samples = {moved("main", {3, 4}, FN(tril(a[0])), {3, 4}, triangle(0, false),
                                    INPLACE(a[0].tril_())),
                              moved("below", {2, 3, 3}, FN(a[0].tril(-1)), {2, 3, 3},
                                    triangle(-1, false), INPLACE(a[0].tril_(-1)))}});
  rows.push_back({.name = "triu",
                  .ops = {"triangle"},
                  .samples = {moved("main", {3, 4}, FN(triu(a[0])), {3, 4}, triangle(0, true),
                                    INPLACE(a[0].triu_())),
                              moved("above", {4, 3}, FN(a[0].triu(1)), {4, 3}, triangle(1, true),
                                    INPLACE(a[0].triu_(1)))}});
}

void add_diagonals(std::vector<Row>& rows) {
  const auto on = [](int64_t offset) -> From {
    return [=](const Sizes& i) -> std::optional<Sizes> {
      if (i[1] - i[0] != offset) return std::nullopt;
      return Sizes{std::min(i[0], i[1])};
    };
  };
  rows.push_back({.name = "diag",
                  .ops = {"diagonal"},
                  .samples = {moved("of vector", {3}, FN(diag(a[0], 1)), {4, 4}, on(1)),
                              moved("of matrix", {3, 4}, FN(a[0].diag(-1)), {2},
                                    [](const Sizes& i) {
                                      return Sizes{i[0] + 1, i[0]};
                                    }),
                              moved("diagflat", {3}, FN(diagflat(a[0], -1)), {4, 4}, on(-1)),
                              moved("embed", {2, 3}, FN(diag_embed(a[0])), {2, 3, 3},
                                    [](const Sizes& i) -> std::optional<Sizes> {
                                      if (i[1] != i[2]) return std::nullopt;
                                      return Sizes{i[0], i[1]};
                                    })}});
  // x with a part replaced by src.
  const auto replaced = [](const char* label, Sizes src, Fn fn, From in_src) {
    return Sample{.label = label,
                  .inputs = {real({3, 4}), real(std::move(src))},
                  .fn = std::move(fn),
                  .reference = [in_src](const ValuesList& a) -> ValuesList {
                    Values out = a[0];
                    each_index(out.sizes, [&](const Sizes& i) {
                      if (auto place = in_src(i)) out.at(i) = a[1].at(*place);
                    });
                    return {out};
                  }};
  };
  rows.push_back({.name = "diagonal_scatter",
                  .ops = {"diagonal"},
                  .samples = {replaced("above", {3}, FN(diagonal_scatter(a[0], a[1], 1)), on(1))}});
  rows.push_back({.name = "select_scatter",
                  .ops = {"select"},
                  .samples = {replaced("row", {4}, FN(select_scatter(a[0], a[1], 0, -1)),
                                       [](const Sizes& i) -> std::optional<Sizes> {
                                         if (i[0] != 2) return std::nullopt;
                                         return Sizes{i[1]};
                                       })}});
  rows.push_back({.name = "slice_scatter",
                  .ops = {"slice"},
                  .samples = {replaced("columns", {3, 2}, FN(slice_scatter(a[0], a[1], 1, 1, 4, 2)),
                                       [](const Sizes& i) -> std::optional<Sizes> {
                                         if (i[1] % 2 == 0) return std::nullopt;
                                         return Sizes{i[0], i[1] / 2};
                                       })}});
  rows.push_back({.name = "as_strided_scatter",
                  .ops = {"as_strided"},
                  .samples = {replaced("diagonal", {3},
                                       FN(as_strided_scatter(a[0], a[1], {3}, {5})), on(0))}});
}

}  // namespace

void add_arrange_rows(std::vector<Row>& rows) {
  add_joins(rows);
  add_repeats(rows);
  add_orders(rows);
  add_diagonals(rows);
}

}  // namespace tandem::table
