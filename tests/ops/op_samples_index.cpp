// Rows of what reads and writes at places that other tensors name.
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using namespace tandem::indexing;

int64_t whole(double v) { return static_cast<int64_t>(v); }
int64_t wrapped(double v, int64_t n) { return whole(v) < 0 ? whole(v) + n : whole(v); }

// -- gather and scatter ---------------------------------------------------------------------------

// Calls fn(where in x, where in index) for each element of an index along dim.
template <class F>
void each_place(const Values& x, int64_t dim, const Values& index, const F& fn) {
  each_index(index.sizes, [&](const Sizes& i) {
    Sizes place = i;
    if (!place.empty()) place[dim] = wrapped(index.at(i), x.sizes[dim]);
    fn(place, i);
  });
}

Reference gathered(int64_t dim) {
  return [dim](const ValuesList& a) -> ValuesList {
    Values out = zeros_of(a[1].sizes);
    each_place(a[0], dim, a[1],
               [&](const Sizes& place, const Sizes& i) { out.at(i) = a[0].at(place); });
    return {out};
  };
}

Reference scattered(int64_t dim, double (*combine)(double, double)) {
  return [dim, combine](const ValuesList& a) -> ValuesList {
    Values out = a[0];
    each_place(a[0], dim, a[1], [&](const Sizes& place, const Sizes& i) {
      out.at(place) = combine(out.at(place), a[2].at(i));
    });
    return {out};
  };
}

double second(double, double b) { return b; }
double sum(double a, double b) { return a + b; }
double product_of(double a, double b) { return a * b; }
double greater(double a, double b) { return std::max(a, b); }
double lesser(double a, double b) { return std::min(a, b); }

// All indices different along dim, so that it does not matter which write is the last.
Input permutation(Sizes sizes, std::vector<double> numbers) {
  return given_index(std::move(sizes), std::move(numbers));
}

void add_gathers(std::vector<Row>& rows) {
  rows.push_back({.name = "gather",
                  .ops = {"gather", "scatter"},
                  .samples = {{.label = "rows",
                               .inputs = {real({3, 4}), index({5, 3}, 0, 3)},
                               .fn = FN(gather(a[0], 0, a[1])),
                               .reference = gathered(0)},
                              {.label = "columns",
                               .inputs = {real({2, 3, 4}), index({2, 2, 6}, 0, 4)},
                               .fn = FN(a[0].gather(-1, a[1])),
                               .reference = gathered(2)},
                              {.label = "0-d",
                               .inputs = {real({}), index({}, 0, 1)},
                               .fn = FN(a[0].gather(0, a[1])),
                               .reference = gathered(0)},
                              {.label = "nothing",
                               .inputs = {real({3, 4}), index({0, 4}, 0, 3)},
                               .fn = FN(a[0].gather(0, a[1])),
                               .reference = gathered(0)},
                              {.label = "big",
                               .inputs = {real({300, 401}), index({300, 401}, 0, 300)},
                               .fn = FN(a[0].gather(0, a[1])),
                               .reference = gathered(0),
                               .big = true}},
                  .tolerance16 = 1e-2});
  rows.push_back({.name = "take_along_dim",
                  .ops = {"gather"},
                  .samples = {{.label = "broadcast",
                               .inputs = {real({3, 4}), index({1, 2}, 0, 4)},
                               .fn = FN(take_along_dim(a[0], a[1], 1)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({3, 2});
                                 each_index(out.sizes, [&](const Sizes& i) {
                                   out.at(i) = a[0].at({i[0], whole(a[1].at({0, i[1]}))});
                                 });
                                 return {out};
                               }},
                              {.label = "flat",
                               .inputs = {real({3, 2}), index({5}, 0, 6)},
                               .fn = FN(a[0].take_along_dim(a[1])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({5});
                                 for (int64_t i = 0; i < 5; ++i)
                                   out.v[i] = a[0].v[whole(a[1].v[i])];
                                 return {out};
                               }}}});
}

