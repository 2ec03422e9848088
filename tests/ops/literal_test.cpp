#include "tandem/ops/literal.h"

#include <gtest/gtest.h>

#include "tests/ops/values.h"

namespace tandem {
namespace {

using test::error_of;
using test::Shape;
using test::values;
using Data = detail::TensorDataContainer;

void expect(const Tensor& t, DType type, const Shape& sizes, const std::vector<double>& v) {
  EXPECT_EQ(t.dtype(), type);
  EXPECT_EQ(t.sizes(), sizes);
  const auto got = values(t);
  ASSERT_EQ(got.size(), v.size());
  for (size_t i = 0; i < v.size(); ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(got[i]), static_cast<float>(v[i]));
}

TEST(Literal, NumbersAndBraces) {
  expect(tensor(7), kLong, {}, {7});
  expect(tensor(7.5), kFloat, {}, {7.5});
  expect(tensor(7.5f), kFloat, {}, {7.5});
  expect(tensor(true), kBool, {}, {1});
  expect(tensor({3, 4}), kLong, {2}, {3, 4});
  expect(tensor({3}), kLong, {1}, {3});
  expect(tensor({{3}}), kLong, {1, 1}, {3});
  expect(tensor({{0.5, 1.}, {2., 3.}, {4., 5.}}), kFloat, {3, 2}, {0.5, 1, 2, 3, 4, 5});
  expect(tensor({{{1, 2}}, {{3, 4}}}), kLong, {2, 1, 2}, {1, 2, 3, 4});
  expect(tensor({true, false}), kBool, {2}, {1, 0});
  expect(tensor({}), kFloat, {0}, {});
  expect(tensor({{}, {}}), kFloat, {2, 0}, {});
  expect(tensor({{{{{{{{{{6, 7}}}}}}}}}}), kLong, {1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, {6, 7});
  expect(tensor({int8_t{-3}}), kChar, {1}, {-3});
  expect(tensor(uint8_t{200}), kByte, {}, {200});
  expect(tensor({Half(1.5f)}), kHalf, {1}, {1.5});
}

TEST(Literal, RunsInMemory) {
  expect(tensor(std::vector<int>{3, 4}), kLong, {2}, {3, 4});
  expect(tensor(std::vector<double>{0.25}), kFloat, {1}, {0.25});
  expect(tensor(std::vector<bool>{true, false, true}), kBool, {3}, {1, 0, 1});
  expect(tensor(ArrayRef<float>({0.5f, 2.f})), kFloat, {2}, {0.5, 2});
  expect(tensor(std::vector<int64_t>{}), kLong, {0}, {});
  expect(tensor(std::vector<uint8_t>{9}), kByte, {1}, {9});
}

TEST(Literal, OptionsDecide) {
  expect(tensor({1.9, -2.9}, kInt), kInt, {2}, {1, -2});
  expect(tensor({1, 2}, dtype(kDouble)), kDouble, {2}, {1, 2});
  expect(tensor({1.}, {kDouble}), kDouble, {1}, {1});
  expect(tensor({0, 3}, kBool), kBool, {2}, {0, 1});
  EXPECT_TRUE(tensor({1.}, requires_grad()).requires_grad());
  EXPECT_TRUE(tensor({1.}, requires_grad()).is_leaf());
  EXPECT_THROW(tensor({1}, requires_grad()), Error);
  set_default_dtype(kDouble);
  expect(tensor({0.1f}), kDouble, {1}, {0.1f});
  expect(tensor({1}), kLong, {1}, {1});
  set_default_dtype(kFloat);
}

TEST(Literal, UnequalListsAreErrors) {
  EXPECT_NE(
      error_of([] {
        tensor({{1, 2}, {3}});
      })
          .find("Expected all sub-lists to have sizes: 2 (e.g. {1, 2}), but got sub-list {3} with "
                "sizes: 1"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              tensor({{1, 2}, {3, 4.5}});
            }).find("the same scalar type: Int, but got element of scalar type: Double"),
            std::string::npos);
}

TEST(Literal, DataPrintsAsWritten) {
  EXPECT_EQ(str(Data(1.5)), "1.5");
  EXPECT_EQ(str(Data({1, 2})), "{1, 2}");
  EXPECT_EQ(str(Data({{1., 2.5}, {3., 4.}})), "{{1, 2.5}, {3, 4}}");
  EXPECT_EQ(str(Data({{{}}})), "{{{}}}");
  EXPECT_EQ(str(Data(std::vector<double>{1.5, 2})), "{1.5, 2}");
  EXPECT_NE(error_of([] { Data(1.5).init_list(); }).find("init_list()"), std::string::npos);
  EXPECT_NE(error_of([] { Data(1.5).tensor(); }).find("tensor()"), std::string::npos);
  EXPECT_NE(error_of([] { Data({1}).scalar(); }).find("scalar()"), std::string::npos);
}

}  // namespace
}  // namespace tandem
