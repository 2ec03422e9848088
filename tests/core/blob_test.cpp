// Tensors over memory that someone else owns.
#include <gtest/gtest.h>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

TEST(FromBlob, SharesTheMemory) {
  std::vector<double> v = {1, 2, 3, 4, 5, 6};
  Tensor x = from_blob(v.data(), {2, 3}, kDouble);
  EXPECT_EQ(x.data_ptr<double>(), v.data());
  EXPECT_EQ(x[1][2].item<double>(), 6);
  v[5] = 60;
  EXPECT_EQ(x[1][2].item<double>(), 60);
  x.mul_(10);
  EXPECT_EQ(v, (std::vector<double>{10, 20, 30, 40, 50, 600}));
}

TEST(FromBlob, Strides) {
  std::vector<int32_t> v = {0, 1, 2, 3, 4, 5};
  const Tensor x = from_blob(v.data(), {3, 2}, {1, 3}, kInt);
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x[2][1].item<int>(), 5);
  EXPECT_EQ(x[1][0].item<int>(), 1);
  const Tensor row = from_blob(v.data(), {4, 2}, {0, 1}, kInt);
  EXPECT_EQ(row[3][1].item<int>(), 1);
  EXPECT_EQ((row + row).strides(), (std::vector<int64_t>{2, 1}));
}

TEST(FromBlob, DeleterRunsOnceWhenTheLastTensorIsGone) {
  int deleted = 0;
  float v[4] = {1, 2, 3, 4};
  {
    Tensor view;
    {
      Tensor x = from_blob(
          v, {4},
          [&](void* p) {
            EXPECT_EQ(p, v);
            ++deleted;
          },
          kFloat);
      const Tensor copy = x;
      view = x.narrow(0, 1, 2);
      const Tensor other = x + 1;
    }
    EXPECT_EQ(deleted, 0) << "a view still looks into the memory";
    EXPECT_EQ(view[1].item<float>(), 3);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(FromBlob, DeleterRunsAfterBackwardLetsGo) {
  int deleted = 0;
  std::vector<float> v = {1, 2};
  Tensor w = ones({2}).requires_grad_();
  Tensor y;
  {
    const Tensor x = from_blob(
        v.data(), {2}, [&](void*) { ++deleted; }, kFloat);
    y = w * x;
  }
  EXPECT_EQ(deleted, 0) << "saved for backward";
  y.backward(ones({2}));
  EXPECT_EQ(deleted, 1) << "backward frees what it has passed";
  EXPECT_EQ(w.grad()[1].item<float>(), 2);
}

TEST(FromBlob, Empty) {
  const Tensor x = from_blob(nullptr, {0, 3}, kFloat);
  EXPECT_EQ(x.numel(), 0);
  EXPECT_EQ((x + 1).sizes(), (std::vector<int64_t>{0, 3}));
}

TEST(FromBlob, RequiresGrad) {
  float v[2] = {3, 4};
  const Tensor x = from_blob(v, {2}, TensorOptions().requires_grad(true));
  (x * x).backward(ones({2}));
  EXPECT_EQ(x.grad()[0].item<float>(), 6);
}

}  // namespace
}  // namespace tandem
