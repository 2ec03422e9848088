// Dynamic graphs, neural programs: a network that adds numbers on paper, digit by digit. It is
// shown how numbers of up to three digits are added, and adds longer ones: it chooses every
// operation, calls a program for each column, and decides by itself when it is done.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

// Operations 0 to 9 write that digit below the column.
constexpr int64_t kWrite = 0, kCarry = 10, kLeft = 11, kOperations = 12, kAdd = 12, kAddColumn = 13;
constexpr int64_t kPrograms = 2, kBlank = 10, kObservation = 2 * 11 + 1;

/// Two numbers below each other, a row for carries, one for the sum, and the column that is looked
/// at; digits are kept from the last to the first.
class Paper : public models::ProgramWorld {
 public:
  Paper(std::vector<int64_t> a, std::vector<int64_t> b)
      : a_(std::move(a)),
        b_(std::move(b)),
        carry_(std::max(a_.size(), b_.size()) + 2, 0),
        sum_(carry_.size(), kBlank) {}

  /// Only the column at hand is seen: two digits or blanks, and the carry.
  Tensor observe() override {
    std::vector<float> seen(kObservation, 0);
    seen[static_cast<size_t>(digit(a_))] = 1;
    seen[static_cast<size_t>(11 + digit(b_))] = 1;
    seen[22] = static_cast<float>(carry());
    return tensor(seen, kFloat);
  }
  void act(int64_t operation) override {
    if (operation == kLeft)
      ++column_;
    else if (operation == kCarry && column_ + 1 < carry_.size())
      carry_[column_ + 1] = 1;
    else if (operation < kCarry && column_ < sum_.size())
      sum_[column_] = operation;
  }
  bool is_done() const { return digit(a_) == kBlank && digit(b_) == kBlank && carry() == 0; }
  int64_t column_sum() const { return digit(a_) % kBlank + digit(b_) % kBlank + carry(); }

  std::string text() const { return row(a_) + " + " + row(b_) + " = " + row(sum_); }
  const std::vector<int64_t>& sum() const { return sum_; }

 private:
  int64_t digit(const std::vector<int64_t>& number) const {
    return column_ < number.size() ? number[column_] : kBlank;
  }
  int64_t carry() const { return column_ < carry_.size() ? carry_[column_] : 0; }
  static std::string row(const std::vector<int64_t>& number) {
    std::string text;
    for (const int64_t d : number)
      if (d != kBlank) text.insert(text.begin(), static_cast<char>('0' + d));
    return text;
  }

  std::vector<int64_t> a_, b_, carry_, sum_;
  size_t column_ = 0;
};

/// How it is done.
void add(models::ProgramRecorder& recorder, Paper& paper) {
  recorder.call(kAdd, [&] {
    while (!paper.is_done()) {
      recorder.call(kAddColumn, [&] {
        const int64_t sum = paper.column_sum();
        recorder.act(kWrite + sum % 10);
        if (sum > 9) recorder.act(kCarry);
      });
      recorder.act(kLeft);
    }
  });
}

std::vector<int64_t> random_number(int64_t digits, std::mt19937& random) {
  std::vector<int64_t> number;
  for (int64_t i = 0; i < digits; ++i) number.push_back(static_cast<int64_t>(random() % 10));
  if (number.back() == 0) number.back() = 1;
  return number;
}

Paper random_paper(int64_t digits, std::mt19937& random) {
  const auto a = random_number(digits, random);
  return Paper(
      a, random_number(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(digits)), random));
}

/// Frames of the two programs in fixed numbers, so that one graph does for all batches.
models::ProgramBatch lessons(std::mt19937& random) {
  std::vector<models::ProgramFrame> columns, sums;
  while (columns.size() < 96 || sums.size() < 16) {
    Paper paper = random_paper(1 + static_cast<int64_t>(random() % 3), random);
    models::ProgramRecorder recorder(paper);
    add(recorder, paper);
    for (const auto& frame : recorder.frames())
      (frame.program == kAdd ? sums : columns).push_back(frame);
  }
  columns.resize(96);
  columns.insert(columns.end(), sums.begin(), sums.begin() + 16);
  return models::batch_frames(columns, /*steps=*/9);  // four columns, two steps each, and the end
}

/// The share of sums that are right and after which the network stopped by itself.
double accuracy(models::ProgramInterpreter& net, int count, int64_t digits, std::mt19937& random) {
  int right = 0;
  for (int i = 0; i < count; ++i) {
    Paper paper = random_paper(digits, random), solution = paper;
    models::ProgramRecorder recorder(solution);
    add(recorder, solution);
    const models::ProgramRun run = net->run(paper, kAdd, {.max_steps = 10 * digits + 20});
    right += run.ended && paper.sum() == solution.sum();
  }
  return static_cast<double>(right) / count;
}

}  // namespace

int main() {
  set_num_threads(1);  // the tensors are small: threads would wait for each other
  manual_seed(0);
  std::mt19937 random(0);
  models::ProgramInterpreter net(
      models::ProgramInterpreterOptions(kObservation, kOperations, kPrograms).hidden_size(96));
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-2));

  const auto train = compile([&](const models::ProgramBatch& batch) {
    optimizer.zero_grad();
    Tensor loss = net->loss(batch);
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  constexpr int kSteps = 600;
  double loss = 0;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps * 6 / 10) optimizer.param_groups()[0].options().set_lr(2e-3);
    loss = train(lessons(random)).item<double>();
  }
  std::printf("shown sums of up to 3 digits: loss %.4f, %zu graphs\n", loss, train.graph_count());

  const double seen = accuracy(net, 100, 3, random), longer = accuracy(net, 50, 10, random),
               longest = accuracy(net, 10, 60, random);
  std::printf(
      "right, and stopped by itself: 3 digits %.0f %%, 10 digits %.0f %%, 60 digits %.0f %%\n",
      100 * seen, 100 * longer, 100 * longest);

  const NoGradGuard no_grad;
  // What happens next depends on what was just done, so the interpreter is a C++ loop; its step is
  // compiled.
  const auto step = compile(
      [&](const Tensor& observation, const Tensor& program, const std::vector<Tensor>& state) {
        return net->step(observation, program, state);
      });
  Paper paper = random_paper(15, random), copy = paper;
  const models::ProgramRun eager = net->run(paper, kAdd);
  const models::ProgramRun compiled = net->run(copy, kAdd, {}, step);
  std::printf("  %s (%lld steps)\n", paper.text().c_str(), static_cast<long long>(eager.steps));
  double difference = 0;
  auto state = net->initial_state(1);
  const Tensor program = full({1}, kAddColumn, kLong);
  for (int i = 0; i < 3; ++i) {
    const Tensor seen_now = Paper({i + 4}, {i + 5}).observe().unsqueeze(0);
    const auto a = net->step(seen_now, program, state), b = step(seen_now, program, state);
    difference = std::max({difference, (a.operations - b.operations).abs().max().item<double>(),
                           (a.end - b.end).abs().max().item<double>()});
    state = a.state;
  }
  const bool same = eager.operations == compiled.operations && paper.sum() == copy.sum();
  std::printf("with a compiled step: %s, scores differ by %.1g, %zu graph\n",
              same ? "the same operations" : "OTHER operations", difference, step.graph_count());

  const bool right = seen >= 0.95 && longer >= 0.9 && longest >= 0.8 && eager.ended && same &&
                     difference < 1e-5 && train.graph_count() == 1 && step.graph_count() == 1;
  std::printf("%s\n", right ? "as expected" : "wrong");
  return right ? 0 : 1;
}
