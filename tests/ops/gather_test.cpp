#include "tandem/ops/gather.h"

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tests/ops/values.h"

// What the rows of the op table do not say about gathering, masking and joining.
namespace tandem {
namespace {

using test::counting;
using test::Shape;
using test::values;
using V = std::vector<double>;

TEST(Gather, LastWriteWinsAndSumsAreInOrder) {
  const Tensor x = zeros({3}, kDouble);
  EXPECT_EQ(values(x.scatter(0, tensor({1, 1, 1}), tensor({4., 5., 6.}, kDouble))), (V{0, 6, 0}));
  EXPECT_EQ(values(x.index_copy(0, tensor({2, 2}), tensor({4., 5.}, kDouble))), (V{0, 0, 5}));
  // 1e16 + 1 - 1e16 is 0 in this order and 1 in another.
  const Tensor src = tensor({1e16, 1., -1e16}, kDouble);
  EXPECT_EQ(values(x.scatter_add(0, tensor({0, 0, 0}), src)), (V{0, 0, 0}));
}

TEST(Gather, ProductGradientWithZeros) {
  const Tensor x = tensor({2., 3.}, kDouble).requires_grad_();
  const Tensor src = tensor({0., 5., 0., 0.}, kDouble).requires_grad_();
  const Tensor y = x.scatter_reduce(0, tensor({0, 0, 1, 1}), src, "prod");
  EXPECT_EQ(values(y), (V{0, 0}));
  y.backward(tensor({1., 1.}, kDouble));
  EXPECT_EQ(values(x.grad()), (V{0, 0}));
  EXPECT_EQ(values(src.grad()), (V{10, 0, 0, 0}));
}

TEST(Gather, TiesShareTheGradient) {
  const Tensor x = tensor({1., 7.}, kDouble).requires_grad_();
  const Tensor src = tensor({3., 3., 7.}, kDouble).requires_grad_();
  x.scatter_reduce(0, tensor({0, 0, 1}), src, "amax").backward(tensor({1., 1.}, kDouble));
  EXPECT_EQ(values(x.grad()), (V{0, 0.5}));
  EXPECT_EQ(values(src.grad()), (V{0.5, 0.5, 0.5}));
}

TEST(Gather, NonzeroOfAllKinds) {
  EXPECT_EQ(values(nonzero(tensor({{0., 2.}, {-1., 0.}}))), (V{0, 1, 1, 0}));
  EXPECT_EQ(nonzero(tensor(3)).sizes(), Shape({1, 0}));
  EXPECT_EQ(nonzero(tensor(0)).sizes(), Shape({0, 0}));
  EXPECT_EQ(nonzero(zeros({2, 3})).sizes(), Shape({0, 2}));
  EXPECT_EQ(nonzero_numpy(tensor(3)).size(), 1u);
  EXPECT_EQ(argwhere(tensor({false, true})).dtype(), kLong);
}

TEST(Join, CatPromotesAndPassesOverEmptyVectors) {
  EXPECT_EQ(cat({tensor({1}), tensor({2.5})}).dtype(), kFloat);
  EXPECT_EQ(cat({tensor({true}), tensor({2}, kByte)}).dtype(), kByte);
  EXPECT_EQ(cat({empty({0}), counting({2, 3})}).sizes(), Shape({2, 3}));
  EXPECT_EQ(cat({empty({0}), empty({0})}).sizes(), Shape({0}));
  const Tensor leaf = tensor({1, 2}).to(kFloat).requires_grad_();
  cat({leaf, tensor({1., 2.}, kDouble)}).backward(tensor({1., 2., 3., 4.}, kDouble));
  EXPECT_EQ(leaf.grad().dtype(), kFloat);
  EXPECT_EQ(values(leaf.grad()), (V{1, 2}));
}

TEST(Join, ManyTensors) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(full({1}, i, kDouble).requires_grad_());
  const Tensor all = cat(parts);
  EXPECT_EQ(values(all), values(counting({100})));
  all.backward(counting({100}));
  EXPECT_EQ(values(parts[73].grad()), V{73});
}

TEST(Join, FlatAndBack) {
  const Tensor a = counting({2, 2}), b = counting({0}), c = counting({3});
  const Tensor flat = utils::flatten_dense_tensors({a, b, c});
  EXPECT_EQ(values(flat), (V{0, 1, 2, 3, 0, 1, 2}));
  const auto back = utils::unflatten_dense_tensors(flat, {a, b, c});
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[0].sizes(), Shape({2, 2}));
  EXPECT_TRUE(back[0].is_alias_of(flat));
  EXPECT_FALSE(back[1].is_alias_of(flat));
  EXPECT_EQ(values(back[2]), (V{0, 1, 2}));
}

TEST(Join, RepeatsByCounts) {
  EXPECT_EQ(values(repeat_interleave(tensor({2, 0, 3}))), (V{0, 0, 2, 2, 2}));
  EXPECT_EQ(values(tensor({5, 6}).repeat_interleave(tensor({2}))), (V{5, 5, 6, 6}));
  EXPECT_THROW(repeat_interleave(tensor({-1})), Error);
  EXPECT_EQ(tensor(4).repeat({2, 2}).sizes(), Shape({2, 2}));
}

}  // namespace
}  // namespace tandem
