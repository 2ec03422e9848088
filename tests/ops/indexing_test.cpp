#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/ops/tensor_index.h"
#include "tests/ops/values.h"

namespace tandem {
namespace {

using namespace tandem::indexing;
using test::counting;
using test::error_of;
using test::Numbers;
using test::ravel;
using test::Shape;
using test::unravel;
using test::values;
using test::Warnings;

// -- a second implementation, element by element --------------------------------------------------

struct Want {
  Shape sizes;
  std::vector<int64_t> from;  // for each element of the result, the number of x's element
};

// What one entry leaves of the dimensions: a range of an old one, a new one, or indices into one.
struct Part {
  enum { kRange, kNew, kIndices } kind;
  int64_t dim = -1;  // of x; -1: none
  int64_t start = 0, step = 1, length = 1;
  Shape shape;                 // of the indices
  std::vector<int64_t> index;  // row-major
};

Want reference(const Shape& x, const std::vector<TensorIndex>& entries) {
  size_t named = 0;
  for (const TensorIndex& e : entries) {
    if (e.is_integer() || e.is_slice()) ++named;
    if (e.is_tensor())
      named += e.tensor().dtype() == kBool ? static_cast<size_t>(e.tensor().dim()) : 1;
  }
  std::vector<Part> parts;
  std::vector<std::pair<int64_t, int64_t>> fixed;  // dimensions chosen by a number
  int64_t d = 0;
  const auto range = [&](int64_t start, int64_t step, int64_t length) {
    parts.push_back(
        {.kind = Part::kRange, .dim = d++, .start = start, .step = step, .length = length});
  };
  const auto whole = [&] { range(0, 1, x[static_cast<size_t>(d)]); };
  for (const TensorIndex& e : entries) {
    if (e.is_none()) parts.push_back({.kind = Part::kNew});
    if (e.is_ellipsis())
      for (size_t k = named; k < x.size(); ++k) whole();
    if (e.is_integer()) {
      const int64_t n = x[static_cast<size_t>(d)];
      fixed.emplace_back(d++, e.integer() < 0 ? e.integer() + n : e.integer());
    }
    if (e.is_slice()) {
      const int64_t n = x[static_cast<size_t>(d)];
      const auto place = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
      const int64_t a = place(e.slice().start()), b = std::max(a, place(e.slice().stop()));
      range(a, e.slice().step(), (b - a + e.slice().step() - 1) / e.slice().step());
    }
    if (e.is_boolean())
      parts.push_back({.kind = Part::kIndices,
                       .shape = {e.boolean() ? 1 : 0},
                       .index = std::vector<int64_t>(e.boolean() ? 1 : 0)});
    if (e.is_tensor() && e.tensor().dtype() != kBool) {
      Part p{.kind = Part::kIndices, .dim = d, .shape = e.tensor().sizes().vec()};
      for (double v : values(e.tensor())) {
        const auto i = static_cast<int64_t>(v);
        p.index.push_back(i < 0 ? i + x[static_cast<size_t>(d)] : i);
      }
      ++d;
      parts.push_back(p);
    } else if (e.is_tensor()) {
      const Shape shape = e.tensor().sizes().vec();
      const auto truth = values(e.tensor());
      for (size_t k = 0; k < shape.size(); ++k) {
        Part p{.kind = Part::kIndices, .dim = d++};
        for (size_t i = 0; i < truth.size(); ++i)
          if (truth[i] != 0) p.index.push_back(unravel(static_cast<int64_t>(i), shape)[k]);
        p.shape = {static_cast<int64_t>(p.index.size())};
        parts.push_back(p);
      }
    }
  }
  while (static_cast<size_t>(d) < x.size()) whole();

  // The shape that the indices share, and where it goes.
  Shape shared;
  size_t first = parts.size(), last = 0, count = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].kind != Part::kIndices) continue;
    shared = broadcast_shapes("test", shared, parts[k].shape).vec();
    first = std::min(first, k);
    last = k;
    ++count;
  }
  const bool together = count == 0 || last - first + 1 == count;
  Want want;
  if (count && !together) want.sizes = shared;
  size_t at_indices = 0;
  std::vector<std::pair<size_t, const Part*>> plain;  // position in the result
  for (size_t k = 0; k < parts.size(); ++k) {
    if (count && together && k == first) {
      at_indices = want.sizes.size();
      want.sizes.insert(want.sizes.end(), shared.begin(), shared.end());
    }
    if (parts[k].kind == Part::kIndices) continue;
    plain.emplace_back(want.sizes.size(), &parts[k]);
    want.sizes.push_back(parts[k].length);
  }
  for (int64_t i = 0; i < numel_of(want.sizes); ++i) {
    const Shape at = unravel(i, want.sizes);
    Shape place(x.size());
    for (auto [dim, value] : fixed) place[static_cast<size_t>(dim)] = value;
    for (auto [where, p] : plain)
      if (p->dim >= 0) place[static_cast<size_t>(p->dim)] = p->start + at[where] * p->step;
    for (const Part& p : parts) {
      if (p.kind != Part::kIndices || p.dim < 0) continue;
      Shape b(p.shape.size());
      const size_t extra = shared.size() - p.shape.size();
      for (size_t k = 0; k < b.size(); ++k) b[k] = p.shape[k] == 1 ? 0 : at[at_indices + extra + k];
      place[static_cast<size_t>(p.dim)] = p.index[static_cast<size_t>(ravel(b, p.shape))];
    }
    want.from.push_back(ravel(place, x));
  }
  return want;
}

