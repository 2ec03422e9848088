#include "tandem/ops/view.h"

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tests/ops/values.h"

namespace tandem {
namespace {

using test::counting;
using test::error_of;
using test::Numbers;
using test::ravel;
using test::Shape;
using test::unravel;
using test::values;

using View = std::function<Tensor(const Tensor&)>;

struct Case {
  const char* name;
  Shape sizes;
  View view;
  bool overlaps = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"view",
       {4, 6},
       [](const Tensor& x) {
         return x.view({2, 2, -1, 1, 3});
       }},
      {"reshape",
       {4, 6},
       [](const Tensor& x) {
         return x.reshape({8, 3});
       }},
      {"transpose", {2, 3, 4}, [](const Tensor& x) { return x.transpose(0, 2); }},
      {"permute",
       {2, 3, 4},
       [](const Tensor& x) {
         return x.permute({2, 0, 1});
       }},
      {"t", {3, 4}, [](const Tensor& x) { return x.t(); }},
      {"mT", {2, 3, 4}, [](const Tensor& x) { return x.mT(); }},
      {"T", {2, 3, 4}, [](const Tensor& x) { return x.T(); }},
      {"squeeze", {1, 3, 1}, [](const Tensor& x) { return x.squeeze(); }},
      {"squeeze_dim", {1, 3, 1}, [](const Tensor& x) { return x.squeeze(-1); }},
      {"unsqueeze", {2, 3}, [](const Tensor& x) { return x.unsqueeze(1); }},
      {"expand",
       {3, 1},
       [](const Tensor& x) {
         return x.expand({2, 3, 4});
       },
       true},
      {"narrow", {5, 4}, [](const Tensor& x) { return x.narrow(0, 1, 3); }},
      {"select", {5, 4, 3}, [](const Tensor& x) { return x.select(1, -2); }},
      {"slice", {9, 4}, [](const Tensor& x) { return x.slice(0, 1, 8, 3); }},
      {"unfold", {9}, [](const Tensor& x) { return x.unfold(0, 4, 2); }, true},
      {"unfold_mid", {3, 9, 2}, [](const Tensor& x) { return x.unfold(1, 2, 1); }, true},
      {"unfold_few", {2, 9, 2}, [](const Tensor& x) { return x.unfold(1, 7, 2); }, true},
      {"unfold_apart", {2, 9}, [](const Tensor& x) { return x.unfold(1, 2, 3); }},
      {"unfold_0d", {}, [](const Tensor& x) { return x.unfold(0, 1, 1); }},
      {"as_strided",
       {24},
       [](const Tensor& x) {
         return x.as_strided({3, 4}, {2, 1}, 5);
       },
       true},
      {"as_strided_diagonals",
       {4, 6},
       [](const Tensor& x) {
         return x.as_strided({3, 2, 3}, {6, 7, 1});
       },
       true},
      {"as_strided_apart",
       {24},
       [](const Tensor& x) {
         return x.as_strided({3, 2}, {8, 3}, 1);
       }},
      {"as_strided_of_view",
       {4, 6},
       [](const Tensor& x) {
         return x.t().narrow(0, 2, 3).as_strided({4, 3}, {5, 1}, 1);
       }},
      {"as_strided_of_expanded",
       {4},
       [](const Tensor& x) {
         return x.expand({3, 4}).as_strided({2, 3}, {0, 1});
       },
       true},
      {"flatten", {2, 3, 4}, [](const Tensor& x) { return x.flatten(1); }},
      {"flatten_0d", {}, [](const Tensor& x) { return x.flatten(); }},
      {"unflatten",
       {2, 12},
       [](const Tensor& x) {
         return x.unflatten(1, {3, -1});
       }},
      {"movedim",
       {2, 3, 4, 5},
       [](const Tensor& x) {
         return x.movedim({0, 3}, {2, 1});
       }},
      {"movedim_one", {2, 3, 4}, [](const Tensor& x) { return x.movedim(-1, 0); }},
      {"diagonal", {4, 6}, [](const Tensor& x) { return x.diagonal(1); }},
      {"diagonal_below", {3, 4, 6}, [](const Tensor& x) { return x.diagonal(-2, 1, 2); }},
      {"diagonal_empty", {3, 4}, [](const Tensor& x) { return x.diagonal(9); }},
      {"chain",
       {4, 6},
       [](const Tensor& x) {
         return x.t().narrow(0, 1, 4).select(1, 2).view({2, 2}).unsqueeze(0);
       }},
      {"alias", {3}, [](const Tensor& x) { return x.alias(); }},
      {"empty",
       {0, 3},
       [](const Tensor& x) {
         return x.view({3, 0, 2});
       }},
  };
  return all;
}

