// Trains the study's network, 784-h-10 with ReLU, on Fashion-MNIST, line by line and compiled, and
// compares both: what ./run starts.
//
// Everything is written out: the layers are matrix products, the update is SGD with momentum by
// hand under NoGradGuard. The two ways to train are the same function, called or given to
// compile().

#include <tandem/base/env.h>
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <vector>

#include "examples/common/drawn_digits.h"
#include "examples/common/idx.h"
#include "examples/common/progress.h"

using namespace tandem;

namespace {

constexpr const char* kHelp =
    R"(Trains a network 784-h-10 with ReLU on Fashion-MNIST, line by line (eager) and compiled, compares
the losses and the time, and prints the test accuracy.

  --mode NAME      eager, compiled or both (both)
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
  --explain        print what the compiled step consists of
  --expect P       fail (exit code 2) when less than P % of the test images are recognised
  --help
)";

struct Options {
  int64_t epochs = 8, hidden = 512, batch = 128, samples = 0, threads = 0, seed = 1;
  double lr = 0, momentum = 0.9, expect = 0;
  std::string mode = "both", loss = "cross_entropy", data = env::fashion_mnist_dir();
  bool digits = false, explain = false, help = false;
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
    else if (name == "--mode")
      o.mode = text();
    else if (name == "--explain")
      o.explain = true;
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
  TANDEM_CHECK(o.mode == "both" || o.mode == "eager" || o.mode == "compiled", "option --mode: '",
               o.mode, "' is neither eager nor compiled nor both");
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

