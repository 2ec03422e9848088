// Runs of fit() that are stopped and go on: they end as if they had not been stopped.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tandem/base/deterministic.h"
#include "tandem/base/parallel.h"
#include "tests/io/scratch.h"
#include "tests/train/helpers.h"

namespace tandem {
namespace {

/// Does something after a batch of an epoch.
struct At : Callback {
  At(int64_t epoch, int64_t batch, std::function<void()> what)
      : epoch(epoch), batch(batch), what(std::move(what)) {}
  void on_epoch_begin(Model&, int64_t e) override { now = e; }
  void on_batch_end(Model&, int64_t b) override {
    if (now == epoch && b == batch && what) what();
  }
  void save(serialize::OutputArchive& archive) const override { archive.write("now", IValue(now)); }
  void load(serialize::InputArchive& archive) override {
    IValue v;
    archive.read("now", v);
    now = v.toInt();
  }
  int64_t epoch, batch, now = -1;
  std::function<void()> what;
};

struct Result {
  History history;
  std::vector<Tensor> weights;
};

/// Trains a network with dropout; the seed is that of a program that starts anew.
Result train(const trainer::Source& source, const trainer::Source& validation,
             const std::string& checkpoint, const At& at, bool resume, int64_t workers = 0,
             int64_t every = 0) {
  manual_seed(21);
  Model model(small_net());
  model.compile(classifier());
  Result r;
  r.history = model.fit(
      source,
      {.epochs = 4,
       .batch_size = 16,
       .validation = validation,
       .callbacks = {at, trainer::callbacks::ReduceLROnPlateau(
                             {.monitor = "loss", .factor = 0.5, .patience = 0, .min_delta = 1})},
       .workers = workers,
       .verbose = 0,
       .checkpoint = checkpoint,
       .checkpoint_every = every,
       .resume = resume,
       .values = {{"note", IValue("mine")}}});
  for (const Tensor& p : model.module().parameters()) r.weights.push_back(p.detach().clone());
  return r;
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.history.epoch, b.history.epoch);
  EXPECT_EQ(a.history.history, b.history.history);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) EXPECT_TRUE(equal(a.weights[i], b.weights[i]));
}

const auto interrupt = [] { ::raise(SIGINT); };

TEST(Resume, CtrlCInTheMiddleOfAnEpoch) {
  const Scratch s;
  manual_seed(20);
  const Corners data(100), test(40);
  const trainer::Source source(data.x, data.y), validation(test.x, test.y);
  const Result whole = train(source, validation, s / "whole", At(0, 0, {}), false);
  EXPECT_EQ(whole.history.epoch.size(), 4u);
  EXPECT_FALSE(whole.history.interrupted);

  for (const auto& [epoch, batch] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 3}, {2, 6}, {3, 5}}) {
    std::filesystem::remove(s / "run");
    const Result part = train(source, validation, s / "run", At(epoch, batch, interrupt), false);
    EXPECT_TRUE(part.history.interrupted);
    // Once more in between, so that a state that was resumed is saved again.
    train(source, validation, s / "run", At(epoch, batch + 1, interrupt), true);
    expect_same(train(source, validation, s / "run", At(0, 0, {}), true), whole);
  }
  // A run that is over stays as it is.
  expect_same(train(source, validation, s / "run", At(0, 0, {}), true), whole);
}

TEST(Resume, AfterTheProgramDied) {
  const Scratch s;
  manual_seed(22);
  const Corners data(100);
  const trainer::Source source(Rows{data});
  const Result whole = train(source, {}, "", At(0, 0, {}), false);
  // An exception stands for the end of the program: nothing is saved at that moment.
  const At dies(2, 4, [] { throw std::runtime_error("dies"); });
  for (const int64_t every : {0, 1, 3})
    for (const int64_t workers : {0, 2}) {
      std::filesystem::remove(s / "run");
      EXPECT_THROW(train(source, {}, s / "run", dies, false, workers, every), std::runtime_error);
      expect_same(train(source, {}, s / "run", At(0, 0, {}), true, 2 - workers, every), whole);
    }
}