// -- random indices
// ---------------------------------------------------------------------------------

std::vector<TensorIndex> random_index(Numbers& r, const Shape& x, Shape& shared) {
  std::vector<TensorIndex> entries;
  bool ellipsis = false;
  size_t d = 0;
  while (d < x.size()) {
    const int64_t n = x[d];
    switch (r.below(9)) {
      case 0:
        entries.emplace_back(None);
        break;
      case 1:
        if (!ellipsis) {
          entries.emplace_back("...");
          ellipsis = true;
          d += static_cast<size_t>(r.below(static_cast<int64_t>(x.size() - d) + 1));
        }
        break;
      case 2:
        entries.emplace_back(r.below(2 * n) - n), ++d;
        break;
      case 3:
        entries.emplace_back(Slice()), ++d;
        break;
      case 4:
        entries.emplace_back(Slice(r.below(n), None, 1 + r.below(3))), ++d;
        break;
      case 5:
        entries.emplace_back(Slice(-n, r.below(n) + 1)), ++d;
        break;
      case 6:
      case 7: {
        Shape shape = shared;
        if (r.below(3) == 0 && !shape.empty()) shape[0] = 1;
        std::vector<double> v(static_cast<size_t>(numel_of(shape)));
        for (double& i : v) i = static_cast<double>(r.below(2 * n) - n);
        entries.emplace_back(test::from_values(v, shape, r.below(2) ? kLong : kInt));
        ++d;
        break;
      }
      default:
        if (!ellipsis && r.below(3) == 0) return entries;
    }
  }
  return entries;
}

TEST(Indexing, RandomIndicesAgainstLoops) {
  Numbers r(7);
  int advanced = 0, basic = 0;
  for (int round = 0; round < 600; ++round) {
    Shape x_sizes;
    for (int64_t d = r.below(4) + 1; d > 0; --d) x_sizes.push_back(r.below(4) + 1);
    Shape shared = {r.below(3) + 1};
    if (r.below(2)) shared.push_back(2);
    const auto entries = random_index(r, x_sizes, shared);
    if (entries.empty()) continue;
    const Want want = reference(x_sizes, entries);
    const Tensor x = counting(x_sizes).requires_grad_();
    const Tensor y = x.index(entries);
    SCOPED_TRACE(str(x_sizes.size(), "-d, round ", round));
    ASSERT_EQ(y.sizes(), want.sizes);
    const auto got = values(y);
    bool views = true;
    for (const TensorIndex& e : entries) views &= !e.is_tensor();
    (views ? basic : advanced)++;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(static_cast<int64_t>(got[i]), want.from[i]) << i;
    EXPECT_EQ(y.is_alias_of(x), views);

    // Gradients of two orders, both linear.
    const Tensor w = r.tensor_of(want.sizes).requires_grad_();
    const Tensor g = autograd::grad({y}, {x}, {w}, true, true)[0];
    std::vector<double> sums(static_cast<size_t>(x.numel()));
    const auto ws = values(w);
    for (size_t i = 0; i < ws.size(); ++i) sums[static_cast<size_t>(want.from[i])] += ws[i];
    const auto gs = values(g);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(gs[i], sums[i], 1e-12);
    const Tensor u = r.tensor_of(x_sizes);
    const auto second = values(autograd::grad({g}, {w}, {u}, true, true)[0]);
    for (size_t i = 0; i < second.size(); ++i)
      ASSERT_EQ(second[i], values(u)[static_cast<size_t>(want.from[i])]);

    // Writing and adding, with gradients by both.
    for (bool accumulate : {false, true}) {
      const Tensor start = counting(x_sizes).requires_grad_();
      const Tensor v = r.tensor_of(want.sizes).requires_grad_();
      const Tensor z = start * 1;
      z.index_put_(entries, v, accumulate);
      auto expected = values(start);
      const auto vs = values(v);
      std::vector<int64_t> last(expected.size(), -1);
      for (size_t i = 0; i < vs.size(); ++i) {
        const auto m = static_cast<size_t>(want.from[i]);
        expected[m] = accumulate ? expected[m] + vs[i] : vs[i];
        last[m] = static_cast<int64_t>(i);
      }
      const auto zs = values(z);
      for (size_t i = 0; i < zs.size(); ++i) ASSERT_NEAR(zs[i], expected[i], 1e-12);
      const Tensor weight = r.tensor_of(x_sizes);
      const auto grads = autograd::grad({z}, {start, v}, {weight});
      const auto by_start = values(grads[0]), by_v = values(grads[1]), weights = values(weight);
      for (size_t i = 0; i < by_start.size(); ++i)
        ASSERT_EQ(by_start[i], accumulate || last[i] < 0 ? weights[i] : 0);
      for (size_t i = 0; i < by_v.size(); ++i)
        ASSERT_EQ(by_v[i], weights[static_cast<size_t>(want.from[i])]);
    }
  }
  EXPECT_GT(advanced, 100);
  EXPECT_GT(basic, 100);
}

