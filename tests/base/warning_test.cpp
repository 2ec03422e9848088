#include "tandem/base/warning.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tandem {
namespace {

struct Keeper : WarningHandler {
  std::vector<std::string> messages;
  SourceLocation last;
  void process(const SourceLocation& where, const std::string& message, const bool) override {
    last = where;
    messages.push_back(message);
  }
};

TEST(Warning, GoesToTheHandlerWithItsPlace) {
  Keeper keeper;
  Warning::WarningHandlerGuard guard(&keeper);
  TANDEM_WARN("x has ", 3, " dims");
  ASSERT_EQ(keeper.messages.size(), 1u);
  EXPECT_EQ(keeper.messages[0], "x has 3 dims");
  EXPECT_NE(std::string(keeper.last.file).find("warning_test"), std::string::npos);
}

TEST(Warning, OnceIsOncePerPlace) {
  Keeper keeper;
  Warning::WarningHandlerGuard guard(&keeper);
  for (int i = 0; i < 3; ++i) TANDEM_WARN_ONCE("first");
  for (int i = 0; i < 3; ++i) TANDEM_WARN_ONCE("second");
  EXPECT_EQ(keeper.messages, (std::vector<std::string>{"first", "second"}));
  Warning::WarnAlways always;
  for (int i = 0; i < 3; ++i) TANDEM_WARN_ONCE("third");
  EXPECT_EQ(keeper.messages.size(), 5u);
}

TEST(Warning, HandlersBelongToTheirThread) {
  Keeper keeper;
  WarningHandler* const before = Warning::get_warning_handler();
  {
    Warning::WarningHandlerGuard guard(&keeper);
    std::thread([&] { EXPECT_NE(Warning::get_warning_handler(), &keeper); }).join();
    EXPECT_EQ(Warning::get_warning_handler(), &keeper);
  }
  EXPECT_EQ(Warning::get_warning_handler(), before);
}

TEST(Warning, IsPrintedByDefault) {
  testing::internal::CaptureStderr();
  TANDEM_WARN("on the screen");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("Warning: on the screen"), std::string::npos);
  EXPECT_NE(text.find("warning_test.cpp:"), std::string::npos);
}

}  // namespace
}  // namespace tandem
