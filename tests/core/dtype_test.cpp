#include "tandem/core/dtype.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace tandem {
namespace {

constexpr DType kAll[] = {kByte, kChar,  kShort,  kInt,  kLong,
                          kHalf, kFloat, kDouble, kBool, kBFloat16};
static_assert(std::size(kAll) == kNumDTypes);

TEST(DType, SizesNamesAndKinds) {
  struct Row {
    DType type;
    size_t size;
    const char *name, *torch_name;
    bool floating, integral;
  };
  const Row rows[] = {
      {kUInt8, 1, "uint8", "Byte", false, true},
      {kInt8, 1, "int8", "Char", false, true},
      {kInt16, 2, "int16", "Short", false, true},
      {kInt32, 4, "int32", "Int", false, true},
      {kInt64, 8, "int64", "Long", false, true},
      {kFloat16, 2, "float16", "Half", true, false},
      {kFloat32, 4, "float32", "Float", true, false},
      {kFloat64, 8, "float64", "Double", true, false},
      {kBool, 1, "bool", "Bool", false, false},
      {kBFloat16, 2, "bfloat16", "BFloat16", true, false},
  };
  ASSERT_EQ(std::size(rows), static_cast<size_t>(kNumDTypes));
  for (const Row& row : rows) {
    EXPECT_EQ(size_of(row.type), row.size) << row.name;
    EXPECT_EQ(elementSize(row.type), row.size) << row.name;
    EXPECT_STREQ(name_of(row.type), row.name);
    EXPECT_STREQ(toString(row.type), row.torch_name);
    EXPECT_EQ(is_floating(row.type), row.floating) << row.name;
    EXPECT_EQ(isFloatingType(row.type), row.floating) << row.name;
    EXPECT_EQ(isIntegralType(row.type), row.integral) << row.name;
    EXPECT_EQ(isIntegralType(row.type, true), row.integral || row.type == kBool) << row.name;
    EXPECT_FALSE(isComplexType(row.type));
    std::ostringstream out;
    out << row.type;
    EXPECT_EQ(out.str(), row.torch_name);
  }
}

// What torch.promote_types answers, written out. Rows and columns in the order of kAll.
TEST(DType, PromotionTable) {
  constexpr DType u1 = kByte, i1 = kChar, i2 = kShort, i4 = kInt, i8 = kLong, f2 = kHalf,
                  f4 = kFloat, f8 = kDouble, b1 = kBool, bf = kBFloat16;
  const DType table[kNumDTypes][kNumDTypes] = {
      //        u1  i1  i2  i4  i8  f2  f4  f8  b1  bf
      /* u1 */ {u1, i2, i2, i4, i8, f2, f4, f8, u1, bf},
      /* i1 */ {i2, i1, i2, i4, i8, f2, f4, f8, i1, bf},
      /* i2 */ {i2, i2, i2, i4, i8, f2, f4, f8, i2, bf},
      /* i4 */ {i4, i4, i4, i4, i8, f2, f4, f8, i4, bf},
      /* i8 */ {i8, i8, i8, i8, i8, f2, f4, f8, i8, bf},
      /* f2 */ {f2, f2, f2, f2, f2, f2, f4, f8, f2, f4},
      /* f4 */ {f4, f4, f4, f4, f4, f4, f4, f8, f4, f4},
      /* f8 */ {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8},
      /* b1 */ {u1, i1, i2, i4, i8, f2, f4, f8, b1, bf},
      /* bf */ {bf, bf, bf, bf, bf, f4, f4, f8, bf, bf},
  };
  for (int i = 0; i < kNumDTypes; ++i) {
    for (int j = 0; j < kNumDTypes; ++j) {
      EXPECT_EQ(promote_types(kAll[i], kAll[j]), table[i][j]) << kAll[i] << " with " << kAll[j];
      EXPECT_EQ(promoteTypes(kAll[i], kAll[j]), table[i][j]);
    }
  }
}

TEST(DType, PromotionWithUndefined) {
  for (DType t : kAll) {
    EXPECT_EQ(promote_types(t, DType::Undefined), t);
    EXPECT_EQ(promote_types(DType::Undefined, t), t);
  }
}

// torch.can_cast: no real into an integer, no number into a bool; all else may narrow.
TEST(DType, CanCast) {
  for (DType from : kAll) {
    for (DType to : kAll) {
      const bool loses_fraction = is_floating(from) && !is_floating(to);
      const bool number_to_bool = from != kBool && to == kBool;
      EXPECT_EQ(can_cast(from, to), !loses_fraction && !number_to_bool) << from << " to " << to;
    }
  }
}

TEST(DType, DispatchReachesTheRightType) {
  for (DType t : kAll) {
    const auto [dtype, size] =
        dispatch(t, []<class T>(T) { return std::pair(dtype_of<T>(), sizeof(T)); });
    EXPECT_EQ(dtype, t);
    EXPECT_EQ(size, size_of(t));
  }
  EXPECT_THROW(dispatch(DType::Undefined, []<class T>(T) {}), TypeError);
}

TEST(DType, OfCppTypes) {
  EXPECT_EQ(dtype_v<const float>, kFloat);
  EXPECT_EQ(dtype_v<long long>, kLong);
  EXPECT_EQ(dtype_v<long>, kLong);
  EXPECT_TRUE((std::is_same_v<type_of_dtype<kHalf>::type, Half>));
}

TEST(DType, DefaultCanBeSet) {
  struct Restore {
    ~Restore() { set_default_dtype(kFloat); }
  } restore;
  EXPECT_EQ(get_default_dtype(), kFloat);
  set_default_dtype(kDouble);
  EXPECT_EQ(get_default_dtype(), kDouble);
  EXPECT_EQ(default_real_dtype(), kDouble);
  set_default_dtype(kInt);
  EXPECT_EQ(get_default_dtype(), kInt);
  EXPECT_EQ(default_real_dtype(), kFloat);
  EXPECT_THROW(set_default_dtype(DType::Undefined), TypeError);
  EXPECT_EQ(get_default_dtype(), kInt);
}

}  // namespace
}  // namespace tandem
