// Runs every user mistake of the case lists.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <set>

#include "tests/errors/error_cases.h"

namespace tandem::errors {

Tensor Things::counting(IntArrayRef sizes) {
  Tensor x = empty(sizes);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(i);
  return x;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    add_shape_cases(c);
    add_type_cases(c);
    add_autograd_cases(c);
    add_op_cases(c);
    add_index_cases(c);
    add_linalg_cases(c);
    add_compile_cases(c);
    add_transform_cases(c);
    add_loss_cases(c);
    add_nn_cases(c);
    return c;
  }();
  return cases;
}

namespace {

bool is_kind(const Error& e, Kind kind) {
  switch (kind) {
    case Kind::kIndex:
      return dynamic_cast<const IndexError*>(&e);
    case Kind::kType:
      return dynamic_cast<const TypeError*>(&e);
    case Kind::kShape:
      return dynamic_cast<const ShapeError*>(&e);
    case Kind::kError:
      return true;
  }
  return false;
}

struct Snapshot {
  std::vector<std::string> bytes;
  std::vector<int64_t> versions;
  bool operator==(const Snapshot&) const = default;
};

Snapshot snapshot(const Things& t) {
  Snapshot s;
  for (const Tensor& x : {t.x, t.y, t.m, t.ints, t.truth, t.wide, t.w, t.v}) {
    s.bytes.emplace_back(static_cast<const char*>(x.data_ptr()), x.nbytes());
    s.versions.push_back(x._version());
  }
  return s;
}

// The things can still be computed with and differentiated.
void use(const Things& t) {
  EXPECT_EQ((t.x + t.x)[1][2].item<float>(), 10);
  EXPECT_EQ((t.ints * t.ints)[1][2].item<int>(), 25);
  EXPECT_EQ((t.meta + t.meta).sizes(), t.meta.sizes());
  EXPECT_FALSE(t.none.defined());
  EXPECT_TRUE(GradMode::is_enabled());
  if (t.w.grad().defined()) t.w.mutable_grad().reset();
  (t.w * t.x * t.v).backward(ones({2, 3}));
  EXPECT_EQ(t.w.grad()[1][2].item<float>(), 10);
}

class UserMistake : public testing::TestWithParam<Case> {};

TEST_P(UserMistake, IsExplainedAndLeavesNothingBehind) {
  const Case& c = GetParam();
  Things things;
  const Snapshot before = snapshot(things);
  try {
    c.mistake(things);
    FAIL() << "no error was raised";
  } catch (const Error& e) {
    EXPECT_TRUE(is_kind(e, c.kind)) << "another kind of error: " << e.what();
    for (const std::string& part : c.says)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
          << "the message lacks '" << part << "':\n  " << e.what();
    EXPECT_GE(c.says.size(), 1u);
  } catch (const std::exception& e) {
    FAIL() << "not one of Tandem's errors: " << e.what();
  }
  EXPECT_TRUE(snapshot(things) == before) << "the failed call changed a tensor";
  use(things);
}

INSTANTIATE_TEST_SUITE_P(All, UserMistake, testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name;
  for (const char* p = info.param.name; *p; ++p)
    name += std::isalnum(static_cast<unsigned char>(*p)) ? *p : '_';
  return name;
});

}  // namespace
}  // namespace tandem::errors
