#include "tandem/compile/session.h"

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/lazy.h"
#include "tandem/nn/nn.h"
#include "tandem/optim/optim.h"
#include "tests/compile/helpers.h"

namespace tandem::graph {
namespace {

TEST(Session, RunsWhatIsFetched) {
  Builder b;
  const Tensor x = b.placeholder({2, 3}), y = b.placeholder({3}, {}, "bias");
  const Tensor sum = x + y, unrelated = x * 2;
  Session s(b);
  const Tensor xv = randn({2, 3}), yv = randn({3});
  expect_same(s.run(sum, {{x, xv}, {y, yv}}), xv + yv);
  expect_same(s.run(unrelated, {{x, xv}}), xv * 2);  // y is not needed
  const auto both = s.run({sum, x[0], sum}, {{x, xv}, {y, yv}});
  expect_same(both[1], xv[0]);
  expect_same(both[2], xv + yv);
}

TEST(Session, GradientsOfAnyOrder) {
  Builder b;
  const Tensor x = b.placeholder({3}), w = b.variable(full({3}, 2.0));
  const Tensor loss = (x * w).pow(3).sum();
  const auto [gw, gx] = b.gradients<2>(loss, {w, x});
  const auto [gww] = b.gradients<1>(gw.sum(), {w});
  const auto [none] = b.gradients<1>(gw.sum(), {b.variable(zeros({2}))});
  Session s(b);
  const Tensor v = arange(1, 4, kFloat);
  expect_close(s.run(gw, {{x, v}}), 3 * v.pow(3) * 4, 1e-6);
  expect_close(s.run(gx, {{x, v}}), 3 * v.pow(2) * 8, 1e-6);
  expect_close(s.run(gww, {{x, v}}), 6 * v.pow(3) * 2, 1e-6);
  expect_same(s.run(none), zeros({2}));
}

TEST(Session, GradientsAreZeroWhereNothingFlows) {
  Builder b;
  const Tensor w = b.variable(tensor({1.f, -2.f})), x = b.placeholder({3});
  const auto [gw, gx] = b.gradients<2>((w > 0).to(kFloat).sum(), {w, x});
  Session s(b);
  expect_same(s.run(gw), zeros({2}));
  expect_same(s.run(gx), zeros({3}));
  EXPECT_TRUE(b.gradients(w.sum(), {}).empty());
}

TEST(Session, ResultsHaveMemoryOfTheirOwn) {
  Builder b;
  const Tensor w = b.variable(ones({2, 2})), x = b.placeholder({2, 2});
  const Tensor outside = full({2, 2}, 5.0), plus = x + outside, twice = w * 2;
  const Tensor next = b.assign(w, w + 1);
  Session s(b);
  const Tensor fed = full({2, 2}, 7.0), before = s.run(w), row = s.run(w[0]);
  s.run(next);
  expect_same(before, ones({2, 2}));
  expect_same(row, ones({2}));
  for (const Tensor& t : {w, w[1], w.t(), x, x[0], x.view({4}), outside, twice, plus})
    s.run(t, {{x, fed}}).zero_();
  expect_same(s.run(w), full({2, 2}, 2.0));
  expect_same(s.run(twice), full({2, 2}, 4.0));
  expect_same(fed, full({2, 2}, 7.0));
  expect_same(outside, full({2, 2}, 5.0));
  const Tensor kept = s.run(next);  // the value of an assignment
  kept.zero_();
  expect_same(s.run(w), full({2, 2}, 3.0));
}

// -- tensors from outside -----------------------------------------------------------------------

TEST(Session, OrdinaryTensorsMayGetDeclaredValues) {
  Builder b;
  const Tensor p = b.placeholder({2}), v = tensor({3.f, 4.f});
  const Tensor z = ones({2}), read_before = z * p;
  Session early(b);
  expect_same(early.run(read_before, {{p, v}}), v);
  z.add_(p);
  const Tensor y = z + 1, part = zeros({2, 2});
  part[1].copy_(p);
  z.mul_(2);
  Session late(b);
  for (Session* s : {&early, &late}) {
    expect_same(s->run(y, {{p, v}}), v + 2);
    expect_same(s->run(z, {{p, v}}), (v + 1) * 2);
    expect_same(s->run(read_before, {{p, v}}), v);
    expect_same(s->run(part.sum(0), {{p, v}}), v);
  }
  // Also where a view of it had been read.
  const Tensor whole = ones({2, 2}).set_requires_grad(true) * 3, view = whole[0], sum = view + p;
  whole.add_(p);
  expect_same(late.run(sum, {{p, v}}), v + 3);
  expect_same(late.run(view, {{p, v}}), v + 3);
  EXPECT_THROW_WITH(z.sum().item(), "declared, not computed");
  EXPECT_THROW_WITH(z.data_ptr<float>(), "declared, not computed");
}

TEST(Session, MatricesOfDeclaredDiagonals) {
  Builder b;
  const Tensor p = b.placeholder({3}), v = tensor({1.f, 2.f, 3.f}), m = randn({3, 3});
  const auto f = [&](const Tensor& x) {
    return std::vector<Tensor>{(diag(x) * 2).matmul(m), diag_embed(x).exp(), diagflat(x) + m,
                               block_diag({x, x.view({3, 1})}) * 3};
  };
  const std::vector<Tensor> declared = f(p), expected = f(v);
  const Tensor leaf = v.clone().set_requires_grad(true);
  const std::vector<Tensor> eager = f(leaf);
  Session s(b);
  for (size_t i = 0; i < declared.size(); ++i) {
    expect_close(s.run(declared[i], {{p, v}}), expected[i], 1e-6);
    const auto [g] = b.gradients<1>(declared[i].pow(2).sum(), {p});
    expect_close(s.run(g, {{p, v}}), autograd::grad({eager[i].pow(2).sum()}, {leaf})[0], 1e-4);
  }
}

TEST(Session, WrittenTensorsOutliveTheGraph) {
  const Tensor z = zeros({2}), read = ones({2});
  Tensor d;
  {
    Builder b;
    const Tensor p = b.placeholder({2});
    z.add_(p);
    d = diag(p) + read.sum();
  }
  EXPECT_THROW_WITH(z.sum().item(), "recorded");
  EXPECT_THROW_WITH(d.sum().item(), "recorded");
  expect_same(read + 1, full({2}, 2.0));
}

TEST(Session, DeclaredTensorsAreNotDeferred) {
  Builder b;
  const Tensor p = b.placeholder({2}), w = b.variable(ones({2})), v = tensor({3.f, 4.f});
  Session s(b);
  Tensor y, z, g;
  {
    const LazyGuard lazy;
    const Tensor factor = ones({2}) * 2;
    y = p * factor + 1;
    z = zeros({2});
    z.add_(p);
    g = b.gradients((p * w * factor).sum(), {w})[0];
    expect_same(s.run(y, {{p, v}}), v * 2 + 1);
  }
  expect_same(s.run(y, {{p, v}}), v * 2 + 1);
  expect_same(s.run(z * 2, {{p, v}}), v * 2);
  expect_same(s.run(g, {{p, v}}), v * 2);
}

// -- random numbers -----------------------------------------------------------------------------

Tensor noisy_sums(const Tensor& x) {
  return scan(
             [](const Tensor& c, const Tensor& v) {
               const Tensor next = c + v * rand({});
               return std::pair{next, next};
             },
             zeros({}), x)
      .second;
}

TEST(Session, RunsDrawFromTheGeneratorAsEagerDoes) {
  Builder b;
  const Tensor x = b.placeholder({4}), v = tensor({1.f, 2.f, 3.f, 4.f});
  const Tensor first = noisy_sums(x), second = noisy_sums(x * 2), plain = x + 1;
  Session s(b);
  // The second does not need the numbers of the first.
  for (const auto& [declared, scale] : {std::pair{first, 1}, std::pair{second, 2}}) {
    manual_seed(5);
    const Tensor a = s.run(declared, {{x, v}}), between = rand({3});
    s.run(plain, {{x, v}});
    const Tensor c = s.run(declared, {{x, v}}), after = get_rng_state();
    manual_seed(5);
    expect_same(a, noisy_sums(v * scale));
    expect_same(rand({3}), between);
    expect_same(c, noisy_sums(v * scale));
    expect_same(get_rng_state(), after);
    EXPECT_FALSE(a.equal(c));
  }
  manual_seed(5);
  const auto both = s.run({first, second}, {{x, v}});
  manual_seed(5);
  expect_same(both[0], noisy_sums(v));
  expect_same(both[1], noisy_sums(v * 2));
}

TEST(Session, RandomOpsOnDeclaredTensorsDrawInEachRun) {
  const std::vector<std::function<Tensor(const Tensor&)>> ops = {
      [](const Tensor& x) { return dropout(x, 0.5, true); },
      [](const Tensor& x) { return bernoulli(x); },
      [](const Tensor& x) { return rand_like(x); },
      [](const Tensor& x) { return randn_like(x) * x; },
      [](const Tensor& x) { return multinomial(x, 4); },
      [](const Tensor& x) { return (x * 1).uniform_() + x; },
      [](const Tensor& x) { return normal(x, 1.0); },
      [](const Tensor& x) { return rrelu(x - 1, 0.1, 0.9, true); },
      [](const Tensor& x) {
        const Tensor q = x.view({1, 1, 4, 8});
        return scaled_dot_product_attention(q, q, q, {}, 0.5);
      }};
  Builder b;
  const Tensor p = b.placeholder({4, 8}), v = rand({4, 8});
  std::vector<Tensor> declared;
  for (const auto& op : ops) declared.push_back(op(p));
  Session s(b);
  for (size_t i = 0; i < ops.size(); ++i) {
    manual_seed(3);
    const Tensor first = s.run(declared[i], {{p, v}}), between = rand({2});
    const Tensor second = s.run(declared[i], {{p, v}}), after = get_rng_state();
    manual_seed(3);
    expect_close(first, ops[i](v), 1e-6);
    expect_same(rand({2}), between);
    expect_close(second, ops[i](v), 1e-6);
    expect_same(get_rng_state(), after);
    EXPECT_FALSE(first.equal(second)) << i;
  }
  const Tensor kept = dropout(p, 0.5, true);
  const auto [g] = b.gradients<1>(kept.sum(), {p});
  const auto out = s.run({kept, g}, {{p, v}});
  expect_close(out[0], out[1] * v, 1e-6);  // one mask in both
}

TEST(Session, AssignmentsHappenAfterEverythingWasRead) {
  Builder b;
  const Tensor count = b.variable(zeros({}));
  const Tensor next = b.assign(count, count + 1), twice = count * 2;
  Session s(b), other(b);
  for (int i = 0; i < 3; ++i) {
    const auto out = s.run({next, twice});
    EXPECT_EQ(out[0].item<float>(), i + 1);
    EXPECT_EQ(out[1].item<float>(), 2 * i);
  }
  EXPECT_EQ(s.run(count).item<float>(), 3);
  EXPECT_EQ(other.run(count).item<float>(), 0);  // sessions have variables of their own
}

// One step of each optimiser against its formula in eager.
TEST(Session, MinimizeTakesTheStepsOfTheOptimiser) {
  const Tensor start = randn({4}), target = randn({4});
  const auto run = [&](const auto& options, const auto& update) {
    Builder b;
    const Tensor w = b.variable(start);
    const Tensor loss = (w - target).pow(2).sum();
    const Tensor train = b.minimize(loss, options);
    Session s(b);
    Tensor p = start.clone();
    for (int i = 1; i <= 5; ++i) {
      const Tensor before = (p - target).pow(2).sum();
      expect_close(s.run(train), before, 1e-5);
      update(p, 2 * (p - target), i);
      expect_close(s.run(w), p, 1e-5);
    }
  };
  run(optim::SGDOptions(0.1), [](Tensor& p, const Tensor& g, int) { p = p - 0.1 * g; });
  Tensor buffer;
  const auto momentum = [&](double dampening, bool nesterov) {
    buffer = Tensor();
    run(optim::SGDOptions(0.1).momentum(0.9).dampening(dampening).nesterov(nesterov).weight_decay(
            0.01),
        [&](Tensor& p, Tensor g, int) {
          g = g + 0.01 * p;
          buffer = buffer.defined() ? 0.9 * buffer + (1 - dampening) * g : g;
          p = p - 0.1 * (nesterov ? g + 0.9 * buffer : buffer);
        });
  };
  momentum(0, false);
  momentum(0, true);
  momentum(0.5, false);
  for (const bool amsgrad : {false, true}) {
    Tensor m = zeros({4}), v = zeros({4}), most = zeros({4});
    run(optim::AdamOptions(0.1).amsgrad(amsgrad), [&](Tensor& p, const Tensor& g, int i) {
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      most = maximum(most, v);
      const Tensor shown = amsgrad ? most : v;
      const double c1 = 1 - std::pow(0.9, i), c2 = 1 - std::pow(0.999, i);
      p = p - 0.1 / c1 * m / (shown.sqrt() / std::sqrt(c2) + 1e-8);
    });
  }
}

// Every optimiser that can be declared against itself, with a rate that falls.
template <class Optimizer, class Options>
void expect_same_steps(Options options) {
  const Tensor start = randn({4, 3}), target = randn({4, 3});
  Builder b;
  const Tensor w = b.variable(start), unused = b.variable(ones({2}));
  const Tensor loss = (w - target).pow(2).sum();
  Options declared = options;
  const Tensor train = b.minimize(loss, declared);
  Session s(b), other(b);
  Tensor p = start.clone().requires_grad_();
  Optimizer optimizer({p}, options);
  for (int i = 0; i < 12; ++i) {
    optimizer.zero_grad();
    (p - target).pow(2).sum().backward();
    const double rate = i < 6 ? 0.05 : 0.01;
    declared.lr(rate);
    static_cast<Options&>(optimizer.param_groups()[0].options()).lr(rate);
    optimizer.step();
    s.run(train);
    expect_same(s.run(w), p.detach());
  }
  expect_same(other.run(w), start);
  expect_same(s.run(unused), ones({2}));
}

TEST(Session, MinimizeByEveryOptimiser) {
  using namespace optim;
  expect_same_steps<SGD>(SGDOptions(0.05));
  expect_same_steps<SGD>(SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(0.01));
  expect_same_steps<Adam>(AdamOptions(0.05).weight_decay(0.01));
  expect_same_steps<Adam>(AdamOptions(0.05).amsgrad(true));
  expect_same_steps<AdamW>(AdamWOptions(0.05));
  expect_same_steps<AdamW>(AdamWOptions(0.05).amsgrad(true));
  expect_same_steps<RMSprop>(RMSpropOptions(0.05));
  expect_same_steps<RMSprop>(RMSpropOptions(0.05).centered(true).momentum(0.9));
  expect_same_steps<RMSprop>(RMSpropOptions(0.05).momentum(0.9).weight_decay(0.01));
  expect_same_steps<Adagrad>(AdagradOptions(0.05).lr_decay(0.1).initial_accumulator_value(0.5));
  expect_same_steps<Lion>(LionOptions(0.05).weight_decay(0.01));
  Builder b;
  const Tensor loss = b.variable(ones({2})).sum();
  EXPECT_THROW_WITH(b.minimize(loss, AdamWOptions(-1)), "Invalid learning rate: -1");
  EXPECT_THROW_WITH(b.minimize(loss, SGDOptions(1).nesterov(true)), "Nesterov momentum requires");
}

TEST(Session, LoopsAndChoicesAreDeclaredToo) {
  Builder b;
  const Tensor x = b.placeholder({4});
  const auto [last, sums] = scan(
      [](const Tensor& c, const Tensor& v) {
        return std::pair{c + v, c + v};
      },
      zeros({}), x);
  const Tensor chosen = cond(
      x.sum() > 0, [&] { return x * 2; }, [&] { return -x; });
  Session s(b);
  const Tensor v = tensor({1.f, 2.f, 2.f, 2.f});
  expect_same(s.run(sums, {{x, v}}), tensor({1.f, 3.f, 5.f, 7.f}));
  expect_same(s.run(last, {{x, v}}), tensor(7.f));
  expect_same(s.run(chosen, {{x, v}}), v * 2);
  expect_same(s.run(chosen, {{x, -v}}), v);
}

TEST(Session, MistakesAreExplained) {
  Builder b, c;
  const Tensor x = b.placeholder({2}, {}, "x"), w = b.variable(ones({2})),
               foreign = c.placeholder({2});
  const Tensor y = x * w;
  Session s(b);
  EXPECT_THROW_WITH(s.run(y), "placeholder 0 'x' (float32 [2]) is needed");
  EXPECT_THROW_WITH(s.run(y, {{x, ones({3})}}),
                    "placeholder 0 is float32 [2], but was fed float32 [3]");
  EXPECT_THROW_WITH(s.run(y, {{w, ones({2})}}), "not a placeholder of this graph");
  EXPECT_THROW_WITH(s.run(foreign), "fetch 0 is not a tensor of this graph");
  EXPECT_THROW_WITH(s.run(ones({2})), "fetch 0 is not a tensor of this graph");
  EXPECT_THROW_WITH(y.item(), "cannot be converted");
  EXPECT_THROW_WITH(y.sum().item(), "declared, not computed");
  EXPECT_THROW_WITH(b.minimize(y, optim::SGDOptions(0.1)), "single number");
  EXPECT_THROW_WITH(b.minimize(x.sum(), optim::SGDOptions(0.1)), "does not depend on any variable");
  EXPECT_THROW_WITH(c.minimize(foreign.sum(), optim::SGDOptions(0.1)),
                    "minimize: the loss does not depend on any variable");
  c.variable(zeros({}, kLong));
  EXPECT_THROW_WITH(c.minimize(foreign.sum(), optim::SGDOptions(0.1)),
                    "minimize: the loss does not depend on any variable");
  EXPECT_THROW_WITH(b.minimize((w > 0).to(kFloat).sum(), optim::SGDOptions(0.1)),
                    "minimize: the loss does not depend on any variable");
  EXPECT_THROW_WITH(s.run(y, {{x, ones({2})}, {x, zeros({2})}}), "run: placeholder 0 is fed twice");
  EXPECT_THROW_WITH(b.assign(x, x), "variable() gave");
  EXPECT_THROW_WITH(b.assign(w, ones({3})), "the variable is float32 [2], the value float32 [3]");
  EXPECT_THROW_WITH(b.placeholder({-1, 3}), "negative");
  EXPECT_THROW_WITH(b.placeholder({-1, 3}), "Declare one for each batch size");
  EXPECT_THROW_WITH(s.run({b.assign(w, w + 1), b.assign(w, w + 2)}), "assign to variable 0");
  expect_same(s.run(y, {{x, ones({2})}}), ones({2}));  // and goes on as before
}

// A module that is called with declared tensors and trained by a session, and a copy of it that is
// trained line by line.
template <class M, class F>
void check_trained(const char* what, M net, const Tensor& data, const F& forward) {
  SCOPED_TRACE(what);
  const auto eager = std::dynamic_pointer_cast<typename M::ContainedType>(net->clone());
  ASSERT_TRUE(eager);
  Builder b;
  const Tensor x = b.placeholder(data.sizes(), data.options());
  const Tensor loss = forward(*net, x).pow(2).mean();
  const Tensor train = b.minimize(loss, optim::AdamOptions(0.01), net->parameters());
  optim::Adam optimiser(eager->parameters(), optim::AdamOptions(0.01));
  Session s(b);
  for (int i = 0; i < 5; ++i) {
    const Tensor expected = forward(*eager, data).pow(2).mean();
    expect_close(s.run(train, {{x, data}}), expected, 1e-5);
    optimiser.zero_grad();
    expected.backward();
    optimiser.step();
  }
  for (size_t i = 0; i < net->parameters().size(); ++i)
    expect_close(net->parameters()[i], eager->parameters()[i], 1e-5);
  // It is an ordinary module all the while.
  expect_close(forward(*net, data), forward(*eager, data), 1e-5);
}

TEST(Session, ModulesAreTrainedInPlace) {
  manual_seed(8);
  const auto plain = [](auto& net, const Tensor& x) { return net.forward(x); };
  const auto first = [](auto& net, const Tensor& x) { return std::get<0>(net.forward(x)); };
  const Tensor rows = randn({6, 4}), images = randn({2, 4, 5, 5}), words = randn({5, 2, 4});
  check_trained(
      "Sequential",
      nn::Sequential(nn::Linear(4, 5), nn::PReLU(), nn::LayerNorm(std::vector<int64_t>{5}),
                     nn::Linear(nn::LinearOptions(5, 3).bias(false))),
      rows, plain);
  check_trained("Conv2d", nn::Conv2d(nn::Conv2dOptions(4, 3, 3).groups(1).padding(1)), images,
                plain);
  check_trained("ConvTranspose2d", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 3, 3)), images,
                plain);
  check_trained("BatchNorm2d", nn::BatchNorm2d(4), images, plain);
  check_trained("GroupNorm", nn::GroupNorm(2, 4), images, plain);
  check_trained("LSTM", nn::LSTM(nn::LSTMOptions(4, 3).num_layers(2).bidirectional(true)), words,
                first);
  check_trained("GRU", nn::GRU(nn::GRUOptions(4, 3)), words, first);
  check_trained("RNN", nn::RNN(nn::RNNOptions(4, 3)), words, first);
  check_trained("MultiheadAttention", nn::MultiheadAttention(4, 2), words,
                [](auto& net, const Tensor& x) { return std::get<0>(net.forward(x, x, x)); });
  check_trained("TransformerEncoderLayer",
                nn::TransformerEncoderLayer(
                    nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0)),
                words, plain);
  check_trained("Bilinear", nn::Bilinear(4, 4, 3), rows,
                [](auto& net, const Tensor& x) { return net.forward(x, x); });
  check_trained("Embedding", nn::Embedding(7, 3), randint(0, 7, {9}, kLong), plain);

  nn::Linear net(4, 1);
  Builder b;
  const Tensor loss = net->forward(b.placeholder({6, 4})).pow(2).mean();
  EXPECT_THROW_WITH(b.minimize(loss, optim::SGDOptions(0.1)), "net->parameters()");
  EXPECT_THROW_WITH(b.minimize(loss, optim::SGDOptions(0.1), {randn({3}, requires_grad())}),
                    "does not depend on any variable");
}

