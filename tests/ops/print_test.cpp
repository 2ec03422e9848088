#include "tandem/ops/print.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/values.h"

namespace tandem {
namespace {

using test::counting;

TEST(Print, Small) {
  EXPECT_EQ(str(Tensor()), "[ Tensor (undefined) ]");
  EXPECT_EQ(str(tensor(1.5)), "1.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(str(tensor(3)), "3\n[ CPULongType{} ]");
  EXPECT_EQ(str(tensor({1, 2, 3})), " 1\n 2\n 3\n[ CPULongType{3} ]");
  EXPECT_EQ(str(ones({2, 3})), " 1  1  1\n 1  1  1\n[ CPUFloatType{2,3} ]");
  EXPECT_EQ(str(tensor({{true, false}})), " 1  0\n[ CPUBoolType{1,2} ]");
  EXPECT_EQ(str(tensor({-1, 20, 3}, kShort)), " -1\n 20\n  3\n[ CPUShortType{3} ]");
  EXPECT_EQ(str(zeros({0})), "[ CPUFloatType{0} ]");
  EXPECT_EQ(str(zeros({2, 0}, kByte)), "[ CPUByteType{2,0} ]");
}

TEST(Print, Reals) {
  EXPECT_EQ(str(tensor({1.5, 2.25, -3.125})), " 1.5000\n 2.2500\n-3.1250\n[ CPUFloatType{3} ]");
  EXPECT_EQ(str(tensor({10.5, 99.25}, kDouble)), " 10.5000\n 99.2500\n[ CPUDoubleType{2} ]");
  EXPECT_EQ(str(tensor({2e-5, 1e-5})), "1e-05 *\n 2.0000\n 1.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(str(tensor({1e-3, 1e5})), " 1.0000e-03\n 1.0000e+05\n[ CPUFloatType{2} ]");
  EXPECT_EQ(str(tensor({1.5f, NAN, -INFINITY})), " 1.5000\n    nan\n   -inf\n[ CPUFloatType{3} ]");
  EXPECT_EQ(str(tensor({1.5, 2.}, kHalf)), " 1.5000\n 2.0000\n[ CPUHalfType{2} ]");
  EXPECT_EQ(str(tensor({-0.})), " 0\n[ CPUFloatType{1} ]");
}

TEST(Print, BigIntegersAreExact) {
  EXPECT_EQ(str(tensor({{int64_t{1234567890123}, int64_t{-2}}})),
            " 1234567890123             -2\n[ CPULongType{1,2} ]");
}

TEST(Print, ManyDimensions) {
  EXPECT_EQ(str(counting({2, 2, 3}, kLong)),
            "(1,.,.) = \n  0  1  2\n  3  4  5\n\n(2,.,.) = \n   6   7   8\n   9  10  11\n"
            "[ CPULongType{2,2,3} ]");
}

TEST(Print, WideOnesGoIntoSeveralLines) {
  std::ostringstream out;
  print(out, counting({2, 6}, kLong) + 10, 13);
  EXPECT_EQ(out.str(),
            "Columns 1 to 3\n 10  11  12\n 16  17  18\n\nColumns 4 to 6\n 13  14  15\n 19  20  21\n"
            "[ CPULongType{2,6} ]");
}

TEST(Print, LongOnesAreAbridged) {
  EXPECT_EQ(str(counting({2000}, kLong)),
            "    0\n    1\n    2\n  ...\n 1997\n 1998\n 1999\n[ CPULongType{2000} ]");
  EXPECT_EQ(str(counting({40, 30}, kLong)),
            "    0     1     2  ...    27    28    29\n"
            "   30    31    32  ...    57    58    59\n"
            "   60    61    62  ...    87    88    89\n"
            "  ...\n"
            " 1110  1111  1112  ...  1137  1138  1139\n"
            " 1140  1141  1142  ...  1167  1168  1169\n"
            " 1170  1171  1172  ...  1197  1198  1199\n"
            "[ CPULongType{40,30} ]");
  const std::string big = str(zeros({100, 100, 100}));
  EXPECT_LT(big.size(), 3000u);
  EXPECT_NE(big.find("(98,.,.)"), std::string::npos);
  EXPECT_EQ(big.find("(4,.,.)"), std::string::npos);
}

TEST(Print, ViewsShowTheirOwnValues) {
  EXPECT_EQ(str(counting({2, 3}, kLong).t()), " 0  3\n 1  4\n 2  5\n[ CPULongType{3,2} ]");
}

}  // namespace
}  // namespace tandem
