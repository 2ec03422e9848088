#include "tandem/ops/einsum.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tandem/ops/binary.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = kLetters;  // stands for the dimensions of "..."

int letter_code(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}
char letter(int code) { return static_cast<char>(code < 26 ? 'A' + code : 'a' + code - 26); }

/// One operand's part of the equation: letters and at most one ellipsis.
std::vector<int> parse_term(std::string_view equation, std::string_view term, bool output) {
  const std::string where = output ? "the output" : "an operand";
  std::vector<int> codes;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term[i] == '.') {
      TANDEM_CHECK(term.substr(i, 3) == "...", "einsum: found '.' for ", where,
                   " that is not part of any ellipsis in '", equation, "'");
      TANDEM_CHECK(std::find(codes.begin(), codes.end(), kEllipsis) == codes.end(),
                   "einsum: found '.' for ", where, " for which an ellipsis was already found in '",
                   equation, "'");
      codes.push_back(kEllipsis);
      i += 2;
      continue;
    }
    const int code = letter_code(term[i]);
    TANDEM_CHECK(code >= 0, "einsum: invalid subscript given for ", where, " in '", equation,
                 "': subscripts must be in [a-zA-Z], got '", term[i], "'");
    codes.push_back(code);
  }
  return codes;
}

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> output;
};

Equation parse(std::string_view text) {
  Equation e;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (size_t from = 0;;) {
    const size_t comma = left.find(',', from);
    e.operands.push_back(parse_term(
        text, left.substr(from, comma == std::string_view::npos ? comma : comma - from), false));
    if (comma == std::string_view::npos) break;
    from = comma + 1;
  }
  std::array<int, kLetters + 1> uses{};
  for (const auto& term : e.operands)
    for (int code : term) ++uses[code];
  if (arrow == std::string_view::npos) {
    if (uses[kEllipsis] > 0) e.output.push_back(kEllipsis);
    for (int code = 0; code < kLetters; ++code)
      if (uses[code] == 1) e.output.push_back(code);
    return e;
  }
  e.output = parse_term(text, text.substr(arrow + 2), true);
  std::array<int, kLetters + 1> in_output{};
  for (int code : e.output) {
    TANDEM_CHECK(++in_output[code] == 1, "einsum: output subscript ", letter(code),
                 " appears more than once in the output of '", text, "'");
    TANDEM_CHECK(code == kEllipsis || uses[code] > 0, "einsum: output subscript ", letter(code),
                 " does not appear in the equation for any input operand of '", text, "'");
  }
  return e;
}

/// Where each letter's dimension lies in the common order: the output's dimensions (those of "..."
/// among them), then the summed letters.
struct Order {
  std::array<int64_t, kLetters + 1> position;  // -1: does not occur
  int64_t ellipsis_dims = 0;
  int64_t output_dims = 0;
  int64_t dims = 0;
};

Order common_order(const Equation& e, int64_t ellipsis_dims) {
  Order o;
  o.position.fill(-1);
  o.ellipsis_dims = ellipsis_dims;
  for (int code : e.output) {
    o.position[code] = o.dims;
    o.dims += code == kEllipsis ? ellipsis_dims : 1;
  }
  o.output_dims = o.dims;
  for (const auto& term : e.operands)
    for (int code : term)
      if (o.position[code] < 0) {
        o.position[code] = o.dims;
        o.dims += code == kEllipsis ? ellipsis_dims : 1;
      }
  return o;
}

/// The operand with one dimension for each of the common order, of extent 1 where it has none.
Tensor arranged(const Tensor& operand, std::vector<int> term, int64_t own_ellipsis,
                const Order& o) {
  Tensor x = operand;
  // Letters that repeat: the diagonal, at the place of the first.
  std::vector<int64_t> places;  // of x's dimensions in the common order
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == kEllipsis) {
      for (int64_t d = 0; d < own_ellipsis; ++d)
        places.push_back(o.position[kEllipsis] + o.ellipsis_dims - own_ellipsis + d);
      continue;
    }
    const int64_t place = o.position[term[i]];
    const auto before = std::find(places.begin(), places.end(), place);
    if (before == places.end()) {
      places.push_back(place);
      continue;
    }
    const int64_t first = before - places.begin(), second = static_cast<int64_t>(places.size());
    TANDEM_CHECK_SHAPE(x.size(first) == x.size(second), "einsum: subscript ", letter(term[i]),
                       " is repeated for operand of shape ", operand.sizes(),
                       " but the sizes don't match, ", x.size(second), " != ", x.size(first));
    x = x.diagonal(0, first, second).movedim(-1, first);
  }
  std::vector<int64_t> order(places.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return places[a] < places[b]; });
  Dims sizes(static_cast<size_t>(o.dims), 1);
  for (size_t i = 0; i < places.size(); ++i) sizes[places[i]] = x.size(static_cast<int64_t>(i));
  if (!std::is_sorted(order.begin(), order.end())) x = x.permute(order);
  return IntArrayRef(sizes) == x.sizes() ? x : x.reshape(sizes);
}

