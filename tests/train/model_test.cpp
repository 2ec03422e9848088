// Model: compile, fit, evaluate, predict, callbacks; checkpoints.
#include "tandem/train/model.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tandem/data/data.h"
#include "tandem/io/npy.h"
#include "tandem/models/registry.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/train/train.h"
#include "tests/io/scratch.h"
#include "tests/train/helpers.h"

namespace tandem {
namespace {

TEST(Model, LearnsAndRemembersHow) {
  manual_seed(1);
  const Corners train(500), test(200);
  Model model(small_net());
  model.compile(classifier());
  const History h =
      model.fit(train.x, train.y,
                {.epochs = 15, .batch_size = 32, .validation = {test.x, test.y}, .verbose = 0});
  ASSERT_EQ(h.epoch.size(), 15u);
  EXPECT_LT(h["loss"].back(), 0.2 * h["loss"].front());
  EXPECT_GT(h["val_accuracy"].back(), 0.95);
  const Logs logs = model.evaluate(test.x, test.y, 64);
  EXPECT_NEAR(logs.at("loss"), h["val_loss"].back(), 1e-6);
  EXPECT_EQ(logs.at("accuracy"), h["val_accuracy"].back());
  const Tensor p = model.predict(test.x, 33);
  EXPECT_EQ(p.sizes(), (IntArrayRef{200, 2}));
  EXPECT_EQ(p.argmax(1).eq(test.y).to(kDouble).mean().item<double>(), logs.at("accuracy"));
  EXPECT_THROW(h["nonsense"], IndexError);
}

TEST(Model, CompiledIsEager) {
  std::vector<History> both;
  for (const bool compiled : {true, false}) {
    manual_seed(2);
    const Corners data(200);
    Model model(small_net());
    model.compile(classifier(compiled));
    both.push_back(model.fit(data.x, data.y, {.epochs = 4, .batch_size = 30, .verbose = 0}));
  }
  for (size_t e = 0; e < 4; ++e) EXPECT_NEAR(both[0]["loss"][e], both[1]["loss"][e], 1e-6);
}

TEST(Model, LayersThatFindTheirSize) {
  manual_seed(3);
  const Tensor x = randn({256, 3}), y = x.sum(1, true) * 2 + 1;
  Model model;
  model.add(Dense(16, "relu")).add(Dense(1));
  model.compile({.loss = "mse", .optimizer = optim::AdamOptions(0.01), .metrics = {"mae"}});
  const History h = model.fit(x, y, {.epochs = 40, .verbose = 0});
  EXPECT_LT(h["loss"].back(), 0.05 * h["loss"].front());
  EXPECT_EQ(model.module().parameters().size(), 4u);
  EXPECT_THROW(model.predict(randn({2, 4})), Error);
}

TEST(Model, TrainsANetworkByName) {
  manual_seed(4);
  const data::datasets::DrawnDigits digits(256);
  const Tensor x = digits.images(), y = digits.targets();
  models::Network net = models::create("lenet");
  Model model(net);
  ModelOptions options = classifier();
  options.optimizer = optim::AdamOptions(2e-3);
  model.compile(options);
  const History h = model.fit(x, y, {.epochs = 6, .batch_size = 32, .verbose = 0});
  EXPECT_LT(h["loss"].back(), 0.5 * h["loss"].front());
  // The network itself has learned; inference in between sees the weights as they are.
  net->eval();
  const NoGradGuard no_grad;
  EXPECT_LT((model.predict(x.narrow(0, 0, 8)) - net(x.narrow(0, 0, 8))).abs().max().item<float>(),
            1e-4);
}

TEST(Model, TakesDataSets) {
  std::vector<double> losses;
  for (const int64_t workers : {0, 2}) {
    manual_seed(4);
    const Rows train{Corners(300)}, test{Corners(100)};
    Model model(small_net());
    model.compile(classifier());
    const History h = model.fit(
        train,
        {.epochs = 8, .batch_size = 25, .validation = test, .workers = workers, .verbose = 0});
    EXPECT_GT(h["val_accuracy"].back(), 0.9);
    losses.push_back(h["loss"].back());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

struct Counting : Callback {
  int *batches, *epochs;
  Counting(int* b, int* e) : batches(b), epochs(e) {}
  void on_batch_end(Model&, int64_t) override { ++*batches; }
  void on_epoch_end(Model& model, int64_t epoch, const Logs&) override {
    ++*epochs;
    if (epoch == 1) model.stop_training = true;
  }
};

TEST(Callbacks, AreCalledAndCanStop) {
  int batches = 0, epochs = 0;
  const Corners data(100);
  Model model(small_net());
  model.compile(classifier());
  const History h = model.fit(
      data.x, data.y,
      {.epochs = 9, .batch_size = 30, .callbacks = {Counting(&batches, &epochs)}, .verbose = 0});
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(batches, 8);
  EXPECT_EQ(h.epoch.size(), 2u);
}

TEST(Callbacks, EarlyStoppingPutsTheBestBack) {
  manual_seed(5);
  const Corners data(100);
  Model model(small_net());
  model.compile({.loss = "cross_entropy", .optimizer = optim::SGDOptions(0.1)});
  std::vector<double> rates;
  // The rate becomes so large that the loss grows again.
  const History h =
      model.fit(data.x, data.y,
                {.epochs = 50,
                 .batch_size = 100,
                 .validation = {data.x, data.y},
                 .callbacks = {LearningRateScheduler([&](int64_t epoch, double rate) {
                                 rates.push_back(rate);
                                 return epoch < 5 ? 0.1 : 1e4;
                               }),
                               EarlyStopping({.patience = 2, .restore_best_weights = true})},
                 .shuffle = false,
                 .verbose = 0});
  ASSERT_LT(h.epoch.size(), 20u);
  const auto& losses = h["val_loss"];
  const double best = *std::min_element(losses.begin(), losses.end());
  EXPECT_LT(best, losses.back());
  EXPECT_NEAR(model.evaluate(data.x, data.y).at("loss"), best, 1e-6);
  EXPECT_EQ(rates.back(), 1e4);
}

TEST(Callbacks, LogsAndCheckpoints) {
  const Scratch s;
  manual_seed(6);
  const Corners data(60);
  Model model(small_net());
  model.compile(classifier());
  model.fit(data.x, data.y,
            {.epochs = 3,
             .callbacks = {CSVLogger(s / "log.csv"), ModelCheckpoint(s / "m-{epoch}.ckpt"),
                           TerminateOnNaN()},
             .verbose = 0});
  std::ifstream in(s / "log.csv");
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) ++lines;
  EXPECT_EQ(lines, 4);
  const Tensor before = model.predict(data.x);
  Model other(small_net());
  other.load(s / "m-3.ckpt");
  EXPECT_TRUE(equal(other.predict(data.x), before));
}

TEST(Model, MistakesAreExplained) {
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  Model model(small_net());
  const Corners data(10);
  EXPECT_NE(message([&] { model.fit(data.x, data.y); }).find("compile() first"), std::string::npos);
  EXPECT_NE(message([&] { model.compile({}); }).find("no loss"), std::string::npos);
  EXPECT_NE(message([&] { model.compile({.loss = "cros_entropy"}); }).find("'cross_entropy'"),
            std::string::npos);
  EXPECT_NE(message([&] { trainer::Metric("acuracy"); }).find("'accuracy'"), std::string::npos);
  EXPECT_NE(message([&] { trainer::OptimizerChoice("adma"); }).find("'adam'"), std::string::npos);
  EXPECT_NE(message([&] { Dense(3, "rellu"); }).find("'relu'"), std::string::npos);
  model.compile(classifier());
  EXPECT_NE(message([&] { model.fit(data.x, data.y.narrow(0, 0, 3)); }).find("10 examples in x"),
            std::string::npos);
  EXPECT_NE(message([&] { model.fit(data.x, data.y, {.batch_size = 0}); }).find("batch size"),
            std::string::npos);
  EXPECT_NE(message([&] {
              model.fit(data.x, data.y, {.callbacks = {EarlyStopping()}, .verbose = 0});
            }).find("no figure 'val_loss'"),
            std::string::npos);
}

TEST(Metrics, HaveTheValuesOfTheirDefinitions) {
  const Tensor p = tensor({0.9, 0.2, 0.6, 0.4}), t = tensor({1, 0, 0, 1});
  const auto value = [&](const char* name) {
    const trainer::Metric m(name);
    const Tensor s = m.sums(p, t);
    const double* d = s.data_ptr<double>();
    return m.finish({d, d + s.numel()});
  };
  EXPECT_EQ(value("accuracy"), 0.5);
  EXPECT_EQ(value("precision"), 0.5);
  EXPECT_EQ(value("recall"), 0.5);
  EXPECT_EQ(value("f1"), 0.5);
}

TEST(Model, CtrlCEndsTrainingAfterTheStep) {
  const Corners data(100);
  Model model(small_net());
  model.compile(classifier());
  struct Raise : Callback {
    void on_batch_end(Model&, int64_t batch) override {
      if (batch == 1) ::raise(SIGINT);
    }
  };
  const History h = model.fit(
      data.x, data.y, {.epochs = 5, .batch_size = 10, .callbacks = {Raise()}, .verbose = 0});
  EXPECT_TRUE(h.interrupted);
  EXPECT_EQ(h.epoch.size(), 1u);
}

TEST(Checkpoint, LoadsAllOrNothing) {
  const Scratch s;
  manual_seed(7);
  nn::Sequential net = small_net(), other = small_net();
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.01));
  optim::StepLR schedule(adam, 3, 0.5);
  net->forward(randn({4, 2})).sum().backward();
  adam.step();
  schedule.step();
  save_checkpoint(s / "c", {.module = net,
                            .optimizer = adam,
                            .scheduler = schedule,
                            .values = {{"epoch", IValue(3)}, {"name", IValue("run")}}});
  const Tensor next = randn({3});

