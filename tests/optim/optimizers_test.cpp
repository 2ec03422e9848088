// Each optimiser against LibTorch's values, and what all have in common.
#include "tandem/autograd/tape.h"
#include "tandem/base/parallel.h"
#include "tests/optim/helpers.h"

namespace tandem::optim {
namespace {

template <class O, class Options>
Make make(Options options) {
  return [options](std::vector<Tensor> params) {
    return std::make_unique<O>(std::move(params), options);
  };
}

struct Row {
  const char* name;
  Make make;
  std::vector<double> expected;
};

/// Made with LibTorch 1.13: six steps on the gradients of Problem in float64; in step 2 the second
/// parameter has no gradient, and before step 3 the learning rate is halved.
const std::vector<Row>& table() {
  static const auto* rows = new std::vector<Row>{
      {"sgd",
       make<SGD>(SGDOptions(0.1)),
       {0.55496368063772172, -0.8819785431920184, 1.9090853306686089, -0.2196969631888471,
        1.4749689876673517}},
      {"sgd_decay",
       make<SGD>(SGDOptions(0.1).weight_decay(0.2)),
       {0.51616653725824946, -0.80209092675317539, 1.7383601110623588, -0.2051207365822065,
        1.3734942732963467}},
      {"sgd_momentum",
       make<SGD>(SGDOptions(0.1).momentum(0.9)),
       {0.47240329489204763, -0.71403111033717637, 1.9398278479715199, -0.14216264019522393,
        1.4782260742043964}},
      {"sgd_dampening",
       make<SGD>(SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.05)),
       {0.37197855194149015, -0.76227408241289585, 1.8995601185277626, -0.082234687115401425,
        1.5053954749986413}},
      {"sgd_nesterov",
       make<SGD>(SGDOptions(0.1).momentum(0.8).nesterov(true).weight_decay(0.05)),
       {0.54094602226328803, -0.63892772779897233, 1.7328952267540252, -0.14352303076614698,
        1.3845056708414643}},
      {"adam",
       make<Adam>(AdamOptions(0.1)),
       {0.35556438881991809, -0.93069488956070168, 2.1371684218621523, -0.14439103536775613,
        1.5499520655562731}},
      {"adam_decay",
       make<Adam>(AdamOptions(0.1).weight_decay(0.2).betas(std::make_tuple(0.7, 0.9)).eps(1e-3)),
       {0.38563487508808586, -0.69642002394322144, 1.6347820889845104, -0.15241040625017521,
        1.448761213175958}},
      {"adam_amsgrad",
       make<Adam>(AdamOptions(0.1).betas(std::make_tuple(0.9, 0.4)).amsgrad(true)),
       {0.35933474414173122, -0.95863472381461645, 2.1551824175676093, -0.14425376682447669,
        1.5575009093389085}},
      {"adamw",
       make<AdamW>(AdamWOptions(0.1)),
       {0.35391390683815771, -0.92620895567800554, 2.1277603215086009, -0.14378076298359249,
        1.5445541047952456}},
      {"adamw_decay",
       make<AdamW>(AdamWOptions(0.1).weight_decay(0.3).betas(std::make_tuple(0.7, 0.9))),
       {0.36604030817520034, -0.81249631761477203, 1.8476703240696526, -0.1465473409543806,
        1.3742916148980928}},
      {"adamw_amsgrad",
       make<AdamW>(AdamWOptions(0.1).betas(std::make_tuple(0.9, 0.4)).amsgrad(true)),
       {0.35764901363120949, -0.95409282971243303, 2.1456990792661013, -0.14364367918543858,
        1.55208972408255}},
      {"rmsprop",
       make<RMSprop>(RMSpropOptions(0.05)),
       {0.54217355084973406, -0.90016678174366915, 2.2592307817617669, -0.045218270216562745,
        1.556151604813798}},
      {"rmsprop_centered",
       make<RMSprop>(RMSpropOptions(0.05).centered(true).alpha(0.9).weight_decay(0.1)),
       {0.49114407824698186, -0.61741190642155763, 2.0339564435765811, -0.16671939616169362,
        1.481877914825277}},
      {"rmsprop_momentum",
       make<RMSprop>(RMSpropOptions(0.05).momentum(0.9).eps(1e-4)),
       {-0.1964919371484328, -1.187345904901731, 3.6552307346291717, 0.42329372249259023,
        1.8723450448929968}},
      {"rmsprop_all",
       make<RMSprop>(
           RMSpropOptions(0.05).momentum(0.7).centered(true).alpha(0.8).weight_decay(0.1)),
       {0.38398024169351597, -0.36143298562050308, 2.2352585941267575, -0.10251194541020076,
        1.514524940424848}},
      {"adagrad",
       make<Adagrad>(AdagradOptions(0.3)),
       {0.51037806409082143, -0.93806258728522529, 2.1698366461118956, -0.12218816307829317,
        1.5363780597054788}},
      {"adagrad_decay",
       make<Adagrad>(
           AdagradOptions(0.3).lr_decay(0.1).weight_decay(0.1).initial_accumulator_value(0.5).eps(
               1e-3)),
       {0.45112477657092592, -0.69611861366883709, 1.804589388900727, -0.14061157761696447,
        1.4394002337552181}},
  };
  return *rows;
}

void run(Problem& problem, Optimizer& optimizer) {
  for (int64_t t = 0; t < 6; ++t) {
    problem.set_gradients(t);
    if (t == 2) problem.params[1].mutable_grad() = Tensor();
    OptimizerOptions& options = optimizer.param_groups()[0].options();
    if (t == 3) options.set_lr(options.get_lr() / 2);
    optimizer.step();
  }
}

TEST(Optimizers, GiveLibTorchsValues) {
  for (const Row& row : table()) {
    SCOPED_TRACE(row.name);
    for (const auto& [dtype, tolerance] :
         {std::pair{kDouble, 1e-13}, {kFloat, 2e-6}, {kBFloat16, 6e-2}}) {
      Problem problem(dtype);
      const auto optimizer = row.make(problem.params);
      run(problem, *optimizer);
      expect_values(problem.values(), row.expected, tolerance);
    }
  }
}

TEST(Optimizers, AnyLayoutGivesTheSameBits) {
  manual_seed(5);
  for (const Row& row : table()) {
    SCOPED_TRACE(row.name);
    // The same numbers in rows, in columns, and with a gradient that is repeated by strides of 0.
    const Tensor start = randn({40, 33}), gradient = randn({1, 33});
    const std::vector<Tensor> params = {start.clone(), start.t().contiguous().t(), start.clone()};
    const std::vector<Tensor> grads = {gradient.expand({40, 33}).contiguous(),
                                       gradient.expand({40, 33}).contiguous(),
                                       gradient.expand({40, 33})};
    const auto optimizer = row.make(params);
    for (int t = 0; t < 3; ++t) {
      for (size_t i = 0; i < params.size(); ++i) params[i].mutable_grad() = grads[i];
      optimizer->step();
    }
    EXPECT_FALSE(params[0].equal(start));
    expect_same(params[1], params[0]);
    expect_same(params[2], params[0]);
  }
}

TEST(Optimizers, LionMovesBySigns) {
  Problem problem;
  Lion optimizer(problem.params, LionOptions(0.1).betas({0.9, 0.99}).weight_decay(0.5));
  std::vector<double> p = problem.values(), m(p.size(), 0);
  for (int64_t t = 0; t < 5; ++t) {
    problem.set_gradients(t);
    for (size_t i = 0; i < p.size(); ++i) {
      const double g =
          std::cos(0.7 * static_cast<double>(i + 1) * static_cast<double>(t + 1)) + 0.1 * p[i];
      const double update = 0.9 * m[i] + (1 - 0.9) * g;
      p[i] = p[i] * (1 - 0.1 * 0.5) - 0.1 * (update > 0 ? 1 : update < 0 ? -1 : 0);
      m[i] = 0.99 * m[i] + (1 - 0.99) * g;
    }
    optimizer.step();
  }
  expect_values(problem.values(), p, 1e-13);
}

Tensor rosenbrock(const Tensor& x) {
  const Tensor a = x[0], b = x[1];
  return (1 - a) * (1 - a) + 100 * (b - a * a) * (b - a * a);
}

// The expected points were made with LibTorch 1.13.
TEST(Optimizers, LBFGSGivesLibTorchsValues) {
  struct Case {
    LBFGSOptions options;
    int steps;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {LBFGSOptions(0.02), 5, {-1.0737533418164471, 1.1009815139223726}},
      {LBFGSOptions(0.02).history_size(3).max_iter(10),
       4,
       {-1.1202733906456943, 1.0682744637910475}},
      {LBFGSOptions(1).line_search_fn("strong_wolfe"),
       1,
       {0.38062264334643658, 0.12491013187290048}},
      {LBFGSOptions(1).line_search_fn("strong_wolfe").max_iter(6),
       2,
       {-0.51602777288520851, 0.22654582579024413}},
  };
  for (const Case& c : cases) {
    const Tensor x = tensor({-1.2, 1.0}, kDouble).set_requires_grad(true);
    LBFGS optimizer({x}, c.options);
    for (int i = 0; i < c.steps; ++i)
      optimizer.step([&] {
        optimizer.zero_grad();
        Tensor loss = rosenbrock(x);
        loss.backward();
        return loss;
      });
    expect_values({x[0].item<double>(), x[1].item<double>()}, c.expected, 1e-9);
  }
}

TEST(Optimizers, LBFGSFindsTheMinimum) {
  const Tensor x = tensor({-1.2, 1.0}, kDouble).set_requires_grad(true);
  LBFGS optimizer({x}, LBFGSOptions(1).line_search_fn("strong_wolfe").max_iter(60));
  const auto closure = [&] {
    optimizer.zero_grad();
    Tensor loss = rosenbrock(x);
    loss.backward();
    return loss;
  };
  EXPECT_NEAR(optimizer.step(closure).item<double>(), 24.2, 1e-9);
  EXPECT_LT(optimizer.step(closure).item<double>(), 1e-8);
  expect_values({x[0].item<double>(), x[1].item<double>()}, {1, 1}, 1e-3);
  EXPECT_THROW_WITH(optimizer.step(nullptr), "closure");
}

TEST(Optimizers, StateIsWhatLibTorchKeeps) {
  Problem problem;
  Adam adam(problem.params, AdamOptions(0.1));
  run(problem, adam);
  const auto& first = static_cast<AdamParamState&>(*adam.state().at(problem.params[0].impl()));
  auto& second = static_cast<AdamParamState&>(*adam.state().at(problem.params[1].impl()));
  EXPECT_EQ(first.step(), 6);
  EXPECT_EQ(second.step(), 5);  // one step had no gradient
  EXPECT_FALSE(first.max_exp_avg_sq().defined());
  second.step(second.step() + 3);
  EXPECT_EQ(second.step(), 8);
  // By text, as LibTorch finds it.
  const std::string key = ParamKey(problem.params[0].impl());
  EXPECT_EQ(adam.state().at(key).get(), &first);
  EXPECT_THROW_WITH(ParamKey("parameter"), "not the address");
}

TEST(Optimizers, ClosureGivesTheLoss) {
  const Tensor w = tensor({3.0}).set_requires_grad(true);
  SGD optimizer({w}, 0.1);
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    Tensor l = (w * w).sum();
    l.backward();
    return l;
  });
  EXPECT_EQ(loss.item<double>(), 9);
  EXPECT_FLOAT_EQ(w.item<float>(), 3 - 0.1f * 6);
  EXPECT_FALSE(optimizer.step().defined());
}

