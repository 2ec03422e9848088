// Rows of views and of what changes shapes.
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// A view whose element at an index is the input's at another index.
Sample viewed(const char* label, Sizes in, Fn fn, Sizes out,
              std::function<Sizes(const Sizes&, const Sizes&)> from) {
  return {.label = label,
          .inputs = {real(std::move(in))},
          .fn = std::move(fn),
          .reference = picking([out](const ValuesList&) { return out; }, std::move(from))};
}

// The same elements in the same order under another shape.
Sample reshaped(const char* label, Sizes in, Fn fn, Sizes out) {
  return {.label = label,
          .inputs = {real(std::move(in))},
          .fn = std::move(fn),
          .reference = [out](const ValuesList& a) -> ValuesList {
            return {Values{out, a[0].v}};
          }};
}

// One view against many pieces of the input.
Sample pieces(const char* label, Sizes in, Fn fn, int64_t dim,
              std::vector<std::pair<int64_t, int64_t>> ranges) {
  return {
      .label = label,
      .inputs = {real(std::move(in))},
      .fn = std::move(fn),
      .reference = [=](const ValuesList& a) {
        ValuesList all;
        for (auto [begin, end] : ranges)
          all.push_back(along(a[0], dim, [begin = begin, end = end](const std::vector<double>& x) {
            return std::vector<double>(x.begin() + begin, x.begin() + end);
          }));
        return all;
      }};
}

void add_reshapes(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "view",
       .ops = {"view"},
       .samples = {reshaped("flat", {2, 3}, FN(a[0].view({6})), {6}),
                   reshaped("inferred", {4, 3}, FN(a[0].view({2, -1, 3})), {2, 2, 3}),
                   reshaped("0-d", {}, FN(a[0].view({1, 1})), {1, 1}),
                   reshaped("to 0-d", {1}, FN(a[0].view(Sizes{})), {}),
                   reshaped("empty", {0, 3}, FN(a[0].view({3, 0, 2})), {3, 0, 2}),
                   reshaped("as", {2, 3}, FN(a[0].view_as(a[0].t().contiguous())), {3, 2})},
       .contiguous_only = true});
  rows.push_back(
      {.name = "reshape",
       .ops = {"view"},
       .samples = {reshaped("flat", {2, 3}, FN(reshape(a[0], {6})), {6}),
                   reshaped("inferred", {4, 3}, FN(reshape(a[0], {2, -1, 3})), {2, 2, 3}),
                   reshaped("split", {6}, FN(reshape(a[0], {2, 3})), {2, 3}),
                   reshaped("empty", {0, 3}, FN(reshape(a[0], {3, 0, 2})), {3, 0, 2})}});
  rows.push_back({.name = "squeeze",
                  .ops = {"view"},
                  .samples = {reshaped("all", {1, 3, 1}, FN(squeeze(a[0])), {3}),
                              reshaped("one", {1, 3, 1}, FN(squeeze(a[0], -1)), {1, 3}),
                              reshaped("nothing to do", {2, 3}, FN(squeeze(a[0], 0)), {2, 3}),
                              reshaped("0-d", {}, FN(squeeze(a[0])), {})}});
  rows.push_back({.name = "unsqueeze",
                  .ops = {"view"},
                  .samples = {reshaped("first", {2, 3}, FN(unsqueeze(a[0], 0)), {1, 2, 3}),
                              reshaped("last", {2, 3}, FN(unsqueeze(a[0], -1)), {2, 3, 1}),
                              reshaped("0-d", {}, FN(unsqueeze(a[0], 0)), {1})}});
}

