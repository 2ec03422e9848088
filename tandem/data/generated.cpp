#include "tandem/data/generated.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tandem/base/parallel.h"
#include "tandem/data/detail/random.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace detail {

double ElementRandom::normal() {
  const double u = 1 - uniform(), v = uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace detail

namespace {

using detail::ElementRandom;

size_t checked_size(const char* what, int64_t n) {
  TANDEM_CHECK(n >= 0, what, ": ", n, " examples");
  return static_cast<size_t>(n);
}

void check_index(const char* what, size_t index, size_t size) {
  TANDEM_CHECK_INDEX(index < size, what, ": example ", index, " of ", size);
}

/// Grows a tree from its root; what a number or operation is worth is known when it is added.
class Grower {
 public:
  Grower(const ArithmeticTreesOptions& options, ElementRandom random)
      : options_(options), random_(random) {}

  /// The place of a new subtree with at most this depth.
  int grow(int64_t depth, bool leaf_possible) {
    ArithmeticTree::Node node;
    // Two of three places that could branch do.
    if (depth == 0 || (leaf_possible && random_.below(3) == 0)) {
      node.value = reduced(random_.between(0, options_.max_number()));
    } else {
      const std::string& operators = options_.operators();
      node.op =
          operators[static_cast<size_t>(random_.below(static_cast<int64_t>(operators.size())))];
      node.left = grow(depth - 1, true);
      node.right = grow(depth - 1, true);
      const int64_t a = value_of(node.left), b = value_of(node.right);
      node.value = reduced(node.op == '+' ? a + b : node.op == '-' ? a - b : a * b);
    }
    tree.nodes.push_back(node);
    return static_cast<int>(tree.nodes.size()) - 1;
  }

  ArithmeticTree tree;

 private:
  int64_t value_of(int place) const { return tree.nodes[static_cast<size_t>(place)].value; }
  int64_t reduced(int64_t value) const {
    const int64_t m = options_.modulus();
    return m == 0 ? value : (value % m + m) % m;
  }
  const ArithmeticTreesOptions& options_;
  ElementRandom random_;
};

/// The largest value that a tree can have, or infinity.
double largest_value(const ArithmeticTreesOptions& o) {
  if (o.modulus() > 0) return static_cast<double>(o.modulus()) * static_cast<double>(o.modulus());
  double most = static_cast<double>(o.max_number());
  const bool products = o.operators().find('*') != std::string::npos;
  for (int64_t d = 0; d < o.max_depth(); ++d)
    most = products ? std::max(most * most, 2 * most) : 2 * most;
  return most;
}

}  // namespace

int64_t ArithmeticTree::depth() const {
  std::vector<int64_t> depths(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].op)
      depths[i] = 1 + std::max(depths[static_cast<size_t>(nodes[i].left)],
                               depths[static_cast<size_t>(nodes[i].right)]);
  return depths.empty() ? 0 : depths.back();
}

std::string ArithmeticTree::str() const {
  std::vector<std::string> texts;
  for (const Node& n : nodes) {
    if (!n.op)
      texts.push_back(std::to_string(n.value));
    else
      texts.push_back("(" + texts[static_cast<size_t>(n.left)] + " " + n.op + " " +
                      texts[static_cast<size_t>(n.right)] + ")");
  }
  return texts.empty() ? "" : texts.back();
}

namespace datasets {

Spirals::Spirals(int64_t n, const SpiralsOptions& o) {
  checked_size("Spirals", n);
  TANDEM_CHECK(o.arms() > 0, "Spirals: ", o.arms(), " arms");
  points_ = empty({n, 2}, kFloat);
  targets_ = empty({n}, kLong);
  float* points = points_.data_ptr<float>();
  int64_t* targets = targets_.data_ptr<int64_t>();
  parallel_for(0, n, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ElementRandom random(o.seed(), static_cast<uint64_t>(i));
      targets[i] = i % o.arms();
      const double radius = 0.05 + 0.95 * random.uniform();
      const double turn =
          static_cast<double>(targets[i]) / static_cast<double>(o.arms()) + o.turns() * radius;
      const double angle = 2 * std::numbers::pi * turn;
      points[2 * i] = static_cast<float>(radius * std::cos(angle) + o.noise() * random.normal());
      points[2 * i + 1] =
          static_cast<float>(radius * std::sin(angle) + o.noise() * random.normal());
    }
  });
}

Example<> Spirals::get(size_t index) {
  check_index("Spirals", index, *size());
  const auto i = static_cast<int64_t>(index);
  return {points_[i], targets_[i]};
}

SequenceTask::SequenceTask(Kind kind, int64_t n, const SequenceTaskOptions& options)
    : kind_(kind), size_(checked_size("SequenceTask", n)), options_(options) {
  TANDEM_CHECK(options_.min_length() >= 0 && options_.min_length() <= options_.max_length() &&
                   options_.max_length() < (int64_t{1} << 30),
               "SequenceTask: lengths from ", options_.min_length(), " to ", options_.max_length());
  TANDEM_CHECK(options_.symbols() > 0, "SequenceTask: ", options_.symbols(), " symbols");
  TANDEM_CHECK(kind != Kind::kAdd || options_.min_length() > 0,
               "SequenceTask: numbers to add have a digit at least");
}

