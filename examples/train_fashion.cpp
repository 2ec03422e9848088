// Trains the study's network, 784-h-10 with ReLU, on Fashion-MNIST: what ./run starts.
//
// Everything is written out: the layers are matrix products, the update is SGD with momentum by
// hand under NoGradGuard.

#include <tandem/base/env.h>
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "examples/common/drawn_digits.h"
#include "examples/common/idx.h"
#include "examples/common/progress.h"

using namespace tandem;

namespace {

constexpr const char* kHelp =
    R"(Trains a network 784-h-10 with ReLU on Fashion-MNIST and prints its test accuracy.

  --epochs N       times through the training images (8)
  --hidden N       width of the hidden layer (512)
  --batch N        images a step (128)
  --lr X           learning rate at the start, falling to 0 along a cosine
                   (0.05; 0.002 for norm)
  --momentum X     (0.9)
  --loss NAME      cross_entropy, or norm: the study's norm(y - prediction) (cross_entropy)
  --data FOLDER    where the four Fashion-MNIST files are
  --digits         draw digits instead of reading images
  --samples N      use only the first N training images
  --threads N      threads to use (all cores)
  --seed N         for the initial weights, the order of the images and drawn digits (1)
  --expect P       fail (exit code 2) when less than P % of the test images are recognised
  --help
)";

struct Options {
  int64_t epochs = 8, hidden = 512, batch = 128, samples = 0, threads = 0, seed = 1;
  double lr = 0, momentum = 0.9, expect = 0;
  std::string loss = "cross_entropy", data = env::fashion_mnist_dir();
  bool digits = false, help = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    auto text = [&]() -> std::string {
      TANDEM_CHECK(i + 1 < argc, "option ", name, " needs a value (see --help)");
      return argv[++i];
    };
    auto number = [&](double lowest) {
      const std::string value = text();
      char* end = nullptr;
      const double n = std::strtod(value.c_str(), &end);
      TANDEM_CHECK(!value.empty() && *end == '\0' && n >= lowest && n <= 1e9, "option ", name,
                   ": '", value, "' is not a number of at least ", lowest);
      return n;
    };
    auto whole = [&](double lowest) { return static_cast<int64_t>(number(lowest)); };
    if (name == "--epochs")
      o.epochs = whole(1);
    else if (name == "--hidden")
      o.hidden = whole(1);
    else if (name == "--batch")
      o.batch = whole(1);
    else if (name == "--samples")
      o.samples = whole(1);
    else if (name == "--threads")
      o.threads = whole(1);
    else if (name == "--seed")
      o.seed = whole(0);
    else if (name == "--lr")
      o.lr = number(0);
    else if (name == "--momentum")
      o.momentum = number(0);
    else if (name == "--expect")
      o.expect = number(0);
    else if (name == "--loss")
      o.loss = text();
    else if (name == "--data")
      o.data = text();
    else if (name == "--digits")
      o.digits = true;
    else if (name == "--help" || name == "-h")
      o.help = true;
    else
      TANDEM_CHECK(false, "unknown option ", name, " (see --help)");
  }
  TANDEM_CHECK(o.loss == "cross_entropy" || o.loss == "norm", "option --loss: '", o.loss,
               "' is neither cross_entropy nor norm");
  if (o.lr == 0) o.lr = o.loss == "norm" ? 0.002 : 0.05;
  return o;
}

struct Data {
  LabelledImages train, test;
};

Data load(const Options& o) {
  Data data;
  if (o.digits || !std::filesystem::is_directory(o.data)) {
    if (!o.digits)
      std::printf(
          "Fashion-MNIST is not installed (no folder %s).\n"
          "Training on digits drawn by this program instead; "
          "the images come with: apt-get install dataset-fashion-mnist\n",
          o.data.c_str());
    const uint32_t seed = static_cast<uint32_t>(o.seed);
    data = {drawn_digits::make(20'000, 2 * seed), drawn_digits::make(4'000, 2 * seed + 1)};
  } else {
    data = {idx::read_pair(o.data, "train"), idx::read_pair(o.data, "t10k")};
  }
  if (o.samples > 0 && o.samples < data.train.images.size(0)) {
    data.train.images = data.train.images.narrow(0, 0, o.samples);
    data.train.labels = data.train.labels.narrow(0, 0, o.samples);
  }
  return data;
}