void add_permutations(std::vector<Row>& rows) {
  const auto swapped = [](const Sizes& i, const Sizes&) { return Sizes{i[1], i[0]}; };
  rows.push_back(
      {.name = "permute",
       .ops = {"permute"},
       .samples = {viewed("three", {2, 3, 4}, FN(permute(a[0], {2, 0, 1})), {4, 2, 3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[1], i[2], i[0]};
                          }),
                   viewed("negative", {2, 3}, FN(permute(a[0], {-1, 0})), {3, 2}, swapped)}});
  rows.push_back(
      {.name = "transpose",
       .ops = {"permute"},
       .samples = {viewed("two", {2, 3}, FN(transpose(a[0], 0, 1)), {3, 2}, swapped),
                   viewed("swapaxes", {2, 3}, FN(swapaxes(a[0], 0, -1)), {3, 2}, swapped),
                   viewed("swapdims", {2, 3}, FN(swapdims(a[0], -2, -1)), {3, 2}, swapped),
                   viewed("empty", {0, 3}, FN(transpose(a[0], 0, 1)), {3, 0}, swapped)}});
  rows.push_back({.name = "t",
                  .ops = {"permute"},
                  .samples = {viewed("matrix", {2, 3}, FN(t(a[0])), {3, 2}, swapped),
                              reshaped("vector", {3}, FN(a[0].t()), {3}),
                              viewed("mT", {2, 3}, FN(a[0].mT()), {3, 2}, swapped),
                              viewed("T", {2, 3}, FN(a[0].T()), {3, 2}, swapped)}});
}

