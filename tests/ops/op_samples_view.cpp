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
  rows.push_back({.name = "reshape",
                  .ops = {"view"},
                  .samples = {reshaped("flat", {2, 3}, FN(a[0].reshape({6})), {6}),
                              reshaped("inferred", {4, 3}, FN(a[0].reshape({2, -1, 3})), {2, 2, 3}),
                              reshaped("split", {6}, FN(a[0].reshape({2, 3})), {2, 3}),
                              reshaped("empty", {0, 3}, FN(a[0].reshape({3, 0, 2})), {3, 0, 2})}});
  rows.push_back({.name = "squeeze",
                  .ops = {"view"},
                  .samples = {reshaped("all", {1, 3, 1}, FN(a[0].squeeze()), {3}),
                              reshaped("one", {1, 3, 1}, FN(a[0].squeeze(-1)), {1, 3}),
                              reshaped("nothing to do", {2, 3}, FN(a[0].squeeze(0)), {2, 3}),
                              reshaped("0-d", {}, FN(a[0].squeeze()), {})}});
  rows.push_back({.name = "unsqueeze",
                  .ops = {"view"},
                  .samples = {reshaped("first", {2, 3}, FN(a[0].unsqueeze(0)), {1, 2, 3}),
                              reshaped("last", {2, 3}, FN(a[0].unsqueeze(-1)), {2, 3, 1}),
                              reshaped("0-d", {}, FN(a[0].unsqueeze(0)), {1})}});
}

void add_permutations(std::vector<Row>& rows) {
  const auto swapped = [](const Sizes& i, const Sizes&) { return Sizes{i[1], i[0]}; };
  rows.push_back(
      {.name = "permute",
       .ops = {"permute"},
       .samples = {viewed("three", {2, 3, 4}, FN(a[0].permute({2, 0, 1})), {4, 2, 3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[1], i[2], i[0]};
                          }),
                   viewed("negative", {2, 3}, FN(a[0].permute({-1, 0})), {3, 2}, swapped)}});
  rows.push_back(
      {.name = "transpose",
       .ops = {"permute"},
       .samples = {viewed("two", {2, 3}, FN(a[0].transpose(0, 1)), {3, 2}, swapped),
                   viewed("swapaxes", {2, 3}, FN(a[0].swapaxes(0, -1)), {3, 2}, swapped),
                   viewed("swapdims", {2, 3}, FN(a[0].swapdims(-2, -1)), {3, 2}, swapped),
                   viewed("empty", {0, 3}, FN(a[0].transpose(0, 1)), {3, 0}, swapped)}});
  rows.push_back({.name = "t",
                  .ops = {"permute"},
                  .samples = {viewed("matrix", {2, 3}, FN(a[0].t()), {3, 2}, swapped),
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
                              viewed("broadcast_to", {3, 1}, FN(a[0].broadcast_to({3, 2})), {3, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], 0};
                                     }),
                              viewed("to nothing", {1, 3}, FN(a[0].expand({0, 3})), {0, 3},
                                     [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back({.name = "narrow",
                  .ops = {"slice", "view_scatter"},
                  .samples = {viewed("inside", {2, 5}, FN(a[0].narrow(1, 1, 3)), {2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], i[1] + 1};
                                     }),
                              viewed("from the end", {4, 2}, FN(a[0].narrow(0, -2, 2)), {2, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0] + 2, i[1]};
                                     }),
                              viewed("nothing", {3}, FN(a[0].narrow(0, 3, 0)), {0},
                                     [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back(
      {.name = "slice",
       .ops = {"slice", "view_scatter"},
       .samples = {viewed("steps", {7}, FN(a[0].slice(0, 1, 6, 2)), {3},
                          [](const Sizes& i, const Sizes&) { return Sizes{1 + 2 * i[0]}; }),
                   viewed("negative", {2, 6}, FN(a[0].slice(1, -4, -1)), {2, 3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], i[1] + 2};
                          }),
                   viewed("too far", {3}, FN(a[0].slice(0, 1, 99)), {2},
                          [](const Sizes& i, const Sizes&) { return Sizes{i[0] + 1}; }),
                   viewed("nothing", {3}, FN(a[0].slice(0, 2, 1)), {0},
                          [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back({.name = "select",
                  .ops = {"select", "view_scatter"},
                  .samples = {viewed("first", {3, 2}, FN(a[0].select(0, 1)), {2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{1, i[0]};
                                     }),
                              viewed("last", {2, 3}, FN(a[0].select(-1, -1)), {2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], 2};
                                     }),
                              viewed("to 0-d", {3}, FN(a[0][2]), {},
                                     [](const Sizes&, const Sizes&) { return Sizes{2}; })}});
}

// Views that may show an element twice.
void add_strided(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "as_strided",
       .ops = {"as_strided", "strided_sum"},
       .samples = {viewed("overlapping", {12}, FN(a[0].as_strided({3, 4}, {2, 1}, 1)), {3, 4},
                          [](const Sizes& i, const Sizes&) { return Sizes{1 + 2 * i[0] + i[1]}; }),
                   viewed("repeated", {4}, FN(a[0].as_strided({2, 3}, {0, 1}, 1)), {2, 3},
                          [](const Sizes& i, const Sizes&) { return Sizes{1 + i[1]}; }),
                   viewed("apart", {3, 4}, FN(a[0].as_strided({3}, {5})), {3},
                          [](const Sizes& i, const Sizes&) {
                            return Sizes{i[0], i[0]};
                          })},
       .contiguous_only = true});
  rows.push_back({.name = "unfold",
                  .ops = {"unfold", "unfold_backward"},
                  .samples = {viewed("overlapping", {2, 7}, FN(a[0].unfold(1, 3, 2)), {2, 3, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], 2 * i[1] + i[2]};
                                     }),
                              viewed("long windows", {6, 2}, FN(a[0].unfold(0, 5, 1)), {2, 2, 5},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0] + i[2], i[1]};
                                     }),
                              viewed("empty windows", {3}, FN(a[0].unfold(0, 0, 2)), {2, 0},
                                     [](const Sizes& i, const Sizes&) { return i; }),
                              viewed("0-d", {}, FN(a[0].unfold(0, 1, 1)), {1},
                                     [](const Sizes&, const Sizes&) { return Sizes{}; })}});
  rows.push_back({.name = "diagonal",
                  .ops = {"diagonal", "view_scatter"},
                  .samples = {viewed("main", {3, 4}, FN(a[0].diagonal()), {3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], i[0]};
                                     }),
                              viewed("batch", {2, 4, 3}, FN(diagonal(a[0], -1, 1, 2)), {2, 3},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[0], i[1] + 1, i[1]};
                                     }),
                              viewed("outside", {2, 3}, FN(a[0].diagonal(3)), {0},
                                     [](const Sizes& i, const Sizes&) { return i; })}});
  rows.push_back({.name = "view_dtype",
                  .ops = {"view_dtype"},
                  .samples = {reshaped("back and forth", {2, 8},
                                       FN(a[0].view(kByte).view(a[0].dtype())), {2, 8})},
                  .grad = Grad::kNo,
                  .contiguous_only = true});
}

