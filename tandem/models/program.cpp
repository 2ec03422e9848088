#include "tandem/models/program.h"

#include <algorithm>
#include <ostream>

#include "tandem/autograd/autograd.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

std::string type_text(const Tensor& t) {
  return t.defined() ? str(t.type_of()) : "an undefined tensor";
}

}  // namespace

// -- Frames ------------------------------------------------------------------------------------

void ProgramRecorder::call(int64_t program, const std::function<void()>& body) {
  if (!open_.empty()) {
    open_.back().observations.push_back(world_.observe());
    open_.back().operations.push_back(program);
  }
  open_.push_back({program, {}, {}});
  const size_t depth = open_.size();
  try {
    body();
  } catch (...) {
    open_.resize(depth - 1);
    throw;
  }
  open_.back().observations.push_back(world_.observe());
  frames_.push_back(std::move(open_.back()));
  open_.pop_back();
}

void ProgramRecorder::act(int64_t operation) {
  TANDEM_CHECK(!open_.empty(), "ProgramRecorder: operation ", operation,
               " is done outside of every program");
  open_.back().observations.push_back(world_.observe());
  open_.back().operations.push_back(operation);
  world_.act(operation);
}

ProgramBatch batch_frames(const std::vector<ProgramFrame>& frames, int64_t steps) {
  TANDEM_CHECK(!frames.empty(), "batch_frames: there are no frames");
  for (size_t i = 0; i < frames.size(); ++i) {
    const ProgramFrame& f = frames[i];
    TANDEM_CHECK(f.observations.size() == f.operations.size() + 1, "batch_frames: frame ", i,
                 " has ", f.operations.size(), " operations and ", f.observations.size(),
                 " observations; one more is wanted");
    steps = std::max(steps, static_cast<int64_t>(f.observations.size()));
  }
  std::vector<Tensor> rows;
  std::vector<int64_t> programs, operations, lengths;
  for (size_t i = 0; i < frames.size(); ++i) {
    const ProgramFrame& f = frames[i];
    for (const Tensor& o : f.observations)
      TANDEM_CHECK_SHAPE(
          o.defined() && o.dim() == 1 && o.size(0) == frames[0].observations[0].size(0),
          "batch_frames: an observation of frame ", i, " is ", type_text(o), ", the first is ",
          type_text(frames[0].observations[0]));
    const int64_t length = static_cast<int64_t>(f.observations.size());
    rows.insert(rows.end(), f.observations.begin(), f.observations.end());
    rows.resize(rows.size() + static_cast<size_t>(steps - length),
                zeros_like(f.observations.front()));
    programs.push_back(f.program);
    operations.insert(operations.end(), f.operations.begin(), f.operations.end());
    operations.resize(static_cast<size_t>(steps) * (i + 1), -1);
    lengths.push_back(length);
  }
  const int64_t batch = static_cast<int64_t>(frames.size());
  return {stack(rows).view({batch, steps, rows[0].size(0)}), tensor(programs, kLong),
          tensor(operations, kLong).view({batch, steps}), tensor(lengths, kLong)};
}

// -- The interpreter ---------------------------------------------------------------------------

ProgramInterpreterImpl::ProgramInterpreterImpl(const ProgramInterpreterOptions& options_)
    : options(options_) {
  TANDEM_CHECK(
      options.observation_size() > 0 && options.num_operations() >= 0 && options.num_programs() > 0,
      "ProgramInterpreter: observation_size and num_programs must be positive and "
      "num_operations not negative, got ",
      options.observation_size(), ", ", options.num_programs(), " and ", options.num_operations());
  reset();
}

void ProgramInterpreterImpl::reset() {
  const int64_t hidden = options.hidden_size();
  programs =
      register_module("programs", nn::Embedding(options.num_programs(), options.embedding_size()));
  see = register_module("see",
                        nn::Linear(options.observation_size() + options.embedding_size(), hidden));
  core = register_module(
      "core",
      CellStack(
          CellStackOptions(hidden, hidden).num_layers(options.num_layers()).kind(options.kind())));
  choose = register_module("choose",
                           nn::Linear(hidden, options.num_operations() + options.num_programs()));
  finish = register_module("finish", nn::Linear(hidden, 1));
}

void ProgramInterpreterImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::ProgramInterpreter(operations=" << options.num_operations()
         << ", programs=" << options.num_programs() << ")";
}

// What is seen in each step, given the program that it is seen in: [..., hidden_size].
Tensor ProgramInterpreterImpl::perceive(const Tensor& observations, const Tensor& numbers) {
  Tensor program = programs(numbers - options.num_operations());
  if (observations.dim() == 3)
    program = program.unsqueeze(1).expand(
        {observations.size(0), observations.size(1), options.embedding_size()});
  return relu(see(cat({observations, program}, -1)));
}

std::vector<Tensor> ProgramInterpreterImpl::initial_state(int64_t batch) const {
  TANDEM_CHECK(batch >= 0, "ProgramInterpreter: a batch of ", batch);
  return core->initial_state(see->weight.narrow(0, 0, 1).expand({batch, see->weight.size(1)}));
}

