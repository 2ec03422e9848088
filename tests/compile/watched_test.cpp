// What compiled functions notice beside tensors: modules, modes, optimisers' parameters.
#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/optim/optim.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

TEST(Watched, AFunctionMaySwitchBetweenTrainingAndEvaluation) {
  nn::BatchNorm1d norm(3), same(3);
  const auto run = [](nn::BatchNorm1d& n) {
    return [&n](const Tensor& x) {
      n->train();
      const Tensor trained = n->forward(x);
      n->eval();
      return std::pair{trained, n->forward(x)};
    };
  };
  const auto eager = run(same);
  const auto compiled = compile(run(norm));
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({5, 3});
    const auto [a, b] = compiled(x);
    const auto [c, d] = eager(x);
    expect_close(a, c, 1e-6);
    expect_close(b, d, 1e-6);
    EXPECT_FALSE(norm->is_training());
    if (i == 2) norm->train();  // whatever it is before
  }
  EXPECT_EQ(compiled.graph_count(), 1);
}

TEST(Watched, ContainersThatHaveChangedAreReadAnew) {
  nn::Sequential net(nn::Linear(3, 3));
  nn::ModuleList list(nn::Linear(3, 3));
  nn::ModuleDict dict(
      std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>{{"a", nn::Tanh().ptr()}});
  nn::ParameterList scales(ones({3}));
  nn::ParameterDict shifts;
  shifts->insert("s", zeros({3}));
  const auto fn = [&](const Tensor& in) {
    Tensor x = net->forward(in);
    for (const auto& m : *list) x = m->as<nn::Linear>()->forward(x);
    if (dict->contains("b")) x = dict->at<nn::ReLUImpl>("b").forward(x);
    for (const auto& s : *scales) x = x * s.value();
    for (const auto& key : shifts->keys()) x = x + shifts[key];
    return x;
  };
  const auto f = compile(fn);
  const Tensor x = randn({2, 3});
  const auto check = [&](size_t graphs) {
    for (int i = 0; i < 2; ++i) expect_close(f(x), fn(x), 1e-6);
    EXPECT_EQ(f.graph_count(), graphs);
  };
  check(1);
  net->push_back(nn::ReLU());
  check(2);
  list->push_back(nn::Linear(3, 3));
  check(3);
  dict->update(
      std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>{{"b", nn::ReLU().ptr()}});
  check(4);
  dict->pop("b");
  check(5);
  scales->append(full({3}, 2.0));
  check(6);
  shifts->insert("t", ones({3}));
  check(7);
  shifts->clear();
  check(8);
}

TEST(Watched, ListsThatAFunctionFillsItself) {
  const Tensor w = randn({3});
  const auto f = compile([&](const Tensor& x) {
    nn::ParameterList own;
    while (own->size() < 2) own->append(w.detach());
    return x * own[0] * own[1];
  });
  for (int i = 0; i < 3; ++i) expect_close(f(ones({3})), w * w, 1e-6);
  EXPECT_EQ(f.graph_count(), 1);
}

TEST(Watched, OptimisersNoticeOtherParameters) {
  const auto make = [] {
    std::vector<Tensor> ps;
    for (int i = 0; i < 3; ++i) ps.push_back(full({2}, i + 1.0).requires_grad_());
    return ps;
  };
  const std::vector<Tensor> a = make(), b = make();
  optim::SGD first({a[0]}, optim::SGDOptions(0.1)), second({b[0]}, optim::SGDOptions(0.1));
  const auto step = [](optim::SGD& o, const std::vector<Tensor>& ps) {
    return [&] {
      o.zero_grad();
      const Tensor loss = (ps[0] * ps[1] * ps[2]).sum();
      loss.backward();
      o.step();
      return loss.detach();
    };
  };
  const auto eager = step(first, a);
  const auto compiled = compile(step(second, b));
  const auto check = [&] {
    for (int i = 0; i < 3; ++i) expect_close(compiled(), eager(), 1e-6);
    for (size_t i = 0; i < 3; ++i) expect_close(b[i], a[i], 1e-6);
  };
  check();
  first.param_groups()[0].params().push_back(a[1]);
  second.param_groups()[0].params().push_back(b[1]);
  check();
  EXPECT_NE(compiled.explain().find("an optimiser has other parameters"), std::string::npos);
  first.add_param_group(optim::OptimizerParamGroup({a[2]}));
  second.add_param_group(optim::OptimizerParamGroup({b[2]}));
  check();
  first.param_groups()[0].params()[0] = a[1];
  first.param_groups()[0].params().pop_back();
  second.param_groups()[0].params()[0] = b[1];
  second.param_groups()[0].params().pop_back();
  check();
}

// What a function asks of a tensor without computing with it is a part of what it was recorded for.
TEST(Watched, TensorsThatAreAskedWhatTheyAre) {
  Tensor frozen = ones({3}), like = zeros({2, 3});
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = frozen.requires_grad() ? x * 2 : x * 3;
    return y.sum() + zeros_like(like).numel() + like.size(0) * 100 + (like.dtype() == kDouble);
  });
  const Tensor x = ones({4});
  EXPECT_EQ(f(x).item<float>(), 12 + 6 + 200);
  EXPECT_EQ(f(x).item<float>(), 12 + 6 + 200);
  EXPECT_EQ(f.graph_count(), 1u);
  frozen.requires_grad_();
  EXPECT_EQ(f(x).item<float>(), 8 + 6 + 200);
  EXPECT_NE(f.explain().find("a tensor from outside changed its requires_grad"), std::string::npos);
  like = zeros({5, 1}, kDouble);
  EXPECT_EQ(f(x).item<float>(), 8 + 5 + 500 + 1);
  like.resize_({1, 2});
  EXPECT_EQ(f(x).item<float>(), 8 + 2 + 100 + 1);
  EXPECT_EQ(f(x).item<float>(), 8 + 2 + 100 + 1);
  EXPECT_EQ(f.graph_count(), 4u);
}

// Neither gradients, which are others in each step, nor what the function makes on the way is held.
TEST(Watched, GradientsThatAreAskedWhatTheyAre) {
  const Tensor w = ones({3}, requires_grad()), outside = arange(6, kFloat).view({2, 3});
  const auto f = compile([&](const Tensor& x) {
    (w * x).sum().backward();
    return w.grad() * w.grad().numel() + outside[0].size(0) + outside.detach().dim() +
           outside.t().size(1);
  });
  for (int i = 0; i < 4; ++i) {
    w.mutable_grad() = Tensor();
    EXPECT_TRUE(equal(f(full({3}, 2)), full({3}, 2 * 3 + 3 + 2 + 2)));
  }
  EXPECT_EQ(f.graph_count(), 1u);
  w.mutable_grad() = ones({3});
  EXPECT_TRUE(equal(f(full({3}, 2)), full({3}, 3 * 3 + 3 + 2 + 2)));
  w.mutable_grad() = ones({3});
  f(full({3}, 2));
  EXPECT_EQ(f.graph_count(), 2u);
}

}  // namespace
}  // namespace tandem