void add_moves(std::vector<Row>& rows) {
  rows.push_back({.name = "flatten",
                  .ops = {"view"},
                  .samples = {reshaped("all", {2, 3, 2}, FN(a[0].flatten()), {12}),
                              reshaped("some", {2, 3, 2}, FN(flatten(a[0], 1, 2)), {2, 6}),
                              reshaped("0-d", {}, FN(a[0].ravel()), {1})}});
  rows.push_back(
      {.name = "unflatten",
       .ops = {"view"},
       .samples = {reshaped("inferred", {2, 6}, FN(a[0].unflatten(1, {-1, 2})), {2, 3, 2})},
       .contiguous_only = true});
  rows.push_back({.name = "movedim",
                  .ops = {"permute"},
                  .samples = {viewed("one", {2, 3, 4}, FN(a[0].movedim(0, 2)), {3, 4, 2},
                                     [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[2], i[0], i[1]};
                                     }),
                              viewed("two", {2, 3, 4}, FN(moveaxis(a[0], {0, 1}, {2, 0})),
                                     {3, 4, 2}, [](const Sizes& i, const Sizes&) {
                                       return Sizes{i[2], i[0], i[1]};
                                     })}});
}

// All parts of a split, each shown to the checks.
void add_splits(std::vector<Row>& rows) {
  const auto parts = [](std::vector<std::pair<int64_t, int64_t>> ranges) -> Reference {
    return [ranges](const ValuesList& a) {
      ValuesList result;
      for (auto [begin, end] : ranges) {
        Values part = zeros_of({end - begin, a[0].sizes[1]});
        each_index(part.sizes, [&](const Sizes& i) { part.at(i) = a[0].at({i[0] + begin, i[1]}); });
        result.push_back(part);
      }
      return result;
    };
  };
  const auto cut = [&](const char* label, Fn fn, std::vector<std::pair<int64_t, int64_t>> ranges) {
    return Sample{
        .label = label, .inputs = {real({5, 2})}, .fn = std::move(fn), .reference = parts(ranges)};
  };
#define PARTS(...) [](const List& a) -> List { return __VA_ARGS__; }
  rows.push_back({.name = "split",
                  .ops = {"slice", "view_scatter"},
                  .samples = {cut("even", PARTS(a[0].split(2)), {{0, 2}, {2, 4}, {4, 5}}),
                              cut("sizes", PARTS(split(a[0], {1, 4})), {{0, 1}, {1, 5}}),
                              cut("with sizes", PARTS(a[0].split_with_sizes({3, 0, 2})),
                                  {{0, 3}, {3, 3}, {3, 5}})}});
  rows.push_back({.name = "chunk",
                  .ops = {"slice"},
                  .samples = {cut("three", PARTS(chunk(a[0], 3)), {{0, 2}, {2, 4}, {4, 5}})}});
  rows.push_back(
      {.name = "tensor_split",
       .ops = {"slice"},
       .samples = {cut("sections", PARTS(a[0].tensor_split(2)), {{0, 3}, {3, 5}}),
                   cut("indices", PARTS(a[0].tensor_split({1, 4})), {{0, 1}, {1, 4}, {4, 5}}),
                   cut("vsplit", PARTS(a[0].vsplit({2, 3})), {{0, 2}, {2, 3}, {3, 5}})}});
#undef PARTS
  rows.push_back({.name = "unbind",
                  .ops = {"select"},
                  .samples = {{.label = "columns",
                               .inputs = {real({3, 2})},
                               .fn = [](const List& a) -> List { return a[0].unbind(1); },
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 ValuesList result(2, zeros_of({3}));
                                 for (int64_t i = 0; i < 3; ++i)
                                   for (int64_t j = 0; j < 2; ++j)
                                     result[j].at({i}) = a[0].at({i, j});
                                 return result;
                               }}}});
}

}  // namespace

void add_view_rows(std::vector<Row>& rows) {
  add_reshapes(rows);
  add_permutations(rows);
  add_parts(rows);
  add_strided(rows);
  add_moves(rows);
  add_splits(rows);
}

}  // namespace tandem::table
