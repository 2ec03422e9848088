// Which dtype the result of mixed operands has. The tables are LibTorch 1.13's own results.
#include <gtest/gtest.h>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

constexpr DType U8 = kByte, I8 = kChar, I16 = kShort, I32 = kInt, I64 = kLong, F16 = kHalf,
                F32 = kFloat, F64 = kDouble, B = kBool, BF = kBFloat16;
constexpr DType kTypes[] = {U8, I8, I16, I32, I64, F16, F32, F64, B, BF};

constexpr DType kTogether[10][10] = {
    {U8, I16, I16, I32, I64, F16, F32, F64, U8, BF},
    {I16, I8, I16, I32, I64, F16, F32, F64, I8, BF},
    {I16, I16, I16, I32, I64, F16, F32, F64, I16, BF},
    {I32, I32, I32, I32, I64, F16, F32, F64, I32, BF},
    {I64, I64, I64, I64, I64, F16, F32, F64, I64, BF},
    {F16, F16, F16, F16, F16, F16, F32, F64, F16, F32},
    {F32, F32, F32, F32, F32, F32, F32, F64, F32, F32},
    {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},
    {U8, I8, I16, I32, I64, F16, F32, F64, B, BF},
    {BF, BF, BF, BF, BF, F32, F32, F64, BF, BF},
};
// A tensor with dimensions (row) and one without (column).
constexpr DType kWith0d[10][10] = {
    {U8, U8, U8, U8, U8, F16, F32, F64, U8, BF},
    {I8, I8, I8, I8, I8, F16, F32, F64, I8, BF},
    {I16, I16, I16, I16, I16, F16, F32, F64, I16, BF},
    {I32, I32, I32, I32, I32, F16, F32, F64, I32, BF},
    {I64, I64, I64, I64, I64, F16, F32, F64, I64, BF},
    {F16, F16, F16, F16, F16, F16, F16, F16, F16, F16},
    {F32, F32, F32, F32, F32, F32, F32, F32, F32, F32},
    {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},
    {U8, I8, I16, I32, I64, F16, F32, F64, B, BF},
    {BF, BF, BF, BF, BF, BF, BF, BF, BF, BF},
};
// With a C++ bool, a whole number, a real number; the same for tensors with and without dimensions.
constexpr DType kWithNumber[10][3] = {
    {U8, U8, F32},   {I8, I8, F32},   {I16, I16, F32}, {I32, I32, F32}, {I64, I64, F32},
    {F16, F16, F16}, {F32, F32, F32}, {F64, F64, F64}, {B, I64, F32},   {BF, BF, BF}};
// What += accepts: the left operand (row) must be able to hold the result.
const char* const kInPlace[10] = {"yyyyy---y-", "yyyyy---y-", "yyyyy---y-", "yyyyy---y-",
                                  "yyyyy---y-", "yyyyyyyyyy", "yyyyyyyyyy", "yyyyyyyyyy",
                                  "--------y-", "yyyyyyyyyy"};

Tensor array(DType t) { return ones({2}, t); }
Tensor scalar(DType t) { return ones(IntArrayRef{}, t); }

std::string names(DType a, DType b) { return str(name_of(a), " and ", name_of(b)); }

TEST(Promotion, TwoTensorsOfTheSameRank) {
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      const DType a = kTypes[i], b = kTypes[j];
      EXPECT_EQ((array(a) + array(b)).dtype(), kTogether[i][j]) << names(a, b);
      EXPECT_EQ((array(a) * array(b)).dtype(), kTogether[i][j]) << names(a, b);
      EXPECT_EQ((scalar(a) + scalar(b)).dtype(), kTogether[i][j]) << names(a, b) << ", both 0-d";
      EXPECT_EQ(promoteTypes(a, b), kTogether[i][j]) << names(a, b);
    }
}

TEST(Promotion, ATensorWithoutDimensionsCountsLess) {
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      const DType a = kTypes[i], b = kTypes[j];
      EXPECT_EQ((array(a) + scalar(b)).dtype(), kWith0d[i][j]) << names(a, b);
      EXPECT_EQ((scalar(b) * array(a)).dtype(), kWith0d[i][j]) << names(a, b);
    }
}

TEST(Promotion, NumbersCountLeast) {
  for (int i = 0; i < 10; ++i) {
    const DType a = kTypes[i];
    for (const Tensor& x : {array(a), scalar(a)}) {
      EXPECT_EQ((x + Scalar(true)).dtype(), kWithNumber[i][0]) << name_of(a);
      EXPECT_EQ((x + 1).dtype(), kWithNumber[i][1]) << name_of(a);
      EXPECT_EQ((x * 1.5).dtype(), kWithNumber[i][2]) << name_of(a);
      EXPECT_EQ((1 + x).dtype(), kWithNumber[i][1]) << name_of(a);
      EXPECT_EQ((1.5f + x).dtype(), kWithNumber[i][2]) << name_of(a);
    }
  }
}

TEST(Promotion, DivisionIsReal) {
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      const DType t = kTogether[i][j];
      EXPECT_EQ((array(kTypes[i]) / array(kTypes[j])).dtype(), is_floating(t) ? t : F32)
          << names(kTypes[i], kTypes[j]);
    }
}

TEST(Promotion, InPlaceKeepsTheTypeOfTheLeftOrRefuses) {
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      const DType a = kTypes[i], b = kTypes[j];
      for (const Tensor& y : {array(b), scalar(b)}) {
        Tensor x = array(a);
        if (kInPlace[i][j] == 'y') {
          EXPECT_NO_THROW(x += y) << names(a, b);
          EXPECT_EQ(x.dtype(), a);
          EXPECT_EQ(x[0].item<double>(), a == B ? 1 : 2) << names(a, b);
        } else {
          EXPECT_THROW(x += y, TypeError) << names(a, b);
          EXPECT_EQ(x[0].item<double>(), 1) << names(a, b) << ": a refused += changed the tensor";
        }
      }
    }
}

TEST(Promotion, RealNumbersFollowTheDefaultDType) {
  struct Restore {
    ~Restore() { set_default_dtype(kFloat); }
  } restore;
  set_default_dtype(kDouble);
  EXPECT_EQ((array(I64) + 1.5).dtype(), F64);
  EXPECT_EQ((scalar(I64) + 1.5).dtype(), F64);
  EXPECT_EQ((array(F32) + 1.5).dtype(), F32);
  EXPECT_EQ((array(I64) / array(I64)).dtype(), F64);
  EXPECT_EQ(zeros({1}).dtype(), F64);
  // As in LibTorch the default may be an integer type; real results then are float32.
  set_default_dtype(kLong);
  EXPECT_EQ(zeros({1}).dtype(), I64);
  EXPECT_EQ((array(I64) / array(I64)).dtype(), F32);
  EXPECT_EQ((array(I64) + 1.5).dtype(), F32);
}

// A number keeps its own precision until it meets the tensor.
TEST(Promotion, NumbersAreNotRoundedFirst) {
  Tensor x = zeros({1}, kDouble);
  EXPECT_EQ((x + 0.1)[0].item<double>(), 0.1);
  EXPECT_EQ((x + 0.1f)[0].item<double>(), static_cast<double>(0.1f));
  Tensor big = zeros({1}, kLong);
  EXPECT_EQ((big + ((INT64_C(1) << 60) + 1))[0].item<int64_t>(), (INT64_C(1) << 60) + 1);
}

}  // namespace
}  // namespace tandem
