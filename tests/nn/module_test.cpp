#include <gtest/gtest.h>

#include <sstream>

#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace {

using namespace tandem;
using test::error_of;

/// y = x @ weight + bias, as small as a layer with parameters can be.
struct AffineImpl : nn::Cloneable<AffineImpl> {
  AffineImpl(int64_t in, int64_t out, bool with_bias = true)
      : in(in), out(out), with_bias(with_bias) {
    reset();
  }
  void reset() override {
    weight = register_parameter("weight", randn({in, out}));
    bias = register_parameter("bias", with_bias ? zeros({out}) : Tensor(), with_bias);
  }
  void pretty_print(std::ostream& stream) const override {
    stream << "Affine(in=" << in << ", out=" << out << ")";
  }
  Tensor forward(const Tensor& x) {
    nn::ForwardScope scope(*this);
    const Tensor y = x.mm(weight);
    return with_bias ? y + bias : y;
  }
  int64_t in, out;
  bool with_bias;
  Tensor weight, bias;
};
TANDEM_MODULE(Affine);

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", Affine(4, 3));
    second = register_module("second", Affine(3, 2, false));
    calls = register_buffer("calls", zeros({}, kLong));
  }
  Tensor forward(const Tensor& x) {
    {
      NoGradGuard no_grad;
      calls.add_(1);
    }
    Tensor h = first->forward(x);
    if (is_training()) h = h * 2;
    return second(h);
  }
  Affine first = nullptr, second = nullptr;
  Tensor calls;
};
TANDEM_MODULE(Net);

TEST(Module, NamesParametersByPath) {
  Net net;
  EXPECT_EQ(net->named_parameters().keys(),
            (std::vector<std::string>{"first.weight", "first.bias", "second.weight"}));
  EXPECT_EQ(net->named_parameters(false).size(), 0u);
  EXPECT_EQ(net->named_buffers().keys(), std::vector<std::string>{"calls"});
  EXPECT_EQ(net->named_modules("net").keys(),
            (std::vector<std::string>{"net", "net.first", "net.second"}));
  EXPECT_EQ(net->children().size(), 2u);
  EXPECT_TRUE(net->first->weight.requires_grad());
}

TEST(Module, CloneSharesNothing) {
  Net net;
  net->second->eval();
  net->first->weight.set_requires_grad(false);
  const auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(equal(copy->first->weight, net->first->weight));
  EXPECT_FALSE(copy->first->weight.is_alias_of(net->first->weight));
  EXPECT_FALSE(copy->first->weight.requires_grad());
  EXPECT_TRUE(copy->second->weight.requires_grad());
  EXPECT_FALSE(copy->second->is_training());
  EXPECT_TRUE(copy->first->is_training());
  // The member is the registered tensor, in the copy too.
  NoGradGuard no_grad;
  copy->first->weight.fill_(7);
  EXPECT_EQ(copy->named_parameters()["first.weight"][0][0].item<float>(), 7);
  EXPECT_NE(net->first->weight[0][0].item<float>(), 7);
}

TEST(Module, ToConvertsParametersAndBuffersWhereTheyAre) {
  Net net;
  const Tensor weight = net->first->weight;
  net->to(kDouble);
  EXPECT_EQ(weight.dtype(), kDouble);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(net->calls.dtype(), kDouble);
  EXPECT_EQ(net->forward(ones({1, 4}, kDouble)).dtype(), kDouble);
  // All or nothing.
  EXPECT_THROW(net->to(kInt), TypeError);
  EXPECT_EQ(net->calls.dtype(), kDouble);
  for (const Tensor& p : net->parameters()) p.set_requires_grad(false);
  net->to(kInt);
  EXPECT_EQ(weight.dtype(), kInt);
  EXPECT_EQ(std::dynamic_pointer_cast<NetImpl>(net->clone())->first->weight.dtype(), kInt);
}

TEST(Module, ZeroGradKeepsOrDropsGradients) {
  Net net;
  net->zero_grad();
  EXPECT_FALSE(net->first->weight.grad().defined());
  net(ones({1, 4})).sum().backward();
  net->zero_grad();
  EXPECT_EQ(net->first->weight.grad().abs().sum().item<float>(), 0);
  net->zero_grad(true);
  EXPECT_FALSE(net->first->weight.grad().defined());
}

