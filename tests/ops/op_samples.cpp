// Assembles the op table and derives the samples that every pointwise function has.
#include <limits>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

std::vector<Input> shaped(const std::vector<Input>& inputs, const std::vector<Sizes>& shapes) {
  std::vector<Input> r;
  for (size_t i = 0; i < inputs.size(); ++i)
    r.push_back(inputs[i].of_shape(shapes[std::min(i, shapes.size() - 1)]));
  return r;
}

// Every combination of the numbers that formulas tend to get wrong.
std::vector<Input> special_values(const std::vector<Input>& inputs) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<double> alone = {0.0,   -0.0,  0.5,    -0.5,  1,    -1,   1.5,   -1.5,
                                            2.5,   -2.5,  3,      -3,    10,   -10,  88,    -88,
                                            1e4,   -1e4,  1e-3,   -1e-3, 1e-7, 1e20, -1e20, 1e38,
                                            -1e38, 1e-38, -1e-38, 3e-45, inf,  -inf, nan};
  static const std::vector<double> together = {0.0, -0.0, 1, -1, 0.5, -2.5, 3, inf, -inf, nan};
  std::vector<Input> r = inputs;
  const auto n = static_cast<int64_t>(inputs.size() == 1 ? alone.size() : together.size());
  for (size_t i = 0; i < r.size(); ++i) {
    if (r[i].kind == Input::kMask || r[i].kind == Input::kIndex) {
      r[i] = r[i].of_shape({});
      continue;
    }
    r[i].sizes = Sizes(inputs.size(), 1);
    r[i].sizes[i] = n;
    r[i].given = inputs.size() == 1 ? alone : together;
  }
  return r;
}

void derive(Row& row) {
  if (!row.pointwise) return;
  const Sample first = row.samples.at(0);
  const auto add = [&](const char* label, std::vector<Sizes> shapes) -> Sample& {
    Sample s = first;
    s.label = label;
    s.inputs = shaped(first.inputs, shapes);
    row.samples.push_back(std::move(s));
    return row.samples.back();
  };
  add("0-d", {{}});
  add("empty", {{0}});
  add("empty 2-d", {{3, 0}});
  add("odd length", {{67}}).grad = false;
  add("rows", {{3, 37}}).grad = false;
  add("4-d", {{2, 3, 2, 5}}).grad = false;
  if (first.inputs.size() > 1) {
    add("broadcast outer", {{3, 1}, {1, 2}, {2}});
    add("broadcast row", {{2, 3}, {3}, {2, 1}});
    add("0-d second", {{2, 3}, {}, {}});
    add("0-d first", {{}, {2, 3}, {3}});
    add("broadcast empty", {{0, 3}, {3}, {1, 1}});
  }
  Sample& big = add("big", {{3, 70001}});
  big.big = true;
  big.grad = row.grad != Grad::kNo;
  if (first.inputs.size() > 1) add("big broadcast", {{300, 701}, {701}, {300, 1}}).big = true;
  if (row.special && (row.dtypes & kFullFloats) != 0) {
    Sample s = first;
    s.label = "special values";
    s.inputs = special_values(first.inputs);
    s.grad = false;
    s.no_inplace = true;
    s.dtypes = kFloats;
    row.samples.push_back(std::move(s));
  }
}

}  // namespace

const std::vector<Row>& all_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> r;
    add_pointwise_rows(r);
    add_reduce_rows(r);
    add_sort_rows(r);
    add_compare_rows(r);
    add_activation_rows(r);
    add_view_rows(r);
    add_index_rows(r);
    add_arrange_rows(r);
    add_misc_rows(r);
    add_more_rows(r);
    add_creation_rows(r);
    add_special_rows(r);
    add_softmax_rows(r);
    add_control_rows(r);
    add_rnn_rows(r);
    add_norm_rows(r);
    add_loss_rows(r);
    add_conv_rows(r);
    add_attention_rows(r);
    add_padding_rows(r);
    add_pool_rows(r);
    add_vision_rows(r);
    add_optim_rows(r);
    add_matmul_rows(r);
    add_linalg_rows(r);
    for (Row& row : r) derive(row);
    return r;
  }();
  return rows;
}

}  // namespace tandem::table