void add_scatters(std::vector<Row>& rows) {
  const auto along = [](int64_t dim) {
    return dim == 0 ? permutation({2, 3}, {2, 0, 1, 0, 3, 3})
                    : permutation({2, 3}, {2, 0, 1, 0, 3, 1});
  };
  rows.push_back(
      {.name = "scatter",
       .ops = {"scatter", "gather"},
       .samples = {{.label = "rows",
                    .inputs = {real({4, 3}), along(0), real({2, 3})},
                    .fn = FN(scatter(a[0], 0, a[1], a[2])),
                    .reference = scattered(0, second),
                    .inplace = INPLACE(a[0].scatter_(0, a[1], a[2]))},
                   {.label = "columns",
                    .inputs = {real({3, 4}), along(1), real({2, 3})},
                    .fn = FN(a[0].scatter(1, a[1], a[2])),
                    .reference = scattered(1, second),
                    .inplace = INPLACE(a[0].scatter_(1, a[1], a[2]))},
                   {.label = "a number",
                    .inputs = {real({4, 3}), along(0)},
                    .fn = FN(a[0].scatter(0, a[1], 1)),
                    .reference =
                        [](const ValuesList& a) {
                          ValuesList b = a;
                          b.push_back(Values{a[1].sizes, std::vector<double>(6, 1)});
                          return scattered(0, second)(b);
                        },
                    .inplace = INPLACE(a[0].scatter_(0, a[1], 1))},
                   {.label = "larger source",
                    .inputs = {real({4, 3}), along(0), real({3, 4})},
                    .fn = FN(a[0].scatter(0, a[1], a[2])),
                    .reference = scattered(0, second)},
                   {.label = "nothing",
                    .inputs = {real({4, 3}), index({0}, 0, 1), real({0})},
                    .fn = FN(a[0].scatter(0, a[1], a[2])),
                    .reference = [](const ValuesList& a) -> ValuesList { return {a[0]}; }}}});
  rows.push_back(
      {.name = "scatter_add",
       .ops = {"scatter", "gather"},
       .samples = {{.label = "rows",
                    .inputs = {real({3, 4}), index({5, 4}, 0, 3), real({5, 4})},
                    .fn = FN(scatter_add(a[0], 0, a[1], a[2])),
                    .reference = scattered(0, sum),
                    .inplace = INPLACE(a[0].scatter_add_(0, a[1], a[2]))},
                   {.label = "columns",
                    .inputs = {real({2, 3}), index({2, 5}, 0, 3), real({2, 5})},
                    .fn = FN(a[0].scatter_add(-1, a[1], a[2])),
                    .reference = scattered(1, sum),
                    .inplace = INPLACE(a[0].scatter_add_(1, a[1], a[2]))},
                   {.label = "by name",
                    .inputs = {real({3}), index({5}, 0, 3), real({5})},
                    .fn = FN(a[0].scatter(0, a[1], a[2], "add")),
                    .reference = scattered(0, sum),
                    .inplace = INPLACE(a[0].scatter_(0, a[1], a[2], "add"))},
                   {.label = "big",
                    .inputs = {real({50, 700}), index({400, 700}, 0, 50), real({400, 700})},
                    .fn = FN(scatter_add(a[0], 0, a[1], a[2])),
                    .reference = scattered(0, sum),
                    .big = true}},
       .dtypes = kAllButBool,
       .refuses_others = false,
       .tolerance16 = 2e-2});
  rows.push_back(
      {.name = "scatter_reduce",
       .ops = {"scatter_reduce", "gather"},
       .samples = {{.label = "prod",
                    .inputs = {real({3, 2}).avoiding({0}, 0.3), index({5, 2}, 0, 3),
                               real({5, 2}).avoiding({0}, 0.3)},
                    .fn = FN(scatter_reduce(a[0], 0, a[1], a[2], "prod")),
                    .reference = scattered(0, product_of),
                    .inplace = INPLACE(a[0].scatter_reduce_(0, a[1], a[2], "prod")),
                    .dtypes = kFloats | bit(kLong)},
                   {.label = "amax",
                    .inputs = {distinct({3, 2}), index({5, 2}, 0, 3), real({5, 2}, 0.1, 0.9)},
                    .fn = FN(a[0].scatter_reduce(0, a[1], a[2], "amax")),
                    .reference = scattered(0, greater)},
                   {.label = "amin",
                    .inputs = {distinct({3, 2}), index({3, 4}, 0, 2), real({3, 4}, 0.1, 0.9)},
                    .fn = FN(a[0].scatter_reduce(1, a[1], a[2], "amin")),
                    .reference = scattered(1, lesser)},
                   {.label = "sum without itself",
                    .inputs = {real({4}), given_index({3}, {1, 3, 1}), real({3})},
                    .fn = FN(a[0].scatter_reduce(0, a[1], a[2], "sum", false)),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      Values out = a[0];
                      out.v[1] = a[2].v[0] + a[2].v[2];
                      out.v[3] = a[2].v[1];
                      return {out};
                    },
                    .dtypes = kAllButBool},
                   {.label = "amax without itself",
                    .inputs = {real({4}, 3, 4), given_index({3}, {1, 3, 1}), real({3})},
                    .fn = FN(a[0].scatter_reduce(0, a[1], a[2], "amax", false)),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      Values out = a[0];
                      out.v[1] = std::max(a[2].v[0], a[2].v[2]);
                      out.v[3] = a[2].v[1];
                      return {out};
                    }},
                   {.label = "mean",
                    .inputs = {real({4}), given_index({3}, {1, 3, 1}), real({3})},
                    .fn = FN(a[0].scatter_reduce(0, a[1], a[2], "mean")),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      Values out = a[0];
                      out.v[1] = (a[0].v[1] + a[2].v[0] + a[2].v[2]) / 3;
                      out.v[3] = (a[0].v[3] + a[2].v[1]) / 2;
                      return {out};
                    },
                    .dtypes = kFloats}},
       .refuses_others = false,
       .tolerance16 = 2e-2});
}