TEST(Module, CompiledFunctionsFollowTrainingMode) {
  Net net;
  auto f = compile([&](const Tensor& x) { return net(x); });
  const Tensor x = randn({2, 4});
  for (int i = 0; i < 3; ++i) {
    net->train();
    const Tensor doubled = f(x).detach();
    net->eval();
    EXPECT_TRUE(equal(doubled, f(x).detach() * 2));
  }
  EXPECT_EQ(net->calls.item<int64_t>(), 6);
}

TEST(Module, PrintsItselfAndWhatIsBelow) {
  Net net;
  std::ostringstream out;
  out << net;
  EXPECT_EQ(out.str(),
            net->name() + "(\n  (first): Affine(in=4, out=3)\n  (second): Affine(in=3, out=2)\n)");
}

TEST(Module, ErrorsSayWhichModule) {
  Net net;
  // Called by ->, which leaves no trace of the parent's call: the registration names it.
  const std::string text = error_of([&] { net->forward(ones({1, 5})); });
  EXPECT_TRUE(text.ends_with("(in Net -> first: Affine(in=4, out=3))")) << text;
  EXPECT_NE(text.find("1x5 and 4x3"), std::string::npos) << text;
  // The same where the call is seen at every level, and while recording.
  EXPECT_EQ(error_of([&] { net(ones({1, 5})); }), text);
  auto f = compile([&](const Tensor& x) { return net(x); });
  EXPECT_EQ(error_of([&] { f(ones({1, 5})); }), text);
  // What is wrong outside of any module is told as before.
  EXPECT_EQ(error_of([&] { ones({1, 5}).mm(ones({4, 3})); }).find("(in "), std::string::npos);
}

TEST(Module, ErrorsOutsideOfOpsSayWhichModuleToo) {
  struct Picky : nn::Module {
    Tensor forward(const Tensor& x) {
      nn::ForwardScope scope(*this);
      TANDEM_CHECK_SHAPE(x.dim() == 2, "picky: wants 2 dimensions, not ", x.sizes());
      return x;
    }
    void pretty_print(std::ostream& stream) const override {
      stream << Tensor().sizes();  // an error itself
    }
  };
  Picky picky;
  // What cannot be told is left out; the error stays the one that it was.
  EXPECT_EQ(error_of([&] { picky.forward(ones({3})); }), "picky: wants 2 dimensions, not [3]");
}

TEST(Module, ErrorsKeepTheirType) {
  Net net;
  EXPECT_THROW(net->forward(ones({1, 5})), ShapeError);
  EXPECT_THROW(net(ones({1, 5})), ShapeError);
}

TEST(Module, PathsFollowTheModuleThatIsStillThere) {
  Affine layer(4, 3);
  {
    nn::Module parent("Parent");
    parent.register_module("layer", layer);
    EXPECT_EQ(layer->path(), "Parent -> layer: Affine(in=4, out=3)");
    nn::Module moved = std::move(parent);
    EXPECT_EQ(layer->path(), "Parent -> layer: Affine(in=4, out=3)");
  }
  EXPECT_EQ(layer->path(), "Affine(in=4, out=3)");
  Net net;
  const auto copy = net->clone();
  net = nullptr;
  EXPECT_EQ(copy->children()[0]->path(), "Net -> first: Affine(in=4, out=3)");
  auto other = std::make_shared<nn::Module>("Other");
  other->register_module("a", layer);
  other->unregister_module("a");
  EXPECT_EQ(layer->path(), "Affine(in=4, out=3)");
  // Modules that contain each other have a path too, cut at some depth.
  layer->register_module("other", other);
  other->register_module("layer", layer);
  EXPECT_FALSE(layer->path().empty());
  other->unregister_module("layer");
}

TEST(Module, NullModulesAreErrors) {
  nn::Module parent;
  EXPECT_THROW(parent.register_module("x", std::shared_ptr<AffineImpl>()), Error);
  EXPECT_THROW(parent.register_module("x", Affine(nullptr)), Error);
  Affine none = nullptr;
  EXPECT_THROW(none(ones({1, 4})), Error);
  EXPECT_THROW(none->forward(ones({1, 4})), Error);
}

}  // namespace