/// Bytes to numbers with mean 0 and variance 1 over the training images.
struct Normalise {
  double mean, deviation;
  explicit Normalise(const Tensor& images) {
    const Tensor some = images.narrow(0, 0, std::min<int64_t>(images.size(0), 10'000)).to(kFloat);
    mean = some.mean().item<double>();
    deviation = std::max(some.std().item<double>(), 1.0);
  }
  Tensor operator()(const Tensor& images) const {
    return images.to(kFloat).sub_(mean).div_(deviation).view({-1, 784});
  }
};

/// The network: its parameters, and what they were last moved by.
struct Net {
  Tensor w1, b1, w2, b2;
  std::vector<Tensor> velocity;

  explicit Net(int64_t hidden) {
    // Weights of variance 2 / inputs keep the size of the values through a ReLU. The last layer
    // starts small, so that no class is preferred at first.
    auto weight = [](int64_t in, int64_t out, double scale) {
      return randn({in, out})
          .mul_(scale * std::sqrt(2.0 / static_cast<double>(in)))
          .requires_grad_();
    };
    w1 = weight(784, hidden, 1);
    b1 = zeros({hidden}, requires_grad());
    w2 = weight(hidden, 10, 0.1);
    b2 = zeros({10}, requires_grad());
    for (const Tensor& p : parameters()) velocity.push_back(zeros_like(p.detach()));
  }
  std::vector<Tensor> parameters() const { return {w1, b1, w2, b2}; }
  Tensor forward(const Tensor& x) const { return addmm(b2, addmm(b1, x, w1).relu(), w2); }

  void step(double lr, double momentum) {
    NoGradGuard no_grad;
    const std::vector<Tensor> all = parameters();
    for (size_t i = 0; i < all.size(); ++i) {
      velocity[i].mul_(momentum).add_(all[i].grad());
      all[i].add_(velocity[i], -lr);
      all[i].grad().zero_();
    }
  }
};

Tensor loss_of(const std::string& name, const Tensor& scores, const Tensor& labels) {
  if (name == "norm") {
    // The study's loss: the distance from the vectors that are 1 at the right class. The study also
    // puts a ReLU on the scores; with it this network stops learning within the first epoch.
    const Tensor wanted = zeros_like(scores.detach()).scatter_(1, labels.unsqueeze(1), 1.0);
    return (wanted - scores).norm();
  }
  return (scores.logsumexp(1) - scores.gather(1, labels.unsqueeze(1)).squeeze(1)).mean();
}

double accuracy(const Net& net, const LabelledImages& data, const Normalise& normalise) {
  NoGradGuard no_grad;
  int64_t right = 0;
  const int64_t n = data.labels.size(0);
  for (int64_t at = 0; at < n; at += 1000) {
    const int64_t count = std::min<int64_t>(1000, n - at);
    const Tensor guess = net.forward(normalise(data.images.narrow(0, at, count))).argmax(1);
    right += guess.eq(data.labels.narrow(0, at, count)).sum().item<int64_t>();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(n);
}

/// Where the time of the steps went.
struct Times {
  double data = 0, forward = 0, backward = 0, update = 0;
  int64_t steps = 0;
  double total() const { return data + forward + backward + update; }
};

void print_speed(const Times& t, const Options& o, int64_t images) {
  const double macs = static_cast<double>(o.hidden) * (784 + 10);
  // Multiply-adds of the products: one forward; backward one for the weights and, above the first
  // layer, one for the values.
  const double forward = 2 * macs, backward = 2 * (macs + static_cast<double>(o.hidden) * 10);
  std::printf("\n  part of a step        us   share   GFLOP/s\n");
  auto row = [&](const char* name, double seconds, double flops_an_image) {
    std::printf("  %-16s %8.0f   %3.0f %%", name, 1e6 * seconds / static_cast<double>(t.steps),
                100 * seconds / t.total());
    if (flops_an_image > 0)
      std::printf("   %7.1f", flops_an_image * static_cast<double>(images) / seconds / 1e9);
    std::printf("\n");
  };
  row("batch", t.data, 0);
  row("forward", t.forward, forward);
  row("backward", t.backward, backward);
  row("update", t.update, 0);
  row("all", t.total(), forward + backward);
}

int run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  manual_seed(static_cast<uint64_t>(o.seed));
  const Data data = load(o);
  const Normalise normalise(data.train.images);
  const int64_t n = data.train.labels.size(0), batches = (n + o.batch - 1) / o.batch;
  Net net(o.hidden);
  std::printf("%s training images, %s test images; network 784-%lld-10, batch %lld, %d thread%s\n",
              with_commas(static_cast<double>(n)).c_str(),
              with_commas(static_cast<double>(data.test.labels.size(0))).c_str(),
              static_cast<long long>(o.hidden), static_cast<long long>(o.batch), get_num_threads(),
              get_num_threads() == 1 ? "" : "s");

  const Clock::time_point start = Clock::now();
  const int64_t total_steps = o.epochs * batches;
  ProgressBar bar(total_steps);
  Times times;
  double right = 0;
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    const Clock::time_point epoch_start = Clock::now();
    const Tensor order = randperm(n);
    double loss_sum = 0;
    for (int64_t b = 0; b < batches; ++b) {
      const Clock::time_point t0 = Clock::now();
      const Tensor pick = order.narrow(0, b * o.batch, std::min(o.batch, n - b * o.batch));
      const Tensor x = normalise(data.train.images.index_select(0, pick));
      const Tensor y = data.train.labels.index_select(0, pick);
      const Clock::time_point t1 = Clock::now();
      const Tensor loss = loss_of(o.loss, net.forward(x), y);
      const Clock::time_point t2 = Clock::now();
      loss.backward();
      const Clock::time_point t3 = Clock::now();
      const double progress = static_cast<double>(times.steps) / static_cast<double>(total_steps);
      net.step(o.lr * .5 * (1 + std::cos(3.14159265358979 * progress)), o.momentum);
      const Clock::time_point t4 = Clock::now();
      auto seconds = [](auto from, auto to) {
        return std::chrono::duration<double>(to - from).count();
      };
      times.data += seconds(t0, t1);
      times.forward += seconds(t1, t2);
      times.backward += seconds(t2, t3);
      times.update += seconds(t3, t4);
      ++times.steps;
      loss_sum += loss.item<double>();
      bar.update(times.steps, [&] {
        char text[100];
        std::snprintf(
            text, sizeof text, "epoch %lld/%lld  loss %.4f  %s images/s",
            static_cast<long long>(epoch + 1), static_cast<long long>(o.epochs),
            loss_sum / static_cast<double>(b + 1),
            with_commas(static_cast<double>((b + 1) * o.batch) / seconds_since(epoch_start))
                .c_str());
        return std::string(text);
      });
    }
    const double took = seconds_since(epoch_start);
    right = accuracy(net, data.test, normalise);
    bar.clear();
    std::printf("epoch %2lld/%lld  loss %.4f  test accuracy %5.2f %%  %5.2f s  %s images/s\n",
                static_cast<long long>(epoch + 1), static_cast<long long>(o.epochs),
                loss_sum / static_cast<double>(batches), right, took,
                with_commas(static_cast<double>(n) / took).c_str());
    std::fflush(stdout);
  }
  print_speed(times, o, n * o.epochs);
  std::printf("\ntest accuracy %.2f %% after %.1f s\n", right, seconds_since(start));
  if (right < o.expect) {
    std::printf("that is less than the %.2f %% asked for\n", o.expect);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (options.help) {
      std::fputs(kHelp, stdout);
      return 0;
    }
    return run(options);
  } catch (const Error& e) {
    std::fprintf(stderr, "train_fashion: %s\n", e.what());
    return 1;
  }
}