  optim::Adam adam2(other->parameters(), optim::AdamOptions(0.5));
  optim::StepLR schedule2(adam2, 3, 0.5);
  auto values =
      load_checkpoint(s / "c", {.module = other, .optimizer = adam2, .scheduler = schedule2});
  EXPECT_EQ(values.at("epoch").toInt(), 3);
  EXPECT_EQ(values.at("name").toStringRef(), "run");
  EXPECT_TRUE(equal(randn({3}), next));  // the random numbers go on too
  for (size_t i = 0; i < net->parameters().size(); ++i)
    EXPECT_TRUE(equal(net->parameters()[i], other->parameters()[i]));
  EXPECT_EQ(adam2.param_groups()[0].options().get_lr(), adam.param_groups()[0].options().get_lr());

  // An optimiser that does not fit: the module stays as it was.
  nn::Sequential third = small_net();
  const Tensor before = third->parameters()[0].detach().clone();
  optim::SGD sgd(third->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_THROW(load_checkpoint(s / "c", {.module = third, .optimizer = sgd}), FileError);
  EXPECT_TRUE(equal(third->parameters()[0], before));
  EXPECT_THROW(load_checkpoint(s / "c", {.module = third, .loader = third}), FileError);
  save_npy(ones({2}), s / "n");
  EXPECT_THROW(load_checkpoint(s / "n", {.module = third}), FileError);
}

/// A run that can be killed at any moment: trains, and saves after every step. What it has done so
/// far is in the checkpoint alone.
void resumable_run(const std::string& path, int64_t steps) {
  manual_seed(8);
  const Corners data(64);
  nn::Sequential net = small_net();
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.01));
  optim::StepLR schedule(adam, 5, 0.9);
  const auto loader = data::make_data_loader(Rows(data).map(data::transforms::Stack<>()),
                                             data::DataLoaderOptions(10).workers(1));
  std::vector<double> losses;
  int64_t done = 0;
  const Checkpoint parts{.module = net, .optimizer = adam, .scheduler = schedule, .loader = loader};
  if (std::filesystem::exists(path)) {
    auto values = load_checkpoint(path, parts);
    done = values.at("step").toInt();
    losses = values.at("losses").toDoubleVector();
  }
  while (done < steps) {
    for (auto& batch : *loader) {
      adam.zero_grad();
      const Tensor loss = nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      adam.step();
      schedule.step();
      losses.push_back(loss.item<double>());
      ++done;
      Checkpoint now = parts;
      now.values = {{"step", IValue(done)}, {"losses", IValue(losses)}};
      save_checkpoint(path, now);
      if (done >= steps) break;
    }
    if (done >= steps) break;
  }
}

