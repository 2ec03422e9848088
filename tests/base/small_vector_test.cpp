#include "tandem/base/small_vector.h"

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <sstream>
#include <string>

namespace tandem {
namespace {

using Strings = SmallVector<std::string, 2>;

// Longer than any string that std::string keeps inline, so that a stale copy shows under a
// sanitizer.
std::string text(int i) { return "a string that is too long to be inline " + std::to_string(i); }

Strings numbered(int n) {
  Strings v;
  for (int i = 0; i < n; ++i) v.push_back(text(i));
  return v;
}

void expect_numbered(const Strings& v, int n) {
  ASSERT_EQ(v.size(), static_cast<size_t>(n));
  EXPECT_EQ(v.empty(), n == 0);
  for (int i = 0; i < n; ++i) EXPECT_EQ(v[i], text(i));
}

TEST(SmallVector, Constructors) {
  EXPECT_TRUE(Dims().empty());
  EXPECT_EQ(Dims(3), (Dims{0, 0, 0}));
  EXPECT_EQ(Dims(2, 7), (Dims{7, 7}));
  EXPECT_EQ(Dims(std::vector<int64_t>{1, 2}), (Dims{1, 2}));
  EXPECT_EQ(Dims(IntArrayRef{4, 5, 6}), (Dims{4, 5, 6}));
  const std::list<int64_t> list = {9, 8};
  EXPECT_EQ(Dims(list.begin(), list.end()), (Dims{9, 8}));
}

TEST(SmallVector, InlineUpToNThenOnTheHeap) {
  Dims d = {1, 2, 3, 4, 5, 6};
  const auto inside = [&] {
    const char* p = reinterpret_cast<const char*>(d.data());
    const char* self = reinterpret_cast<const char*>(&d);
    return p >= self && p < self + sizeof(d);
  };
  EXPECT_TRUE(inside());
  d.push_back(7);
  EXPECT_FALSE(inside());
  EXPECT_EQ(d, (Dims{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(d.front(), 1);
  EXPECT_EQ(d.back(), 7);
}

TEST(SmallVector, CopyAndMoveInlineAndHeap) {
  for (int n : {0, 1, 2, 3, 9}) {
    Strings v = numbered(n);
    Strings copy(v);
    expect_numbered(copy, n);
    expect_numbered(v, n);
    Strings moved(std::move(v));
    expect_numbered(moved, n);
    expect_numbered(v, 0);
    v.push_back(text(0));  // a moved-from vector is usable
    expect_numbered(v, 1);
    for (int m : {0, 1, 2, 5}) {
      Strings target = numbered(m);
      target = copy;
      expect_numbered(target, n);
      Strings source = numbered(n);
      Strings other = numbered(m);
      other = std::move(source);
      expect_numbered(other, n);
    }
  }
}

TEST(SmallVector, SelfAssignment) {
  for (int n : {1, 2, 5}) {
    Strings v = numbered(n);
    Strings& same = v;
    v = same;
    expect_numbered(v, n);
    v = std::move(same);
    expect_numbered(v, n);
  }
}

TEST(SmallVector, ResizeGrowsAndShrinks) {
  Strings v = numbered(2);
  v.resize(4, "x");
  EXPECT_EQ(v.size(), 4u);
  EXPECT_EQ(v[1], text(1));
  EXPECT_EQ(v[3], "x");
  v.resize(1);
  expect_numbered(v, 1);
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(SmallVector, ElementOfItselfAsArgumentWhileGrowing) {
  Strings v = numbered(2);
  v.push_back(v[0]);
  EXPECT_EQ(v.back(), text(0));
  Strings w = numbered(2);
  w.emplace_back(w[1]);
  EXPECT_EQ(w.back(), text(1));
  Strings u = numbered(2);
  u.resize(5, u[1]);
  EXPECT_EQ(u[4], text(1));
}

TEST(SmallVector, InsertAndErase) {
  Dims d = {1, 2, 4};
  EXPECT_EQ(*d.insert(d.begin() + 2, 3), 3);
  EXPECT_EQ(d, (Dims{1, 2, 3, 4}));
  d.insert(d.end(), 5);
  d.insert(d.begin(), 0);
  EXPECT_EQ(d, (Dims{0, 1, 2, 3, 4, 5}));
  d.insert(d.begin() + 3, 9);  // moves to the heap
  EXPECT_EQ(d, (Dims{0, 1, 2, 9, 3, 4, 5}));
  EXPECT_EQ(*d.erase(d.begin() + 3), 3);
  d.erase(d.begin());
  d.erase(d.end() - 1);
  EXPECT_EQ(d, (Dims{1, 2, 3, 4}));
  d.pop_back();
  EXPECT_EQ(d, (Dims{1, 2, 3}));
}

TEST(SmallVector, EveryElementIsDestroyedOnce) {
  auto shared = std::make_shared<int>(1);
  {
    SmallVector<std::shared_ptr<int>, 2> v;
    for (int i = 0; i < 7; ++i) v.push_back(shared);
    EXPECT_EQ(shared.use_count(), 8);
    v.resize(3);
    EXPECT_EQ(shared.use_count(), 4);
    auto w = v;
    EXPECT_EQ(shared.use_count(), 7);
    w.erase(w.begin());
    EXPECT_EQ(shared.use_count(), 6);
    v = std::move(w);
    EXPECT_EQ(shared.use_count(), 3);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(SmallVector, HoldsWhatCannotBeCopied) {
  SmallVector<std::unique_ptr<int>, 1> v;
  for (int i = 0; i < 4; ++i) v.push_back(std::make_unique<int>(i));
  auto w = std::move(v);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(*w[i], i);
}

TEST(SmallVector, ComparesPrintsAndConverts) {
  const Dims d = {2, 3};
  EXPECT_TRUE(d == IntArrayRef({2, 3}));
  EXPECT_FALSE(d == IntArrayRef({2, 3, 1}));
  EXPECT_FALSE(d == (Dims{2, 4}));
  EXPECT_EQ(d.vec(), (std::vector<int64_t>{2, 3}));
  std::ostringstream out;
  out << d << Dims();
  EXPECT_EQ(out.str(), "[2, 3][]");
  IntArrayRef ref = d;
  EXPECT_EQ(ref.data(), d.data());
}

}  // namespace
}  // namespace tandem
