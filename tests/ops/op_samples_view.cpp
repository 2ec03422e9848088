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

}  // namespace

void add_view_rows(std::vector<Row>& rows) {
  add_reshapes(rows);
  add_permutations(rows);
  add_parts(rows);
}

}  // namespace tandem::table