// -- slices of a dimension ------------------------------------------------------------------------

// x with slices index[k] of dim combined with slice k of src.
Reference slices(int64_t dim, double (*combine)(double, double)) {
  return [dim, combine](const ValuesList& a) -> ValuesList {
    Values out = a[0];
    each_index(a[2].sizes, [&](const Sizes& i) {
      Sizes place = i;
      place[dim] = whole(a[1].v[i[dim]]);
      out.at(place) = combine(out.at(place), a[2].at(i));
    });
    return {out};
  };
}

void add_slices(std::vector<Row>& rows) {
  const auto selected = [](int64_t dim) -> Reference {
    return [dim](const ValuesList& a) -> ValuesList {
      Sizes sizes = a[0].sizes;
      sizes[dim] = a[1].numel();
      Values out = zeros_of(sizes);
      each_index(sizes, [&](const Sizes& i) {
        Sizes place = i;
        place[dim] = whole(a[1].v[i[dim]]);
        out.at(i) = a[0].at(place);
      });
      return {out};
    };
  };
  rows.push_back({.name = "index_select",
                  .ops = {"index", "index_put"},
                  .samples = {{.label = "rows",
                               .inputs = {real({4, 3}), index({6}, 0, 4)},
                               .fn = FN(index_select(a[0], 0, a[1])),
                               .reference = selected(0)},
                              {.label = "columns",
                               .inputs = {real({2, 3, 4}), index({5}, 0, 3)},
                               .fn = FN(a[0].index_select(1, a[1])),
                               .reference = selected(1)},
                              {.label = "nothing",
                               .inputs = {real({2, 3}), index({0}, 0, 3)},
                               .fn = FN(a[0].index_select(1, a[1])),
                               .reference = selected(1)},
                              {.label = "big",
                               .inputs = {real({1000, 129}), index({900}, 0, 1000)},
                               .fn = FN(a[0].index_select(0, a[1])),
                               .reference = selected(0),
                               .big = true}},
                  .tolerance16 = 1e-2});
  rows.push_back({.name = "index_add",
                  .ops = {"index_put", "index"},
                  .samples = {{.label = "rows",
                               .inputs = {real({4, 3}), index({6}, 0, 4), real({6, 3})},
                               .fn = FN(index_add(a[0], 0, a[1], a[2])),
                               .reference = slices(0, sum),
                               .inplace = INPLACE(a[0].index_add_(0, a[1], a[2]))},
                              {.label = "scaled columns",
                               .inputs = {real({2, 3}), index({5}, 0, 3), real({2, 5})},
                               .fn = FN(a[0].index_add(1, a[1], a[2], 2)),
                               .reference = slices(1, [](double a, double b) { return a + 2 * b; }),
                               .inplace = INPLACE(a[0].index_add_(1, a[1], a[2], 2))}},
                  .dtypes = kAllButBool,
                  .refuses_others = false,
                  .tolerance16 = 2e-2});
  rows.push_back({.name = "index_copy",
                  .ops = {"index_put", "index"},
                  .samples = {{.label = "rows",
                               .inputs = {real({4, 3}), permutation({2}, {3, 1}), real({2, 3})},
                               .fn = FN(index_copy(a[0], 0, a[1], a[2])),
                               .reference = slices(0, second),
                               .inplace = INPLACE(a[0].index_copy_(0, a[1], a[2]))}}});
  rows.push_back({.name = "index_fill",
                  .ops = {"index_put"},
                  .samples = {{.label = "columns",
                               .inputs = {real({3, 4}), index({3}, 0, 4)},
                               .fn = FN(index_fill(a[0], 1, a[1], 1)),
                               .reference =
                                   [](const ValuesList& a) {
                                     ValuesList b = a;
                                     b.push_back(Values{{3, 3}, std::vector<double>(9, 1)});
                                     return slices(1, second)(b);
                                   },
                               .inplace = INPLACE(a[0].index_fill_(1, a[1], 1))}}});
}

