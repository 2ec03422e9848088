// tandem bench: how fast a network runs here, line by line and compiled.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/base/parallel.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/train/progress.h"
#include "tools/tandem/commands.h"
#include "tools/tandem/network.h"
#include "tools/tandem/text.h"

namespace tandem::cli {
namespace {

struct Way {
  const char* name;
  std::function<void()> step;
  std::vector<double> seconds = {};
};

/// Calls both ways by turns, so that what else the machine does disturbs them alike, and prints the
/// medians.
void measure(const char* what, std::vector<Way> ways, double seconds, int64_t images) {
  for (Way& w : ways)
    for (int i = 0; i < 3; ++i) w.step();
  const auto start = trainer::Clock::now();
  while (trainer::seconds_since(start) < seconds || ways[0].seconds.size() < 3)
    for (Way& w : ways) {
      const auto begin = trainer::Clock::now();
      w.step();
      w.seconds.push_back(trainer::seconds_since(begin));
    }
  std::vector<double> medians;
  for (Way& w : ways) {
    const auto middle = w.seconds.begin() + static_cast<int64_t>(w.seconds.size() / 2);
    std::nth_element(w.seconds.begin(), middle, w.seconds.end());
    medians.push_back(*middle);
    std::printf("  %-10s%-10s%10.2f ms %12s images/s\n", what, w.name, 1e3 * *middle,
                trainer::with_commas(static_cast<double>(images) / *middle).c_str());
  }
  std::printf("  %-10scompiled is %.2f times as fast\n", "", medians[0] / medians[1]);
}

int run_bench(const Arguments& a) {
  const std::string name = a.text("--model", "resnet18");
  const models::Info& info = models::info(name);
  if (info.input != models::Info::Input::kImages)
    throw UsageError(str("--model: ", name, " reads symbols; tandem bench knows images only"));
  const int64_t batch = a.integer("--batch-size", 16, 1, 65536);
  const int64_t size = a.integer("--size", info.image_size, info.least_image_size, 8192);
  const double seconds = a.number("--seconds", 5, 0);
  set_threads(a);
  manual_seed(1);
  models::Network net = models::create(name), copy = models::create(name);
  const Tensor x = randn({batch, info.channels, size, size});
  const Tensor y = randint(info.num_classes, {batch});
  std::printf("%s, %lld images of %lld x %lld x %lld, %s\n", name.c_str(),
              static_cast<long long>(batch), static_cast<long long>(info.channels),
              static_cast<long long>(size), static_cast<long long>(size),
              count(get_num_threads(), "thread").c_str());
  std::fflush(stdout);

  const auto step_of = [&](models::Network& n, optim::SGD& sgd) {
    return [&x, &y, &n, &sgd] {
      const Tensor loss = nn::functional::cross_entropy(n.forward(x), y);
      loss.backward();
      sgd.step();
      sgd.zero_grad(/*set_to_none=*/true);
      return loss.detach();
    };
  };
  optim::SGD sgd(net->parameters(), optim::SGDOptions(1e-3).momentum(0.9));
  optim::SGD sgd_copy(copy->parameters(), optim::SGDOptions(1e-3).momentum(0.9));
  const auto eager = step_of(net, sgd);
  const auto compiled = compile(step_of(copy, sgd_copy));
  measure("training", {{"eager", [&] { eager(); }}, {"compiled", [&] { compiled(); }}}, seconds,
          batch);

  net->eval();
  const NoGradGuard no_grad;
  const auto look = [&] { return net.forward(x); };
  const auto compiled_look = compile(look);
  measure("inference", {{"eager", [&] { look(); }}, {"compiled", [&] { compiled_look(); }}},
          seconds, batch);
  std::printf("  most memory held by tensors: %s\n",
              bytes_text(static_cast<double>(memory::stats().peak)).c_str());
  return kOk;
}

}  // namespace

const Command& bench_command() {
  static const Command command = {
      .name = "bench",
      .summary = "how fast a network runs here, line by line and compiled",
      .operands = "",
      .examples = {{"tandem bench", "resnet18 as it was published"},
                   {"tandem bench --model lenet --batch-size 128", "a small network"}},
      .groups = {{"what",
                  {{"--model", "NAME", "'tandem info --models' lists them (resnet18)"},
                   {"--batch-size", "N", "images a step (16)"},
                   {"--size", "N", "images of N x N pixels (as published)"},
                   {"--seconds", "X", "for training, and again for inference (5)"},
                   {"--threads", "N", "threads to compute with (all cores)"}}}},
      .notes = "Both ways run by turns within one process; the times are medians.\n",
      .run = run_bench,
  };
  return command;
}

}  // namespace tandem::cli
