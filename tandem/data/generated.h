#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/data/datasets.h"

// Data sets that programs make themselves, for tests and demonstrations. What is at an index
// depends on the seed and the index alone, not on how many workers ask or in which order.
namespace tandem::data {

struct SpiralsOptions {
  /// Spirals around one centre, each a class.
  TANDEM_ARG(int64_t, arms) = 3;
  /// How often each goes around.
  TANDEM_ARG(double, turns) = 0.75;
  /// Standard deviation of what is added to both coordinates.
  TANDEM_ARG(double, noise) = 0.03;
  TANDEM_ARG(uint64_t, seed) = 0;
};

struct SequenceTaskOptions {
  /// Symbols in a sequence, or digits in a number to add.
  TANDEM_ARG(int64_t, min_length) = 1;
  TANDEM_ARG(int64_t, max_length) = 10;
  /// How many different symbols there are to copy or reverse.
  TANDEM_ARG(int64_t, symbols) = 8;
  TANDEM_ARG(uint64_t, seed) = 0;
};

/// An arithmetic expression as a tree.
struct ArithmeticTree {
  struct Node {
    /// '+', '-' or '*'; 0 for a number.
    char op = 0;
    /// Of the expression below this node.
    int64_t value = 0;
    /// Places of the children, which come before this node; -1 for a number.
    int left = -1, right = -1;
  };
  /// The root is the last.
  std::vector<Node> nodes;

  const Node& root() const { return nodes.back(); }
  int64_t depth() const;
  /// (3 + (4 * 2))
  std::string str() const;
};

struct ArithmeticTreesOptions {
  /// Operations between the root and a number, at most; at least one.
  TANDEM_ARG(int64_t, max_depth) = 4;
  /// Numbers go from 0 to this.
  TANDEM_ARG(int64_t, max_number) = 9;
  TANDEM_ARG(std::string, operators) = "+-*";
  /// If it is not 0, all values are taken modulo this, and can be classes.
  TANDEM_ARG(int64_t, modulus) = 10;
  TANDEM_ARG(uint64_t, seed) = 0;
};

namespace datasets {

/// Points [2] of spirals that wind around each other, which no straight line can tell apart.
class Spirals : public Dataset<Spirals> {
 public:
  explicit Spirals(int64_t n, const SpiralsOptions& options = {});
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return static_cast<size_t>(targets_.size(0)); }
  /// All points, float32 [n, 2], and their arms, int64 [n].
  const Tensor& points() const { return points_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor points_, targets_;
};

/// Sequences of symbols and what is to be made of them: the same, the same backwards, or for two
/// decimal numbers with a + between them their sum. Both are int64 vectors of a fixed length: the
/// symbols, kEnd, and as many kPadding as are left.
class SequenceTask : public Dataset<SequenceTask> {
 public:
  enum class Kind { kCopy, kReverse, kAdd };
  static constexpr int64_t kPadding = 0, kEnd = 1, kFirstSymbol = 2;

  SequenceTask(Kind kind, int64_t n, const SequenceTaskOptions& options = {});
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return size_; }
  /// How many different numbers appear in sequences, kPadding and kEnd among them.
  int64_t vocabulary_size() const;
  /// Lengths of data and target.
  int64_t input_length() const;
  int64_t target_length() const;
  /// Symbols as letters, or digits and +; it ends before kEnd.
  std::string decode(const Tensor& ids) const;

 private:
  Kind kind_;
  size_t size_;
  SequenceTaskOptions options_;
};

/// The adding problem: float32 [length, 2] with a random number from 0 to 1 and a mark at each
/// step; two steps are marked with 1, one in each half, and the target is the sum of their numbers.
/// It takes a memory as long as the sequence.
class AddingProblem : public Dataset<AddingProblem> {
 public:
  AddingProblem(int64_t n, int64_t length, uint64_t seed = 0);
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return size_; }

 private:
  size_t size_;
  int64_t length_;
  uint64_t seed_;
};

/// Expressions, a different tree each, and their values (int64 without dimensions).
class ArithmeticTrees : public Dataset<ArithmeticTrees, Example<ArithmeticTree, Tensor>> {
 public:
  explicit ArithmeticTrees(int64_t n, const ArithmeticTreesOptions& options = {});
  Example<ArithmeticTree, Tensor> get(size_t index) override;
  std::optional<size_t> size() const override { return size_; }

 private:
  size_t size_;
  ArithmeticTreesOptions options_;
};

}  // namespace datasets
}  // namespace tandem::data