TEST(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  const Tensor a = ones({2}), b = ones({2}), c = ones({2});
  for (const Tensor& p : {a, b, c}) p.mutable_grad() = ones({2});
  SGD optimizer(
      {OptimizerParamGroup({a}, std::make_unique<SGDOptions>(0.5)), OptimizerParamGroup({b})},
      SGDOptions(0.25));
  optimizer.add_param_group(
      OptimizerParamGroup({c}, std::make_unique<SGDOptions>(SGDOptions(0.5).weight_decay(1))));
  optimizer.step();
  EXPECT_EQ(a[0].item<float>(), 0.5f);
  EXPECT_EQ(b[0].item<float>(), 0.75f);
  EXPECT_EQ(c[0].item<float>(), 0.0f);
  EXPECT_THROW_WITH(optimizer.add_param_group(OptimizerParamGroup({b})),
                    "some parameters appear in more than one parameter group");
  const Tensor computed = ones({2}).set_requires_grad(true) * 2;
  EXPECT_THROW_WITH(optimizer.add_param_group(OptimizerParamGroup({computed})),
                    "can't optimize a non-leaf Tensor");
  EXPECT_THROW_WITH(optimizer.add_param_group(OptimizerParamGroup({Tensor()})), "undefined");
}

TEST(Optimizers, ParametersThatShareMemory) {
  // Given twice, a parameter moves twice; views of one tensor are tensors of their own.
  const Tensor p = ones({4});
  p.mutable_grad() = ones({4});
  SGD twice({p, p}, 0.25);
  twice.step();
  EXPECT_TRUE(p.equal(full({4}, 0.5)));
  const Tensor whole = ones({4}), left = whole.narrow(0, 0, 2), right = whole.narrow(0, 2, 2);
  left.mutable_grad() = ones({2});
  right.mutable_grad() = full({2}, 2.0);
  SGD halves({left, right}, 0.25);
  halves.step();
  EXPECT_TRUE(whole.equal(tensor({0.75, 0.75, 0.5, 0.5})));
  // A gradient that is the parameter itself.
  const Tensor own = full({3}, 4.0);
  own.mutable_grad() = own;
  SGD shrinking({own}, 0.5);
  shrinking.step();
  EXPECT_TRUE(own.equal(full({3}, 2.0)));
  own.mutable_grad() = Tensor();  // or it would keep itself alive
}