// Values are their own numbers, so the result says which element each element shows.
std::vector<int64_t> shown_by(const Case& c) {
  std::vector<int64_t> map;
  for (double v : values(c.view(counting(c.sizes)))) map.push_back(static_cast<int64_t>(v));
  return map;
}

TEST(View, SharesMemory) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = counting(c.sizes);
    const Tensor v = c.view(x);
    EXPECT_TRUE(v.is_alias_of(x));
    EXPECT_TRUE(v.is_view());
    if (c.overlaps) continue;
    v.fill_(-1);
    const auto map = shown_by(c);
    auto want = values(counting(c.sizes));
    for (int64_t i : map) want[static_cast<size_t>(i)] = -1;
    EXPECT_EQ(values(x), want);
  }
}

TEST(View, GradientsOfTwoOrders) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Numbers numbers;
    const auto map = shown_by(c);
    const Tensor x = counting(c.sizes).requires_grad_();
    const Tensor y = c.view(x);
    const Tensor w = numbers.tensor_of(y.sizes().vec()).requires_grad_();
    const Tensor g = autograd::grad({y}, {x}, {w}, true, true)[0];
    std::vector<double> want(static_cast<size_t>(x.numel()));
    const auto weights = values(w);
    for (size_t i = 0; i < map.size(); ++i) want[static_cast<size_t>(map[i])] += weights[i];
    const auto got = values(g);
    ASSERT_EQ(g.sizes(), x.sizes());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
    // The gradient is linear in w: its own gradient shows u through the view.
    const Tensor u = numbers.tensor_of(c.sizes);
    const auto second = values(autograd::grad({g}, {w}, {u}, true, true)[0]);
    const auto us = values(u);
    for (size_t i = 0; i < map.size(); ++i)
      EXPECT_NEAR(second[i], us[static_cast<size_t>(map[i])], 1e-12) << i;
  }
}

TEST(View, WritesAreDifferentiated) {
  for (const Case& c : cases()) {
    if (c.overlaps) continue;
    SCOPED_TRACE(c.name);
    Numbers numbers;
    const auto map = shown_by(c);
    const Tensor x = counting(c.sizes).requires_grad_();
    const Tensor factor =
        numbers.tensor_of(c.view(counting(c.sizes)).sizes().vec()).requires_grad_();
    const Tensor base = x * 2;
    c.view(base).mul_(factor);
    const Tensor w = numbers.tensor_of(c.sizes);
    base.backward(w);
    auto by_x = values(w), by_factor = values(factor);
    const auto ws = values(w), xs = values(x), fs = values(factor);
    for (double& v : by_x) v *= 2;
    for (size_t i = 0; i < map.size(); ++i) {
      const auto m = static_cast<size_t>(map[i]);
      by_x[m] = 2 * ws[m] * fs[i];
      by_factor[i] = ws[m] * 2 * xs[m];
    }
    EXPECT_EQ(values(x.grad()), by_x);
    EXPECT_EQ(values(factor.grad()), by_factor);
  }
}

// A base that is not in row-major order allows views which a row-major copy of it does not.
TEST(View, WritesToStridedBasesAreDifferentiated) {
  const std::vector<std::pair<Shape, View>> views = {
      {{2, 6}, [](const Tensor& b) { return b.t().view({12}); }},
      {{2, 6},
       [](const Tensor& b) {
         return b.as_strided({3, 2}, {2, 1}, 3);
       }},
      {{2, 6}, [](const Tensor& b) { return b.select(0, 1); }},
  };
  for (const auto& [sizes, view] : views) {
    std::vector<double> memory(12);
    for (size_t i = 0; i < 12; ++i) memory[i] = static_cast<double>(i);
    const Tensor base = from_blob(memory.data(), {2, 6}, {1, 2}, kDouble);
    const Tensor part = view(base);
    Numbers numbers;
    const Tensor f = numbers.tensor_of(part.sizes().vec()).requires_grad_();
    const std::vector<double> before = values(part);
    part.mul_(f);
    const Tensor w = numbers.tensor_of({2, 6});
    base.backward(w, true);
    const auto ws = values(w), got = values(f.grad());
    for (size_t i = 0; i < got.size(); ++i) {
      const auto m = static_cast<int64_t>(before[i]);  // place in memory; column-major in the base
      EXPECT_DOUBLE_EQ(got[i], ws[static_cast<size_t>(m % 2 * 6 + m / 2)] * before[i]);
    }
  }
}

