#include <gtest/gtest.h>

#include <sstream>

#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace {

using namespace tandem;
using namespace tandem::nn;
using test::error_of;
using test::printed;

struct ScaleImpl : Cloneable<ScaleImpl> {
  explicit ScaleImpl(double factor) : factor(factor) { reset(); }
  void reset() override { weight = register_parameter("weight", full({1}, factor)); }
  void pretty_print(std::ostream& stream) const override { stream << "Scale(" << factor << ")"; }
  Tensor forward(const Tensor& x) { return x * weight; }
  double factor;
  Tensor weight;
};
TANDEM_MODULE(Scale);

struct SplitImpl : Module {
  std::tuple<Tensor, int64_t> forward(Tensor x) const { return {x, x.size(0)}; }
};
struct TimesImpl : Module {
  Tensor forward(std::tuple<Tensor, int64_t> x) { return std::get<0>(x) * std::get<1>(x); }
};
struct PowerImpl : Module {
  Tensor forward(const Tensor& x, double exponent = 2, bool negate = false) {
    return negate ? -x.pow(exponent) : x.pow(exponent);
  }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(2.0)}, {2, AnyValue(false)})
};

TEST(Sequential, PassesValuesOfAnyTypeOn) {
  Sequential net(std::make_shared<SplitImpl>(), TimesImpl(), Scale(0.5), Functional(tandem::neg));
  EXPECT_TRUE(equal(net->forward(ones({4})), full({4}, -2.f)));
  EXPECT_TRUE(equal(net(ones({4})), full({4}, -2.f)));
}

TEST(Sequential, CanBeNested) {
  Sequential inner(Scale(2), Scale(3));
  Sequential net(inner, Sequential({{"last", Scale(4)}}));
  EXPECT_EQ(net->forward(ones({1})).item<float>(), 24);
  EXPECT_EQ(net->named_parameters().keys(),
            (std::vector<std::string>{"0.0.weight", "0.1.weight", "1.last.weight"}));
  EXPECT_TRUE(net[0]->as<Sequential>());
  AnyModule any(net);
  EXPECT_EQ(any.forward(ones({1})).item<float>(), 24);
}

// As torchvision's DenseNet is written: what comes out is joined with what went in.
struct JoinImpl : SequentialImpl {
  JoinImpl() { push_back(Scale(2)); }
  Tensor forward(Tensor x) { return cat({x, SequentialImpl::forward(x)}, 0); }
};
TANDEM_MODULE(Join);
struct PlainImpl : SequentialImpl {
  PlainImpl() { push_back(Scale(2)); }
};

TEST(Sequential, ADerivedClassMayHaveItsOwnForward) {
  const Tensor x = ones({1});
  EXPECT_EQ(Join()(x).numel(), 2);
  EXPECT_EQ(Sequential(Join(), Join())(x).numel(), 4);
  EXPECT_EQ(AnyModule(Join()).forward(x).numel(), 2);
  EXPECT_EQ(AnyModule(std::make_shared<PlainImpl>()).forward(x).item<float>(), 2);
}

TEST(Sequential, CloneKeepsNamesAndModes) {
  Sequential net({{"a", Scale(2)}, {"b", Scale(3)}});
  net->eval();
  Sequential copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  EXPECT_EQ(copy->named_parameters().keys(), net->named_parameters().keys());
  EXPECT_FALSE(copy->is_training());
  EXPECT_FALSE(copy[0]->is_training());
  NoGradGuard no_grad;
  copy->at<ScaleImpl>(0).weight.fill_(100);
  EXPECT_EQ(net->forward(ones({1})).item<float>(), 6);
  EXPECT_EQ(copy->forward(ones({1})).item<float>(), 300);
}

TEST(Sequential, NothingIsHalfAdded) {
  Sequential net;
  EXPECT_THROW(net->push_back("a.b", Scale(1)), Error);
  EXPECT_TRUE(net->is_empty());
  net->push_back("a", Scale(1));
  EXPECT_THROW(net->push_back("a", Scale(1)), Error);
  EXPECT_EQ(net->size(), 1u);
  EXPECT_THROW(net->push_back(AnyModule()), Error);
  EXPECT_THROW(net->push_back(std::shared_ptr<ScaleImpl>()), Error);
  EXPECT_EQ(net->size(), 1u);
}

TEST(Sequential, ExtendsByItself) {
  Sequential net(Scale(2), Scale(3));
  net->extend(*net);
  EXPECT_EQ(net->size(), 4u);
  EXPECT_EQ(net->forward(ones({1})).item<float>(), 36);
}