TEST(Indexing, MasksAgainstLoops) {
  Numbers r(9);
  for (int round = 0; round < 100; ++round) {
    const Shape x_sizes = {3, 2, 4};
    const int64_t masked = r.below(3) + 1, before = r.below(4 - masked);
    Shape shape;
    for (int64_t d = before; d < before + masked; ++d)
      shape.push_back(x_sizes[static_cast<size_t>(d)]);
    std::vector<double> bits(static_cast<size_t>(numel_of(shape)));
    for (double& b : bits) b = static_cast<double>(r.below(2));
    std::vector<TensorIndex> entries;
    for (int64_t d = 0; d < before; ++d) entries.emplace_back(Slice());
    entries.emplace_back(test::from_values(bits, shape, kBool));
    if (r.below(2) && before + masked < 3) entries.emplace_back(1);
    const Want want = reference(x_sizes, entries);
    const Tensor x = counting(x_sizes);
    const Tensor y = x.index(entries);
    ASSERT_EQ(y.sizes(), want.sizes);
    const auto got = values(y);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(static_cast<int64_t>(got[i]), want.from[i]);
    x.index_put_(entries, -5);
    auto expected = values(counting(x_sizes));
    for (int64_t i : want.from) expected[static_cast<size_t>(i)] = -5;
    ASSERT_EQ(values(x), expected);
  }
}

TEST(Indexing, MaskedWriteIsDifferentiated) {
  const Tensor x = counting({2, 3}).requires_grad_();
  const Tensor y = x * 2;
  y.index_put_({x.detach() > 2}, 0);
  y.backward(ones({2, 3}, kDouble));
  EXPECT_EQ(values(x.grad()), (std::vector<double>{2, 2, 2, 0, 0, 0}));
}

TEST(Indexing, AssignmentWritesThrough) {
  const Tensor x = counting({3, 4});
  x[0] = 7;
  x[1][2] = tensor(9., kDouble);
  x.index({2, Slice(0, 2)}) = tensor({-1., -2.}, kDouble);
  x.index({"...", 3}) = 0;
  EXPECT_EQ(values(x), (std::vector<double>{7, 7, 7, 0, 4, 5, 9, 0, -1, -2, 10, 0}));
  const Tensor leaf = counting({2, 2}).requires_grad_();
  const Tensor base = leaf * 3;
  base[1] = base[0] * 2;
  base.backward(tensor({{1., 1.}, {1., 10.}}, kDouble));
  EXPECT_EQ(values(leaf.grad()), (std::vector<double>{9, 63, 0, 0}));
}

TEST(Indexing, TruthValues) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(x.index({true}).sizes(), Shape({1, 2, 3}));
  EXPECT_EQ(x.index({false}).sizes(), Shape({0, 2, 3}));
  EXPECT_EQ(x.index({true, true}).sizes(), Shape({1, 2, 3}));
  EXPECT_EQ(x.index({true, tensor({0, 1})}).sizes(), Shape({2, 3}));
  EXPECT_EQ(x.index({tensor(true)}).sizes(), Shape({1, 2, 3}));
  x.index_put_({false}, 5);
  EXPECT_EQ(values(x), values(counting({2, 3})));
  x.index_put_({true}, 5);
  EXPECT_EQ(values(x), std::vector<double>(6, 5));
}