void add_parts(std::vector<Row>& rows) {
  rows.push_back({.name = "expand",
                  .ops = {"expand"},
                  .samples = {viewed("rows", {1, 3}, FN(a[0].expand({2, 3})), {2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{0, i[1]};
                                     }),
                              viewed("leading", {3}, FN(a[0].expand({2, -1})), {2, 3},
                                     [](const Sizes& i, const Sizes&) { return Sizes{i[1]}; }),
                              viewed("0-d", {}, FN(a[0].expand({2, 2})), {2, 2},
                                     [](const Sizes&, const Sizes&) { return Sizes{}; }),
                              viewed("broadcast_to", {3, 1}, FN(broadcast_to(a[0], {3, 2})), {3, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], 0};
                                     }),
                              viewed("to nothing", {1, 3}, FN(a[0].expand({0, 3})), {0, 3},
                                     [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back({.name = "narrow",
                  .ops = {"slice", "view_scatter"},
                  .samples = {viewed("inside", {2, 5}, FN(narrow(a[0], 1, 1, 3)), {2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], i[1] + 1};
                                     }),
                              viewed("from the end", {4, 2}, FN(narrow(a[0], 0, -2, 2)), {2, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0] + 2, i[1]};
                                     }),
                              viewed("nothing", {3}, FN(narrow(a[0], 0, 3, 0)), {0},
                                     [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back(
      {.name = "slice",
       .ops = {"slice", "view_scatter"},
       .samples = {viewed("steps", {7}, FN(slice(a[0], 0, 1, 6, 2)), {3},
                          [](const Sizes& i, const Sizes&) { return Sizes{1 + 2 * i[0]}; }),
                   viewed("negative", {2, 6}, FN(slice(a[0], 1, -4, -1)), {2, 3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], i[1] + 2};
                          }),
                   viewed("too far", {3}, FN(slice(a[0], 0, 1, 99)), {2},
                          [](const Sizes& i, const Sizes&) { return Sizes{i[0] + 1}; }),
                   viewed("nothing", {3}, FN(slice(a[0], 0, 2, 1)), {0},
                          [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back({.name = "select",
                  .ops = {"select", "view_scatter"},
                  .samples = {viewed("first", {3, 2}, FN(select(a[0], 0, 1)), {2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{1, i[0]};
                                     }),
                              viewed("last", {2, 3}, FN(select(a[0], -1, -1)), {2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], 2};
                                     }),
                              viewed("to 0-d", {3}, FN(a[0][2]), {},
                                     [](const Sizes&, const Sizes&) { return Sizes{2}; })}});
}

void add_more_reshapes(std::vector<Row>& rows) {
  rows.push_back({.name = "flatten",
                  .ops = {"view"},
                  .samples = {reshaped("all", {2, 3, 2}, FN(flatten(a[0])), {12}),
                              reshaped("inner", {2, 3, 2}, FN(flatten(a[0], 1)), {2, 6}),
                              reshaped("outer", {2, 3, 2}, FN(flatten(a[0], 0, 1)), {6, 2}),
                              reshaped("0-d", {}, FN(flatten(a[0])), {1}),
                              reshaped("ravel", {2, 3}, FN(ravel(a[0])), {6})}});
  rows.push_back(
      {.name = "unflatten",
       .ops = {"view"},
       .samples = {reshaped("first", {6, 2}, FN(unflatten(a[0], 0, {2, 3})), {2, 3, 2}),
                   reshaped("inferred", {2, 6}, FN(unflatten(a[0], -1, {-1, 2})), {2, 3, 2})}});
  rows.push_back({.name = "atleast_1d",
                  .ops = {"view"},
                  .samples = {reshaped("one", {}, FN(atleast_1d(a[0])), {1}),
                              reshaped("two", {3}, FN(atleast_2d(a[0])), {1, 3}),
                              reshaped("three", {2, 3}, FN(atleast_3d(a[0])), {2, 3, 1}),
                              reshaped("three from 1-d", {3}, FN(atleast_3d(a[0])), {1, 3, 1})}});
  rows.push_back({.name = "alias",
                  .ops = {"view"},
                  .samples = {reshaped("plain", {2, 3}, FN(alias(a[0])), {2, 3})}});
  rows.push_back({.name = "detach",
                  .ops = {},
                  .samples = {reshaped("plain", {2, 3}, FN(detach(a[0])), {2, 3})},
                  .grad = Grad::kNo});
}

void add_more_permutations(std::vector<Row>& rows) {
  rows.push_back({.name = "movedim",
                  .ops = {"permute"},
                  .samples = {viewed("one", {2, 3, 4}, FN(movedim(a[0], 0, 2)), {3, 4, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[2], i[0], i[1]};
                                     }),
                              viewed("two", {2, 3, 4}, FN(movedim(a[0], {0, 1}, {1, 2})), {4, 2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[1], i[2], i[0]};
                                     }),
                              viewed("moveaxis", {2, 3, 4}, FN(moveaxis(a[0], -1, 0)), {4, 2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[1], i[2], i[0]};
                                     })}});
}

void add_splits(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "chunk",
       .ops = {"slice"},
       .samples = {pieces("rows", {5, 2}, [](const List& a) { return chunk(a[0], 2); }, 0,
                          {{0, 3}, {3, 5}}),
                   pieces("columns", {2, 4}, [](const List& a) { return chunk(a[0], 2, 1); }, 1,
                          {{0, 2}, {2, 4}})}});
  rows.push_back({.name = "split",
                  .ops = {"slice"},
                  .samples = {pieces("by size", {5}, [](const List& a) { return split(a[0], 2); },
                                     0, {{0, 2}, {2, 4}, {4, 5}}),
                              pieces("by sizes", {2, 4},
                                     [](const List& a) {
                                       return split(a[0], {1, 3}, 1);
                                     },
                                     1, {{0, 1}, {1, 4}}),
                              pieces("with sizes", {4},
                                     [](const List& a) {
                                       return split_with_sizes(a[0], {4, 0});
                                     },
                                     0, {{0, 4}, {4, 4}})}});
  rows.push_back(
      {.name = "tensor_split",
       .ops = {"slice"},
       .samples = {
           pieces("sections", {5}, [](const List& a) { return tensor_split(a[0], 3); }, 0,
                  {{0, 2}, {2, 4}, {4, 5}}),
           pieces("indices", {5},
                  [](const List& a) {
                    return tensor_split(a[0], {1, 4});
                  },
                  0, {{0, 1}, {1, 4}, {4, 5}}),
           pieces("hsplit", {2, 4}, [](const List& a) { return hsplit(a[0], 2); }, 1,
                  {{0, 2}, {2, 4}}),
           pieces("vsplit", {4, 2}, [](const List& a) { return vsplit(a[0], 2); }, 0,
                  {{0, 2}, {2, 4}}),
           pieces("dsplit", {1, 2, 4}, [](const List& a) { return dsplit(a[0], IntArrayRef{1}); },
                  2, {{0, 1}, {1, 4}})}});
  rows.push_back({.name = "unbind",
                  .ops = {"select"},
                  .samples = {{.label = "columns",
                               .inputs = {real({2, 3})},
                               .fn = [](const List& a) { return unbind(a[0], 1); },
                               .reference =
                                   [](const ValuesList& a) {
                                     ValuesList all;
                                     for (int64_t k = 0; k < 3; ++k)
                                       all.push_back({{2}, {a[0].at({0, k}), a[0].at({1, k})}});
                                     return all;
                                   }}}});
  rows.push_back({.name = "broadcast_tensors",
                  .ops = {"expand"},
                  .samples = {{.label = "two",
                               .inputs = {real({2, 1}), real({3})},
                               .fn = [](const List& a) { return broadcast_tensors(a); },
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 return {expand_to(a[0], {2, 3}), expand_to(a[1], {2, 3})};
                               }}}});
}