TEST(Optimizers, EmptyAndZeroDimensionalParameters) {
  for (const Row& row : table()) {
    SCOPED_TRACE(row.name);
    const Tensor none = empty({0, 3}), one = full({}, 2.0);
    none.mutable_grad() = empty({0, 3});
    one.mutable_grad() = full({}, 1.0);
    const auto optimizer = row.make({none, one});
    optimizer->step();
    EXPECT_LT(one.item<float>(), 2);
    row.make({})->step();
  }
}

TEST(Optimizers, ManyParametersAreTheSameOnAnyNumberOfThreads) {
  const int before = get_num_threads();
  std::vector<Tensor> results[2];
  for (int threads = 1; threads <= 2; ++threads) {
    set_num_threads(threads);
    manual_seed(1);
    std::vector<Tensor> params;
    for (const int64_t n : {3, 70000, 1, 16384, 5, 40000}) {
      params.push_back(randn({n}));
      params.back().mutable_grad() = randn({n});
    }
    Adam optimizer(params, 0.1);
    optimizer.step();
    optimizer.step();
    results[threads - 1] = params;
  }
  set_num_threads(before);
  for (size_t i = 0; i < results[0].size(); ++i) expect_same(results[1][i], results[0][i]);
}

TEST(Optimizers, ZeroGrad) {
  const Tensor w = ones({2}).set_requires_grad(true);
  SGD optimizer({w}, 0.1);
  optimizer.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  (w * 3).sum().backward();
  const Tensor held = w.grad();
  optimizer.zero_grad();
  EXPECT_TRUE(w.grad().is_same(held));
  EXPECT_TRUE(held.equal(zeros({2})));
  optimizer.zero_grad(/*set_to_none=*/true);
  EXPECT_FALSE(w.grad().defined());
}