TEST(Sequential, DefaultArgumentsMayBeLeftOut) {
  const Tensor three = full({1}, 3.f);
  AnyModule power(PowerImpl{});
  EXPECT_EQ(power.forward(three).item<float>(), 9);
  EXPECT_EQ(power.forward(three, 3.0).item<float>(), 27);
  EXPECT_EQ(power.forward(three, 3.0, true).item<float>(), -27);
  EXPECT_EQ(Sequential(Scale(2), PowerImpl{})->forward(three).item<float>(), 36);
  EXPECT_THROW(power.forward(three, 3), TypeError);  // an int, where a double is wanted
}

TEST(Sequential, ErrorsSayWhichModule) {
  Sequential net({{"first", Scale(1)}, {"body", Sequential(Scale(2), TimesImpl())}});
  EXPECT_NE(error_of([&] { net->forward(ones({2})); })
                .find("(in Sequential -> body: Sequential "
                      "-> 1: Times)"),
            std::string::npos)
      << error_of([&] { net->forward(ones({2})); });
  net->at<ScaleImpl>(0).weight.set_data(ones({3}));
  const std::string text = error_of([&] { net->forward(ones({2})); });
  EXPECT_TRUE(text.ends_with("(in Sequential -> first: Scale(1))")) << text;
}

TEST(ModuleList, InsertMovesTheOthersOn) {
  ModuleList list(Scale(1), Scale(2));
  list->insert(1, Scale(5));
  EXPECT_EQ(printed(list),
            "tandem::nn::ModuleList(\n  (0): Scale(1)\n  (1): Scale(5)\n  (2): Scale(2)\n)");
  EXPECT_EQ(list->at<ScaleImpl>(2).path(), "ModuleList -> 2: Scale(2)");
  EXPECT_THROW(list->insert(7, Scale(1)), IndexError);
  EXPECT_THROW(list->at<SplitImpl>(0), TypeError);
  EXPECT_THROW(list->at<ScaleImpl>(3), IndexError);
  list->extend(*list);
  EXPECT_EQ(list->size(), 6u);
}

TEST(ModuleDict, WhatIsTakenOutIsNoLongerRegistered) {
  ModuleDict dict(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{
      {"a", Scale(1).ptr()}, {"b", Scale(2).ptr()}});
  EXPECT_EQ(dict->parameters().size(), 2u);
  dict->pop("a");
  EXPECT_EQ(dict->named_parameters().keys(), std::vector<std::string>{"b.weight"});
  dict->update(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{"a", Scale(3).ptr()},
                                                                            {"b", Scale(4).ptr()}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(dict->at<ScaleImpl>("b").factor, 4);
  EXPECT_THROW(dict->at<SplitImpl>("b"), TypeError);
  EXPECT_THROW(dict->pop("c"), IndexError);
  dict->clear();
  EXPECT_TRUE(dict->parameters().empty());
}

TEST(ParameterContainers, CanBeCloned) {
  ParameterList list(randn({2}).set_requires_grad(true), randn({3}));
  const auto copy = std::dynamic_pointer_cast<ParameterListImpl>(list->clone());
  EXPECT_TRUE(copy->at(0).requires_grad());
  EXPECT_FALSE(copy->at(1).requires_grad());
  EXPECT_TRUE(equal(copy->at(1), list[1]));
  EXPECT_FALSE(copy->at(1).is_alias_of(list[1]));
  ParameterDict dict;
  dict->insert("w", randn({2}));
  const auto copied = std::dynamic_pointer_cast<ParameterDictImpl>(dict->clone());
  EXPECT_TRUE(equal(copied->get("w"), dict["w"]));
  EXPECT_THROW(list->at(2), IndexError);
  EXPECT_THROW(list->append(Tensor()), Error);
}

TEST(OrderedDict, KeepsOrderAndNamesKeys) {
  OrderedDict<std::string, int> dict = {{"one", 1}, {"two", 2}};
  dict.insert("three", 3);
  dict.erase("one");
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(dict["three"], 3);
  EXPECT_EQ(dict[1].value(), 3);
  EXPECT_THROW(dict["one"], IndexError);
  EXPECT_THROW(dict[2], IndexError);
  EXPECT_THROW(dict.insert("two", 5), Error);
  OrderedDict<std::string, int> more = {{"four", 4}, {"two", 0}};
  EXPECT_THROW(dict.update(more), Error);
  EXPECT_FALSE(dict.contains("four"));
  dict.clear();
  EXPECT_THROW(dict.front(), IndexError);
  EXPECT_THROW(dict.back(), IndexError);
}

}  // namespace
