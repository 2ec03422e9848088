// Trains two networks on Fashion-MNIST, line by line and compiled, and compares both ways: what
// ./run starts. One is the study's, 784-h-10 with ReLU, the other a small convolutional one.
//
// The two ways to train are the same function, called or given to compile(): it picks the images of
// a batch, runs the network forward and backward, and takes a step of SGD.

#include <tandem/base/env.h>
#include <tandem/io/idx.h>
#include <tandem/tandem.h>
#include <tandem/train/progress.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <vector>

using namespace tandem;
using namespace tandem::trainer;

namespace {

constexpr const char* kHelp =
    R"(Trains networks on Fashion-MNIST, line by line (eager) and compiled, compares the losses and the time,
and prints the test accuracy.

  --net NAME       mlp: 784-h-10 with ReLU; cnn: two convolutions, each with batch normalisation, ReLU
                   and max pooling, and two linear layers with dropout; or both (both)
  --mode NAME      eager, compiled or both (both)
  --fit            train by fit() instead of the program's own loop; compiled, unless --mode is eager
  --epochs N       times through the training images (8; 4 for cnn)
  --hidden N       width of the mlp's hidden layer (512)
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
  --draw FOLDER    draw the graphs of the networks and of the compiled steps there, as .svg and .html
  --expect P       fail (exit code 2) when less than P % of the test images are recognised
  --help
)";

struct Options {
  int64_t epochs = 0, hidden = 512, batch = 128, samples = 0, threads = 0, seed = 1;
  double lr = 0, momentum = 0.9, expect = 0;
  std::string net = "both", mode = "both", loss = "cross_entropy", data = env::fashion_mnist_dir(),
              draw;
  bool digits = false, explain = false, fit = false, help = false;
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
    else if (name == "--net")
      o.net = text();
    else if (name == "--mode")
      o.mode = text();
    else if (name == "--explain")
      o.explain = true;
    else if (name == "--fit")
      o.fit = true;
    else if (name == "--loss")
      o.loss = text();
    else if (name == "--data")
      o.data = text();
    else if (name == "--draw")
      o.draw = text();
    else if (name == "--digits")
      o.digits = true;
    else if (name == "--help" || name == "-h")
      o.help = true;
    else
      TANDEM_CHECK(false, "unknown option ", name, " (see --help)");
  }
  TANDEM_CHECK(o.loss == "cross_entropy" || o.loss == "norm", "option --loss: '", o.loss,
               "' is neither cross_entropy nor norm");
  TANDEM_CHECK(o.net == "both" || o.net == "mlp" || o.net == "cnn", "option --net: '", o.net,
               "' is neither mlp nor cnn nor both");
  TANDEM_CHECK(o.mode == "both" || o.mode == "eager" || o.mode == "compiled", "option --mode: '",
               o.mode, "' is neither eager nor compiled nor both");
  if (o.lr == 0) o.lr = o.loss == "norm" ? 0.002 : 0.05;
  return o;
}

struct Data {
  io::LabelledImages train, test;
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
    // Drawing takes longer than a short training on few of them would.
    const uint32_t seed = static_cast<uint32_t>(o.seed);
    int64_t train = 20'000, test = 4'000;
    if (o.samples > 0) {
      train = std::min(train, o.samples);
      test = std::min(test, std::max<int64_t>(1'000, o.samples));
    }
    data = {data::draw_digits(train, 2 * seed), data::draw_digits(test, 2 * seed + 1)};
  } else {
    data = {io::read_idx_pair(o.data, "train"), io::read_idx_pair(o.data, "t10k")};
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
    return images.to(kFloat).sub_(mean).div_(deviation).view({-1, 1, 28, 28});
  }
};

nn::Sequential make_mlp(int64_t hidden) {
  nn::Linear first(784, hidden), last(hidden, 10);
  nn::init::kaiming_normal_(first->weight, 0, kFanIn, kReLU);
  nn::init::zeros_(first->bias);
  // The last layer starts small, so that no class is preferred at first.
  nn::init::normal_(last->weight, 0, 0.1 * std::sqrt(2.0 / static_cast<double>(hidden)));
  nn::init::zeros_(last->bias);
  return nn::Sequential(nn::Flatten(), first, nn::ReLU(), last);
}

nn::Sequential make_cnn() {
  const auto conv = [](int64_t in, int64_t out) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
  };
  return nn::Sequential(conv(1, 32), nn::BatchNorm2d(32), nn::ReLU(), nn::MaxPool2d(2),
                        conv(32, 64), nn::BatchNorm2d(64), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Flatten(), nn::Linear(64 * 7 * 7, 128), nn::ReLU(), nn::Dropout(0.25),
                        nn::Linear(128, 10));
}

