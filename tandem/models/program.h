#pragma once

#include <functional>
#include <vector>

#include "tandem/models/cell_stack.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"

/// A network that runs programs: it looks, acts, calls further programs, and decides by itself when
/// it is done (neural programmer-interpreters; Reed and de Freitas, 2016).
namespace tandem::models {

/// What programs look at and change: a sheet of paper, a list, a robot.
class ProgramWorld {
 public:
  virtual ~ProgramWorld() = default;
  /// What there is to be seen: floats [observation_size].
  virtual Tensor observe() = 0;
  virtual void act(int64_t operation) = 0;
};

/// One program from its call to its end, as it should be: what was seen before each step, and what
/// was done then. In the last step, when nothing was done, it ended.
struct ProgramFrame {
  int64_t program = 0;
  std::vector<Tensor> observations;  // one more than operations
  std::vector<int64_t> operations;
};

/// Shows the interpreter how programs run: write them as ordinary functions that act and call
/// through a recorder.
///
///     ProgramRecorder recorder(world);
///     recorder.call(kAdd, [&] {
///       while (world.digits_left()) {
///         recorder.call(kAddColumn, [&] { recorder.act(kWrite + world.sum() % 10); });
///         recorder.act(kLeft);
///       }
///     });
///     train_on(recorder.frames());
class ProgramRecorder {
 public:
  explicit ProgramRecorder(ProgramWorld& world) : world_(world) {}
  void call(int64_t program, const std::function<void()>& body);
  void act(int64_t operation);
  /// All programs that have ended.
  const std::vector<ProgramFrame>& frames() const { return frames_; }

 private:
  ProgramWorld& world_;
  std::vector<ProgramFrame> frames_, open_;
};

/// Frames side by side.
struct ProgramBatch {
  Tensor observations;  // [batch, steps, observation_size], zeros behind the end
  Tensor programs;      // int64 [batch]
  Tensor operations;    // int64 [batch, steps], -1 where nothing is done
  Tensor lengths;       // int64 [batch]: steps, the one that ends included
};
/// As many steps as the longest frame has, or at least `steps`: batches of one shape have one
/// graph.
ProgramBatch batch_frames(const std::vector<ProgramFrame>& frames, int64_t steps = 0);

struct ProgramInterpreterOptions {
  /// Operations 0, 1, ... act on the world; the numbers that follow, num_operations and on, are
  /// programs.
  ProgramInterpreterOptions(int64_t observation_size, int64_t num_operations, int64_t num_programs)
      : observation_size_(observation_size),
        num_operations_(num_operations),
        num_programs_(num_programs) {}
  TANDEM_ARG(int64_t, observation_size);
  TANDEM_ARG(int64_t, num_operations);
  TANDEM_ARG(int64_t, num_programs);
  TANDEM_ARG(int64_t, embedding_size) = 16;
  TANDEM_ARG(int64_t, hidden_size) = 64;
  TANDEM_ARG(int64_t, num_layers) = 1;
  TANDEM_ARG(RecurrentKind, kind) = kLSTM;
};

/// A recurrent core that in every step sees the world and which program it is in, and gives scores
/// for what to do next and whether to end.
///
///     ProgramInterpreter net(ProgramInterpreterOptions(24, 12, 2));
///     net->loss(batch_frames(recorder.frames())).backward();
///     ProgramRun run = net->run(world, kAdd);   // run.ended: it stopped by itself
class ProgramInterpreterImpl : public nn::Cloneable<ProgramInterpreterImpl> {
 public:
  struct Step {
    Tensor operations;  // [batch, num_operations + num_programs]: scores
    Tensor end;         // [batch]: it ends where this is greater than 0
    std::vector<Tensor> state;
  };
  /// The same for all steps: [batch, steps, ...].
  struct Scores {
    Tensor operations, end;
  };
  struct Limits {
    int64_t max_steps = 100'000;
    int64_t max_depth = 1'000;
  };
  struct Run {
    bool ended = false;               // by itself, not at a limit
    int64_t steps = 0;                // of the core
    std::vector<int64_t> operations;  // what was done and called, in that order
  };
  using StepFunction =
      std::function<Step(const Tensor&, const Tensor&, const std::vector<Tensor>&)>;

  explicit ProgramInterpreterImpl(const ProgramInterpreterOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// observation [batch, observation_size], programs int64 [batch]; the state is that of the
  /// program, which each call begins with zeros.
  Step step(const Tensor& observation, const Tensor& programs, const std::vector<Tensor>& state);
  std::vector<Tensor> initial_state(int64_t batch) const;
  /// All steps of frames [batch, steps, observation_size].
  Scores forward(const Tensor& observations, const Tensor& programs);
  /// Cross entropy of what is done, and of ending, each as a mean over the steps that count.
  Tensor loss(const ProgramBatch& batch);

  /// Runs a program: how many steps it takes, what it calls, and when it ends is up to the network.
  /// `step` may be a compiled form of step().
  Run run(ProgramWorld& world, int64_t program, const Limits& limits,
          const StepFunction& step = {});
  Run run(ProgramWorld& world, int64_t program) { return run(world, program, Limits()); }

  ProgramInterpreterOptions options;
  nn::Embedding programs{nullptr};
  nn::Linear see{nullptr};
  CellStack core{nullptr};
  nn::Linear choose{nullptr}, finish{nullptr};

 private:
  void check_program(int64_t program) const;
  Tensor perceive(const Tensor& observations, const Tensor& numbers);
};
TANDEM_MODULE(ProgramInterpreter);

using ProgramRun = ProgramInterpreterImpl::Run;

}  // namespace tandem::models
