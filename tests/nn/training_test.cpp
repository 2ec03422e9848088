// Whole training steps of networks made of modules: a transformer, an LSTM and a CNN, each with
// dropout, clipped gradients, groups of parameters with their own weight decay and a schedule, the
// CNN also with BatchNorm's running statistics. After 100 steps, compiled and eager have had the
// same losses and have the same weights, statistics, optimiser state and random numbers. Where
// Tandem's own kernels compute everything, whose sums have an order fixed by the shape, they are
// the same bit for bit. Convolutions are oneDNN's, which may add up in another order when a
// compiled program keeps another layout; 100 steps make more of such differences, hence a tolerance
// there.
#include <gtest/gtest.h>

#include <sstream>

#include "tandem/compile/compile.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"

namespace {

using namespace tandem;
namespace F = tandem::nn::functional;

constexpr int kSteps = 100;
constexpr int kBatches = 5;

struct Data {
  std::vector<Tensor> x, y;
};

// Noise with a pattern of its class in it.
Data make_data(const std::vector<int64_t>& sizes, int64_t batch_dim, int64_t classes) {
  const int64_t batch = sizes[static_cast<size_t>(batch_dim)];
  std::vector<int64_t> pattern_sizes = sizes, level_sizes(sizes.size(), 1);
  pattern_sizes.erase(pattern_sizes.begin() + batch_dim);
  pattern_sizes.insert(pattern_sizes.begin(), classes);
  level_sizes[0] = classes;
  level_sizes[1] = pattern_sizes[1];
  const Tensor patterns = randn(pattern_sizes) * 0.5 + randn(level_sizes);
  Data d;
  for (int i = 0; i < kBatches; ++i) {
    d.y.push_back(randint(0, classes, {batch}, kLong));
    d.x.push_back(randn(sizes) * 0.5 + patterns.index_select(0, d.y.back()).movedim(0, batch_dim));
  }
  return d;
}

// Parameters of more than one dimension decay, biases and scales do not.
template <class Options>
std::vector<optim::OptimizerParamGroup> groups_of(const nn::Module& net, const Options& decays,
                                                  const Options& others) {
  std::vector<Tensor> matrices, vectors;
  for (const Tensor& p : net.parameters()) (p.dim() > 1 ? matrices : vectors).push_back(p);
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(matrices, std::make_unique<Options>(decays));
  groups.emplace_back(vectors, std::make_unique<Options>(others));
  return groups;
}

/// A network with what it is trained by.
struct Training {
  std::shared_ptr<nn::Module> net;
  std::function<Tensor(const Tensor&)> forward;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<optim::LRScheduler> schedule;
  Data data;

  Tensor step(const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    const Tensor loss = F::cross_entropy(forward(x), y);
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 0.5);
    optimizer->step();
    return loss;
  }
};

struct Outcome {
  std::vector<float> losses;
  Tensor random_state;
};

Outcome train(Training& t, bool compiled) {
  const auto step = compile([&](const Tensor& x, const Tensor& y) { return t.step(x, y); });
  manual_seed(23);
  Outcome o;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor &x = t.data.x[static_cast<size_t>(i % kBatches)],
                 &y = t.data.y[static_cast<size_t>(i % kBatches)];
    o.losses.push_back((compiled ? step(x, y) : t.step(x, y)).item<float>());
    t.schedule->step();
    if (i == 5) jit::wait_idle();  // from here on with machine code
  }
  // Gradients are zeroed in place from the second step on, and there is none before the first.
  if (compiled) {
    EXPECT_LE(step.graph_count(), 2) << step.explain();
  }
  o.random_state = get_rng_state();
  return o;
}

void expect_same(const Tensor& got, const Tensor& wanted, double tolerance,
                 const std::string& what) {
  EXPECT_TRUE(tolerance > 0 ? allclose(got, wanted, tolerance, tolerance) : got.equal(wanted))
      << what << " differs by "
      << (got.to(kDouble) - wanted.to(kDouble)).abs().max().item<double>();
}

void expect_same(const OrderedDict<std::string, Tensor>& got,
                 const OrderedDict<std::string, Tensor>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& item : wanted) expect_same(got[item.key()], item.value(), tolerance, item.key());
}