  /// The rate is a tensor: a number would become part of the compiled step.
  void update(const Tensor& rate, double momentum) {
    NoGradGuard no_grad;
    const std::vector<Tensor> all = parameters();
    for (size_t i = 0; i < all.size(); ++i) {
      velocity[i].mul_(momentum).add_(all[i].grad());
      all[i].sub_(velocity[i] * rate);
      all[i].mutable_grad().reset();
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

/// One of the two ways to train: a network of its own, and what happened so far.
struct Run {
  /// Which images, and the learning rate; gives the loss before the step.
  using Step = std::function<Tensor(const Tensor& pick, const Tensor& rate)>;

  const char* name;
  Net net;
  Step step = {};
  std::vector<double> losses = {};
  double seconds = 0, epoch_seconds = 0, epoch_loss = 0;
  double right = 0;  // % of the test images
};

void train_epoch(Run& run, const Options& o, const Tensor& order, int64_t epoch) {
  const int64_t n = order.size(0), batches = (n + o.batch - 1) / o.batch;
  const Clock::time_point start = Clock::now();
  ProgressBar bar(batches);
  run.epoch_loss = 0;
  for (int64_t b = 0; b < batches; ++b) {
    const Tensor pick = order.narrow(0, b * o.batch, std::min(o.batch, n - b * o.batch));
    const double progress =
        static_cast<double>(epoch * batches + b) / static_cast<double>(o.epochs * batches);
    const Tensor rate = full({}, o.lr * .5 * (1 + std::cos(3.14159265358979 * progress)));
    run.losses.push_back(run.step(pick, rate).item<double>());
    run.epoch_loss += run.losses.back() / static_cast<double>(batches);
    bar.update(b + 1, [&] {
      char text[100];
      std::snprintf(
          text, sizeof text, "epoch %lld/%lld %-8s  loss %.4f  %s images/s",
          static_cast<long long>(epoch + 1), static_cast<long long>(o.epochs), run.name,
          run.epoch_loss * static_cast<double>(batches) / static_cast<double>(b + 1),
          with_commas(static_cast<double>((b + 1) * o.batch) / seconds_since(start)).c_str());
      return std::string(text);
    });
  }
  run.epoch_seconds = seconds_since(start);
  run.seconds += run.epoch_seconds;
}

/// One row of the table. A run that is left out has no columns.
void print_epoch(const std::vector<Run*>& runs, int64_t epoch, int64_t images) {
  std::printf("%5lld  %7.4f", static_cast<long long>(epoch + 1), runs.back()->epoch_loss);
  for (const Run* r : runs)
    std::printf("  %8.2f s %9s/s", r->epoch_seconds,
                with_commas(static_cast<double>(images) / r->epoch_seconds).c_str());
  if (runs.size() == 2) std::printf("  %5.2f", runs[0]->epoch_seconds / runs[1]->epoch_seconds);
  for (const Run* r : runs) std::printf("  %6.2f %%", r->right);
  std::printf("\n");
  std::fflush(stdout);
}

void print_head(const std::vector<Run*>& runs) {
  std::printf("\nepoch     loss");
  for (const Run* r : runs) std::printf("  %10s %11s", r->name, "images");
  if (runs.size() == 2) std::printf("  ratio");
  std::printf("  test accuracy\n");
}

void print_speed(const std::vector<Run*>& runs, const Options& o, int64_t images) {
  // Multiply-adds of the products: one forward; backward one for the weights and, above the first
  // layer, one for the values.
  const double macs = static_cast<double>(o.hidden) * (784 + 10);
  const double flops = 2 * macs + 2 * (macs + static_cast<double>(o.hidden) * 10);
  std::printf("\n");
  for (const Run* r : runs)
    std::printf("%-8s  %6.0f us a step, %s images/s, %.1f GFLOP/s, %.1f s in all\n", r->name,
                1e6 * r->seconds / static_cast<double>(r->losses.size()),
                with_commas(static_cast<double>(images) / r->seconds).c_str(),
                flops * static_cast<double>(images) / r->seconds / 1e9, r->seconds);
  if (runs.size() == 2)
    std::printf("compiled is %.2f times as fast as eager\n", runs[0]->seconds / runs[1]->seconds);
}

/// How far the losses of the two runs are apart; false: further than they may be.
///
/// Pointwise ops and reductions give the same bits both ways. A matrix product may differ in the
/// last bit where a bias or activation became part of it, and training makes small differences
/// grow; so the losses of the first steps are compared one by one, and later ones as means.
bool compare(const Run& eager, const Run& compiled, int64_t epochs) {
  constexpr size_t kFirst = 100;
  constexpr double kStep = 1e-4, kEpoch = 0.05;
  const size_t steps = eager.losses.size(), last = steps - steps / static_cast<size_t>(epochs);
  size_t same = 0;
  while (same < steps && eager.losses[same] == compiled.losses[same]) ++same;
  if (same == steps) {
    std::printf("the losses of eager and compiled are the same bits in all %s steps\n",
                with_commas(static_cast<double>(steps)).c_str());
    return true;
  }
  double worst = 0, sum = 0, difference = 0;
  for (size_t i = 0; i < steps; ++i) {
    const double d = compiled.losses[i] - eager.losses[i];
    if (i < kFirst) worst = std::max(worst, std::abs(d) / std::abs(eager.losses[i]));
    if (i >= last) sum += eager.losses[i], difference += d;
  }
  const double mean = std::abs(difference) / sum;
  std::printf(
      "the losses of eager and compiled are the same bits in the first %zu steps; they differ by "
      "up to %.1e in the first %zu (%.0e allowed), and by %.1e in the mean of the last epoch\n",
      same, worst, std::min(kFirst, steps), kStep, mean);
  return worst <= kStep && mean <= kEpoch;
}

int run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const Data data = load(o);
  const Normalise normalise(data.train.images);
  const int64_t n = data.train.labels.size(0);
  std::printf("%s training images, %s test images; network 784-%lld-10, batch %lld, %d thread%s\n",
              with_commas(static_cast<double>(n)).c_str(),
              with_commas(static_cast<double>(data.test.labels.size(0))).c_str(),
              static_cast<long long>(o.hidden), static_cast<long long>(o.batch), get_num_threads(),
              get_num_threads() == 1 ? "" : "s");

  // The whole step is one function: pick images, forward, backward, update.
  auto step_of = [&](Net& net) {
    return [&](const Tensor& pick, const Tensor& rate) {
      const Tensor x = normalise(data.train.images.index_select(0, pick));
      const Tensor y = data.train.labels.index_select(0, pick);
      const Tensor loss = loss_of(o.loss, net.forward(x), y);
      loss.backward();
      net.update(rate, o.momentum);
      return loss.detach();
    };
  };
  // Both begin with the same numbers.
  auto new_net = [&] {
    manual_seed(static_cast<uint64_t>(o.seed));
    return Net(o.hidden);
  };
  Run eager{.name = "eager", .net = new_net()}, compiled{.name = "compiled", .net = new_net()};
  eager.step = step_of(eager.net);
  const auto compiled_step = compile(step_of(compiled.net));
  compiled.step = compiled_step;
  std::vector<Run*> runs;
  if (o.mode != "compiled") runs.push_back(&eager);
  if (o.mode != "eager") runs.push_back(&compiled);

  const Clock::time_point start = Clock::now();
  print_head(runs);
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    const Tensor order = randperm(n);
    for (Run* r : runs) train_epoch(*r, o, order, epoch);
    for (Run* r : runs) r->right = accuracy(r->net, data.test, normalise);
    print_epoch(runs, epoch, n);
  }
  print_speed(runs, o, n * o.epochs);
  const bool alike = runs.size() < 2 || compare(eager, compiled, o.epochs);
  double right = 100;
  for (const Run* r : runs) right = std::min(right, r->right);
  std::printf("test accuracy %.2f %% after %.1f s\n", right, seconds_since(start));
  if (o.explain && o.mode != "eager") compiled_step.explain(std::cout << '\n');
  if (!alike) {
    std::printf("eager and compiled are further apart than they may be\n");
    return 3;
  }
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