TEST(View, AllShapesAgainstBruteForce) {
  // Every way to see 2x3x4 permuted, sliced or not, as another shape: view works iff some strides
  // fit, which a search over all strides finds.
  const std::vector<Shape> targets = {{24}, {2, 12}, {6, 4},    {4, 6},    {3, 8},       {2, 3, 4},
                                      {12}, {6, 2},  {2, 6},    {4, 3},    {2, 2, 3},    {1, 12, 1},
                                      {8},  {2, 4},  {4, 2, 1}, {2, 2, 2}, {1, 2, 1, 4}, {3, 4}};
  const std::vector<Shape> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  int possible = 0, impossible = 0;
  for (const Shape& order : orders)
    for (int cut = 0; cut < 5; ++cut) {
      Tensor x = counting({2, 3, 4});
      if (cut == 1) x = x.narrow(2, 0, 2);
      if (cut == 2) x = x.slice(2, 0, 4, 2);
      if (cut == 3) x = x.narrow(1, 1, 1);
      if (cut == 4) x = x.select(1, 0).unsqueeze(1);
      x = x.permute(order);
      const std::vector<double> v = values(x);
      for (const Shape& target : targets) {
        if (numel_of(target) != x.numel()) continue;
        // Strides follow from the elements one step away from the first, if any do.
        Dims strides(target.size());
        for (size_t d = 0; d < target.size(); ++d) {
          Shape at(target.size());
          if (target[d] > 1) at[d] = 1;
          strides[d] = static_cast<int64_t>(v[static_cast<size_t>(ravel(at, target))] - v[0]);
        }
        bool fits = true;
        for (size_t i = 0; i < v.size(); ++i) {
          const Shape at = unravel(static_cast<int64_t>(i), target);
          int64_t o = static_cast<int64_t>(v[0]);
          for (size_t d = 0; d < at.size(); ++d) o += at[d] * strides[d];
          fits &= o == static_cast<int64_t>(v[i]);
        }
        (fits ? possible : impossible)++;
        if (fits)
          EXPECT_EQ(values(x.view(target)), v);
        else
          EXPECT_THROW(x.view(target), ShapeError);
        EXPECT_EQ(values(x.reshape(target)), v);
        EXPECT_EQ(x.reshape(target).is_alias_of(x), fits);
      }
    }
  EXPECT_GT(possible, 40);
  EXPECT_GT(impossible, 30);
}

TEST(View, OfZeroDimensions) {
  const Tensor x = tensor(3.);
  EXPECT_EQ(x.view({1, 1}).sizes(), Shape({1, 1}));
  EXPECT_EQ(x.view({1}).view(Shape{}).dim(), 0);
  EXPECT_EQ(x.unsqueeze(0).strides(), Shape({1}));
}

TEST(View, Unfold) {
  const Tensor v = counting({10}).unfold(0, 3, 2);
  EXPECT_EQ(v.sizes(), Shape({4, 3}));
  EXPECT_EQ(values(v), (std::vector<double>{0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8}));
  EXPECT_EQ(counting({2, 5, 3}).unfold(1, 2, 1).sizes(), Shape({2, 4, 3, 2}));
}