/// The product of two tensors of one rank, summed over the marked dimensions, which stay with
/// extent 1: one batched matrix product, if any are.
Tensor multiply_and_sum(Tensor x, Tensor y, const std::vector<bool>& summed) {
  const int64_t dims = x.dim();
  Dims batch, only_x, only_y, both;  // dimensions by role
  int64_t batch_size = 1, x_size = 1, y_size = 1, sum_size = 1;
  for (int64_t d = 0; d < dims; ++d) {
    const bool in_x = x.size(d) != 1, in_y = y.size(d) != 1;
    if (summed[d]) {
      if (in_x && in_y) {
        both.push_back(d);
        sum_size *= x.size(d);
        continue;
      }
      if (in_x) x = sum(x, {d}, true, x.dtype());
      if (in_y) y = sum(y, {d}, true, y.dtype());
      batch.push_back(d);  // extent 1 in both now
    } else if (in_x && in_y) {
      batch.push_back(d);
      batch_size *= x.size(d);
    } else if (in_x) {
      only_x.push_back(d);
      x_size *= x.size(d);
    } else {
      only_y.push_back(d);
      y_size *= y.size(d);
    }
  }
  if (both.empty()) return x * y;
  const auto chained = [](std::initializer_list<const Dims*> parts) {
    Dims r;
    for (const Dims* p : parts) r.append(p->begin(), p->end());
    return r;
  };
  const Tensor left =
      x.permute(chained({&batch, &only_x, &both, &only_y})).reshape({batch_size, x_size, sum_size});
  const Tensor right =
      y.permute(chained({&batch, &both, &only_y, &only_x})).reshape({batch_size, sum_size, y_size});
  Dims sizes;
  for (int64_t d : batch) sizes.push_back(x.size(d));
  for (int64_t d : only_x) sizes.push_back(x.size(d));
  for (size_t i = 0; i < both.size(); ++i) sizes.push_back(1);
  for (int64_t d : only_y) sizes.push_back(y.size(d));
  const Dims order = chained({&batch, &only_x, &both, &only_y});
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  return bmm_form(left, right, false, false).reshape(sizes).permute(back);
}

void check_extents(const std::vector<Tensor>& operands, const std::vector<int>& codes_at) {
  for (size_t d = 0; d < codes_at.size(); ++d) {
    int64_t extent = 1;
    for (const Tensor& x : operands) {
      const int64_t s = x.size(static_cast<int64_t>(d));
      if (s == 1) continue;
      TANDEM_CHECK_SHAPE(extent == 1 || extent == s, "einsum: ",
                         codes_at[d] == kEllipsis ? std::string("the dimensions of '...'")
                                                  : str("subscript ", letter(codes_at[d])),
                         " has size ", s,
                         " for an operand which does not broadcast with previously seen size ",
                         extent);
      extent = s;
    }
  }
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef) {
  TANDEM_CHECK(!tensors.empty(), "einsum: must provide at least one operand");
  const Equation e = parse(equation);
  TANDEM_CHECK(e.operands.size() == tensors.size(), "einsum: ",
               e.operands.size() > tensors.size()
                   ? "fewer operands were provided than specified in the equation '"
                   : "more operands were provided than specified in the equation '",
               equation, "': ", tensors.size(), " for ", e.operands.size(), " terms");
  std::vector<int64_t> own_ellipsis(tensors.size(), 0);
  int64_t ellipsis_dims = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& term = e.operands[i];
    const int64_t letters =
        std::count_if(term.begin(), term.end(), [](int c) { return c != kEllipsis; });
    const bool has_ellipsis = static_cast<size_t>(letters) != term.size();
    own_ellipsis[i] = tensors[i].dim() - letters;
    TANDEM_CHECK_SHAPE(has_ellipsis ? own_ellipsis[i] >= 0 : own_ellipsis[i] == 0,
                       "einsum: the number of subscripts in the equation (", letters, ") ",
                       has_ellipsis ? "is more than" : "does not match",
                       " the number of dimensions (", tensors[i].dim(), ") for operand ", i,
                       " of '", equation, "'", has_ellipsis ? "" : " and no ellipsis was given");
    ellipsis_dims = std::max(ellipsis_dims, own_ellipsis[i]);
  }
  const Order order = common_order(e, ellipsis_dims);
  std::vector<int> codes_at(static_cast<size_t>(order.dims));
  for (int code = 0; code <= kLetters; ++code)
    if (order.position[code] >= 0)
      for (int64_t d = 0; d < (code == kEllipsis ? ellipsis_dims : 1); ++d)
        codes_at[order.position[code] + d] = code;
  std::vector<Tensor> operands;
  for (size_t i = 0; i < tensors.size(); ++i)
    operands.push_back(arranged(tensors[i], e.operands[i], own_ellipsis[i], order));
  check_extents(operands, codes_at);

  // A summed dimension is summed as soon as no later operand has it.
  Tensor result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::vector<bool> summed(codes_at.size(), false);
    for (int64_t d = order.output_dims; d < order.dims; ++d) {
      summed[d] = true;
      for (size_t j = i + 1; j < operands.size(); ++j)
        if (operands[j].size(d) != 1) summed[d] = false;
    }
    result = multiply_and_sum(result, operands[i], summed);
  }
  if (order.dims == order.output_dims) return result;
  Dims rest;
  for (int64_t d = order.output_dims; d < order.dims; ++d) rest.push_back(d);
  if (operands.size() == 1) return sum(result, rest.ref(), false, result.dtype());
  return result.reshape(result.sizes().slice(0, order.output_dims));
}