// The mean of five losses.
double mean_from(const std::vector<float>& losses, size_t first) {
  double sum = 0;
  for (size_t i = first; i < first + 5; ++i) sum += losses[i];
  return sum / 5;
}

// Makes the same network twice and trains one eager and one compiled. A tolerance of 0 means the
// same bits.
template <class Make>
void check_training(const Make& make, double tolerance = 0) {
  const auto made = [&] {
    manual_seed(11);
    return make();
  };
  Training eager = made(), compiled = made();
  const Outcome wanted = train(eager, false), got = train(compiled, true);
  EXPECT_LT(mean_from(wanted.losses, kSteps - 5), 0.7 * mean_from(wanted.losses, 0))
      << "it does not learn";
  for (size_t i = 0; i < wanted.losses.size(); ++i) {
    if (tolerance > 0) {
      ASSERT_NEAR(got.losses[i], wanted.losses[i], tolerance) << "step " << i;
    } else {
      ASSERT_EQ(got.losses[i], wanted.losses[i]) << "step " << i;
    }
  }
  expect_same(compiled.net->named_parameters(), eager.net->named_parameters(), tolerance);
  expect_same(compiled.net->named_buffers(), eager.net->named_buffers(), tolerance);
  EXPECT_TRUE(got.random_state.equal(wanted.random_state));
  const auto a = compiled.optimizer->state_dict(), b = eager.optimizer->state_dict();
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < b.tensors.size(); ++i)
    expect_same(a.tensors[i].second, b.tensors[i].second, tolerance, b.tensors[i].first);
  ASSERT_EQ(a.numbers.size(), b.numbers.size());
  for (size_t i = 0; i < b.numbers.size(); ++i)
    EXPECT_EQ(a.numbers[i].second.toDouble(), b.numbers[i].second.toDouble()) << b.numbers[i].first;
  // And they go on alike without training.
  eager.net->eval();
  compiled.net->eval();
  expect_same(compiled.forward(eager.data.x[0]), eager.forward(eager.data.x[0]), tolerance,
              "the result without training");
}

// -- a transformer --------------------------------------------------------------------------------

struct ClassifierImpl : nn::Module {
  ClassifierImpl() {
    in = register_module("in", nn::Linear(6, 16));
    encoder = register_module(
        "encoder", nn::TransformerEncoder(
                       nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(16, 2)
                                                         .dim_feedforward(24)
                                                         .dropout(0.1)
                                                         .activation(kGELU),
                                                     2)
                           .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({16}))))));
    out = register_module("out", nn::Linear(16, 3));
  }
  Tensor forward(const Tensor& x) {
    const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(x.size(0));
    return out(encoder(in(x), mask).mean(0));
  }
  nn::Linear in = nullptr, out = nullptr;
  nn::TransformerEncoder encoder = nullptr;
};
TANDEM_MODULE(Classifier);

TEST(TrainingOfModules, TransformerCompiledEqualsEager) {
  check_training([] {
    Training t;
    const Classifier net;
    t.net = net.ptr();
    t.forward = [net](const Tensor& x) { return Classifier(net)(x); };
    t.optimizer =
        std::make_shared<optim::AdamW>(groups_of(*net, optim::AdamWOptions(5e-3).weight_decay(0.1),
                                                 optim::AdamWOptions(1e-2).weight_decay(0)),
                                       optim::AdamWOptions(5e-3));
    t.schedule = std::make_shared<optim::StepLR>(*t.optimizer, 30, 0.5);
    t.data = make_data({7, 8, 6}, 1, 3);
    return t;
  });
}

// -- an LSTM --------------------------------------------------------------------------------------

struct RecurrentImpl : nn::Module {
  RecurrentImpl() {
    lstm = register_module(
        "lstm", nn::LSTM(nn::LSTMOptions(6, 12).num_layers(2).dropout(0.2).bidirectional(true)));
    dropout = register_module("dropout", nn::Dropout(0.2));
    out = register_module("out", nn::Linear(24, 3));
  }
  Tensor forward(const Tensor& x) {
    const Tensor states = std::get<0>(lstm(x));
    return out(dropout(states.mean(0)));
  }
  nn::LSTM lstm = nullptr;
  nn::Dropout dropout = nullptr;
  nn::Linear out = nullptr;
};
TANDEM_MODULE(Recurrent);

