// Neural programs: recording how they run, learning from it, running until they end by themselves.
#include "tandem/models/program.h"

#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/optim/optim.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

constexpr int64_t kDown = 0, kBeep = 1, kOperations = 2, kCountDown = 2, kStep = 3,
                  kAllPrograms = 2;

// A counter: kDown takes one away. What is seen is whether it is zero yet.
struct Counter : ProgramWorld {
  explicit Counter(int n) : left(n) {}
  Tensor observe() override { return tensor({left > 0 ? 1.0 : 0.0, left > 0 ? 0.0 : 1.0}, kFloat); }
  void act(int64_t operation) override {
    done.push_back(operation);
    if (operation == kDown) --left;
  }
  int left;
  std::vector<int64_t> done;
};

void count_down(ProgramRecorder& recorder, Counter& world) {
  recorder.call(kCountDown, [&] {
    while (world.left > 0) recorder.call(kStep, [&] { recorder.act(kDown); });
    recorder.act(kBeep);
  });
}

std::vector<ProgramFrame> frames_of(int n) {
  Counter world(n);
  ProgramRecorder recorder(world);
  count_down(recorder, world);
  return recorder.frames();
}

ProgramInterpreterOptions small_interpreter() {
  return ProgramInterpreterOptions(2, kOperations, kAllPrograms).embedding_size(3).hidden_size(8);
}

