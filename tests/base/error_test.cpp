#include "tandem/base/error.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

int calls = 0;
int counted() { return ++calls; }

template <class E>
void expect_message(void (*fn)(), const std::string& message) {
  try {
    fn();
    FAIL() << "nothing was thrown";
  } catch (const E& e) {
    EXPECT_EQ(typeid(e), typeid(E));
    EXPECT_STREQ(e.what(), message.c_str());
  }
}

TEST(Error, EveryKindIsARuntimeErrorAndAnError) {
  EXPECT_TRUE((std::is_base_of_v<std::runtime_error, Error>));
  EXPECT_TRUE((std::is_base_of_v<Error, IndexError>));
  EXPECT_TRUE((std::is_base_of_v<Error, TypeError>));
  EXPECT_TRUE((std::is_base_of_v<Error, ValueError>));
  EXPECT_TRUE((std::is_base_of_v<Error, ShapeError>));
  EXPECT_TRUE((std::is_base_of_v<Error, FileError>));
  EXPECT_TRUE((std::is_base_of_v<Error, NotImplementedError>));
}

TEST(Error, MessageIsReadableThreeWays) {
  const Error e("add: no");
  EXPECT_STREQ(e.what(), "add: no");
  EXPECT_STREQ(e.what_without_backtrace(), "add: no");
  EXPECT_EQ(e.msg(), "add: no");
}

TEST(Str, JoinsItsArguments) {
  EXPECT_EQ(str(), "");
  EXPECT_EQ(str("a"), "a");
  EXPECT_EQ(str(std::string("b")), "b");
  EXPECT_EQ(str("got ", 3, " dims, ", 2.5, 'x', true), "got 3 dims, 2.5x1");
  EXPECT_EQ(str(std::string_view("view"), "!"), "view!");
}

TEST(Check, ThrowsItsKindWithTheJoinedMessage) {
  expect_message<Error>([] { TANDEM_CHECK(1 > 2, "op: ", 1, " > ", 2); }, "op: 1 > 2");
  expect_message<ShapeError>([] { TANDEM_CHECK_SHAPE(false, "s ", 1); }, "s 1");
  expect_message<TypeError>([] { TANDEM_CHECK_TYPE(false, "t ", 2); }, "t 2");
  expect_message<IndexError>([] { TANDEM_CHECK_INDEX(false, "i ", 3); }, "i 3");
  expect_message<FileError>([] { TANDEM_CHECK_AS(FileError, false, "f"); }, "f");
}

TEST(Check, MessageIsMadeOnlyOnFailure) {
  calls = 0;
  TANDEM_CHECK(true, counted());
  EXPECT_EQ(calls, 0);
  EXPECT_THROW(TANDEM_CHECK(false, counted()), Error);
  EXPECT_EQ(calls, 1);
}

TEST(Check, IsOneStatement) {
  bool other = false;
  if (calls < 0)
    TANDEM_CHECK(false, "not reached");
  else
    other = true;
  EXPECT_TRUE(other);
}

TEST(Assert, IsALogicErrorThatNamesThePlace) {
  try {
    TANDEM_ASSERT(2 + 2 == 5, "sum ", 4);
    FAIL() << "nothing was thrown";
  } catch (const std::logic_error& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("error_test.cpp:"), std::string::npos) << message;
    EXPECT_NE(message.find("2 + 2 == 5: sum 4"), std::string::npos) << message;
    EXPECT_NE(message.find("bug in Tandem"), std::string::npos) << message;
  }
  TANDEM_ASSERT(true);
}

}  // namespace
}  // namespace tandem
