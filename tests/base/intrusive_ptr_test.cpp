#include "tandem/base/intrusive_ptr.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

struct Counted {
  int references = 0;
  bool* freed = nullptr;
};
void retain(Counted* c) { ++c->references; }
// Out of line, as a real one is: inlined, GCC warns of a use after free that cannot happen.
[[gnu::noinline]] void release(Counted* c) {
  if (--c->references > 0) return;
  *c->freed = true;
  delete c;
}
using Ptr = intrusive_ptr<Counted>;

struct IntrusivePtr : ::testing::Test {
  bool freed = false;
  Ptr make() {
    auto* c = new Counted;
    c->freed = &freed;
    return Ptr(c);
  }
};

TEST_F(IntrusivePtr, NullIsHarmless) {
  Ptr a, b(nullptr);
  EXPECT_FALSE(a);
  EXPECT_TRUE(a == nullptr);
  EXPECT_TRUE(a == b);
  a = b;
  a.reset();
  EXPECT_EQ(a.get(), nullptr);
}

TEST_F(IntrusivePtr, LastOwnerFrees) {
  {
    Ptr a = make();
    EXPECT_EQ(a->references, 1);
    {
      Ptr b = a;
      EXPECT_EQ(a->references, 2);
      EXPECT_TRUE(a == b);
      EXPECT_EQ(&*a, b.get());
    }
    EXPECT_EQ(a->references, 1);
    EXPECT_FALSE(freed);
  }
  EXPECT_TRUE(freed);
}

TEST_F(IntrusivePtr, MoveLeavesTheCountAlone) {
  Ptr a = make();
  Ptr b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(b->references, 1);
  Ptr c;
  c = std::move(b);
  EXPECT_FALSE(b);
  EXPECT_EQ(c->references, 1);
  c = nullptr;
  EXPECT_TRUE(freed);
}

TEST_F(IntrusivePtr, AssignmentFreesWhatWasThere) {
  bool other_freed = false;
  auto* other = new Counted;
  other->freed = &other_freed;
  Ptr a = make();
  a = Ptr(other);
  EXPECT_TRUE(freed);
  EXPECT_FALSE(other_freed);
  a.reset();
  EXPECT_TRUE(other_freed);
}

TEST_F(IntrusivePtr, SelfAssignment) {
  Ptr a = make();
  Ptr& same = a;
  a = same;
  EXPECT_EQ(a->references, 1);
  a = std::move(same);
  EXPECT_FALSE(freed);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->references, 1);
}

TEST_F(IntrusivePtr, AdoptAndDetachPassAReferenceOn) {
  Ptr a = make();
  Counted* raw = a.detach();
  EXPECT_FALSE(a);
  EXPECT_EQ(raw->references, 1);
  Ptr b = Ptr::adopt(raw);
  EXPECT_EQ(b->references, 1);
  b.reset();
  EXPECT_TRUE(freed);
}

TEST_F(IntrusivePtr, Swap) {
  Ptr a = make(), b;
  Counted* raw = a.get();
  a.swap(b);
  EXPECT_EQ(b.get(), raw);
  EXPECT_FALSE(a);
  EXPECT_EQ(raw->references, 1);
}

}  // namespace
}  // namespace tandem
