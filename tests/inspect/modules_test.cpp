#include <thread>

#include "pictures.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/optim/optim.h"

namespace tandem::inspect {
namespace {

struct BlockImpl : nn::Module {
  BlockImpl()
      : one(register_module("one", nn::Linear(4, 4))),
        two(register_module("two", nn::Linear(4, 4))) {}
  Tensor forward(const Tensor& x) { return two(one(x).relu()).sigmoid() + x; }
  nn::Linear one, two;
};
TANDEM_MODULE(Block);

struct NetImpl : nn::Module {
  NetImpl()
      : first(register_module("first", Block())),
        second(register_module("second", Block())),
        head(register_module("head", nn::Linear(4, 2))) {}
  Tensor forward(const Tensor& x) { return head(second(first(x).tanh())).exp(); }
  Block first, second;
  nn::Linear head;
};
TANDEM_MODULE(Net);

// The groups around the n-th box of that name, from the top.
std::string around(const Picture& p, const std::string& name, size_t n = 0) {
  for (size_t b = 0; b < p.boxes.size(); ++b)
    if (p.boxes[b].lines[0] == name && n-- == 0) return groups_around(p, static_cast<int>(b));
  return "there is no " + name;
}

TEST(DrawModules, NotesAreExact) {
  Net net;
  const ModuleNotes notes;
  const Picture p = make_picture(net(randn({3, 4})).sum(), {.module = net});
  EXPECT_EQ(around(p, "first.one.weight"), "Net/first: Block/one: Linear");
  EXPECT_EQ(around(p, "head.bias"), "Net/head: Linear");
  EXPECT_EQ(around(p, "AddmmBackward", 0), "Net/first: Block/one: Linear");
  EXPECT_EQ(around(p, "AddmmBackward", 1), "Net/first: Block/two: Linear");
  EXPECT_EQ(around(p, "AddmmBackward", 4), "Net/head: Linear");
  EXPECT_EQ(around(p, "ReluBackward", 0), "Net/first: Block");
  EXPECT_EQ(around(p, "SigmoidBackward", 0), "Net/first: Block");
  EXPECT_EQ(around(p, "SigmoidBackward", 1), "Net/second: Block");
  EXPECT_EQ(around(p, "AddBackward", 1), "Net/second: Block");
  EXPECT_EQ(around(p, "TanhBackward"), "Net");
  EXPECT_EQ(around(p, "ExpBackward"), "Net");
  EXPECT_EQ(around(p, "SumBackward"), "");
  EXPECT_EQ(around(p, "result"), "");
  EXPECT_EQ(p.groups.size(), 1u + 1 + 2 + 4 + 1);
}

TEST(DrawModules, WithoutNotesParametersTell) {
  Net net;
  const Picture p = make_picture(net(randn({3, 4})).sum(), {.module = net});
  EXPECT_EQ(around(p, "AddmmBackward", 0), "Net/first: Block/one: Linear");
  EXPECT_EQ(around(p, "AddmmBackward", 3), "Net/second: Block/two: Linear");
  EXPECT_EQ(around(p, "ReluBackward", 0), "Net/first: Block");
  EXPECT_EQ(around(p, "ReluBackward", 1), "Net/second: Block");
  // Between the last layer of one block and the first of another: outside of both.
  EXPECT_EQ(around(p, "SigmoidBackward", 0), "Net");
  EXPECT_EQ(around(p, "TanhBackward"), "Net");
  EXPECT_EQ(around(p, "SumBackward"), "");
}

TEST(DrawModules, ForwardWithoutAScopeIsFoundByParameters) {
  Net net;
  const ModuleNotes notes;
  // Neither Net's nor Block's forward() is seen to run: both are called by ->.
  const Tensor y = net->head(net->second->forward(net->first->forward(randn({3, 4}))));
  const Picture p = make_picture(y, {.module = net});
  EXPECT_EQ(around(p, "AddmmBackward", 0), "Net/first: Block/one: Linear");
  EXPECT_EQ(around(p, "ReluBackward", 0), "Net/first: Block");
}

TEST(DrawModules, NotesEndWithTheirScope) {
  Net net;
  {
    const ModuleNotes notes;
    net(randn({3, 4}));
  }
  const Tensor y = net(randn({3, 4}));
  EXPECT_TRUE(ModuleNotes::modules_of(*y.grad_fn()).empty());
  EXPECT_FALSE(ModuleNotes::know(*y.grad_fn()));
  const ModuleNotes outer;
  const Tensor a = net(randn({3, 4}));
  {
    const ModuleNotes inner;
    EXPECT_FALSE(ModuleNotes::know(*a.grad_fn()));
    const Tensor b = net(randn({3, 4}));
    EXPECT_EQ(ModuleNotes::modules_of(*b.grad_fn()), std::vector<const nn::Module*>{net.get()});
    EXPECT_TRUE(ModuleNotes::saw(*net));
  }
  EXPECT_EQ(ModuleNotes::modules_of(*a.grad_fn()), std::vector<const nn::Module*>{net.get()});
  // Another thread has notes of its own.
  std::thread([&] { EXPECT_FALSE(ModuleNotes::know(*a.grad_fn())); }).join();
}

TEST(DrawModules, ModuleThatIsVisitedTwiceIsShownTwice) {
  nn::Linear fc(4, 4);
  const ModuleNotes notes;
  const Picture p = make_picture(fc(fc(randn({2, 4})).tanh()), {.module = fc});
  EXPECT_EQ(around(p, "AddmmBackward", 0), "Linear");
  EXPECT_EQ(around(p, "AddmmBackward", 1), "Linear (2)");
  EXPECT_EQ(around(p, "weight"), "Linear");
  EXPECT_EQ(around(p, "TanhBackward"), "");
  // Closed, too, all lines lead downwards.
  const Arrangement a = arrange(p);
  for (const auto& l : a.levels[0].links) EXPECT_FALSE(l.upwards);
}

TEST(DrawModules, WhatWasSeenToRunOutsideIsOutside) {
  struct TwiceImpl : nn::Module {
    TwiceImpl() : fc(register_module("fc", nn::Linear(4, 4))) {}
    Tensor forward(const Tensor& x) { return fc(fc(x).relu()); }
    nn::Linear fc;
  };
  const nn::ModuleHolder<TwiceImpl> net;
  const Tensor y = nn::ModuleHolder<TwiceImpl>(net)(randn({2, 4}));
  // Parameters alone say that what stands between two uses of fc is a part of it.
  EXPECT_EQ(around(make_picture(y, {.module = net}), "ReluBackward"), "Twice/fc: Linear");
  const ModuleNotes notes;
  const Tensor z = nn::ModuleHolder<TwiceImpl>(net)(randn({2, 4}));
  EXPECT_EQ(around(make_picture(z, {.module = net}), "ReluBackward"), "Twice");
  // A weight that is used elsewhere does not draw its user into the module.
  const Tensor tied = z.mm(net->fc->weight);
  EXPECT_EQ(around(make_picture(tied, {.module = net}), "MmBackward"), "");
}

TEST(DrawModules, HelperThatNobodyRegisteredBelongsToItsCaller) {
  struct HelpedImpl : nn::Module {
    HelpedImpl() : fc(register_module("fc", nn::Linear(4, 4))) {}
    Tensor forward(const Tensor& x) { return helper(fc(x)); }
    nn::Linear fc;
    nn::Tanh helper;
  };
  nn::ModuleHolder<HelpedImpl> net;
  const ModuleNotes notes;
  const Picture p = make_picture(net(randn({2, 4})), {.module = net});
  EXPECT_EQ(around(p, "TanhBackward"), "Helped");
  // The helper alone is drawn as a module of its own.
  EXPECT_EQ(around(make_picture(net(randn({2, 4})), {.module = net->helper}), "TanhBackward"),
            "Tanh");
}

TEST(DrawModules, FusedGroupsStandInsideModules) {
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::LayerNorm(nn::LayerNormOptions({16})),
                     nn::Linear(16, 4));
  const NoGradGuard no_grad;
  const auto f = compile([&](const Tensor& x) { return net->forward(x); });
  f(randn({32, 8}));
  const Picture p = make_picture(f, {.module = net});
  size_t fused = 0;
  for (size_t g = 1; g < p.groups.size(); ++g) {
    EXPECT_LT(p.groups[g].parent, static_cast<int>(g));
    fused += p.groups[g].fused;
    if (p.groups[g].fused) {
      EXPECT_GT(p.groups[g].parent, 0);
    }
  }
  EXPECT_GE(fused, 1u);
  EXPECT_EQ(around(p, "3.weight"), "Sequential/3: Linear");
  EXPECT_EQ(around(p, "argument 0"), "");
  EXPECT_EQ(around(p, "result"), "");
}

TEST(DrawModules, StepOfAnOptimiserNamesWhatItWrites) {
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4));
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1));
  const auto step = compile([&](const Tensor& x) {
    const Tensor loss = net->forward(x).tanh().mean();
    loss.backward();
    sgd.step();
    sgd.zero_grad(/*set_to_none=*/true);
    return loss.detach();
  });
  step(randn({32, 8}));
  const Picture p = make_picture(step, {.module = net});
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    EXPECT_GE(find_box(p, name), 0) << name;
    EXPECT_GE(find_box(p, std::string("write ") + name), 0) << name;
  }
  // Tanh lies between the last layer and its gradient, but is no part of it.
  const Picture recorded = make_picture(step.graph(), {.module = net});
  EXPECT_EQ(around(recorded, "addmm", 1), "Sequential/2: Linear");
  EXPECT_EQ(around(recorded, "tanh"), "Sequential");
  EXPECT_EQ(around(recorded, "mean"), "");  // no gradient needs its value
}