TEST(View, Diagonal) {
  EXPECT_EQ(values(counting({3, 4}).diagonal()), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(values(counting({3, 4}).diagonal(1)), (std::vector<double>{1, 6, 11}));
  EXPECT_EQ(values(counting({3, 4}).diagonal(-1)), (std::vector<double>{4, 9}));
  EXPECT_EQ(counting({2, 3, 4}).diagonal(0, 0, 2).sizes(), Shape({3, 2}));
}

TEST(View, Dtype) {
  const Tensor x = tensor({1.f, -2.f, 0.5f});
  const Tensor bits = x.view(kInt);
  EXPECT_EQ(bits.dtype(), kInt);
  EXPECT_EQ(bits[0].item<int64_t>(), 0x3f800000);
  EXPECT_TRUE(bits.is_alias_of(x));
  const Tensor bytes = x.view(kByte);
  EXPECT_EQ(bytes.sizes(), Shape({12}));
  EXPECT_EQ(bytes[3].item<int>(), 0x3f);
  EXPECT_EQ(values(bytes.view(kFloat)), values(x));
  const Tensor pair = counting({3, 4}, kFloat).narrow(0, 1, 2).view(kDouble);
  EXPECT_EQ(pair.sizes(), Shape({2, 2}));
  EXPECT_EQ(pair.storage_offset(), 2);
  EXPECT_THROW(x.view(kDouble), Error);
}

TEST(View, SplitsIntoParts) {
  const Tensor x = counting({7, 2});
  auto lengths = [](const std::vector<Tensor>& parts) {
    Shape s;
    for (const Tensor& p : parts) s.push_back(p.size(0));
    return s;
  };
  EXPECT_EQ(lengths(x.chunk(3)), Shape({3, 3, 1}));
  EXPECT_EQ(lengths(x.chunk(4)), Shape({2, 2, 2, 1}));
  EXPECT_EQ(lengths(x.chunk(10)), Shape({1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(lengths(x.split(3)), Shape({3, 3, 1}));
  EXPECT_EQ(lengths(x.split({1, 4, 2})), Shape({1, 4, 2}));
  EXPECT_EQ(lengths(x.tensor_split(3)), Shape({3, 2, 2}));
  EXPECT_EQ(lengths(x.tensor_split({2, 5})), Shape({2, 3, 2}));
  EXPECT_EQ(lengths(x.tensor_split(tensor({2, 5}))), Shape({2, 3, 2}));
  EXPECT_EQ(lengths(x.tensor_split({5, 2})), Shape({5, 0, 5}));
  EXPECT_EQ(x.unbind(1).size(), 2u);
  EXPECT_EQ(values(x.unbind(1)[1]), (std::vector<double>{1, 3, 5, 7, 9, 11, 13}));
  EXPECT_EQ(counting({4, 6}).hsplit(3)[2].sizes(), Shape({4, 2}));
  EXPECT_EQ(counting({4, 6}).vsplit({1, 3})[1].sizes(), Shape({2, 6}));
  EXPECT_EQ(counting({4, 6, 2}).dsplit(2)[1].sizes(), Shape({4, 6, 1}));
  EXPECT_EQ(counting({0}).chunk(3).size(), 3u);
  EXPECT_THROW(x.split({1, 2}), ShapeError);
  EXPECT_THROW(x.hsplit(3), Error);
  x.split(3)[1].zero_();
  EXPECT_EQ(values(x.select(1, 0)), (std::vector<double>{0, 2, 4, 0, 0, 0, 12}));
}

TEST(View, InPlaceForms) {
  const Tensor x = counting({1, 3, 2}).requires_grad_();
  const Tensor y = x * 1;
  y.squeeze_(0).t_();
  EXPECT_EQ(y.sizes(), Shape({2, 3}));
  EXPECT_EQ(values(y), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  const Tensor w = counting({2, 3});
  y.backward(w, true);
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  y.unsqueeze_(0).transpose_(0, 2);
  EXPECT_EQ(y.sizes(), Shape({3, 2, 1}));
  EXPECT_THROW(x.t_(), Error);
}

TEST(View, ViewsOfWhatIsReshapedInPlaceStayRight) {
  const Tensor x = counting({2, 3}).requires_grad_();
  const Tensor y = x * 1;
  const Tensor row = y[1];
  y.t_();
  y.mul_(2);  // also doubles the row
  EXPECT_EQ(values(row), (std::vector<double>{6, 8, 10}));
  row.backward(tensor({1., 2., 3.}), true);
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 0, 0, 2, 4, 6}));
  row.mul_(5);
  x.mutable_grad().reset();
  y.backward(counting({3, 2}));
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 4, 8, 10, 30, 50}));
}

TEST(View, FreeFunctionsOfSeveral) {
  EXPECT_EQ(atleast_1d(tensor(1.)).sizes(), Shape({1}));
  EXPECT_EQ(atleast_2d(counting({3})).sizes(), Shape({1, 3}));
  EXPECT_EQ(atleast_3d(counting({3})).sizes(), Shape({1, 3, 1}));
  EXPECT_EQ(atleast_3d(counting({3, 2})).sizes(), Shape({3, 2, 1}));
  const auto parts = broadcast_tensors({counting({3, 1}), counting({4})});
  EXPECT_EQ(parts[0].sizes(), Shape({3, 4}));
  EXPECT_EQ(parts[1].sizes(), Shape({3, 4}));
}

TEST(View, ErrorsNameTheOp) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(error_of([&] { x.unfold(1, 4, 1); }).find("unfold: maximum size"), std::string::npos);
  EXPECT_NE(error_of([&] { x.as_strided({7}, {1}); }).find("as_strided: sizes [7]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { x.diagonal(0, 1, 1); }).find("diagonal"), std::string::npos);
  EXPECT_NE(error_of([&] { x.unflatten(1, {2, 2}); }).find("unflatten"), std::string::npos);
  EXPECT_NE(error_of([&] { x.movedim({0, 0}, {0, 1}); }).find("movedim"), std::string::npos);
  EXPECT_NE(error_of([&] { x.t().view({6}); }).find("reshape"), std::string::npos);
}

}  // namespace
}  // namespace tandem