Tensor tensordot(const Tensor& x, const Tensor& y, IntArrayRef dims_x, IntArrayRef dims_y) {
  TANDEM_CHECK(dims_x.size() == dims_y.size(),
               "tensordot: both dimension lists should have same length, got ", dims_x, " and ",
               dims_y);
  std::vector<bool> in_x(x.dim(), false), in_y(y.dim(), false);
  Dims sum_x, sum_y;
  int64_t sum_size = 1;
  for (size_t i = 0; i < dims_x.size(); ++i) {
    // wrap_dim lets a 0-d tensor have a dimension 0, which there is nothing to contract along.
    TANDEM_CHECK_INDEX(x.dim() > 0 && y.dim() > 0, "tensordot: Dimension specified as ",
                       x.dim() > 0 ? dims_y[i] : dims_x[i], " but tensor has no dimensions");
    const int64_t a = wrap_dim("tensordot", dims_x[i], x.dim());
    const int64_t b = wrap_dim("tensordot", dims_y[i], y.dim());
    TANDEM_CHECK(!in_x[a] && !in_y[b], "tensordot: a dimension appears twice in ", dims_x, " or ",
                 dims_y);
    TANDEM_CHECK_SHAPE(x.size(a) == y.size(b),
                       "tensordot: contracted dimensions need to match, but first has size ",
                       x.size(a), " in dim ", dims_x[i], " and second has size ", y.size(b),
                       " in dim ", dims_y[i]);
    in_x[a] = in_y[b] = true;
    sum_x.push_back(a);
    sum_y.push_back(b);
    sum_size *= x.size(a);
  }
  Dims order_x, order_y(sum_y), out;
  int64_t rows = 1, cols = 1;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (!in_x[d]) {
      order_x.push_back(d);
      out.push_back(x.size(d));
      rows *= x.size(d);
    }
  order_x.append(sum_x.begin(), sum_x.end());
  for (int64_t d = 0; d < y.dim(); ++d)
    if (!in_y[d]) {
      order_y.push_back(d);
      out.push_back(y.size(d));
      cols *= y.size(d);
    }
  return mm(x.permute(order_x).reshape({rows, sum_size}),
            y.permute(order_y).reshape({sum_size, cols}))
      .reshape(out);
}

Tensor tensordot(const Tensor& x, const Tensor& y, int64_t dims) {
  TANDEM_CHECK(dims >= 0 && dims <= x.dim() && dims <= y.dim(), "tensordot: cannot sum over ", dims,
               " dimensions of tensors of shapes ", x.sizes(), " and ", y.sizes());
  Dims a, b;
  for (int64_t i = 0; i < dims; ++i) {
    a.push_back(x.dim() - dims + i);
    b.push_back(i);
  }
  return tensordot(x, y, a.ref(), b.ref());
}

}  // namespace tandem
