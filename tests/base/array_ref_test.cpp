#include "tandem/base/array_ref.h"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

namespace tandem {
namespace {

size_t length(IntArrayRef a) { return a.size(); }
int64_t sum(IntArrayRef a) { return std::accumulate(a.begin(), a.end(), int64_t{0}); }

TEST(ArrayRef, IsMadeFromWhatCallersHave) {
  EXPECT_EQ(length({}), 0u);
  EXPECT_EQ(sum({1, 2, 3}), 6);
  EXPECT_EQ(sum(std::vector<int64_t>{4, 5}), 9);
  EXPECT_EQ(sum(std::array<int64_t, 2>{6, 7}), 13);
  const int64_t plain[] = {1, 1};
  EXPECT_EQ(sum(plain), 2);
  const int64_t one = 5;
  EXPECT_EQ(sum(one), 5);
  EXPECT_EQ(sum({plain, 2}), 2);
  EXPECT_EQ(sum(IntArrayRef(plain, plain + 1)), 1);
}

TEST(ArrayRef, Access) {
  const std::vector<int64_t> v = {1, 2, 3};
  const IntArrayRef a = v;
  EXPECT_EQ(a.data(), v.data());
  EXPECT_FALSE(a.empty());
  EXPECT_EQ(a.front(), 1);
  EXPECT_EQ(a.back(), 3);
  EXPECT_EQ(a[1], 2);
  EXPECT_EQ(a.at(2), 3);
  EXPECT_EQ(std::vector<int64_t>(a.rbegin(), a.rend()), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(a.vec(), v);
}

TEST(ArrayRef, AtChecksItsIndex) {
  const std::vector<int64_t> v = {1, 2, 3};
  try {
    IntArrayRef(v).at(3);
    FAIL() << "nothing was thrown";
  } catch (const IndexError& e) {
    EXPECT_EQ(e.msg(), "ArrayRef: index 3 is out of range for length 3");
  }
  EXPECT_THROW(IntArrayRef().at(0), IndexError);
}

TEST(ArrayRef, Slices) {
  const std::vector<int64_t> v = {1, 2, 3, 4};
  const IntArrayRef a = v;
  EXPECT_EQ(a.slice(1, 2), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.slice(2), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(a.slice(4).empty());
}

TEST(ArrayRef, ComparesByValue) {
  const std::vector<int64_t> v = {1, 2}, w = {1, 2}, longer = {1, 2, 3}, other = {1, 3};
  EXPECT_TRUE(IntArrayRef(v) == IntArrayRef(w));
  EXPECT_TRUE(IntArrayRef(v).equals(w));
  EXPECT_TRUE(v == IntArrayRef(w));
  EXPECT_TRUE(IntArrayRef(v) != IntArrayRef(longer));
  EXPECT_TRUE(IntArrayRef(v) != IntArrayRef(other));
  EXPECT_TRUE(IntArrayRef() == IntArrayRef());
}

TEST(ArrayRef, Prints) {
  std::ostringstream out;
  const std::vector<int64_t> v = {64, 1000};
  out << IntArrayRef(v) << IntArrayRef();
  EXPECT_EQ(out.str(), "[64, 1000][]");
}

}  // namespace
}  // namespace tandem