TEST(ProgramRecorder, KeepsWhatProgramsDo) {
  const auto frames = frames_of(2);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].program, kStep);
  EXPECT_EQ(frames[0].operations, (std::vector<int64_t>{kDown}));
  EXPECT_EQ(frames[2].program, kCountDown);
  EXPECT_EQ(frames[2].operations, (std::vector<int64_t>{kStep, kStep, kBeep}));
  ASSERT_EQ(frames[2].observations.size(), 4u);
  EXPECT_EQ(frames[2].observations[0][0].item<float>(), 1);
  EXPECT_EQ(frames[2].observations[2][0].item<float>(), 0);

  Counter world(1);
  ProgramRecorder recorder(world);
  expect_error([&] { recorder.act(kDown); }, "operation 0 is done outside of every program");
  // What a program throws leaves no half of a frame behind.
  EXPECT_THROW(recorder.call(kStep, [&] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_TRUE(recorder.frames().empty());
  expect_error([&] { recorder.act(kDown); }, "outside of every program");
}

TEST(ProgramBatch, HoldsFramesSideBySide) {
  const ProgramBatch batch = batch_frames(frames_of(1));
  EXPECT_EQ(batch.observations.sizes(), (IntArrayRef{2, 3, 2}));
  EXPECT_TRUE(equal(batch.programs, tensor({kStep, kCountDown}, kLong)));
  EXPECT_TRUE(equal(batch.lengths, tensor({2, 3}, kLong)));
  EXPECT_TRUE(equal(batch.operations.flatten(), tensor({0, -1, -1, 3, 1, -1}, kLong)));
  EXPECT_EQ(batch.observations[0][2].abs().sum().item<float>(), 0);
  EXPECT_EQ(batch_frames(frames_of(1), 7).observations.size(1), 7);
  expect_error([] { batch_frames({}); }, "there are no frames");
  expect_error(
      [] {
        batch_frames({{kStep, {}, {}}});
      },
      "frame 0 has 0 operations and 0 observations; one more is wanted");
  expect_error(
      [] {
        batch_frames({{kStep, {ones({2})}, {}}, {kStep, {ones({3})}, {}}});
      },
      "an observation of frame 1 is float32 [3], the first is float32 [2]");
  expect_error([] { batch_frames({{kStep, {Tensor()}, {}}}); }, "is an undefined tensor");
}

TEST(ProgramInterpreter, GivesScoresForWhatToDoAndWhetherToEnd) {
  manual_seed(0);
  for (const auto kind : {RecurrentKind(kLSTM), RecurrentKind(kGRU)}) {
    ProgramInterpreter net(small_interpreter().kind(kind).num_layers(2));
    const ProgramBatch batch = batch_frames(frames_of(2));
    const auto [operations, end] = net(batch.observations, batch.programs);
    EXPECT_EQ(operations.sizes(), (IntArrayRef{3, 4, 4}));
    EXPECT_EQ(end.sizes(), (IntArrayRef{3, 4}));
    // Step by step it is the same.
    auto state = net->initial_state(3);
    for (int64_t i = 0; i < 4; ++i) {
      const auto step = net->step(batch.observations.select(1, i), batch.programs, state);
      EXPECT_TRUE(allclose(step.operations, operations.select(1, i), 1e-5, 1e-6));
      EXPECT_TRUE(allclose(step.end, end.select(1, i), 1e-5, 1e-6));
      state = step.state;
    }
    expect_gradients_reach(net, net->loss(batch));
  }
}

TEST(ProgramInterpreter, HasTheRightGradients) {
  manual_seed(1);
  ProgramInterpreter net(small_interpreter().embedding_size(2).hidden_size(3));
  net->to(kDouble);
  ProgramBatch batch = batch_frames(frames_of(1));
  batch.observations = batch.observations.to(kDouble);
  expect_right_gradients(net, [&] { return net->loss(batch); });
}

TEST(ProgramInterpreter, PaddingChangesNothing) {
  manual_seed(2);
  const NoGradGuard no_grad;
  ProgramInterpreter net(small_interpreter());
  const auto frames = frames_of(2);
  const double plain = net->loss(batch_frames(frames)).item<double>();
  ProgramBatch longer = batch_frames(frames, 9);
  EXPECT_NEAR(net->loss(longer).item<double>(), plain, 1e-6);
  longer.observations.narrow(1, 5, 4).fill_(3);  // nothing ends behind step 4
  EXPECT_NEAR(net->loss(longer).item<double>(), plain, 1e-6);
  // A program that does nothing: there is only its end to learn.
  const ProgramBatch idle = batch_frames({{kStep, {ones({2})}, {}}});
  const Tensor end = net(idle.observations, idle.programs).end;
  EXPECT_NEAR(net->loss(idle).item<double>(), -end.sigmoid().log().item<double>(), 1e-6);
}

TEST(ProgramInterpreter, LearnsWhenToEnd) {
  manual_seed(3);
  ProgramInterpreter net(small_interpreter().hidden_size(16));
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.02));
  const auto train = compile([&](const ProgramBatch& batch) {
    adam.zero_grad();
    const Tensor loss = net->loss(batch);
    loss.backward();
    adam.step();
    return loss.detach();
  });
  std::vector<ProgramFrame> frames = frames_of(0);
  for (const int n : {1, 2, 3})
    for (const ProgramFrame& f : frames_of(n)) frames.push_back(f);
  const ProgramBatch batch = batch_frames(frames);
  double loss = 1;
  for (int i = 0; i < 150; ++i) loss = train(batch).item<double>();
  EXPECT_LT(loss, 0.05);
  // Also for numbers that it was not shown, and with a compiled step.
  const auto step =
      compile([&](const Tensor& seen, const Tensor& program, const std::vector<Tensor>& state) {
        return net->step(seen, program, state);
      });
  for (const int n : {0, 1, 3, 8}) {
    Counter world(n), other(n), expected(n);
    ProgramRecorder recorder(expected);
    count_down(recorder, expected);
    const ProgramRun run = net->run(world, kCountDown);
    EXPECT_TRUE(run.ended) << n;
    EXPECT_EQ(world.done, expected.done) << n;
    EXPECT_EQ(run.steps, 3 * n + 2) << n;
    const ProgramRun compiled = net->run(other, kCountDown, {}, step);
    EXPECT_EQ(compiled.operations, run.operations) << n;
  }
  EXPECT_EQ(step.graph_count(), 1u);
}

