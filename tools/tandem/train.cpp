// tandem train: trains a network on images.
#include "tandem/train/train.h"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "tandem/base/deterministic.h"
#include "tandem/base/parallel.h"
#include "tandem/models/weights.h"
#include "tandem/ops/ops.h"
#include "tandem/train/progress.h"
#include "tools/tandem/commands.h"
#include "tools/tandem/images.h"
#include "tools/tandem/network.h"
#include "tools/tandem/text.h"

namespace tandem::cli {
namespace {

const std::vector<std::string> kSchedules = {"constant", "cosine", "linear", "onecycle", "step"};

/// The learning rate as a function of how much of the run is done, from 0 to 1.
double rate_at(const std::string& schedule, double done) {
  const auto cosine = [](double from, double to, double at) {
    return to + (from - to) * .5 * (1 + std::cos(3.14159265358979323846 * at));
  };
  if (schedule == "cosine") return cosine(1, 0, done);
  if (schedule == "linear") return 1 - done;
  if (schedule == "step") return std::pow(0.1, std::floor(3 * done));
  if (schedule == "onecycle") {
    constexpr double kPeak = 0.3;
    return done < kPeak ? cosine(0.04, 1, done / kPeak)
                        : cosine(1, 4e-6, (done - kPeak) / (1 - kPeak));
  }
  return 1;
}

/// Sets the learning rate before every batch. It depends on where the run is and on nothing else,
/// so that a run that is resumed has the same.
class Schedule : public Callback {
 public:
  Schedule(const Settings& s, int64_t examples)
      : s_(s), batches_((examples + s.batch_size - 1) / s.batch_size) {}
  void on_epoch_begin(Model&, int64_t epoch) override { epoch_ = epoch; }
  void on_batch_begin(Model& model, int64_t batch) override {
    const auto at = static_cast<double>(epoch_ * batches_ + batch);
    const auto all = static_cast<double>(s_.epochs * batches_);
    const double warmup = std::min(s_.warmup * static_cast<double>(batches_), all);
    const double factor =
        at < warmup ? (at + 1) / warmup : rate_at(s_.schedule, (at - warmup) / (all - warmup));
    model.set_learning_rate(s_.lr * factor);
  }
  void save(serialize::OutputArchive& archive) const override {
    archive.write("epoch", IValue(epoch_));
  }
  void load(serialize::InputArchive& archive) override {
    IValue epoch;
    archive.read("epoch", epoch);
    epoch_ = epoch.toInt();
  }