ProgramInterpreterImpl::Step ProgramInterpreterImpl::step(const Tensor& observation,
                                                          const Tensor& numbers,
                                                          const std::vector<Tensor>& state) {
  const nn::ForwardScope scope(*this);
  TANDEM_CHECK_SHAPE(observation.defined() && observation.dim() == 2 &&
                         observation.size(1) == options.observation_size(),
                     "ProgramInterpreter: an observation must be [batch, ",
                     options.observation_size(), "], not ", type_text(observation));
  TANDEM_CHECK_SHAPE(
      numbers.defined() && numbers.dim() == 1 && numbers.size(0) == observation.size(0),
      "ProgramInterpreter: there must be a program for each of the ", observation.size(0),
      " observations, got ", type_text(numbers));
  auto [y, next] = core(perceive(observation, numbers), state);
  return {choose(y), finish(y).squeeze(1), std::move(next)};
}

ProgramInterpreterImpl::Scores ProgramInterpreterImpl::forward(const Tensor& observations,
                                                               const Tensor& numbers) {
  const nn::ForwardScope scope(*this);
  TANDEM_CHECK_SHAPE(observations.defined() && observations.dim() == 3 &&
                         observations.size(1) > 0 &&
                         observations.size(2) == options.observation_size(),
                     "ProgramInterpreter: observations must be [batch, steps, ",
                     options.observation_size(), "], not ", type_text(observations));
  TANDEM_CHECK_SHAPE(
      numbers.defined() && numbers.dim() == 1 && numbers.size(0) == observations.size(0),
      "ProgramInterpreter: there must be a program for each of the ", observations.size(0),
      " frames, got ", type_text(numbers));
  const Tensor seen = perceive(observations, numbers);
  std::vector<Tensor> state = initial_state(observations.size(0)), results;
  for (int64_t i = 0; i < observations.size(1); ++i) {
    auto [y, next] = core(seen.select(1, i), state);
    results.push_back(y);
    state = std::move(next);
  }
  const Tensor all = stack(results, 1);
  return {choose(all), finish(all).squeeze(2)};
}

Tensor ProgramInterpreterImpl::loss(const ProgramBatch& batch) {
  const nn::ForwardScope scope(*this);
  const auto [operations, end] = forward(batch.observations, batch.programs);
  const int64_t steps = batch.observations.size(1);
  TANDEM_CHECK_SHAPE(batch.operations.defined() && batch.lengths.defined() &&
                         batch.operations.dim() == 2 && batch.operations.size(1) == steps &&
                         batch.operations.size(0) == batch.observations.size(0) &&
                         batch.lengths.numel() == batch.observations.size(0),
                     "ProgramInterpreter: operations [", batch.observations.size(0), ", ", steps,
                     "] and lengths [", batch.observations.size(0), "] are wanted, got ",
                     type_text(batch.operations), " and ", type_text(batch.lengths));
  // A batch may have no step in which anything is done; its mean is then 0.
  const Tensor done = (batch.operations >= 0).sum().clamp_min(1);
  const Tensor wrong = nn::functional::cross_entropy(
      operations.flatten(0, 1), batch.operations.flatten(),
      nn::functional::CrossEntropyFuncOptions().ignore_index(-1).reduction(kSum));
  const Tensor places = arange(steps, batch.lengths.options()), ends = batch.lengths.unsqueeze(1);
  const Tensor counts = (places < ends).to(end.scalar_type());
  const Tensor late = nn::functional::binary_cross_entropy_with_logits(
      end, (places == ends - 1).to(end.scalar_type()),
      nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().weight(counts).reduction(kSum));
  return wrong / done + late / counts.sum();
}

void ProgramInterpreterImpl::check_program(int64_t program) const {
  const int64_t first = options.num_operations();
  TANDEM_CHECK_INDEX(first <= program && program < first + options.num_programs(),
                     "ProgramInterpreter: there is no program ", program, "; programs are ", first,
                     " to ", first + options.num_programs() - 1);
}

ProgramRun ProgramInterpreterImpl::run(ProgramWorld& world, int64_t program, const Limits& limits,
                                       const StepFunction& step_function) {
  const nn::ForwardScope scope(*this);
  const NoGradGuard no_grad;
  check_program(program);
  // Programs that are running: the last was called by the one before it.
  struct Frame {
    Tensor number;
    std::vector<Tensor> state;
  };
  std::vector<Frame> frames;
  const auto enter = [&](int64_t number) {
    frames.push_back({full({1}, number, kLong), initial_state(1)});
  };
  enter(program);
  Run result;
  while (!frames.empty()) {
    if (result.steps >= limits.max_steps || static_cast<int64_t>(frames.size()) > limits.max_depth)
      return result;
    ++result.steps;
    const Tensor seen = world.observe();
    TANDEM_CHECK_SHAPE(
        seen.defined() && seen.dim() == 1 && seen.size(0) == options.observation_size(),
        "ProgramInterpreter: the world must show [", options.observation_size(), "], not ",
        type_text(seen));
    Frame& frame = frames.back();
    Step made = step_function ? step_function(seen.unsqueeze(0), frame.number, frame.state)
                              : step(seen.unsqueeze(0), frame.number, frame.state);
    if (made.end.item<double>() > 0) {
      frames.pop_back();
      continue;
    }
    frame.state = std::move(made.state);
    const int64_t operation = made.operations.argmax(1).item<int64_t>();
    result.operations.push_back(operation);
    if (operation < options.num_operations())
      world.act(operation);
    else
      enter(operation);
  }
  result.ended = true;
  return result;
}

}  // namespace tandem::models