// -- numbers of elements, masks -------------------------------------------------------------------

void add_flat(std::vector<Row>& rows) {
  rows.push_back({.name = "take",
                  .ops = {"index", "index_put"},
                  .samples = {{.label = "negative too",
                               .inputs = {real({2, 3}), index({2, 2}, -6, 6)},
                               .fn = FN(take(a[0], a[1])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({2, 2});
                                 for (int64_t i = 0; i < 4; ++i)
                                   out.v[i] = a[0].v[wrapped(a[1].v[i], 6)];
                                 return {out};
                               }}},
                  .tolerance16 = 1e-2});
  rows.push_back({.name = "put",
                  .ops = {"index_put"},
                  .samples = {{.label = "write",
                               .inputs = {real({2, 3}), permutation({2}, {4, 0}), real({2})},
                               .fn = FN(a[0].put(a[1], a[2])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = a[0];
                                 for (int64_t i = 0; i < 2; ++i)
                                   out.v[whole(a[1].v[i])] = a[2].v[i];
                                 return {out};
                               },
                               .inplace = INPLACE(a[0].put_(a[1], a[2]))},
                              {.label = "add",
                               .inputs = {real({2, 3}), given_index({3}, {4, 0, 4}), real({3})},
                               .fn = FN(a[0].put(a[1], a[2], true)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = a[0];
                                 for (int64_t i = 0; i < 3; ++i)
                                   out.v[whole(a[1].v[i])] += a[2].v[i];
                                 return {out};
                               },
                               .dtypes = kAllButBool}},
                  .tolerance16 = 2e-2});
}

void add_masks(std::vector<Row>& rows) {
  const auto fill = [](const ValuesList& a) -> ValuesList {
    const Values m = expand_to(a[1], a[0].sizes);
    Values out = a[0];
    for (size_t i = 0; i < out.v.size(); ++i)
      if (m.v[i] != 0) out.v[i] = 1;
    return {out};
  };
  rows.push_back({.name = "masked_fill",
                  .ops = {"where"},
                  .samples = {{.label = "same shape",
                               .inputs = {real({3, 4}), mask({3, 4})},
                               .fn = FN(masked_fill(a[0], a[1], 1)),
                               .reference = fill,
                               .inplace = INPLACE(a[0].masked_fill_(a[1], 1))},
                              {.label = "broadcast",
                               .inputs = {real({3, 4}), mask({4})},
                               .fn = FN(a[0].masked_fill(a[1], 1)),
                               .reference = fill,
                               .inplace = INPLACE(a[0].masked_fill_(a[1], 1))},
                              {.label = "a tensor",
                               .inputs = {real({3, 4}), mask({3, 1}), real({})},
                               .fn = FN(a[0].masked_fill(a[1], a[2])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 const Values m = expand_to(a[1], {3, 4});
                                 Values out = a[0];
                                 for (size_t i = 0; i < out.v.size(); ++i)
                                   if (m.v[i] != 0) out.v[i] = a[2].v[0];
                                 return {out};
                               },
                               .inplace = INPLACE(a[0].masked_fill_(a[1], a[2]))}}});
  const auto select = [](const ValuesList& a) -> ValuesList {
    const Sizes shape = broadcast(a[0].sizes, a[1].sizes);
    const Values x = expand_to(a[0], shape), m = expand_to(a[1], shape);
    Values out;
    for (size_t i = 0; i < x.v.size(); ++i)
      if (m.v[i] != 0) out.v.push_back(x.v[i]);
    out.sizes = {out.numel()};
    return {out};
  };
  rows.push_back({.name = "masked_select",
                  .ops = {"index", "nonzero"},
                  .samples = {{.label = "same shape",
                               .inputs = {real({3, 4}), mask({3, 4})},
                               .fn = FN(masked_select(a[0], a[1])),
                               .reference = select},
                              {.label = "broadcast",
                               .inputs = {real({3, 1}), mask({4})},
                               .fn = FN(a[0].masked_select(a[1])),
                               .reference = select},
                              {.label = "0-d",
                               .inputs = {real({}), given_mask({}, {1})},
                               .fn = FN(a[0].masked_select(a[1])),
                               .reference = select}},
                  .dynamic = true});
  rows.push_back(
      {.name = "masked_scatter",
       .ops = {"cumsum", "where", "index"},
       .samples = {{.label = "in order",
                    .inputs = {real({2, 3}), given_mask({2, 3}, {1, 0, 1, 0, 1, 0}), real({2, 2})},
                    .fn = FN(masked_scatter(a[0], a[1], a[2])),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      Values out = a[0];
                      out.v[0] = a[2].v[0];
                      out.v[2] = a[2].v[1];
                      out.v[4] = a[2].v[2];
                      return {out};
                    },
                    .inplace = INPLACE(a[0].masked_scatter_(a[1], a[2]))}}});
  rows.push_back({.name = "nonzero",
                  .ops = {"nonzero"},
                  .samples = {{.label = "matrix",
                               .inputs = {given({2, 3}, {0, 1, 0, 2, 0, 1})},
                               .fn = FN(nonzero(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out;
                                 each_index(a[0].sizes, [&](const Sizes& i) {
                                   if (a[0].at(i) != 0)
                                     for (int64_t d : i) out.v.push_back(static_cast<double>(d));
                                 });
                                 out.sizes = {out.numel() / a[0].dim(), a[0].dim()};
                                 return {out};
                               }},
                              {.label = "columns",
                               .inputs = {given({4}, {0, 1, 0, 1})},
                               .fn = [](const List& a) -> List { return where(a[0]); },
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{2}, {1, 3}}};
                               }}},
                  .grad = Grad::kNo,
                  .out = Out::kLong,
                  .dynamic = true});
}