 private:
  Settings s_;
  int64_t batches_, epoch_ = 0;
};

trainer::OptimizerChoice optimizer_of(const Settings& s) {
  using namespace optim;
  const std::string& name = s.optimizer;
  if (name == "sgd") return SGDOptions(s.lr).momentum(s.momentum).weight_decay(s.weight_decay);
  if (name == "adamw") return AdamWOptions(s.lr).weight_decay(s.weight_decay);
  if (name == "rmsprop")
    return RMSpropOptions(s.lr).momentum(s.momentum).weight_decay(s.weight_decay);
  if (name == "adagrad") return AdagradOptions(s.lr).weight_decay(s.weight_decay);
  if (name == "lion") return LionOptions(s.lr).weight_decay(s.weight_decay);
  return AdamOptions(s.lr).weight_decay(s.weight_decay);
}

/// What people usually begin with.
double default_rate(const std::string& optimizer) {
  if (optimizer == "sgd") return 0.05;
  if (optimizer == "adagrad") return 0.01;
  if (optimizer == "lion") return 1e-4;
  return 1e-3;
}

Settings new_settings(const Arguments& a) {
  Settings s;
  const auto model = a.text("--model"), data = a.text("--data");
  if (!model) throw UsageError("which network? --model NAME, for instance --model lenet");
  if (!data) throw UsageError("which images? --data NAME or FOLDER, for instance --data digits");
  s.model = *model;
  s.data = *data;
  s.optimizer = a.choice("--optimizer", s.optimizer, trainer::OptimizerChoice::names());
  s.schedule = a.choice("--schedule", s.schedule, kSchedules);
  s.lr = a.number("--lr", default_rate(s.optimizer), 0);
  s.momentum = a.number("--momentum", s.optimizer == "sgd" ? 0.9 : 0, -1e-9);
  s.weight_decay = a.number("--weight-decay", 0, -1e-9);
  s.warmup = a.number("--warmup", 0, -1e-9);
  s.clip = a.number("--clip", 0, -1e-9);
  s.epochs = a.integer("--epochs", s.epochs, 1);
  s.batch_size = a.integer("--batch-size", s.batch_size, 1);
  s.seed = a.integer("--seed", s.seed);
  s.samples = a.integer("--samples", 0, 1);
  s.size = a.integer("--size", 0, 1, 8192);
  s.patience = a.integer("--patience", 0, 1);
  s.eager = a.has("--eager");
  s.deterministic = a.has("--deterministic");
  s.log = a.text("--log", "");
  s.validation = a.text("--validation", s.validation);
  s.held_out();  // refuses what it cannot be
  return s;
}

/// The settings of a run that goes on: its own, with more epochs if that is asked for.
Settings resumed_settings(const Arguments& a, const std::string& path) {
  Settings s = read_settings(path);
  const auto fixed = [&](const char* option, const auto& given, const auto& was) {
    if (a.has(option) && given != was)
      throw UsageError(str(option, ": the run in ", path, " was begun with ", was,
                           "; a run that is resumed keeps its settings"));
  };
  fixed("--model", a.text("--model", ""), s.model);
  fixed("--data", a.text("--data", ""), s.data);
  fixed("--optimizer", a.text("--optimizer", ""), s.optimizer);
  fixed("--schedule", a.text("--schedule", ""), s.schedule);
  fixed("--lr", a.number("--lr", 0), s.lr);
  fixed("--momentum", a.number("--momentum", 0), s.momentum);
  fixed("--weight-decay", a.number("--weight-decay", 0), s.weight_decay);
  fixed("--warmup", a.number("--warmup", 0), s.warmup);
  fixed("--clip", a.number("--clip", 0), s.clip);
  fixed("--batch-size", a.integer("--batch-size", 0), s.batch_size);
  fixed("--seed", a.integer("--seed", 0), s.seed);
  fixed("--samples", a.integer("--samples", 0), s.samples);
  fixed("--size", a.integer("--size", 0), s.size);
  fixed("--patience", a.integer("--patience", 0), s.patience);
  fixed("--log", a.text("--log", ""), s.log.empty() ? "no log" : s.log);
  fixed("--validation", a.text("--validation", ""), s.validation);
  // Compiled and line by line differ in the last bits, which grow.
  if (a.has("--eager") && !s.eager)
    throw UsageError(str("--eager: the run in ", path, " was begun compiled"));
  s.epochs = a.integer("--epochs", s.epochs, 1);
  s.deterministic = s.deterministic || a.has("--deterministic");
  return s;
}

void check_images(const Settings& s, const ImageData& images) {
  const models::Info& info = models::info(s.model);
  if (info.input != models::Info::Input::kImages)
    throw UsageError(str("--model: ", s.model, " reads symbols; tandem train knows images only"));
  const int64_t side = std::min(images.height, images.width);
  if (side < info.least_image_size)
    throw UsageError(str("--model: ", s.model, " wants images of at least ", info.least_image_size,
                         " pixels a side, these have ", images.height, " x ", images.width,
                         "; make them larger with --size ", info.least_image_size));
}

void print_run(const Settings& s, const ImageData& images, nn::Module& net) {
  int64_t parameters = 0;
  for (const Tensor& p : net.parameters()) parameters += p.numel();
  std::printf("%s: %s to train on, %s to test; %s, %lld x %lld x %lld\n", images.what.c_str(),
              count(images.train.source.size(), "image").c_str(),
              s.validates() && images.test.source
                  ? trainer::with_commas(static_cast<double>(images.test.source.size())).c_str()
                  : "none",
              count(static_cast<int64_t>(images.classes.size()), "class").c_str(),
              static_cast<long long>(images.channels), static_cast<long long>(images.height),
              static_cast<long long>(images.width));
  std::printf("%s: %s; %s, learning rate %g (%s), batches of %lld, %s, %s\n", s.model.c_str(),
              count(parameters, "parameter").c_str(), s.optimizer.c_str(), s.lr, s.schedule.c_str(),
              static_cast<long long>(s.batch_size), count(get_num_threads(), "thread").c_str(),
              s.eager ? "line by line" : "compiled");
  std::fflush(stdout);
}

/// What the run has reached, and the exit code that says so.
int finish(const Arguments& a, const Settings& s, const History& history, Model& model,
           const std::string& checkpoint) {
  if (history.interrupted) {
    if (checkpoint.empty())
      std::printf("stopped; nothing is saved without --checkpoint\n");
    else
      std::printf("stopped and saved; go on with: tandem train --resume --checkpoint %s\n",
                  checkpoint.c_str());
    return kInterrupted;
  }
  if (const auto file = a.text("--save-weights")) {
    models::save_weights(model.module(), *file, {{"model", s.model}});
    std::printf("weights saved to %s\n", file->c_str());
  }
  if (!checkpoint.empty()) std::printf("saved to %s\n", checkpoint.c_str());
  if (!std::isfinite(history["loss"].back())) {
    std::printf("the loss is not a number any more; a smaller --lr or --clip 1 may help\n");
    return kNotReached;
  }
  const bool tested = history.history.contains("val_accuracy");
  const double accuracy = 100 * history[tested ? "val_accuracy" : "accuracy"].back();
  std::printf("%s accuracy %.2f %%\n", tested ? "test" : "training", accuracy);
  if (a.has("--expect") && accuracy < a.number("--expect", 0)) {
    std::printf("that is less than the %.2f %% asked for\n", a.number("--expect", 0));
    return kNotReached;
  }
  return kOk;
}

int run_train(const Arguments& a) {
  const std::string checkpoint = a.text("--checkpoint", "");
  const bool exists = !checkpoint.empty() && std::filesystem::exists(checkpoint);
  const bool resume = a.has("--resume");
  if (resume && checkpoint.empty())
    throw UsageError("--resume: from which file? --checkpoint FILE");
  if (exists && !resume && !a.has("--overwrite"))
    throw UsageError(str("--checkpoint: ", checkpoint,
                         " is there already: --resume goes on with it, --overwrite begins anew"));
  if (a.has("--save-every") && checkpoint.empty())
    throw UsageError("--save-every: to which file? --checkpoint FILE");
  if (!checkpoint.empty()) {
    // Hours of training must not end with a folder that is not there.
    const auto folder = std::filesystem::absolute(checkpoint).parent_path();
    if (!std::filesystem::is_directory(folder))
      throw UsageError(str("--checkpoint: there is no folder ", folder.string()));
  }
  const int64_t workers = a.integer("--workers", 2, 0, 256);
  const int64_t save_every = a.integer("--save-every", 0, 1);
  a.number("--expect", 0);
  Settings s = resume && exists ? resumed_settings(a, checkpoint) : new_settings(a);
  models::info(s.model);  // an unknown name is told before images are read
  if (s.patience > 0 && !s.validates())
    throw UsageError("--patience: needs images to test with, but --validation is none");
  set_threads(a);
  if (s.deterministic) use_deterministic_algorithms(true);

  const ImageData images = load_images({.data = s.data,
                                        .seed = s.seed,
                                        .samples = s.samples,
                                        .size = s.size,
                                        .held_out = s.held_out()});
  check_images(s, images);
  if (s.patience > 0 && !images.test.source)
    throw UsageError("--patience: needs images to test with; hold some out with --validation 0.1");
  manual_seed(static_cast<uint64_t>(s.seed));
  s.classes = images.classes;
  s.channels = images.channels;
  if (images.height == images.width) s.size = images.height;
  Preparation prepare =
      s.mean.empty() ? Preparation::of(images.train.some) : Preparation(s.mean, s.deviation);
  s.mean = prepare.mean();
  s.deviation = prepare.deviation();
  Classifier classifier(create_network(s.model, static_cast<int64_t>(s.classes.size()), s.channels),
                        prepare);
  // A run that goes on has weights already.
  if (const auto weights = a.text("--weights"); weights && !(resume && exists))
    models::load_weights(*classifier.net(), *weights);

  Model model(classifier);
  print_run(s, images, model.module());
  model.compile({.loss = "cross_entropy",
                 .optimizer = optimizer_of(s),
                 .metrics = {"accuracy"},
                 .clip_norm = s.clip,
                 .compiled = !s.eager});
  std::vector<trainer::CallbackPtr> callbacks = {Schedule(s, images.train.source.size()),
                                                 TerminateOnNaN()};
  if (!s.log.empty()) callbacks.emplace_back(CSVLogger(s.log));
  if (s.patience > 0)
    callbacks.emplace_back(EarlyStopping({.patience = s.patience, .restore_best_weights = true}));
  const History history = model.fit(
      images.train.source, {.epochs = s.epochs,
                            .batch_size = s.batch_size,
                            .validation = s.validates() ? images.test.source : trainer::Source(),
                            .callbacks = callbacks,
                            .workers = workers,
                            .verbose = a.has("--quiet") ? 0 : 1,
                            .checkpoint = checkpoint,
                            .checkpoint_every = save_every,
                            .resume = resume,
                            .values = s.values()});
  return finish(a, s, history, model, checkpoint);
}

}  // namespace

const Command& train_command() {
  static const Command command = {
      .name = "train",
      .summary = "trains a network on images",
      .operands = "",
      .examples =
          {{"tandem train --model lenet --data digits",
            "a first try: a small network, drawn digits"},
           {"tandem train --model resnet18 --data fashion-mnist --epochs 5 --checkpoint run.ckpt",
            "saves the run after each epoch, and on Ctrl-C"},
           {"tandem train --resume --checkpoint run.ckpt",
            "goes on where it was; the result is that of a run that was not stopped"},
           {"tandem train --model resnet50 --data photos --size 224 --validation 0.1 \\\n"
            "      --optimizer sgd --lr 0.1 --warmup 1 --save-weights resnet50.safetensors",
            "photos/cat/*.jpg, photos/dog/*.jpg, ...; a tenth of them to test with"}},
      .groups =
          {{"what",
            {{"--model", "NAME", "resnet18, vgg11, lenet, ...; 'tandem info --models' lists them"},
             {"--data", "WHAT", kDataHelp},
             {"--weights", "FILE", "begin with these: safetensors with torchvision's names"},
             {"--size", "N", "make images N x N pixels (as they are; 224 for folders of images)"},
             {"--samples", "N", "only the first N images to train on"},
             {"--validation", "WHAT",
              "test: the data's own test images; a share such as 0.1: that part of the training "
              "images, which are then not trained on; or none (test)"}}},
           {"how",
            {{"--epochs", "N", "times through the images (5)"},
             {"--batch-size", "N", "images a step (128)"},
             {"--optimizer", "NAME", "adam, adamw, sgd, rmsprop, adagrad or lion (adam)"},
             {"--lr", "X", "learning rate (0.001; sgd 0.05, adagrad 0.01, lion 0.0001)"},
             {"--schedule", "NAME",
              "how it changes until the end: constant, cosine, linear, onecycle, or step: a tenth "
              "after each third (cosine)"},
             {"--warmup", "X", "epochs in which it rises from 0 (0)"},
             {"--momentum", "X", "for sgd and rmsprop (0.9 for sgd)"},
             {"--weight-decay", "X", "(0)"},
             {"--clip", "X", "scale gradients down to this norm (not)"},
             {"--patience", "N",
              "stop when the test loss has not become smaller for N epochs, and keep the best "
              "weights"},
             {"--seed", "N", "for weights, order and drawn digits (1)"},
             {"--eager", "", "run line by line instead of compiled"},
             {"--deterministic", "", "the same bits for any number of threads"},
             {"--threads", "N", "threads to compute with (all cores)"},
             {"--workers", "N", "threads that read images (2)"}}},
           {"what is kept",
            {{"--checkpoint", "FILE", "save the whole run here, replaced as a whole each time"},
             {"--resume", "", "go on with it, with its own settings; begins if it is not there"},
             {"--overwrite", "", "begin anew although the file is there"},
             {"--save-every", "N", "save after every N batches too"},
             {"--save-weights", "FILE", "the weights alone at the end, as safetensors"},
             {"--log", "FILE", "a line of CSV for each epoch"},
             {"--quiet", "", "print no progress"},
             {"--expect", "P", "exit code 2 if less than P % are recognised in the end"}}}},
      .notes =
          "Ctrl-C ends the run after the step at hand and saves it; pressed twice it ends at "
          "once.\n",
      .run = run_train,
  };
  return command;
}

}  // namespace tandem::cli