Tensor loss_of(const std::string& name, const Tensor& scores, const Tensor& labels) {
  if (name == "norm") {
    // The study's loss: the distance from the vectors that are 1 at the right class. The study also
    // puts a ReLU on the scores; with it this network stops learning within the first epoch.
    const Tensor wanted = zeros_like(scores.detach()).scatter_(1, labels.unsqueeze(1), 1.0);
    return (wanted - scores).norm();
  }
  return nn::functional::cross_entropy(scores, labels);
}

double accuracy(nn::Sequential& net, const io::LabelledImages& data, const Normalise& normalise) {
  NoGradGuard no_grad;
  net->eval();
  int64_t right = 0;
  const int64_t n = data.labels.size(0);
  for (int64_t at = 0; at < n; at += 1000) {
    const int64_t count = std::min<int64_t>(1000, n - at);
    const Tensor guess = net->forward(normalise(data.images.narrow(0, at, count))).argmax(1);
    right += guess.eq(data.labels.narrow(0, at, count)).sum().item<int64_t>();
  }
  net->train();
  return 100.0 * static_cast<double>(right) / static_cast<double>(n);
}

/// One of the two ways to train: a network of its own, and what happened so far.
struct Run {
  /// Which images; gives the loss before the step.
  using Step = std::function<Tensor(const Tensor& pick)>;