TEST(Resume, MistakesAreExplained) {
  const Scratch s;
  manual_seed(23);
  const Corners data(100), few(10);
  const trainer::Source source(data.x, data.y);
  train(source, {}, s / "run", At(1, 3, interrupt), false);
  const auto message = [&](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message([&] {
              train(trainer::Source(few.x, few.y), {}, s / "run", At(0, 0, {}), true);
            }).find("but now there are only 1"),
            std::string::npos);
  Model model(small_net());
  model.compile(classifier());
  EXPECT_NE(message([&] {
              model.fit(source, {.checkpoint = s / "run", .resume = true});
            }).find("saved with 2 callbacks, now there are 0"),
            std::string::npos);
  EXPECT_NE(message([&] { model.fit(source, {.resume = true}); }).find("need a checkpoint file"),
            std::string::npos);
  EXPECT_EQ(load_checkpoint(s / "run", {}).at("note").toStringRef(), "mine");
  // Nothing to go on from: a new run.
  EXPECT_EQ(train(source, {}, s / "new", At(0, 0, {}), true).history.epoch.size(), 4u);
}

TEST(Resume, CallbacksRememberWhatTheySaw) {
  const Scratch s;
  manual_seed(24);
  const Corners data(64);
  const auto run = [&](const std::string& path, int64_t epochs) {
    manual_seed(25);
    Model model(small_net());
    model.compile(classifier());
    return model.fit(data.x, data.y,
                     {.epochs = epochs,
                      .callbacks = {EarlyStopping({.monitor = "loss",
                                                   .patience = 3,
                                                   .min_delta = 9,
                                                   .restore_best_weights = true}),
                                    CSVLogger(path + ".csv"), ModelCheckpoint(path + ".last")},
                      .verbose = 0,
                      .checkpoint = path,
                      .resume = true});
  };
  // The first epoch is the best; after four more it stops, however often it was stopped between.
  EXPECT_EQ(run(s / "whole", 20).epoch.size(), 5u);
  for (const int64_t epochs : {1, 2, 4}) EXPECT_EQ(run(s / "parts", epochs).epoch.size(), epochs);
  EXPECT_EQ(run(s / "parts", 20).epoch.size(), 5u);
  EXPECT_EQ(run(s / "parts", 20).epoch.size(), 5u);  // it has ended itself
  const auto text = [](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(text(s / "whole.csv"), text(s / "parts.csv"));
}

TEST(Deterministic, FitGivesTheSameBitsForAnyNumberOfThreads) {
  manual_seed(30);
  const Tensor x = randn({96, 3, 12, 12}), y = randint(10, {96});
  const auto losses = [&](int threads, bool compiled) {
    const int before = get_num_threads();
    set_num_threads(threads);
    manual_seed(31);
    nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1)), nn::BatchNorm2d(16),
                       nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(16 * 36, 64),
                       nn::ReLU(), nn::Dropout(0.2), nn::Linear(64, 10));
    Model model(net);
    model.compile({.loss = "cross_entropy",
                   .optimizer = optim::AdamOptions(1e-2),
                   .metrics = {"accuracy"},
                   .clip_norm = 1,
                   .compiled = compiled});
    const History h = model.fit(x, y, {.epochs = 3, .batch_size = 40, .verbose = 0});
    set_num_threads(before);
    return std::pair(h["loss"], model.predict(x));
  };
  use_deterministic_algorithms(true);
  for (const bool compiled : {false, true}) {
    const auto [one, scores_one] = losses(1, compiled);
    const auto [two, scores_two] = losses(2, compiled);
    const auto [three, scores_three] = losses(3, compiled);
    EXPECT_EQ(one, two) << compiled;
    EXPECT_EQ(one, three) << compiled;
    EXPECT_TRUE(equal(scores_one, scores_two));
    EXPECT_TRUE(equal(scores_one, scores_three));
  }
  use_deterministic_algorithms(false);
}

}  // namespace
}  // namespace tandem
