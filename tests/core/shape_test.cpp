#include "tandem/core/shape.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

constexpr int64_t kBig = int64_t{1} << 40;

template <class E, class F>
std::string message_of(F fn) {
  try {
    fn();
  } catch (const E& e) {
    return e.msg();
  }
  return "nothing was thrown";
}

TEST(Numel, IsTheProduct) {
  EXPECT_EQ(numel_of({}), 1);
  EXPECT_EQ(numel_of({5}), 5);
  EXPECT_EQ(numel_of({2, 3, 4}), 24);
  EXPECT_EQ(numel_of({2, 0, 4}), 0);
  EXPECT_EQ(numel_of({70000, 70000}), 4'900'000'000);
}

TEST(Numel, BeyondWhatCanBeAddressed) {
  EXPECT_EQ(
      message_of<ShapeError>([] {
        numel_of({kBig, kBig});
      }),
      "a tensor of shape [1099511627776, 1099511627776] has more elements than can be addressed");
  EXPECT_THROW(numel_of({INT64_MAX / 2}), ShapeError);
  EXPECT_EQ(numel_of({kBig, kBig, 0}), 0);
  EXPECT_EQ(numel_of({0, kBig, kBig}), 0);
}

TEST(Numel, NegativeExtent) {
  EXPECT_EQ(message_of<ShapeError>([] {
              numel_of({2, -3});
            }),
            "a tensor cannot have negative dimension -3: [2, -3]");
  EXPECT_THROW(numel_of({0, -1}), ShapeError);
}

TEST(Strides, AreRowMajor) {
  EXPECT_EQ(contiguous_strides({}), Dims());
  EXPECT_EQ(contiguous_strides({4}), (Dims{1}));
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 1, 4}), (Dims{4, 4, 1}));
  // As LibTorch does it: an empty dimension counts as one.
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Dims{4, 4, 1}));
  EXPECT_EQ(contiguous_strides({kBig, kBig, 0}).size(), 3u);  // must not overflow
}

TEST(Contiguous, IgnoresStridesOfExtentOne) {
  EXPECT_TRUE(is_contiguous({}, {}));
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {0, 1}));
  EXPECT_TRUE(is_contiguous({1, 3}, {99, 1}));
  EXPECT_TRUE(is_contiguous({3, 1}, {1, 99}));
  EXPECT_TRUE(is_contiguous({0, 3}, {5, 7}));
  EXPECT_TRUE(is_contiguous({0, kBig, kBig}, {1, kBig, 1}));
  EXPECT_FALSE(is_contiguous({3}, {2}));
}

TEST(Broadcast, ByNumPysRule) {
  EXPECT_EQ(broadcast_shapes("add", {}, {}), Dims());
  EXPECT_EQ(broadcast_shapes("add", {3}, {}), (Dims{3}));
  EXPECT_EQ(broadcast_shapes("add", {2, 1}, {1, 5}), (Dims{2, 5}));
  EXPECT_EQ(broadcast_shapes("add", {8, 1, 6, 1}, {7, 1, 5}), (Dims{8, 7, 6, 5}));
  EXPECT_EQ(broadcast_shapes("add", {4}, {3, 4}), (Dims{3, 4}));
  EXPECT_EQ(broadcast_shapes("add", {0}, {1}), (Dims{0}));
  EXPECT_EQ(broadcast_shapes("add", {3, 0}, {1, 1}), (Dims{3, 0}));
  EXPECT_EQ(broadcast_shapes("add", {1, 1, 1, 1, 1, 1, 1, 2}, {3, 1}).size(), 8u);
}

TEST(Broadcast, NamesOpAndShapes) {
  EXPECT_EQ(message_of<ShapeError>([] {
              broadcast_shapes("add", {2, 3}, {4});
            }),
            "add: shapes [2, 3] and [4] do not broadcast: The size of tensor a (3) must match the "
            "size of tensor b (4) at non-singleton dimension 1");
  EXPECT_THROW(broadcast_shapes("mul", {0}, {2}), ShapeError);
}

TEST(WrapDim, CountsFromTheEnd) {
  EXPECT_EQ(wrap_dim("sum", 0, 3), 0);
  EXPECT_EQ(wrap_dim("sum", 2, 3), 2);
  EXPECT_EQ(wrap_dim("sum", -1, 3), 2);
  EXPECT_EQ(wrap_dim("sum", -3, 3), 0);
  EXPECT_EQ(wrap_dim("sum", 0, 0), 0);
  EXPECT_EQ(wrap_dim("sum", -1, 0), 0);
}

TEST(WrapDim, OutOfRangeUsesLibTorchsWords) {
  EXPECT_EQ(message_of<IndexError>([] { wrap_dim("sum", 3, 3); }),
            "sum: Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_EQ(message_of<IndexError>([] { wrap_dim("sum", -4, 3); }),
            "sum: Dimension out of range (expected to be in range of [-3, 2], but got -4)");
  EXPECT_EQ(message_of<IndexError>([] { wrap_dim("sum", 1, 0); }),
            "sum: Dimension out of range (expected to be in range of [-1, 0], but got 1)");
}

}  // namespace
}  // namespace tandem