TEST(Checkpoint, RunToBeKilled) {
  const char* path = std::getenv("TANDEM_TEST_RUN");
  if (!path) GTEST_SKIP() << "this is a part of AKilledRunEndsAsIfItHadNotBeen";
  resumable_run(path, 300);
}

TEST(Checkpoint, AKilledRunEndsAsIfItHadNotBeen) {
  const Scratch s;
  // A new program each time: threads do not survive a fork.
  const auto child = [&](const std::string& path) {
    const pid_t pid = fork();
    if (pid == 0) {
      ::setenv("TANDEM_TEST_RUN", path.c_str(), 1);
      ::execl("/proc/self/exe", "train_tests", "--gtest_filter=Checkpoint.RunToBeKilled",
              "--gtest_brief=1", nullptr);
      _exit(127);
    }
    return pid;
  };
  int status = 0;
  waitpid(child(s / "whole"), &status, 0);
  ASSERT_EQ(status, 0);

  std::mt19937 random(9);
  int kills = 0;
  for (bool finished = false; !finished;) {
    const pid_t pid = child(s / "killed");
    if (kills < 50)
      std::this_thread::sleep_for(
          std::chrono::microseconds(std::uniform_int_distribution<int>(20000, 90000)(random)));
    finished = waitpid(pid, &status, kills < 50 ? WNOHANG : 0) == pid && WIFEXITED(status);
    if (!finished) {
      ::kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      ++kills;
      // The file is always whole.
      if (std::filesystem::exists(s / "killed")) {
        serialize::InputArchive archive;
        EXPECT_NO_THROW(archive.load_from(s / "killed"));
      }
    } else {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
  }
  std::printf("killed %d times\n", kills);
  const auto load = [&](const char* name) {
    nn::Sequential net = small_net();
    auto values = load_checkpoint(s / name, {.module = net});
    return std::pair(values.at("losses").toDoubleVector(), net);
  };
  const auto [losses, net] = load("whole");
  const auto [killed_losses, killed_net] = load("killed");
  EXPECT_EQ(losses, killed_losses);
  for (size_t i = 0; i < net->parameters().size(); ++i)
    EXPECT_TRUE(equal(net->parameters()[i], killed_net->parameters()[i]));
}

}  // namespace
}  // namespace tandem