// -- x.index({...}) -------------------------------------------------------------------------------

// The result's element i is x's element at from(i, values of all inputs).
Reference from_places(Sizes out_sizes, std::function<Sizes(const Sizes&, const ValuesList&)> from) {
  return [out_sizes, from](const ValuesList& a) -> ValuesList {
    Values out = zeros_of(out_sizes);
    each_index(out_sizes, [&](const Sizes& i) { out.at(i) = a[0].at(from(i, a)); });
    return {out};
  };
}

void add_indexing(std::vector<Row>& rows) {
  rows
      .push_back(
          {.name = "index",
           .ops = {"index", "index_put"},
           .samples =
               {{.label = "tensor",
                 .inputs = {real({4, 3}), index({2, 2}, -4, 4)},
                 .fn = FN(a[0].index({a[1]})),
                 .reference = from_places({2, 2, 3},
                                          [](const Sizes& i, const ValuesList& a) {
                                            return Sizes{wrapped(a[1].at({i[0], i[1]}), 4), i[2]};
                                          })},
                {.label = "neighbours",
                 .inputs = {real({2, 3, 4}), index({3, 1}, 0, 3), index({2}, 0, 4)},
                 .fn = FN(a[0].index({Slice(), a[1], a[2]})),
                 .reference =
                     from_places(
                         {2, 3, 2},
                         [](const Sizes& i, const ValuesList& a) {
                           return Sizes{i[0], whole(a[1].at({i[1], 0})), whole(a[2].at({i[2]}))};
                         })},
                {.label = "apart",
                 .inputs = {real({2, 3, 4}), index({5}, 0, 2), index({5}, 0, 4)},
                 .fn = FN(a[0].index({a[1], Slice(), a[2]})),
                 .reference =
                     from_places({5, 3},
                                 [](const Sizes& i, const ValuesList& a) {
                                   return Sizes{whole(a[1].v[i[0]]), i[1], whole(a[2].v[i[0]])};
                                 })},
                {.label = "with slices",
                 .inputs = {real({5, 4, 3}), index({2}, 0, 3)},
                 .fn = FN(a[0].index({Slice(1, None, 2), 2, None, a[1]})),
                 .reference = from_places({2, 1, 2},
                                          [](const Sizes& i, const ValuesList& a) {
                                            return Sizes{1 + 2 * i[0], 2, whole(a[1].v[i[2]])};
                                          })},
                {.label = "ellipsis",
                 .inputs = {real({2, 3, 4}), index({2}, 0, 4)},
                 .fn = FN(index(a[0], {Ellipsis, a[1]})),
                 .reference = from_places({2, 3, 2},
                                          [](const Sizes& i, const ValuesList& a) {
                                            return Sizes{i[0], i[1], whole(a[1].v[i[2]])};
                                          })},
                {.label = "truth",
                 .inputs = {real({2, 3})},
                 .fn = FN(a[0].index({true, 1})),
                 .reference = from_places({1, 3},
                                          [](const Sizes& i, const ValuesList&) {
                                            return Sizes{1, i[1]};
                                          })},
                {.label = "nothing",
                 .inputs = {real({2, 3}), index({0}, 0, 2)},
                 .fn = FN(a[0].index({a[1]})),
                 .reference =
                     from_places({0, 3}, [](const Sizes& i, const ValuesList&) { return i; })}},
           .tolerance16 = 1e-2});
  rows.push_back({.name = "index by mask",
                  .ops = {"index", "nonzero"},
                  .samples = {{.label = "rows",
                               .inputs = {real({4, 3}), given_mask({4}, {1, 0, 0, 1})},
                               .fn = FN(a[0].index({a[1]})),
                               .reference = from_places({2, 3},
                                                        [](const Sizes& i, const ValuesList&) {
                                                          return Sizes{3 * i[0], i[1]};
                                                        })},
                              {.label = "two dimensions",
                               .inputs = {real({2, 2, 3}), given_mask({2, 2}, {0, 1, 1, 0})},
                               .fn = FN(a[0].index({a[1], 1})),
                               .reference = from_places({2},
                                                        [](const Sizes& i, const ValuesList&) {
                                                          return Sizes{i[0], 1 - i[0], 1};
                                                        })}},
                  .dynamic = true});
  rows.push_back({.name = "index_put",
                  .ops = {"index_put", "index"},
                  .samples = {{.label = "rows",
                               .inputs = {real({4, 3}), permutation({2}, {3, -4}), real({2, 3})},
                               .fn = FN(index_put(a[0], {a[1]}, a[2])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = a[0];
                                 for (int64_t j = 0; j < 3; ++j) {
                                   out.at({3, j}) = a[2].at({0, j});
                                   out.at({0, j}) = a[2].at({1, j});
                                 }
                                 return {out};
                               },
                               .inplace = INPLACE(a[0].index_put_({a[1]}, a[2]))},
                              {
                                  .label = "broadcast value",
                                  .inputs = {real({4, 3}), permutation({2}, {3, 1}), real({1})},
                                  .fn = FN(a[0].index_put({Slice(), a[1].sub(1)}, a[2])),
                                  .reference = [](const ValuesList& a) -> ValuesList {
                                    Values out = a[0];
                                    for (int64_t i = 0; i < 4; ++i)
                                      out.at({i, 2}) = out.at({i, 0}) = a[2].v[0];
                                    return {out};
                                  },
                                  .inplace = INPLACE(a[0].index_put_({Slice(), a[1].sub(1)}, a[2])),
                              },
                              {.label = "accumulate",
                               .inputs = {real({3}), given_index({4}, {2, 0, 2, 2}), real({4})},
                               .fn = FN(a[0].index_put({a[1]}, a[2], true)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = a[0];
                                 for (int64_t i = 0; i < 4; ++i)
                                   out.v[whole(a[1].v[i])] += a[2].v[i];
                                 return {out};
                               },
                               .inplace = INPLACE(a[0].index_put_({a[1]}, a[2], true)),
                               .dtypes = kAllButBool}},
                  .tolerance16 = 2e-2});
  rows.push_back({.name = "index_put by mask",
                  .ops = {"where"},
                  .samples = {{.label = "a number",
                               .inputs = {real({2, 3}), mask({2, 3})},
                               .fn = FN(a[0].clone().index_put_({a[1]}, 1)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = a[0];
                                 for (size_t i = 0; i < out.v.size(); ++i)
                                   if (a[1].v[i] != 0) out.v[i] = 1;
                                 return {out};
                               },
                               .inplace = INPLACE(a[0].index_put_({a[1]}, 1))}}});
}

}  // namespace

void add_index_rows(std::vector<Row>& rows) {
  add_gathers(rows);
  add_scatters(rows);
  add_slices(rows);
  add_flat(rows);
  add_masks(rows);
  add_indexing(rows);
}

}  // namespace tandem::table