TEST(Indexing, ScalarTensorsSelect) {
  const Tensor x = counting({3, 2});
  for (DType t : {kLong, kInt, kShort, kChar}) {
    const Tensor row = x.index({tensor(1, t)});
    EXPECT_EQ(values(row), (std::vector<double>{2, 3}));
    EXPECT_TRUE(row.is_alias_of(x));
    EXPECT_EQ(values(x[tensor(-1, t)]), (std::vector<double>{4, 5}));
  }
}

TEST(Indexing, OptionalTensors) {
  const Tensor x = counting({3, 2});
  const std::optional<Tensor> last = tensor({2}), none;
  EXPECT_EQ(values(x.index({last})), (std::vector<double>{4, 5}));
  EXPECT_EQ(values(x.index({none, tensor({1})})), (std::vector<double>{1, 3, 5}));
}

TEST(Indexing, ByteMasksWarn) {
  const Warnings warnings;
  const Tensor x = counting({3, 2});
  EXPECT_EQ(values(x.index({tensor({1, 0, 1}, kByte)})), (std::vector<double>{0, 1, 4, 5}));
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_NE(warnings.messages[0].find("indexing with dtype torch.uint8 is now deprecated"),
            std::string::npos);
}

#define EXPECT_ERROR(expression, text)                                   \
  EXPECT_NE(error_of([&] { expression; }).find(text), std::string::npos) \
      << error_of([&] { expression; })

TEST(Indexing, ErrorsSayWhat) {
  const Tensor x = counting({4, 5}), scalar = tensor(1.), none = counting({2, 0});
  EXPECT_ERROR(x.index({}), "Passing an empty index list to Tensor::index() is not valid syntax");
  EXPECT_ERROR(x.index_put_({}, 1),
               "Passing an empty index list to Tensor::index_put_() is not valid");
  EXPECT_ERROR(x.index({0, 5}), "index 5 is out of bounds for dimension 1 with size 5");
  EXPECT_ERROR(x.index({Slice(), tensor({-6})}),
               "index -6 is out of bounds for dimension 1 with size 5");
  EXPECT_ERROR(x.index({0, 0, 0}), "too many indices for tensor of dimension 2");
  EXPECT_ERROR(scalar.index({0}), "invalid index");
  EXPECT_ERROR(scalar.index({Slice()}), "too many indices");
  EXPECT_ERROR(scalar[0], "invalid index");
  EXPECT_ERROR(x.index({tensor({0.5})}), "must be long, byte or bool");
  EXPECT_ERROR(x.index({tensor({true, false})}), "The shape of the mask [2]");
  EXPECT_ERROR(x.index({tensor({0, 1}), tensor({0, 1, 2})}), "shape mismatch: indexing tensors");
  EXPECT_ERROR(x.index_put_({tensor({0, 1})}, counting({3, 5})), "shape mismatch: value tensor");
  EXPECT_ERROR(x.index_put_({tensor({0})}, ones({5}, kFloat)), "dtypes match");
  EXPECT_ERROR(none.index({Slice(), tensor({0})}), "for dimension with size 0");
  EXPECT_ERROR(x.index({Slice(None, None, -1)}), "step must be greater than zero");
  EXPECT_ERROR(TensorIndex(".."),
               "Expected \"...\" to represent an ellipsis index, but got \"..\"");
  EXPECT_ERROR(x.index({1 << 30}), "out of bounds");
}

TEST(Indexing, ValuesMayHaveLeadingOnes) {
  const Tensor x = zeros({3, 2}, kDouble);
  x.index_put_({0}, counting({1, 1, 2}));
  x.index_put_({tensor({1, 2})}, counting({1, 2, 2}));
  EXPECT_EQ(values(x), (std::vector<double>{0, 1, 0, 1, 2, 3}));
  EXPECT_THROW(x.index_put_({0}, counting({2, 1, 2})), Error);
}

TEST(Indexing, Prints) {
  EXPECT_EQ(str(Slice(1, 2, 3)), "1:2:3");
  EXPECT_EQ(str(Slice()), str("0:", INDEX_MAX, ":1"));
  EXPECT_EQ(str(Slice(None, None, -2)), str(INDEX_MAX, ":", INDEX_MIN, ":-2"));
  EXPECT_EQ(str(std::vector<TensorIndex>{None, "...", 3, false, Slice(0, 4)}),
            "(None, ..., 3, false, 0:4:1)");
}

TEST(Indexing, WholeTensorIsAnAlias) {
  const Tensor x = counting({2});
  for (const Tensor& y : {x.index({Slice()}), x.index({"..."})}) {
    EXPECT_TRUE(y.is_alias_of(x));
    EXPECT_FALSE(y.is_same(x));
  }
}

}  // namespace
}  // namespace tandem
