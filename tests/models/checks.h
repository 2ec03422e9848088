#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/nn/module.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

/// What every network is asked.
namespace tandem::models {

template <class Net>
int64_t parameters_of(const Net& net) {
  int64_t n = 0;
  for (const Tensor& p : net->parameters()) n += p.numel();
  return n;
}

/// After loss.backward() every parameter has a gradient, and it is not all zeros.
template <class Net>
void expect_gradients_reach(const Net& net, const Tensor& loss) {
  loss.backward();
  for (const auto& p : net->named_parameters()) {
    ASSERT_TRUE(p.value().grad().defined()) << p.key();
    EXPECT_GT(p.value().grad().abs().sum().template item<double>(), 0) << p.key();
  }
}

/// The gradients by all parameters are those of finite differences. The net is float64.
template <class Net>
void expect_right_gradients(const Net& net, const std::function<Tensor()>& loss) {
  // The values of the parameters are moved where they are, so the arguments need not be used.
  EXPECT_TRUE(
      gradcheck([&](const variable_list&) { return variable_list{loss()}; }, net->parameters()));
}

/// A second network that is given the file of the first, and a clone, compute the same.
template <class Net>
void expect_files_and_copies(Net net, Net other, const std::function<Tensor(Net&)>& result) {
  const NoGradGuard no_grad;
  const Tensor expected = result(net);
  EXPECT_FALSE(equal(result(other), expected));
  std::stringstream file;
  save(net, file);
  load(other, file);
  EXPECT_TRUE(equal(result(other), expected));
  Net copy(std::dynamic_pointer_cast<typename Net::ContainedType>(net->clone()));
  EXPECT_TRUE(equal(result(copy), expected));
  for (const Tensor& p : net->parameters()) p.mul_(2);
  EXPECT_TRUE(equal(result(copy), expected));
}

/// The call throws an Error whose message has this in it.
inline void expect_error(const std::function<void()>& call, const std::string& text) {
  const std::string message = test::error_of(call);
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

}  // namespace tandem::models