TEST(DrawModules, NotesKnowWhatWasRecorded) {
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4));
  const ModuleNotes notes;
  const auto f = compile([&](const Tensor& x) { return net->forward(x); });
  f(randn({32, 8}));
  EXPECT_EQ(around(make_picture(f.graph(), {.module = net}), "relu"), "Sequential/1: ReLU");
  // Passes make new nodes, of which notes know nothing: parameters tell.
  EXPECT_EQ(around(make_picture(f, {.module = net}), "addmm", 1), "Sequential/2: Linear");
}

TEST(DrawModules, BuffersHaveTheirNames) {
  nn::BatchNorm1d norm(4);
  const auto f = compile([&](const Tensor& x) { return norm(x); });
  f(randn({8, 4}));
  const Picture p = make_picture(f.graph(), {.module = norm});
  EXPECT_GE(find_box(p, "running_mean"), 0);
  EXPECT_GE(find_box(p, "write running_var"), 0);
  EXPECT_GE(find_box(p, "weight"), 0);
}

TEST(DrawModules, ModulesAreTakenHoweverTheyAreHeld) {
  Net net;
  const Tensor y = net(randn({3, 4}));
  const std::string text = to_dot(y, {.module = net});
  EXPECT_EQ(to_dot(y, {.module = *net}), text);
  EXPECT_EQ(to_dot(y, {.module = net.get()}), text);
  EXPECT_EQ(to_dot(y, {.module = net.ptr()}), text);
  EXPECT_EQ(to_dot(y, {.module = std::shared_ptr<nn::Module>(net.ptr())}), text);
  EXPECT_NE(to_dot(y), text);
}

TEST(DrawModules, OpenSaysHowDeep) {
  Net net;
  const ModuleNotes notes;
  const Tensor y = net(randn({3, 4})).sum();
  const auto clusters = [&](int open) {
    return count(to_dot(y, {.module = net, .open = open}), "subgraph cluster_");
  };
  EXPECT_EQ(clusters(0), 0u);
  EXPECT_EQ(clusters(1), 1u);
  EXPECT_EQ(clusters(2), 4u);
  EXPECT_EQ(clusters(3), 8u);
  EXPECT_EQ(clusters(-1), 8u);
  const std::string closed = to_dot(y, {.module = net, .saved = false, .open = 0});
  EXPECT_EQ(count(closed, "[label="), 3u);  // Net, SumBackward, result
  EXPECT_EQ(count(closed, " -> "), 2u);
  EXPECT_EQ(count(to_svg(y, {.module = net, .open = 1}), "AddmmBackward"), 0u);
  EXPECT_EQ(count(to_svg(y, {.module = net, .open = 1}), ">head: Linear<"), 1u);
}

}  // namespace
}  // namespace tandem::inspect