  const char* name;
  nn::Sequential net;
  optim::SGD sgd;
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
  // Both ways drop the same values.
  manual_seed(static_cast<uint64_t>(o.seed + epoch));
  for (int64_t b = 0; b < batches; ++b) {
    const Tensor pick = order.narrow(0, b * o.batch, std::min(o.batch, n - b * o.batch));
    const double progress =
        static_cast<double>(epoch * batches + b) / static_cast<double>(o.epochs * batches);
    run.sgd.param_groups()[0].options().set_lr(o.lr * .5 *
                                               (1 + std::cos(3.14159265358979 * progress)));
    run.losses.push_back(run.step(pick).item<double>());
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

/// Multiply-adds of the products and convolutions for one image: one forward; backward one for the
/// weights and, above the first layer, one for the values.
double flops_of(const nn::Sequential& net) {
  double macs = 0;
  bool first = true;
  int64_t side = 28;
  for (const auto& m : net->modules(/*include_self=*/false)) {
    double here = 0;
    if (auto* l = m->as<nn::Linear>()) here = static_cast<double>(l->weight.numel());
    if (auto* c = m->as<nn::Conv2d>()) here = static_cast<double>(c->weight.numel() * side * side);
    if (m->as<nn::MaxPool2d>()) side /= 2;
    macs += here * (first ? 2 : 3);
    first = first && here == 0;
  }
  return 2 * macs;
}

void print_speed(const std::vector<Run*>& runs, int64_t images) {
  const double flops = flops_of(runs[0]->net);
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
/// last bit where a bias or activation became part of it, a convolution where its values lie in
/// memory in another order; and training makes small differences grow. So the losses of the first
/// steps are compared one by one, and later ones as means.
bool compare(const Run& eager, const Run& compiled, int64_t epochs, const std::string& kind) {
  // The convolutional network is unstable at first: a difference grows tenfold a step.
  const size_t kFirst = kind == "mlp" ? 100 : 5;
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

/// Draws a graph as a picture and as a page, and says where.
void draw_both(const Drawable& graph, const std::string& folder, const std::string& name,
               const char* what, const DrawOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TANDEM_CHECK_AS(FileError, !error, "option --draw: the folder ", folder,
                  " cannot be made: ", error.message());
  const std::string path = (std::filesystem::path(folder) / name).string();
  draw(graph, path + ".svg", options);
  draw(graph, path + ".html", options);
  std::printf("%s is drawn in %s.svg and, to click on, %s.html\n", what, path.c_str(),
              path.c_str());
}

/// The graph behind the loss of a few images, by module.
void draw_network(const Options& o, const Data& data, const std::string& kind,
                  nn::Sequential& net) {
  const Normalise normalise(data.train.images);
  const int64_t n = std::min(o.batch, data.train.labels.size(0));
  const ModuleNotes notes;
  const Tensor loss = loss_of(o.loss, net(normalise(data.train.images.narrow(0, 0, n))),
                              data.train.labels.narrow(0, 0, n));
  draw_both(loss, o.draw, kind + "_network", "the network's graph",
            {.module = net, .title = kind + ": the graph behind the loss"});
}

/// Trains one network both ways. 0, or the exit code that says what went wrong.
int train(const Options& o, const Data& data, const std::string& kind) {
  const Normalise normalise(data.train.images);
  const int64_t n = data.train.labels.size(0);

  // Both begin with the same numbers.
  const auto new_net = [&] {
    manual_seed(static_cast<uint64_t>(o.seed));
    return kind == "mlp" ? make_mlp(o.hidden) : make_cnn();
  };
  const auto new_run = [&](const char* name) {
    nn::Sequential net = new_net();
    return Run{name, net,
               optim::SGD(net->parameters(), optim::SGDOptions(o.lr).momentum(o.momentum))};
  };
  // The whole step is one function: pick images, forward, backward, update.
  const auto step_of = [&](Run& run) {
    return [&](const Tensor& pick) {
      const Tensor x = normalise(data.train.images.index_select(0, pick));
      const Tensor y = data.train.labels.index_select(0, pick);
      const Tensor loss = loss_of(o.loss, run.net->forward(x), y);
      loss.backward();
      run.sgd.step();
      // Forgotten here, gradients need no memory outside of the compiled step.
      run.sgd.zero_grad(/*set_to_none=*/true);
      return loss.detach();
    };
  };
  Run eager = new_run("eager"), compiled = new_run("compiled");
  eager.step = step_of(eager);
  const auto compiled_step = compile(step_of(compiled));
  compiled.step = compiled_step;
  std::vector<Run*> runs;
  if (o.mode != "compiled") runs.push_back(&eager);
  if (o.mode != "eager") runs.push_back(&compiled);
  if (kind == "mlp")
    std::printf("\nmlp: network 784-%lld-10\n", static_cast<long long>(o.hidden));
  else
    std::cout << "\ncnn: " << eager.net << '\n';

  const Clock::time_point start = Clock::now();
  print_head(runs);
  for (int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    manual_seed(static_cast<uint64_t>(o.seed * 1000 + epoch));
    const Tensor order = randperm(n);
    for (Run* r : runs) train_epoch(*r, o, order, epoch);
    for (Run* r : runs) r->right = accuracy(r->net, data.test, normalise);
    print_epoch(runs, epoch, n);
  }
  print_speed(runs, n * o.epochs);
  const bool alike = runs.size() < 2 || compare(eager, compiled, o.epochs, kind);
  double right = 100;
  for (const Run* r : runs) right = std::min(right, r->right);
  std::printf("test accuracy %.2f %% after %.1f s\n", right, seconds_since(start));
  if (o.explain && o.mode != "eager") compiled_step.explain(std::cout << '\n');
  if (!o.draw.empty()) {
    draw_network(o, data, kind, runs[0]->net);
    if (o.mode != "eager")
      draw_both(compiled_step, o.draw, kind + "_step", "the compiled step",
                {.module = compiled.net, .title = kind + ": the compiled training step"});
  }
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

/// Trains one network by Model::fit. 0, or the exit code that says what went wrong.
int train_by_fit(const Options& o, const Data& data, const std::string& kind) {
  const Normalise normalise(data.train.images);
  manual_seed(static_cast<uint64_t>(o.seed));
  nn::Sequential net = kind == "mlp" ? make_mlp(o.hidden) : make_cnn();
  std::printf("\n%s by fit(), %s\n", kind.c_str(), o.mode == "eager" ? "line by line" : "compiled");
  const Clock::time_point start = Clock::now();
  Model model(net);
  model.compile({.loss = [&](const Tensor& scores,
                             const Tensor& labels) { return loss_of(o.loss, scores, labels); },
                 .optimizer = optim::SGDOptions(o.lr).momentum(o.momentum),
                 .metrics = {"accuracy"},
                 .compiled = o.mode != "eager"});
  const auto falling = [&](int64_t epoch, double) {
    return o.lr * .5 *
           (1 + std::cos(3.14159265358979 * static_cast<double>(epoch) /
                         static_cast<double>(o.epochs)));
  };
  const History history =
      model.fit(normalise(data.train.images), data.train.labels,
                {.epochs = o.epochs,
                 .batch_size = o.batch,
                 .validation = trainer::Source(normalise(data.test.images), data.test.labels),
                 .callbacks = {LearningRateScheduler(falling)}});
  const double right = 100 * history["val_accuracy"].back();
  std::printf("test accuracy %.2f %% after %.1f s\n", right, seconds_since(start));
  if (!o.draw.empty()) draw_network(o, data, kind, net);
  if (right >= o.expect) return 0;
  std::printf("that is less than the %.2f %% asked for\n", o.expect);
  return 2;
}

int run(const Options& options) {
  if (options.threads > 0) set_num_threads(static_cast<int>(options.threads));
  const Data data = load(options);
  std::printf("%s training images, %s test images; batch %lld, %d thread%s\n",
              with_commas(static_cast<double>(data.train.labels.size(0))).c_str(),
              with_commas(static_cast<double>(data.test.labels.size(0))).c_str(),
              static_cast<long long>(options.batch), get_num_threads(),
              get_num_threads() == 1 ? "" : "s");
  for (const char* kind : {"mlp", "cnn"}) {
    if (options.net != "both" && options.net != kind) continue;
    Options o = options;
    if (o.epochs == 0) o.epochs = std::strcmp(kind, "mlp") == 0 ? 8 : 4;
    if (const int code = (o.fit ? train_by_fit : train)(o, data, kind)) return code;
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