TEST(Session, WhatIsComputedOfAParameterFollowsIt) {
  const Tensor w = full({2}, 3.0).requires_grad_(), mask = tensor({1.f, 2.f});
  {
    Builder b;
    const Tensor x = b.placeholder({2});
    const Tensor at_once = (x * (w * mask)).sum();
    EXPECT_THROW_WITH(b.minimize(at_once, optim::SGDOptions(0.1), {w}), "graph::DeclareGuard");
  }
  Builder b;
  const Tensor x = b.placeholder({2});
  const Tensor scaled = [&] {
    const DeclareGuard declare(b);
    return w * mask;
  }();
  const Tensor train = b.minimize((x * scaled).sum(), optim::SGDOptions(0.1), {w});
  Session s(b);
  expect_same(s.run(train, {{x, ones({2})}}), tensor(9.f));
  expect_close(w, tensor({2.9f, 2.8f}), 1e-6);
  expect_close(s.run(train, {{x, ones({2})}}), tensor(2.9f + 5.6f), 1e-6);
  expect_close(s.run(scaled), tensor({2.8f, 5.2f}), 1e-6);
  // Memory that is read in two ways.
  Builder two;
  const Tensor part = w[0], y = two.placeholder({});
  const Tensor loss = (y * part + (w * y).sum()).sum();
  const auto train_once = [&] {
    const Tensor step = two.minimize(loss, optim::SGDOptions(0.1), {w});
    Session(two).run(step, {{y, tensor(1.f)}});
  };
  EXPECT_THROW_WITH(train_once(), "DeclareGuard");
}