int64_t SequenceTask::vocabulary_size() const {
  return kFirstSymbol + (kind_ == Kind::kAdd ? 11 : options_.symbols());
}
int64_t SequenceTask::input_length() const {
  return (kind_ == Kind::kAdd ? 2 * options_.max_length() + 1 : options_.max_length()) + 1;
}
int64_t SequenceTask::target_length() const {
  return options_.max_length() + (kind_ == Kind::kAdd ? 2 : 1);
}

Example<> SequenceTask::get(size_t index) {
  check_index("SequenceTask", index, size_);
  ElementRandom random(options_.seed(), index);
  const auto draw = [&](int64_t symbols) {
    std::vector<int64_t> s(
        static_cast<size_t>(random.between(options_.min_length(), options_.max_length())));
    for (int64_t& v : s) v = random.below(symbols);
    return s;
  };
  std::vector<int64_t> from, to;
  if (kind_ == Kind::kAdd) {
    constexpr int64_t kPlus = 10;
    std::vector<int64_t> a = draw(10);
    const std::vector<int64_t> b = draw(10);
    from = a;
    from.push_back(kPlus);
    from.insert(from.end(), b.begin(), b.end());
    // From the last digit to the first, as on paper; no zeros in front.
    int64_t carry = 0;
    for (size_t i = 0; i < std::max(a.size(), b.size()) || carry; ++i) {
      carry += (i < a.size() ? a[a.size() - 1 - i] : 0) + (i < b.size() ? b[b.size() - 1 - i] : 0);
      to.push_back(carry % 10);
      carry /= 10;
    }
    while (to.size() > 1 && to.back() == 0) to.pop_back();
    std::reverse(to.begin(), to.end());
  } else {
    from = to = draw(options_.symbols());
    if (kind_ == Kind::kReverse) std::reverse(to.begin(), to.end());
  }
  const auto padded = [](const std::vector<int64_t>& symbols, int64_t length) {
    Tensor t = full({length}, kPadding, kLong);
    int64_t* at = t.data_ptr<int64_t>();
    for (const int64_t s : symbols) *at++ = kFirstSymbol + s;
    *at = kEnd;
    return t;
  };
  return {padded(from, input_length()), padded(to, target_length())};
}

std::string SequenceTask::decode(const Tensor& ids) const {
  TANDEM_CHECK(ids.defined() && isIntegralType(ids.scalar_type()),
               "SequenceTask: expected whole numbers to decode");
  const Tensor flat = ids.detach().reshape({-1}).to(kLong).contiguous();
  const int64_t* at = flat.data_ptr<int64_t>();
  std::string text;
  for (int64_t i = 0; i < flat.numel() && at[i] != kEnd; ++i) {
    const int64_t symbol = at[i] - kFirstSymbol;
    if (at[i] == kPadding)
      text += '_';
    else if (symbol < 0 || at[i] >= vocabulary_size())
      text += '?';
    else if (kind_ == Kind::kAdd)
      text += "0123456789+"[symbol];
    else if (options_.symbols() <= 26)
      text += static_cast<char>('a' + symbol);
    else
      text += (text.empty() ? "" : " ") + std::to_string(symbol);
  }
  return text;
}

AddingProblem::AddingProblem(int64_t n, int64_t length, uint64_t seed)
    : size_(checked_size("AddingProblem", n)), length_(length), seed_(seed) {
  TANDEM_CHECK(length >= 2, "AddingProblem: two steps of ", length, " are to be marked");
}

Example<> AddingProblem::get(size_t index) {
  check_index("AddingProblem", index, size_);
  ElementRandom random(seed_, index);
  Tensor steps = zeros({length_, 2}, kFloat);
  float* at = steps.data_ptr<float>();
  for (int64_t i = 0; i < length_; ++i) at[2 * i] = static_cast<float>(random.uniform());
  const int64_t half = length_ / 2;
  const int64_t first = random.below(half), second = half + random.below(length_ - half);
  at[2 * first + 1] = at[2 * second + 1] = 1;
  return {steps, tensor(at[2 * first] + at[2 * second], kFloat)};
}

ArithmeticTrees::ArithmeticTrees(int64_t n, const ArithmeticTreesOptions& options)
    : size_(checked_size("ArithmeticTrees", n)), options_(options) {
  TANDEM_CHECK(options.max_depth() >= 1 && options.max_depth() <= 20,
               "ArithmeticTrees: expected a depth from 1 to 20, got ", options.max_depth());
  TANDEM_CHECK(options.max_number() >= 0 && options.max_number() < (int64_t{1} << 31) &&
                   options.modulus() >= 0 && options.modulus() < (int64_t{1} << 31),
               "ArithmeticTrees: numbers up to ", options.max_number(), " modulo ",
               options.modulus());
  TANDEM_CHECK(!options.operators().empty() &&
                   options.operators().find_first_not_of("+-*") == std::string::npos,
               "ArithmeticTrees: the operators '", options.operators(), "', expected some of +-*");
  TANDEM_CHECK(largest_value(options) < 0x1p62, "ArithmeticTrees: values of depth ",
               options.max_depth(), " do not fit int64; take them modulo something");
}

Example<ArithmeticTree, Tensor> ArithmeticTrees::get(size_t index) {
  check_index("ArithmeticTrees", index, size_);
  Grower grower(options_, ElementRandom(options_.seed(), index));
  grower.grow(options_.max_depth(), /*leaf_possible=*/false);
  const int64_t value = grower.tree.root().value;
  return {std::move(grower.tree), tensor(value, kLong)};
}

}  // namespace datasets
}  // namespace tandem::data
