#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem {

inline void expect_same(const Tensor& got, const Tensor& expected) {
  ASSERT_TRUE(got.defined() && expected.defined());
  EXPECT_EQ(str(got.type_of()), str(expected.type_of()));
  EXPECT_TRUE(got.detach().equal(expected.detach())) << got.detach() << "\n instead of\n"
                                                     << expected.detach();
}

inline void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_TRUE(got.defined() && expected.defined());
  EXPECT_TRUE(allclose(got.detach(), expected.detach(), tolerance, tolerance))
      << got.detach() << "\n instead of\n"
      << expected.detach();
}

/// How many ops have run since it was made.
class OpCount : public OpObserver {
 public:
  int count = 0;
  void ran(const OpDef&) override { ++count; }
};

inline Tensor get_default_generator_state() { return default_generator().get_state(); }

}  // namespace tandem

/// The statement throws an Error (or what the user threw) whose text holds `part`.
#define EXPECT_THROW_WITH(statement, part)                                      \
  try {                                                                         \
    (void)(statement);                                                          \
    ADD_FAILURE() << "nothing was thrown";                                      \
  } catch (const std::exception& e) {                                           \
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what(); \
  }
