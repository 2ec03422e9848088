// Dynamic graphs, recursive: a network along expression trees, a different one for each sample. It
// learns the value of expressions such as (3 - 4) * (2 + 2) modulo 5 from their results alone.
#include <cstdio>
#include <random>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;
using models::Tree;

namespace {

constexpr int64_t kModulus = 5, kPlus = kModulus, kMinus = kPlus + 1, kTimes = kPlus + 2,
                  kLabels = kTimes + 1;

struct Expression {
  Tree tree;
  int64_t value;
  std::string text;
};

Expression random_expression(int depth, std::mt19937& random) {
  if (depth == 0 || random() % 4 == 0) {
    const int64_t digit = static_cast<int64_t>(random() % kModulus);
    return {Tree(digit), digit, std::to_string(digit)};
  }
  const Expression a = random_expression(depth - 1, random),
                   b = random_expression(depth - 1, random);
  const int64_t sign = kPlus + static_cast<int64_t>(random() % 3);
  const int64_t value = sign == kPlus    ? a.value + b.value
                        : sign == kMinus ? a.value - b.value
                                         : a.value * b.value;
  return {Tree(sign, {a.tree, b.tree}), (value % kModulus + kModulus) % kModulus,
          "(" + a.text + "+-*"[sign - kPlus] + b.text + ")"};
}

struct Batch {
  std::vector<Tree> trees;
  Tensor values;
};

Batch random_batch(int count, int depth, std::mt19937& random) {
  Batch batch;
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) {
    const Expression e = random_expression(depth, random);
    batch.trees.push_back(e.tree);
    values.push_back(e.value);
  }
  batch.values = tensor(values, kLong);
  return batch;
}

double accuracy(models::RecursiveNet& net, int depth, std::mt19937& random) {
  const NoGradGuard no_grad;
  const Batch batch = random_batch(300, depth, random);
  return (net(batch.trees).argmax(1) == batch.values).to(kFloat).mean().item<double>();
}

}  // namespace

int main() {
  set_num_threads(1);  // the tensors are small: threads would wait for each other
  manual_seed(0);
  std::mt19937 random(0);
  models::RecursiveNet net(
      models::RecursiveNetOptions(kLabels, kModulus).embedding_size(32).hidden_size(64).arity(2));
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(5e-3));

  // No two batches have the same shape. What they have in common are levels: all nodes of one
  // height, from all trees, are computed at once. That function is compiled, with sizes rounded up
  // to powers of two so that few graphs do for all batches; gradients flow through its calls.
  const auto level =
      compile([&](const Tensor& x, const models::TreeLSTMImpl::State& below,
                  const models::TreeLevel& l) { return net->tree->level(x, below, l); });
  const auto compiled_scores = [&](const std::vector<Tree>& trees) {
    const models::TreePlan plan = models::plan_levels(trees, /*arity=*/2, /*bucket=*/64);
    const Tensor inputs = net->embed(trees);
    auto state = net->tree->zero_state();
    for (const models::TreeLevel& l : plan.levels)
      state = level(inputs.index_select(0, l.nodes), state, l);
    return net->output(state.h.index_select(0, plan.roots));
  };

  constexpr int kSteps = 700;
  int64_t nodes = 0;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps * 7 / 10) optimizer.param_groups()[0].options().set_lr(1e-3);
    const Batch batch = random_batch(64, 1 + i % 4, random);
    for (const Tree& tree : batch.trees) nodes += tree.size();
    optimizer.zero_grad();
    Tensor loss = nn::functional::cross_entropy(compiled_scores(batch.trees), batch.values);
    loss.backward();
    optimizer.step();
  }
  std::printf("trained on %d trees, %lld nodes, with %zu graphs of one level\n", 64 * kSteps,
              static_cast<long long>(nodes), level.graph_count());

  const double shallow = accuracy(net, 2, random), seen = accuracy(net, 4, random),
               deeper = accuracy(net, 5, random);
  std::printf(
      "right values (a guess would be 20 %%): depth 2 %.1f %%, depth 4 %.1f %%, depth 5, not "
      "seen in training, %.1f %%\n",
      100 * shallow, 100 * seen, 100 * deeper);
  const Expression e = random_expression(3, random);
  std::printf("  %s = %lld, the network says %lld\n", e.text.c_str(),
              static_cast<long long>(e.value),
              static_cast<long long>(net->walk(e.tree).argmax(1).item<int64_t>()));

  // Node by node in plain C++, level by level, and compiled: three ways to the same scores.
  const NoGradGuard no_grad;
  double by_level = 0, by_compiled = 0;
  for (int round = 0; round < 3; ++round) {
    const Batch batch = random_batch(40, 4, random);
    std::vector<Tensor> walked;
    for (const Tree& tree : batch.trees) walked.push_back(net->walk(tree));
    const Tensor one_by_one = cat(walked);
    by_level = std::max(by_level, (net(batch.trees) - one_by_one).abs().max().item<double>());
    by_compiled = std::max(by_compiled,
                           (compiled_scores(batch.trees) - one_by_one).abs().max().item<double>());
  }
  std::printf("beside a walk node by node: levels differ by %.1g, compiled levels by %.1g\n",
              by_level, by_compiled);

  const bool right = shallow >= 0.99 && seen >= 0.95 && deeper >= 0.85 && by_level < 1e-4 &&
                     by_compiled < 1e-4 && level.graph_count() < 60;
  std::printf("%s\n", right ? "as expected" : "wrong");
  return right ? 0 : 1;
}