TEST(Optimizers, ApplyGradients) {
  const Tensor w1 = full({2}, 1.0), w2 = full({3}, 1.0), w3 = ones({1});
  w3.mutable_grad() = ones({1});
  Adam optimizer({w1, w2, w3}, 0.5);
  std::vector<Tensor> grads;
  {
    GradientTape tape;
    tape.watch({w1, w2});
    grads = tape.gradient((w1 * w1).sum() + (w2 * 2).sum(), {w1, w2});
  }
  optimizer.apply_gradients({{grads[0], w1}, {Tensor(), w2}});
  EXPECT_NEAR(w1[0].item<double>(), 0.5, 1e-6);
  EXPECT_EQ(w2[0].item<double>(), 1);
  EXPECT_EQ(w3[0].item<double>(), 1);  // not among those given
  EXPECT_TRUE(w3.grad().defined() && !w1.grad().defined());
  EXPECT_THROW_WITH(optimizer.apply_gradients({{grads[1], w1}}), "shape");
  EXPECT_THROW_WITH(optimizer.apply_gradients({{grads[0], ones({2})}}), "not parameters");
  EXPECT_THROW_WITH(optimizer.apply_gradients({{grads[0], w1}, {grads[0], w1}}), "twice");
}

TEST(Optimizers, BadOptionsAreRefusedInLibTorchsWords) {
  const std::vector<Tensor> p = {ones({1})};
  EXPECT_THROW_WITH(SGD(p, -0.1), "Invalid learning rate: -0.1");
  EXPECT_THROW_WITH(SGD(p, NAN), "Invalid learning rate: nan");
  EXPECT_THROW_WITH(SGD(p, SGDOptions(1).momentum(-1)), "Invalid momentum value: -1");
  EXPECT_THROW_WITH(SGD(p, SGDOptions(1).weight_decay(-2)), "Invalid weight_decay value: -2");
  EXPECT_THROW_WITH(SGD(p, SGDOptions(1).nesterov(true)),
                    "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_THROW_WITH(SGD(p, SGDOptions(1).momentum(0.9).dampening(0.1).nesterov(true)),
                    "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_THROW_WITH(Adam(p, AdamOptions(-1)), "Invalid learning rate: -1");
  EXPECT_THROW_WITH(Adam(p, AdamOptions(1).eps(-1)), "Invalid epsilon value: -1");
  EXPECT_THROW_WITH(Adam(p, AdamOptions(1).betas({1.0, 0.5})),
                    "Invalid beta parameter at index 0: 1");
  EXPECT_THROW_WITH(AdamW(p, AdamWOptions(1).betas({0.5, -1.0})),
                    "Invalid beta parameter at index 1: -1");
  EXPECT_THROW_WITH(RMSprop(p, RMSpropOptions(1).alpha(-1)), "Invalid alpha value: -1");
  EXPECT_THROW_WITH(Adagrad(p, AdagradOptions(1).lr_decay(-1)), "Invalid lr_decay value: -1");
  EXPECT_THROW_WITH(Adagrad(p, AdagradOptions(1).initial_accumulator_value(-1)),
                    "Invalid initial_accumulator_value value: -1");
  EXPECT_THROW_WITH(Lion(p, LionOptions(1).betas({2.0, 0.5})),
                    "Invalid beta parameter at index 0: 2");
  EXPECT_THROW_WITH(
      LBFGS({OptimizerParamGroup(p), OptimizerParamGroup(std::vector<Tensor>{ones({1})})},
            LBFGSOptions()),
      "LBFGS doesn't support per-parameter options (parameter groups)");
}

TEST(Optimizers, WrongGradientsAreRefused) {
  const Tensor p = ones({2});
  p.mutable_grad() = ones({2}, kDouble);
  SGD optimizer({p}, 0.1);
  EXPECT_THROW_WITH(optimizer.step(), "gradient of parameter 0");
  Tensor state_of_other_type = ones({3});
  state_of_other_type.mutable_grad() = ones({3});
  Adam adam({state_of_other_type}, 0.1);
  adam.step();
  state_of_other_type.set_data(ones({3}, kDouble));
  state_of_other_type.mutable_grad() = ones({3}, kDouble);
  EXPECT_THROW_WITH(adam.step(), "the state of parameter 0");
}

TEST(Optimizers, OldInterfaceWarns) {
  const test::Warnings warnings;
  SGD optimizer(std::vector<Tensor>{}, 0.1);
  optimizer.add_parameters({ones({1}), ones({2})});
  EXPECT_EQ(optimizer.size(), 2u);
  EXPECT_EQ(optimizer.parameters().size(), 2u);
  ASSERT_EQ(warnings.messages.size(), 3u);
  for (const std::string& m : warnings.messages)
    EXPECT_NE(m.find("will be removed"), std::string::npos) << m;
}

TEST(Options, AreUsedLikeNumbers) {
  AdamOptions o(0.5);
  o.lr() *= 2;
  std::get<0>(o.betas()) = 0.25;
  const auto [beta1, beta2] = o.betas();
  const std::tuple<double, double> betas = o.betas();
  EXPECT_EQ(o.lr(), 1);
  EXPECT_EQ(beta1 * 2, 0.5);
  EXPECT_EQ(betas, std::make_tuple(0.25, 0.999));
  EXPECT_EQ((ones({1}) * o.lr()).item<double>(), 1);
  AdamOptions copy = o;
  EXPECT_TRUE(copy == o);
  copy.amsgrad(true);
  EXPECT_FALSE(copy == o);
  EXPECT_EQ(str(o.lr()), "1");
}

}  // namespace
}  // namespace tandem::optim
