#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autograd/autograd.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tests/helpers.h"

namespace tandem::optim {

using test::expect_values;

using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Tensor>&)>;

/// The statement throws an Error whose text holds `part`.
#define EXPECT_THROW_WITH(statement, part)                                      \
  try {                                                                         \
    (void)(statement);                                                          \
    ADD_FAILURE() << "nothing was thrown";                                      \
  } catch (const Error& e) {                                                    \
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what(); \
  }

/// Two parameters and, for each step, gradients that depend on the step and on the values.
struct Problem {
  explicit Problem(DType dtype = kDouble)
      : params{tensor({0.5, -1.0, 2.0}, kDouble).to(dtype),
               tensor({-0.25, 1.5}, kDouble).reshape({2, 1}).to(dtype)} {}

  void set_gradients(int64_t step) {
    double k = 0;
    for (const Tensor& p : params) {
      const Tensor waves =
          cos(arange(k + 1, k + 1 + static_cast<double>(p.numel()), kDouble) * 0.7 * (step + 1));
      k += static_cast<double>(p.numel());
      p.mutable_grad() = (waves.reshape(p.sizes()).to(p.dtype()) + p.detach() * 0.1);
    }
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Tensor& p : params)
      for (int64_t i = 0; i < p.numel(); ++i) all.push_back(p.reshape({-1})[i].item().toDouble());
    return all;
  }

  std::vector<Tensor> params;
};

inline void expect_same(const Tensor& got, const Tensor& expected) {
  ASSERT_TRUE(got.defined() && expected.defined());
  EXPECT_TRUE(got.detach().equal(expected.detach())) << got.detach() << "\n instead of\n"
                                                     << expected.detach();
}

}  // namespace tandem::optim