TEST(Session, RunningStatisticsMoveOnWithTheRunsThatComputeThem) {
  for (const bool momentum : {true, false}) {
    manual_seed(9);
    const auto options =
        nn::BatchNormOptions(5).momentum(momentum ? std::optional<double>(0.2) : std::nullopt);
    nn::Sequential net(nn::Linear(3, 5), nn::BatchNorm1d(options), nn::ReLU(), nn::Linear(5, 1));
    nn::Sequential eager = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
    const auto expect_same_state = [&] {
      const auto a = net->named_buffers(), b = eager->named_buffers();
      ASSERT_EQ(a.size(), 3u);
      for (const auto& item : a) expect_close(item.value(), b[item.key()], 1e-6);
    };
    Builder b;
    const Tensor x = b.placeholder({16, 3}), y = b.placeholder({16, 1});
    const Tensor hidden = net[0]->as<nn::Linear>()->forward(x);
    const Tensor loss = (net->forward(x) - y).pow(2).mean();
    expect_same_state();  // nothing has been run
    const Tensor train = b.minimize(loss, optim::SGDOptions(0.05), net->parameters());
    net->eval();
    const Tensor prediction = net->forward(x);
    optim::SGD optimiser(eager->parameters(), 0.05);
    Session s(b);
    const Tensor data = randn({16, 3}), target = randn({16, 1});
    for (int i = 0; i < 5; ++i) {
      const Tensor expected = (eager->forward(data) - target).pow(2).mean();
      expect_close(s.run(train, {{x, data}, {y, target}}), expected, 1e-6);
      optimiser.zero_grad();
      expected.backward();
      optimiser.step();
      expect_same_state();
      // What needs no statistics of the batch reads those that there are, and leaves them.
      s.run(hidden, {{x, data}});
      eager->eval();
      expect_close(s.run(prediction, {{x, data}}), eager->forward(data), 1e-5);
      eager->train();
      expect_same_state();
    }
    // Modules stay ordinary ones, between the runs too.
    net->train();
    expect_close(net->forward(data), eager->forward(data), 1e-5);
    expect_same_state();
    expect_close(s.run(loss, {{x, data}, {y, target}}),
                 (eager->forward(data) - target).pow(2).mean(), 1e-5);
    expect_same_state();
  }
}

}  // namespace
}  // namespace tandem::graph
