// tandem evaluate: how good a network is.
#include <cstdio>

#include "tandem/ops/ops.h"
#include "tandem/train/progress.h"
#include "tandem/train/train.h"
#include "tools/tandem/commands.h"
#include "tools/tandem/images.h"
#include "tools/tandem/network.h"
#include "tools/tandem/text.h"

namespace tandem::cli {
namespace {

/// How many images of each class there are, and how many are recognised.
void print_classes(Model& model, const trainer::Source& source, int64_t batch_size, int64_t workers,
                   const std::vector<std::string>& names) {
  const auto n = static_cast<int64_t>(names.size());
  Tensor all = zeros({n}, TensorOptions(kLong)), right = zeros({n}, TensorOptions(kLong));
  const auto reader =
      source.open({static_cast<size_t>(batch_size), false, static_cast<size_t>(workers)});
  while (const auto batch = reader()) {
    const Tensor target = batch->target.reshape({-1});
    const Tensor guess = model.predict(batch->data, batch_size).argmax(1);
    all.index_add_(0, target, ones_like(target));
    right.index_add_(0, target, guess.eq(target).to(kLong));
  }
  Table table;
  table.row({"class", "images", "recognised"});
  for (int64_t i = 0; i < n; ++i) {
    const int64_t a = all[i].item<int64_t>(), r = right[i].item<int64_t>();
    char share[32] = "-";
    if (a > 0)
      std::snprintf(share, sizeof share, "%.2f %%",
                    100 * static_cast<double>(r) / static_cast<double>(a));
    table.row({names[static_cast<size_t>(i)], trainer::with_commas(static_cast<double>(a)), share});
  }
  table.print();
}

int run_evaluate(const Arguments& a) {
  const int64_t batch_size = a.integer("--batch-size", 256, 1);
  const int64_t workers = a.integer("--workers", 2, 0, 256);
  const double expect = a.number("--expect", 0);
  const int64_t size = a.integer("--size", 0, 1, 8192);
  set_threads(a);
  Loaded loaded = load_network(a);
  const Settings& s = loaded.settings;
  ImageOptions options{.data = a.text("--data", s.data),
                       .seed = s.seed,
                       .size = size > 0 ? size : s.size,
                       .train = false};
  if (options.data.empty())
    throw UsageError("which images? --data NAME or FOLDER, for instance --data fashion-mnist");
  // The test images that the run had; those that were held out are not among the others.
  if (options.data == s.data) {
    options.held_out = s.held_out();
    options.samples = s.samples;
  }
  const ImageData images = load_images(options);
  if (!images.test.source)
    throw UsageError(str("--data: ", options.data, " has no test images of its own"));
  if (images.channels != s.channels)
    throw UsageError(str("--data: images of ", count(images.channels, "channel"),
                         ", the network is for ", s.channels));
  if (images.classes.size() > s.classes.size())
    throw UsageError(str("--data: images of ", images.classes.size(),
                         " classes, the network is for ", s.classes.size()));

  Model model(loaded.classifier);
  model.compile({.loss = "cross_entropy", .metrics = {"accuracy"}, .compiled = !a.has("--eager")});
  const auto start = trainer::Clock::now();
  const Logs logs = model.evaluate(images.test.source, batch_size);
  const double accuracy = 100 * logs.at("accuracy");
  std::printf("%s on %s of %s: loss %.4f, accuracy %.2f %% (%.1f s)\n", s.model.c_str(),
              count(images.test.source.size(), "image").c_str(), images.what.c_str(),
              logs.at("loss"), accuracy, trainer::seconds_since(start));
  if (a.has("--classes")) print_classes(model, images.test.source, batch_size, workers, s.classes);
  if (accuracy < expect) {
    std::printf("that is less than the %.2f %% asked for\n", expect);
    return kNotReached;
  }
  return kOk;
}

}  // namespace

const Command& evaluate_command() {
  static const Command command = {
      .name = "evaluate",
      .summary = "how good a network is on test images",
      .operands = "[CHECKPOINT]",
      .examples =
          {{"tandem evaluate run.ckpt", "on the test images of the data it was trained on"},
           {"tandem evaluate run.ckpt --data folder --classes", "on others, class by class"},
           {"tandem evaluate --model resnet18 --weights resnet18.safetensors --data imagenet \\\n"
            "      --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225",
            "with published weights"}},
      .groups = {{"what",
                  {{"--data", "WHAT", kDataHelp},
                   {"--size", "N", "make images N x N pixels (as in training)"},
                   {"--classes", "", "a line for each class"},
                   {"--expect", "P", "exit code 2 if less than P % are recognised"}}},
                 network_options(),
                 {"how",
                  {{"--batch-size", "N", "images at a time (256)"},
                   {"--eager", "", "run line by line instead of compiled"},
                   {"--threads", "N", "threads to compute with (all cores)"},
                   {"--workers", "N", "threads that read images (2)"}}}},
      .notes = "",
      .run = run_evaluate,
  };
  return command;
}

}  // namespace tandem::cli
