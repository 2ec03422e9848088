// Numbers that meet tensors: which of them fit a dtype, and what dtype they give.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/numbers.h"

namespace tandem {
namespace {

const double kInf = std::numeric_limits<double>::infinity();

template <class F>
bool throws(const F& f) {
  return error_of(f) != "no error was thrown";
}

TEST(Scalars, FillsRefuseWhatTheDtypeCannotHold) {
  const auto refused = [](DType t, const Scalar& v) {
    const bool by_fill = throws([&] { zeros({2}, t).fill_(v); });
    EXPECT_EQ(by_fill, throws([&] { full({2}, v, t); })) << v;
    EXPECT_EQ(by_fill, throws([&] { fill(zeros({2}, t), v); })) << v;
    EXPECT_EQ(by_fill, throws([&] { zeros({2}, t).masked_fill(tensor({true, false}), v); })) << v;
    return by_fill;
  };
  EXPECT_TRUE(refused(kByte, 300));
  EXPECT_TRUE(refused(kByte, -256));
  EXPECT_TRUE(refused(kByte, -0.5));
  EXPECT_TRUE(refused(kByte, 255.5));
  EXPECT_TRUE(refused(kChar, -129));
  EXPECT_TRUE(refused(kShort, 40000));
  EXPECT_TRUE(refused(kInt, 1e10));
  EXPECT_TRUE(refused(kLong, 9.3e18));
  EXPECT_TRUE(refused(kLong, kNan));
  EXPECT_TRUE(refused(kLong, kInf));
  EXPECT_TRUE(refused(kFloat, 1e300));
  EXPECT_TRUE(refused(kHalf, 100000));
  EXPECT_TRUE(refused(kBFloat16, 3.4e38));
  for (const Scalar& v : {Scalar(-1), Scalar(-255), Scalar(255), Scalar(2.5), Scalar(true)})
    EXPECT_FALSE(refused(kByte, v)) << v;
  for (const Scalar& v : {Scalar(kInf), Scalar(-kInf), Scalar(kNan), Scalar(-3e38)})
    EXPECT_FALSE(refused(kFloat, v)) << v;
  EXPECT_FALSE(refused(kChar, -128));
  EXPECT_FALSE(refused(kLong, std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(refused(kHalf, -kInf));
  EXPECT_FALSE(refused(kDouble, 1e300));
  EXPECT_FALSE(refused(kBool, 300));
}

TEST(Scalars, FillsConvertAsLibTorch) {
  EXPECT_EQ(numbers(zeros({1}, kByte).fill_(-1)), (Numbers{255}));
  EXPECT_EQ(numbers(ones({2}, kByte).masked_fill(tensor({true, false}), -3)), (Numbers{253, 1}));
  EXPECT_EQ(numbers(ones({2}, kLong).masked_fill(tensor({true, false}), 2.5)), (Numbers{2, 1}));
  EXPECT_EQ(numbers(ones({1}, kBool).fill_(0.5)), (Numbers{1}));
  EXPECT_NE(error_of([] {
              zeros({0}, kByte).fill_(300);
            }).find("fill_: value cannot be converted to type uint8_t without overflow"),
            std::string::npos);
  EXPECT_NE(error_of([] { tensor(300, kByte); }).find("tensor: value cannot be converted"),
            std::string::npos);
  EXPECT_TRUE(throws([] { tensor({1.0, 1e300}, kFloat); }));
}

TEST(Scalars, AlphaSuitsTheResult) {
  const Tensor x = make({1, 2}, {2}, kLong), real = make({1, 2}, {2}, kFloat);
  const char* wanted =
      "For integral input tensors, argument alpha must not be a floating point number.";
  const auto says = [&](const std::string& e) { return e.find(wanted) != std::string::npos; };
  EXPECT_TRUE(says(error_of([&] { add(x, x, 1.5); })));
  EXPECT_TRUE(says(error_of([&] { x.add(3, 1.5); })));
  EXPECT_TRUE(says(error_of([&] { x.sub(x, 1.0); })));
  EXPECT_TRUE(says(error_of([&] { rsub(x, x, 1.0); })));
  EXPECT_TRUE(says(error_of([&] { rsub(x, 3, 1.0); })));
  EXPECT_TRUE(says(error_of([&] { x.add_(x, 1.0); })));
  EXPECT_TRUE(says(error_of([&] { x.sub_(1, 0.5); })));
  EXPECT_EQ(numbers(x), (Numbers{1, 2}));
  EXPECT_EQ(numbers(x.add(3.0, 1.5)), (Numbers{5.5, 6.5}));
  EXPECT_EQ(numbers(real.add(x, 0.5)), (Numbers{1.5, 3}));
  EXPECT_EQ(numbers(x.add(x, 2)), (Numbers{3, 6}));
  EXPECT_TRUE(throws([&] { real.add(real, true); }));
  EXPECT_EQ(numbers(tensor({true}).add(tensor({true}), true)), (Numbers{1}));
}

TEST(Scalars, DtypesOfResults) {
  EXPECT_EQ(scalar_tensor(3).dtype(), kFloat);
  EXPECT_EQ(scalar_tensor(true).dtype(), kFloat);
  EXPECT_EQ(scalar_tensor(3, kInt).dtype(), kInt);
  const Tensor whole = ones({1}, kInt);
  EXPECT_EQ(result_type(ones({1}), ones({1}, kLong)), kFloat);
  EXPECT_EQ(result_type(whole, tensor(1.5)), kFloat);
  EXPECT_EQ(result_type(whole, tensor(3, kLong)), kInt);
  EXPECT_EQ(result_type(whole, 1.5), kFloat);
  EXPECT_EQ(result_type(1, whole), kInt);
}

TEST(Scalars, BitsOfANumberAndATensor) {
  const Tensor y = make({3, 1}, {2}, kLong);
  EXPECT_EQ(numbers(bitwise_and(6, y)), (Numbers{2, 0}));
  EXPECT_EQ(numbers(bitwise_or(4, y)), (Numbers{7, 5}));
  EXPECT_EQ(numbers(bitwise_xor(1, y)), (Numbers{2, 0}));
  EXPECT_EQ(numbers(bitwise_left_shift(1, y)), (Numbers{8, 2}));
  EXPECT_EQ(numbers(bitwise_right_shift(16, y)), (Numbers{2, 8}));
}

TEST(Scalars, SearchesForWholeNumbersStayExact) {
  const Tensor far = tensor({16777216, 16777217, 16777218}, kLong);
  EXPECT_EQ(searchsorted(far, 16777217).item<int64_t>(), 1);
  EXPECT_EQ(bucketize(16777217, far).item<int64_t>(), 1);
}

}  // namespace
}  // namespace tandem