TEST(ProgramInterpreter, StopsAtLimits) {
  manual_seed(4);
  ProgramInterpreter net(small_interpreter());
  const NoGradGuard no_grad;
  net->finish->weight.zero_();
  net->finish->bias.fill_(-1);  // never ends
  net->choose->weight.zero_();
  net->choose->bias.zero_();
  net->choose->bias[kBeep] = 1;
  Counter world(1);
  ProgramRun run = net->run(world, kStep, {.max_steps = 12});
  EXPECT_FALSE(run.ended);
  EXPECT_EQ(run.steps, 12);
  EXPECT_EQ(world.done, std::vector<int64_t>(12, kBeep));
  net->choose->bias[kStep] = 2;  // calls itself
  run = net->run(world, kStep, {.max_depth = 5});
  EXPECT_FALSE(run.ended);
  EXPECT_EQ(run.operations, std::vector<int64_t>(5, kStep));
  net->finish->bias.fill_(1);  // at once
  run = net->run(world, kStep);
  EXPECT_TRUE(run.ended);
  EXPECT_EQ(run.steps, 1);
  EXPECT_TRUE(run.operations.empty());
}

TEST(ProgramInterpreter, FilesAndCopiesHoldTheSameNetwork) {
  manual_seed(5);
  const ProgramBatch batch = batch_frames(frames_of(2));
  expect_files_and_copies<ProgramInterpreter>(
      ProgramInterpreter(small_interpreter()), ProgramInterpreter(small_interpreter()),
      [&](ProgramInterpreter& n) {
        const auto scores = n(batch.observations, batch.programs);
        return cat({scores.operations, scores.end.unsqueeze(2)}, 2);
      });
  ProgramInterpreter net(small_interpreter());
  EXPECT_TRUE(net->named_parameters().contains("core.0.weight_ih"));
  EXPECT_EQ(
      test::printed(net).rfind("tandem::models::ProgramInterpreter(operations=2, programs=2)", 0),
      0u);
}

// Shows something of another size than it should.
struct Wrong : Counter {
  using Counter::Counter;
  Tensor observe() override { return zeros({5}); }
};

TEST(ProgramInterpreter, SaysWhatIsWrong) {
  ProgramInterpreter net(small_interpreter());
  Counter world(1);
  expect_error([&] { net->run(world, kBeep); }, "there is no program 1; programs are 2 to 3");
  expect_error([&] { net->run(world, 4); }, "there is no program 4");
  Wrong wrong(1);
  expect_error([&] { net->run(wrong, kStep); }, "the world must show [2], not float32 [5]");
  const Tensor program = full({1}, kStep, kLong);
  expect_error(
      [&] {
        net->step(zeros({1, 3}), program, net->initial_state(1));
      },
      "an observation must be [batch, 2], not float32 [1, 3]");
  expect_error(
      [&] {
        net->step(zeros({2, 2}), program, net->initial_state(2));
      },
      "a program for each of the 2 observations");
  expect_error([&] { net->step(zeros({1, 2}), program, {}); }, "the state has 2 tensors, got 0");
  expect_error([&] { net(zeros({1, 0, 2}), program); }, "must be [batch, steps, 2]");
  expect_error([&] { net(Tensor(), program); }, "not an undefined tensor");
  expect_error(
      [&] {
        net->loss({zeros({1, 2, 2}), program, zeros({1, 3}, kLong), ones({1}, kLong)});
      },
      "operations [1, 2] and lengths [1] are wanted, got int64 [1, 3] and int64 [1]");
  expect_error([&] { net->loss({zeros({1, 2, 2}), program, {}, {}}); }, "an undefined tensor");
  expect_error([&] { net->initial_state(-1); }, "a batch of -1");
  expect_error([] { ProgramInterpreter(ProgramInterpreterOptions(0, 1, 1)); }, "must be positive");
  EXPECT_THROW(net->step(zeros({1, 2}), zeros({1}, kLong), net->initial_state(1)), Error);
}

}  // namespace
}  // namespace tandem::models