void add_strided(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "as_strided",
       .ops = {"as_strided", "strided_sum"},
       .samples = {viewed("overlapping", {6}, FN(as_strided(a[0], {2, 3}, {2, 1}, 1)), {2, 3},
                          [](const Sizes& i, const Sizes&) { return Sizes{1 + 2 * i[0] + i[1]}; }),
                   viewed("repeated", {3}, FN(as_strided(a[0], {2, 3}, {0, 1})), {2, 3},
                          [](const Sizes& i, const Sizes&) { return Sizes{i[1]}; })},
       .contiguous_only = true});
  rows.push_back(
      {.name = "unfold",
       .ops = {"unfold", "unfold_backward"},
       .samples = {viewed("overlapping", {6}, FN(a[0].unfold(0, 3, 1)), {4, 3},
                          [](const Sizes& i, const Sizes&) { return Sizes{i[0] + i[1]}; }),
                   viewed("few wide windows", {2, 6}, FN(a[0].unfold(1, 4, 2)), {2, 2, 4},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], 2 * i[1] + i[2]};
                          }),
                   viewed("first of two", {5, 2}, FN(a[0].unfold(0, 2, 2)), {2, 2, 2},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{2 * i[0] + i[2], i[1]};
                          })}});
  rows.push_back(
      {.name = "diagonal",
       .ops = {"diagonal", "view_scatter"},
       .samples = {viewed("main", {3, 3}, FN(diagonal(a[0])), {3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], i[0]};
                          }),
                   viewed("above", {2, 4}, FN(diagonal(a[0], 1)), {2},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], i[0] + 1};
                          }),
                   viewed("below in the outer two", {3, 2, 2}, FN(diagonal(a[0], -1, 0, 1)), {2, 2},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[1] + 1, i[1], i[0]};
                          }),
                   viewed("outside", {2, 2}, FN(diagonal(a[0], 5)), {0},
                          [](const Sizes&, const Sizes&) { return Sizes{}; })}});
  rows.push_back(
      {.name = "view as dtype",
       .ops = {"view_dtype"},
       .samples = {{.label = "same size",
                    .inputs = {real({2, 3})},
                    .fn = FN(a[0].view(kInt)),
                    .dtypes = bit(kFloat) | bit(kInt)},
                   {.label = "bytes", .inputs = {real({2, 3})}, .fn = FN(a[0].view(kByte))}},
       .grad = Grad::kNo,
       .out = Out::kUnchecked,
       .contiguous_only = true,
       .tolerance16 = -1});
  rows.push_back({.name = "narrow_copy",
                  .ops = {"copy"},
                  .samples = {viewed("inside", {2, 5}, FN(narrow_copy(a[0], 1, 1, 3)), {2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], i[1] + 1};
                                     })}});
}

}  // namespace

void add_view_rows(std::vector<Row>& rows) {
  add_reshapes(rows);
  add_permutations(rows);
  add_parts(rows);
  add_more_reshapes(rows);
  add_more_permutations(rows);
  add_splits(rows);
  add_strided(rows);
}

}  // namespace tandem::table