TEST(TrainingOfModules, LstmCompiledEqualsEager) {
  check_training([] {
    Training t;
    const Recurrent net;
    t.net = net.ptr();
    t.forward = [net](const Tensor& x) { return Recurrent(net)(x); };
    t.optimizer = std::make_shared<optim::Adam>(
        groups_of(*net, optim::AdamOptions(1e-2).weight_decay(1e-3), optim::AdamOptions(2e-2)),
        optim::AdamOptions(1e-2));
    t.schedule = std::make_shared<optim::ExponentialLR>(*t.optimizer, 0.99);
    t.data = make_data({5, 8, 6}, 1, 3);
    return t;
  });
}

// -- a CNN ----------------------------------------------------------------------------------------

struct ConvolutionalImpl : nn::Module {
  ConvolutionalImpl() {
    net = register_module(
        "net", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 6, 3).padding(1)), nn::BatchNorm2d(6),
                              nn::ReLU(), nn::MaxPool2d(2),
                              nn::Conv2d(nn::Conv2dOptions(6, 8, 3).padding(1).bias(false)),
                              nn::BatchNorm2d(8), nn::ReLU(), nn::AdaptiveAvgPool2d(1),
                              nn::Flatten(), nn::Dropout(0.2), nn::Linear(8, 3)));
  }
  Tensor forward(const Tensor& x) { return net->forward(x); }
  nn::Sequential net = nullptr;
};
TANDEM_MODULE(Convolutional);

TEST(TrainingOfModules, CnnCompiledEqualsEager) {
  check_training(
      [] {
        Training t;
        const Convolutional net;
        t.net = net.ptr();
        t.forward = [net](const Tensor& x) { return Convolutional(net)(x); };
        t.optimizer = std::make_shared<optim::SGD>(
            groups_of(*net, optim::SGDOptions(0.1).momentum(0.9).weight_decay(5e-4),
                      optim::SGDOptions(0.05).momentum(0.9).nesterov(true)),
            optim::SGDOptions(0.1));
        t.schedule = std::make_shared<optim::CosineAnnealingLR>(*t.optimizer, kSteps);
        t.data = make_data({8, 2, 8, 8}, 0, 3);
        return t;
      },
      1e-3);
}

/// Weights in the order that convolutions want, norms folded into them: made in the first call and
/// again when training has changed them, whichever way.
TEST(InferenceOfModules, FollowsTheWeights) {
  manual_seed(3);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)), nn::BatchNorm2d(16),
                     nn::ReLU(), nn::Conv2d(16, 8, 1), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                     nn::Linear(8, 4));
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const auto infer = compile([&](const Tensor& x) {
    const NoGradGuard no_grad;
    return net->forward(x);
  });
  const auto compare = [&] {
    net->eval();
    for (int call = 0; call < 3; ++call) {
      const Tensor x = randn({2, 8, 12, 12});
      EXPECT_LT((infer(x) - net->forward(x)).abs().max().item<float>(), 1e-5);
      jit::wait_idle();
    }
    net->train();
  };
  compare();
  for (int step = 0; step < 2; ++step) {
    sgd.zero_grad();
    F::cross_entropy(net->forward(randn({4, 8, 12, 12})), randint(0, 4, {4}, kLong)).backward();
    sgd.step();
    compare();
  }
  {
    const NoGradGuard no_grad;
    net->parameters()[0].copy_(randn({16, 8, 3, 3}));
    compare();
    net->parameters()[0].data().mul_(-1);
    compare();
    net->parameters()[0].data_ptr<float>()[5] = 3;
    compare();
    net->parameters()[0].data_ptr<float>()[6] = 3;
    compare();
  }
  net->forward(randn({4, 8, 12, 12}) * 3 + 1);  // changes the running statistics and nothing else
  compare();
  net->buffers()[0].fill_(0.5);  // the mean
  compare();
  std::ostringstream text;
  infer.explain(text);
  EXPECT_NE(text.str().find("kept while what it reads stays as it is"), std::string::npos);
  EXPECT_EQ(infer.graph_count(), 2u);  // with and without grad mode
}

}  // namespace
