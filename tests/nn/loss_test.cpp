#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/base/parallel.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tests/helpers.h"

namespace torch = tandem;
#include "tests/nn/loss_cases.h"

namespace tandem {
namespace {

namespace F = nn::functional;
using loss_cases::wave;
using loss_cases::whole;
using test::printed;

const std::map<std::string, std::vector<double>>& libtorch_values() {
  static const std::map<std::string, std::vector<double>> values = {
#include "tests/nn/loss_values.inc"
  };
  return values;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& expected,
                  double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << what << ", number " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
          << what << ", number " << i;
    }
  }
}

std::vector<double> numbers(const Tensor& t) {
  const Tensor flat = t.detach().reshape({-1}).to(kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

TEST(Loss, GivesLibTorchsValuesAndGradients) {
  for (const loss_cases::Case& c : loss_cases::all()) {
    SCOPED_TRACE(c.name);
    const auto expected = libtorch_values().find(c.name);
    ASSERT_NE(expected, libtorch_values().end());
    // LibTorch bounds the divisor of binary cross entropy by a float, 1e-12 to eight digits.
    expect_close(loss_cases::values(c), expected->second, 1e-8, c.name);
  }
}

TEST(Loss, CompiledStepsGiveTheSame) {
  for (const loss_cases::Case& c : loss_cases::all()) {
    if (c.name == "ctc lists") continue;  // the same op as the others
    std::vector<Tensor> inputs;
    for (const Tensor& t : c.inputs) inputs.push_back(t.clone().set_requires_grad(true));
    const auto step = [&] {
      for (const Tensor& t : inputs) t.mutable_grad() = Tensor();
      const Tensor loss = c.loss(inputs);
      loss.sum().backward();
      std::vector<Tensor> out = {loss.detach()};
      for (const Tensor& t : inputs) out.push_back(t.grad());
      return out;
    };
    const std::vector<Tensor> eager = step();
    auto compiled = compile(step);
    for (int call = 0; call < 2; ++call) {
      const std::vector<Tensor> got = compiled();
      ASSERT_EQ(got.size(), eager.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(equal(got[i], eager[i]) || got[i].allclose(eager[i], 1e-12, 1e-12, true))
            << c.name << ", result " << i;
    }
  }
}

TEST(Loss, SixteenBitFloatsAreComputedInThirtyTwo) {
  const Tensor x = wave({5, 7}, 1).to(kFloat), t = whole({0, 6, 3, 2, 2}, {5});
  for (DType dtype : {kHalf, kBFloat16}) {
    const Tensor small = x.to(dtype).set_requires_grad(true);
    const Tensor wide = small.detach().to(kFloat).set_requires_grad(true);
    const Tensor a = F::cross_entropy(small, t), b = F::cross_entropy(wide, t);
    EXPECT_TRUE(equal(a, b.to(dtype)));
    a.backward();
    b.backward();
    EXPECT_TRUE(equal(small.grad(), wide.grad().to(dtype)));
  }
}

// -- classes ------------------------------------------------------------------------------------

TEST(Loss, ByHand) {
  // Scores of three images, the right classes being 0, 1 and 2.
  const Tensor scores =
      tensor({2.1, 1.6, 2.1, 3.0, 3.2, 2.8, -2.0, 3.7, 3.8}, kDouble).reshape({3, 3});
  const Tensor classes = tensor({0, 1, 2}, kLong);
  const auto svm = [&](double by) {
    return F::multi_margin_loss(scores, classes, F::MultiMarginLossFuncOptions().reduction(kNone)) *
           by;
  };
  // max(0, s[j] - s[right] + 1) summed over the wrong classes; the loss divides by their number.
  const std::vector<double> hinge = {0.5 + 1.0, 0.8 + 0.6, 0 + 0.9};
  expect_close(numbers(svm(3)), hinge, 1e-12, "svm");
  std::vector<double> softmax;
  const double s[3][3] = {{2.1, 1.6, 2.1}, {3.0, 3.2, 2.8}, {-2, 3.7, 3.8}};
  for (int i = 0; i < 3; ++i)
    softmax.push_back(
        -std::log(std::exp(s[i][i]) / (std::exp(s[i][0]) + std::exp(s[i][1]) + std::exp(s[i][2]))));
  expect_close(
      numbers(F::cross_entropy(scores, classes, F::CrossEntropyFuncOptions().reduction(kNone))),
      softmax, 1e-12, "softmax");
}

TEST(Loss, CrossEntropyIsNllOfLogSoftmaxForManyRowsAndClasses) {
  // Rows longer than registers and strands, rows side by side, and layouts that must be copied.
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{9, 1}, {33, 10}, {5, 1003}, {2, 7, 300}, {3, 5, 4, 11}}) {
    for (bool transposed : {false, true}) {
      Tensor x = wave(sizes, 1, 4);
      if (transposed) x = x.transpose(0, 1).contiguous().transpose(0, 1);
      x.set_requires_grad(true);
      std::vector<int64_t> places = sizes;
      places.erase(places.begin() + 1);
      const Tensor t = (wave(places, 2, 1000).abs() % sizes[1]).floor().to(kLong);
      const Tensor one = F::cross_entropy(x, t);
      one.backward();
      const Tensor grad = x.grad().clone();
      x.mutable_grad() = Tensor();
      const Tensor two = F::nll_loss(x.log_softmax(1), t);
      two.backward();
      EXPECT_NEAR(one.item<double>(), two.item<double>(), 1e-12);
      EXPECT_TRUE(grad.allclose(x.grad(), 1e-10, 1e-14)) << x.sizes();
    }
  }
}

TEST(Loss, CrossEntropyHasTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = wave({700, 301}, 1, 4).to(kFloat).set_requires_grad(true);
  const Tensor t = (wave({700}, 2, 1000).abs() % 301).floor().to(kLong);
  const int before = get_num_threads();
  std::vector<std::vector<double>> results;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    x.mutable_grad() = Tensor();
    const Tensor loss = F::cross_entropy(x, t);
    loss.backward();
    results.push_back(numbers(cat({loss.detach().reshape({-1}), x.grad().reshape({-1})}, 0)));
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Loss, ExtremeScoresLeaveNumbers) {
  const Tensor x = tensor({1e30, -1e30, 0.0, -HUGE_VAL, 5.0, 5.0}, kDouble).reshape({2, 3});
  x.set_requires_grad(true);
  const Tensor loss =
      F::cross_entropy(x, tensor({0, 1}, kLong), F::CrossEntropyFuncOptions().reduction(kNone));
  expect_close(numbers(loss), {0, std::log(2)}, 1e-12, "loss");
  loss.sum().backward();
  expect_close(numbers(x.grad()), {0, 0, 0, 0, -0.5, 0.5}, 1e-12, "gradient");
}

TEST(Loss, NothingAtAll) {
  const Tensor x = zeros({0, 3}).set_requires_grad(true), t = zeros({0}, kLong);
  EXPECT_TRUE(std::isnan(F::cross_entropy(x, t).item<double>()));
  const Tensor sum = F::cross_entropy(x, t, F::CrossEntropyFuncOptions().reduction(kSum));
  EXPECT_EQ(sum.item<double>(), 0);
  sum.backward();
  EXPECT_EQ(x.grad().sizes(), (IntArrayRef{0, 3}));
  EXPECT_EQ(F::nll_loss(x, t, F::NLLLossFuncOptions().reduction(kNone)).numel(), 0);
  // Nothing that counts.
  const Tensor y = zeros({2, 3}).set_requires_grad(true);
  const Tensor nan = F::cross_entropy(y, full({2}, -100, kLong));
  EXPECT_TRUE(std::isnan(nan.item<double>()));
  nan.backward();
  EXPECT_TRUE(equal(y.grad(), zeros({2, 3})));
}

TEST(Loss, CompiledStepsRefuseWrongClassesAndChangeNothing) {
  const Tensor w = wave({3, 4}, 1).clone().set_requires_grad(true);
  auto step = compile([&](const Tensor& x, const Tensor& t) {
    const Tensor loss = F::cross_entropy(x.mm(w), t);
    const Tensor g = autograd::grad({loss}, {w})[0];
    const NoGradGuard no_grad;
    w.sub_(g * 0.1);
    return loss.detach();
  });
  const Tensor x = wave({2, 3}, 2), good = tensor({3, 0}, kLong), bad = tensor({3, 4}, kLong);
  step(x, good);
  const Tensor before = w.detach().clone();
  try {
    step(x, bad);
    FAIL();
  } catch (const IndexError& e) {
    EXPECT_NE(std::string(e.what()).find("Target 4"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("sample 1"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(equal(w, before));
  step(x, good);
  EXPECT_FALSE(equal(w, before));
}

TEST(Loss, CrossEntropyOfACompiledStepIsOneKernelEachWay) {
  const Tensor x = wave({8, 5}, 1).to(kFloat).set_requires_grad(true);
  const Tensor t = whole({0, 1, 2, 3, 4, 0, 1, 2}, {8});
  auto step = compile([&] {
    const Tensor loss = F::cross_entropy(x, t);
    return std::vector<Tensor>{loss.detach(), autograd::grad({loss}, {x})[0]};
  });
  step();
  int passes = 0;
  for (const NodePtr& n : step.graph().nodes) {
    const std::string name = n->op->name;
    passes += name == "cross_entropy_loss" || name == "cross_entropy_loss_backward";
    EXPECT_EQ(name.find("softmax"), std::string::npos) << step.graph();
  }
  EXPECT_EQ(passes, 2) << step.graph();
}

// -- CTC ----------------------------------------------------------------------------------------

// The probability of a text as the sum over all paths that spell it.
double brute_force(const std::vector<std::vector<double>>& log_probs,
                   const std::vector<int64_t>& labels, int64_t blank) {
  const size_t steps = log_probs.size(), classes = log_probs.empty() ? 1 : log_probs[0].size();
  double sum = 0;
  std::vector<size_t> path(steps, 0);
  for (;;) {
    std::vector<int64_t> text;
    double log = 0;
    for (size_t t = 0; t < steps; ++t) {
      const int64_t c = static_cast<int64_t>(path[t]);
      if (c != blank && (t == 0 || path[t] != path[t - 1])) text.push_back(c);
      log += log_probs[t][path[t]];
    }
    if (text == labels) sum += std::exp(log);
    size_t t = 0;
    while (t < steps && ++path[t] == classes) path[t++] = 0;
    if (t == steps) break;
  }
  return -std::log(sum);
}

TEST(Ctc, IsTheSumOverAllAlignments) {
  const int64_t steps = 6, classes = 4;
  const std::vector<std::vector<int64_t>> texts = {
      {}, {1}, {2, 2}, {1, 2, 3}, {3, 3, 3}, {1, 1, 2, 2}, {1, 2, 1, 2, 1, 2}};
  for (int64_t blank : {0, 2, 3})
    for (int64_t length = 0; length <= steps; length += 3)
      for (const auto& text : texts) {
        std::vector<int64_t> labels = text;
        for (int64_t& l : labels) l = l == blank ? (blank + 1) % classes : l;
        const Tensor x = log_softmax(wave({steps, 1, classes}, 3, 2), 2);
        std::vector<std::vector<double>> rows;
        for (int64_t t = 0; t < length; ++t) rows.push_back(numbers(x[t][0]));
        const Tensor loss = ctc_loss(x, tensor(labels, kLong), {length},
                                     {static_cast<int64_t>(labels.size())}, blank, Reduction::None);
        const double expected = brute_force(rows, labels, blank);
        const double got = loss[0].item<double>();
        if (std::isinf(expected))
          EXPECT_EQ(got, expected);
        else
          EXPECT_NEAR(got, expected, 1e-10) << labels.size() << " labels, " << length << " steps";
      }
}

struct Batch {
  Tensor scores, padded, flat, input_lengths, target_lengths;
};
Batch ragged(DType dtype) {
  Batch b;
  const std::vector<int64_t> in = {50, 41, 50, 33, 20}, of = {30, 12, 0, 16, 25};
  b.scores = wave({50, 5, 21}, 1, 3).to(dtype);
  b.padded = zeros({5, 30}, kLong);
  std::vector<int64_t> flat;
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t k = 0; k < of[static_cast<size_t>(i)]; ++k) {
      const int64_t label = 1 + (i * 7 + k * k * 3) % 20;
      b.padded.data_ptr<int64_t>()[i * 30 + k] = label;
      flat.push_back(label);
    }
  b.flat = tensor(flat, kLong);
  b.input_lengths = tensor(in, kLong);
  b.target_lengths = tensor(of, kLong);
  return b;
}

std::vector<double> loss_and_gradient(const Batch& b, const Tensor& targets,
                                      const Tensor& target_lengths) {
  const Tensor x = b.scores.clone().set_requires_grad(true);
  const Tensor loss = ctc_loss(x.log_softmax(2), targets, b.input_lengths, target_lengths, 0,
                               Reduction::None, true);
  (loss * wave({5}, 1).to(loss.dtype())).sum().backward();
  std::vector<double> all = numbers(loss);
  for (double v : numbers(x.grad())) all.push_back(v);
  return all;
}

TEST(Ctc, LayoutsDtypesAndThreadsDoNotMatter) {
  const Batch b = ragged(kDouble);
  const std::vector<double> padded = loss_and_gradient(b, b.padded, b.target_lengths);
  EXPECT_EQ(padded, loss_and_gradient(b, b.flat, b.target_lengths));
  EXPECT_EQ(padded, loss_and_gradient(b, b.padded.to(kInt), b.target_lengths.to(kInt)));
  EXPECT_EQ(padded, loss_and_gradient(b, b.padded.t().contiguous().t(), b.target_lengths));
  Batch other = b;
  other.scores = b.scores.permute({1, 2, 0}).contiguous().permute({2, 0, 1});
  EXPECT_EQ(padded, loss_and_gradient(other, b.padded, b.target_lengths));
  const int before = get_num_threads();
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(padded, loss_and_gradient(b, b.padded, b.target_lengths)) << threads;
  }
  set_num_threads(before);
  expect_close(loss_and_gradient(ragged(kFloat), b.padded, b.target_lengths), padded, 1e-4,
               "float");
}

TEST(Ctc, GradientIsThatOfFiniteDifferences) {
  const Batch b = ragged(kDouble);
  const Tensor x = b.scores.clone().set_requires_grad(true);
  const auto loss = [&](const Tensor& s) {
    return ctc_loss(s.log_softmax(2), b.padded, b.input_lengths, b.target_lengths, 0,
                    Reduction::Sum, true);
  };
  loss(x).backward();
  const NoGradGuard no_grad;
  for (int64_t i = 0; i < x.numel(); i += 173) {
    Tensor up = x.detach().clone(), down = x.detach().clone();
    up.data_ptr<double>()[i] += 1e-5;
    down.data_ptr<double>()[i] -= 1e-5;
    const double slope = (loss(up).item<double>() - loss(down).item<double>()) / 2e-5;
    EXPECT_NEAR(x.grad().reshape({-1})[i].item<double>(), slope, 1e-6) << i;
  }
}

TEST(Ctc, VeryUnlikelyTextsStayNumbers) {
  // Each label costs 200: far below what a float holds as a probability.
  Tensor x = full({30, 1, 3}, -200.0f);
  x.select(2, 0).fill_(-1e-3);
  x.set_requires_grad(true);
  const Tensor loss =
      ctc_loss(x, tensor({1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, kLong), {30}, {10}, 0, Reduction::Sum);
  EXPECT_GT(loss.item<double>(), 1900);
  EXPECT_LT(loss.item<double>(), 2000);
  loss.backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST(Ctc, ImpossibleAlignments) {
  const Tensor x = wave({2, 1, 3}, 1).log_softmax(2).set_requires_grad(true);
  const Tensor t = whole({1, 1}, {1, 2});
  EXPECT_EQ(ctc_loss(x, t, {2}, {2}, 0, Reduction::Sum).item<double>(), INFINITY);
  const Tensor zero = ctc_loss(x, t, {2}, {2}, 0, Reduction::Sum, true);
  EXPECT_EQ(zero.item<double>(), 0);
  zero.backward();
  EXPECT_TRUE(equal(x.grad(), zeros_like(x)));
  // No steps at all: only the empty text can be spelled.
  EXPECT_EQ(ctc_loss(x, t, IntArrayRef{0}, {2}, 0, Reduction::Sum).item<double>(), INFINITY);
  EXPECT_EQ(ctc_loss(x, t, IntArrayRef{0}, IntArrayRef{0}, 0, Reduction::Sum).item<double>(), 0);
  EXPECT_EQ(ctc_loss(zeros({0, 1, 3}), t, IntArrayRef{0}, IntArrayRef{0}, 0, Reduction::Sum)
                .item<double>(),
            0);
  EXPECT_EQ(ctc_loss(zeros({5, 0, 3}), zeros({0, 4}, kLong), IntArrayRef{}, IntArrayRef{}, 0,
                     Reduction::Sum)
                .item<double>(),
            0);
}

TEST(Ctc, LengthsMayChangeBetweenCompiledCalls) {
  const Batch b = ragged(kDouble);
  const auto fn = [&](const Tensor& x, const Tensor& in, const Tensor& of) {
    return ctc_loss(x.log_softmax(2), b.padded, in, of, 0, Reduction::None);
  };
  auto compiled = compile(fn);
  for (int64_t less : {0, 1, 5}) {
    const Tensor of = (b.target_lengths - less).clamp_min(0);
    EXPECT_TRUE(compiled(b.scores, b.input_lengths, of)
                    .allclose(fn(b.scores, b.input_lengths, of), 1e-12, 1e-12));
  }
  EXPECT_THROW(compiled(b.scores, b.input_lengths + 1, b.target_lengths), Error);
}

TEST(Ctc, SaysThatThereIsNoSecondDerivative) {
  const Tensor x = wave({4, 1, 3}, 1).log_softmax(2).set_requires_grad(true);
  const Tensor loss = ctc_loss(x, whole({1, 2}, {1, 2}), {4}, {2});
  const Tensor g = autograd::grad({loss}, {x}, {}, true, true)[0];
  try {
    autograd::grad({g.sum()}, {x});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("second derivative"), std::string::npos) << e.what();
  }
}

// -- modules ------------------------------------------------------------------------------------

TEST(LossModules, PrintAsLibTorchs) {
  EXPECT_EQ(printed(nn::L1Loss()), "tandem::nn::L1Loss()");
  EXPECT_EQ(printed(nn::CrossEntropyLoss()), "tandem::nn::CrossEntropyLoss()");
  EXPECT_EQ(printed(nn::SmoothL1Loss()), "tandem::nn::SmoothL1Loss");
  EXPECT_EQ(printed(nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(4))),
            "tandem::nn::HingeEmbeddingLoss(margin=4)");
  EXPECT_EQ(printed(nn::TripletMarginLoss()),
            "tandem::nn::TripletMarginLoss(margin=1, p=2, eps=1e-06, swap=false)");
  EXPECT_EQ(printed(nn::PairwiseDistance()),
            "tandem::nn::PairwiseDistance(p=2, eps=1e-06, keepdim=false)");
  EXPECT_EQ(printed(nn::CosineSimilarity()), "tandem::nn::CosineSimilarity(dim=1, eps=1e-08)");
}

TEST(LossModules, HaveTheirWeightsAsBuffers) {
  nn::CrossEntropyLoss loss(
      nn::CrossEntropyLossOptions().weight(tensor({1.0f, 2.0f, 3.0f})).label_smoothing(0.1));
  ASSERT_EQ(loss->buffers().size(), 1u);
  const Tensor x = wave({4, 3}, 1), t = whole({0, 1, 2, 1}, {4});
  EXPECT_THROW(loss(x, t), TypeError);  // weights of another dtype
  loss->to(kDouble);
  const Tensor expected =
      cross_entropy_loss(x, t, tensor({1.0, 2.0, 3.0}, kDouble), Reduction::Mean, -100, 0.1);
  EXPECT_TRUE(equal(loss(x, t), expected));
  const auto copy = std::dynamic_pointer_cast<nn::CrossEntropyLossImpl>(loss->clone());
  EXPECT_TRUE(equal(copy->forward(x, t), expected));
}

TEST(LossModules, GiveWhatTheFunctionsGive) {
  const Tensor x = wave({4, 3}, 1), y = wave({4, 3}, 2), p = x.sigmoid(),
               t = whole({0, 1, 2, 1}, {4});
  EXPECT_TRUE(equal(nn::MSELoss(kSum)(x, y), F::mse_loss(x, y, kSum)));
  EXPECT_TRUE(equal(nn::HuberLoss(nn::HuberLossOptions().delta(0.5))(x, y),
                    F::huber_loss(x, y, F::HuberLossFuncOptions().delta(0.5))));
  EXPECT_TRUE(equal(nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.5))(x, y),
                    smooth_l1_loss(x, y, Reduction::Mean, 0.5)));
  EXPECT_TRUE(equal(nn::BCELoss()(p, y.sigmoid()), F::binary_cross_entropy(p, y.sigmoid())));
  EXPECT_TRUE(equal(nn::BCEWithLogitsLoss()(x, p), F::binary_cross_entropy_with_logits(x, p)));
  EXPECT_TRUE(equal(nn::NLLLoss()(x, t), F::nll_loss(x, t)));
  EXPECT_TRUE(equal(nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2))(x, t),
                    multi_margin_loss(x, t, 2)));
  EXPECT_TRUE(equal(nn::CosineSimilarity()(x, y), cosine_similarity(x, y)));
  EXPECT_TRUE(equal(nn::PairwiseDistance()(x, y), pairwise_distance(x, y)));
}

}  // namespace
}  // namespace tandem
