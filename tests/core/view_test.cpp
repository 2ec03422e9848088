// What views share with their base: memory, versions, and the right to write.
#include <gtest/gtest.h>

#include "tandem/ops/ops.h"
#include "tests/core/counting.h"

namespace tandem {
namespace {

std::vector<float> floats_of(const Tensor& x) {
  const Tensor c = x.contiguous();
  return {c.data_ptr<float>(), c.data_ptr<float>() + c.numel()};
}

TEST(View, WritesReachTheBase) {
  Tensor x = counting({2, 3});
  x[0].fill_(9);
  EXPECT_EQ(floats_of(x), (std::vector<float>{9, 9, 9, 3, 4, 5}));
  x.t()[1].add_(1);
  EXPECT_EQ(floats_of(x), (std::vector<float>{9, 10, 9, 3, 5, 5}));
  x.slice(1, 0, 3, 2).mul_(2);
  EXPECT_EQ(floats_of(x), (std::vector<float>{18, 10, 18, 6, 5, 10}));
  x.view({6}).narrow(0, 4, 2).zero_();
  EXPECT_EQ(floats_of(x), (std::vector<float>{18, 10, 18, 6, 0, 0}));
  x.select(1, 2).copy_(counting({2}));
  EXPECT_EQ(floats_of(x), (std::vector<float>{18, 10, 0, 6, 0, 1}));
}

TEST(View, AssigningToATemporaryWritesIntoIt) {
  Tensor x = zeros({2, 2});
  x[0] = ones({2});
  x[1][1] = 7;
  EXPECT_EQ(floats_of(x), (std::vector<float>{1, 1, 0, 7}));
  const Tensor y = x;
  Tensor z = y;
  z = zeros({3});  // a named handle is bound to something else; nothing is written
  EXPECT_EQ(floats_of(x), (std::vector<float>{1, 1, 0, 7}));
}

TEST(View, BaseIsNeverAViewItself) {
  Tensor x = counting({2, 3, 4});
  const Tensor v = x[1].t().narrow(0, 1, 2);
  EXPECT_TRUE(v.is_view());
  EXPECT_TRUE(v._base().is_same(x));
  EXPECT_TRUE(v.is_alias_of(x));
  EXPECT_EQ(v.storage_offset(), 13);
  EXPECT_THROW(x._base(), Error);
}

TEST(View, VersionsAreShared) {
  Tensor x = counting({2, 3});
  const Tensor v = x[0];
  EXPECT_EQ(x._version(), 0);
  v.add_(1);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(v._version(), 1);
  x.mul_(2);
  EXPECT_EQ(v._version(), 2);
  const Tensor c = x.clone();
  EXPECT_EQ(c._version(), 0);
  x.detach().add_(1);
  EXPECT_EQ(x._version(), 3) << "detach shares the version";
  x.data().add_(1);
  EXPECT_EQ(x._version(), 3) << "data() hides its writes";
}

TEST(View, OverlappingOperandsOfAnInPlaceOp) {
  Tensor x = counting({4});
  x.narrow(0, 1, 3).copy_(x.narrow(0, 0, 3));
  EXPECT_EQ(floats_of(x), (std::vector<float>{0, 0, 1, 2}));
  Tensor m = counting({3, 3});
  m.add_(m.t());
  EXPECT_EQ(floats_of(m), (std::vector<float>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  Tensor y = counting({5});
  y.narrow(0, 0, 4).add_(y.narrow(0, 1, 4));
  EXPECT_EQ(floats_of(y), (std::vector<float>{1, 3, 5, 7, 4}));
}

TEST(View, ExpandedTensorsCannotBeWritten) {
  Tensor x = ones({1, 3});
  EXPECT_THROW(x.expand({2, 3}).add_(1), Error);
  EXPECT_EQ(floats_of(x), (std::vector<float>{1, 1, 1}));
  EXPECT_NO_THROW(x.expand({1, 3}).add_(1));
  EXPECT_EQ(floats_of(x), (std::vector<float>{2, 2, 2}));
}

TEST(View, ShapesOfViews) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(x.view({-1}).strides(), (std::vector<int64_t>{1}));
  EXPECT_EQ(x.permute({2, 0, 1}).strides(), (std::vector<int64_t>{1, 12, 4}));
  EXPECT_EQ(x.slice(2, 1, 4, 2).sizes(), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(x.slice(2, 1, 4, 2).strides(), (std::vector<int64_t>{12, 4, 2}));
  EXPECT_EQ(x.slice(2, 1, 4, 2).storage_offset(), 1);
  EXPECT_EQ(x.unsqueeze(1).sizes(), (std::vector<int64_t>{2, 1, 3, 4}));
  EXPECT_EQ(x.unsqueeze(-1).squeeze(-1).sizes(), x.sizes());
  EXPECT_EQ(x.expand({5, 2, 3, 4}).strides(), (std::vector<int64_t>{0, 12, 4, 1}));
  // Two inner dimensions that lie side by side can be viewed as one even in a larger strided
  // tensor.
  EXPECT_EQ(x.slice(0, 0, 1).view({12}).numel(), 12);
  EXPECT_EQ(x.transpose(0, 1).unsqueeze(0).view({3, 2, 2, 2}).strides(),
            (std::vector<int64_t>{4, 12, 2, 1}));
  EXPECT_THROW(x.transpose(0, 1).view({-1}), ShapeError);
}

TEST(View, OutlivesTheHandleOfItsBase) {
  Tensor v;
  {
    Tensor x = counting({100, 100});
    v = x[3];
  }
  EXPECT_EQ(v[5].item<float>(), 305);
}

TEST(View, ViewsOfViewsInALoopStayCheap) {
  Tensor x = counting({2});
  for (int i = 0; i < 100000; ++i) x = x.view({2});
  EXPECT_EQ(x[1].item<float>(), 1);  // and destroying the chain does not overflow the stack
}

}  // namespace
}  // namespace tandem
