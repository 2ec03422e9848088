#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/graph/pipeline.h"
#include "tandem/graph/verify.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// A program made of random steps, the same for the same seed: whatever the passes look for, in any
// order, beside what they must not touch.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : seed_(seed) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& args) const {
    std::mt19937 random(seed_);
    const auto below = [&](size_t n) { return static_cast<int64_t>(random() % n); };
    std::vector<Tensor> values = args;
    const int steps = 5 + static_cast<int>(below(25));
    for (int i = 0; i < steps; ++i) {
      const Tensor x = values[below(values.size())], y = values[below(values.size())];
      Tensor z;
      switch (below(30)) {
        case 0:
          z = x * number(below(6));
          break;
        case 1:
          z = number(below(6)) * x;
          break;
        case 2:
          z = x + number(below(6));
          break;
        case 3:
          z = x - number(below(6));
          break;
        case 4:
          z = x / number(below(6));
          break;
        case 5:
          z = -x;
          break;
        case 6:
          z = -(-x);
          break;
        case 7:
          z = relu(x);
          break;
        case 8:
          z = abs(x);
          break;
        case 9:
          z = floor(x);
          break;
        case 10:
          z = square(x);
          break;
        case 11:
          z = tanh(x);
          break;
        case 12:
          z = x.dim() >= 2 ? x.transpose(0, x.dim() - 1) : x.clone();
          break;
        case 13:
          z = x.reshape({-1});
          break;
        case 14:
          z = x.dim() > 0 ? x.select(0, below(x.size(0))) : x.unsqueeze(0);
          break;
        case 15:
          z = x.dim() > 0 ? x.slice(0, below(x.size(0)), x.size(0)) : x * 1;
          break;
        case 16:
          z = x.unsqueeze(below(x.dim() + 1)).sum(0, below(2) == 1);
          break;
        case 17:
          z = x.dim() > 0 ? x.sum(below(x.dim()), true) : x.sum();
          break;
        case 18:
          z = x.to(kDouble).to(kFloat);
          break;
        case 19:
          z = x.to(kHalf).to(kFloat);
          break;
        case 20:
          z = x.clone();
          break;
        case 21:
          z = x.unsqueeze(0).expand(repeated(x));
          break;
        case 22:
          z = zeros_like(x) + x;
          break;
        case 23:
          z = full(x.sizes(), 2.0) * full(x.sizes(), 0.25) * x;
          break;
        case 24:
          z = where(x > 0, x, -x);
          break;
        case 25:
        case 26: {  // a write through a view
          z = x.clone();
          Tensor part = z.dim() > 0 ? z.select(0, below(z.size(0))) : z;
          if (below(2))
            part.mul_(2);
          else
            part.zero_();
          part.add_(1);
          break;
        }
        case 27:
          z = x.clone();
          z.copy_(x * 2);
          break;
        case 28:
          z = exp(x) * exp(x);
          break;
        default:
          z = same_shape(x, y) ? x * y : x.mean() * y;
      }
      if (z.dim() <= 5 && z.numel() <= 5000) values.push_back(z);
    }
    std::vector<Tensor> results;
    for (int i = 0; i < 4; ++i) results.push_back(values[below(values.size())]);
    results.push_back(values.back());
    return results;
  }

 private:
  static double number(int64_t i) { return std::array{1.0, 0.0, -0.0, 2.0, 0.5, -3.7}[i]; }
  static Dims repeated(const Tensor& x) {
    Dims sizes{2};
    for (const int64_t n : x.sizes()) sizes.push_back(n);
    return sizes;
  }
  static bool same_shape(const Tensor& x, const Tensor& y) { return x.sizes() == y.sizes(); }

  uint32_t seed_;
};

// Bit for bit; one NaN is as good as another.
bool same_bits_or_nan(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  const float *p = x.data_ptr<float>(), *q = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i)
    if (std::memcmp(p + i, q + i, sizeof(float)) != 0 && !(std::isnan(p[i]) && std::isnan(q[i])))
      return false;
  return true;
}

std::vector<Tensor> arguments() {
  Tensor x = randn({3, 4}) * 2;
  x[0][0] = -0.0;
  x[1][1] = INFINITY;
  x[2][2] = NAN;
  return {x, randn({3, 4}), randn({4})};
}

TEST(RandomGraphs, EveryRewritingGivesTheSameBits) {
  const NoGradGuard no_grad;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const RandomProgram program(seed);
    const std::vector<Tensor> args = arguments();
    const std::vector<Tensor> wanted = program(args);
    const Graph g =
        trace_list([&](const autograd::variable_list& in) { return program(in); }, args);
    verify(g, "trace");
    const auto check = [&](const Graph& other, const char* what) {
      verify(other, what);
      const auto results = other.run(args);
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_TRUE(same_bits_or_nan(results[i], wanted[i]))
            << what << ", seed " << seed << ", result " << i << "\nwanted " << wanted[i] << "\ngot "
            << results[i] << "\n"
            << g << other;
    };
    check(g, "trace");
    const Graph again = Graph::parse(g.str());
    ASSERT_TRUE(same(g, again)) << g << again;
    check(again, "text");
    check(optimise(g, {.without = {"fuse", "schedule"}}), "optimise");
    for (const char* pass : {"fold", "simplify", "cse"})
      check(optimise(g, {.without = {pass, "fuse", "schedule"}}), pass);
    const Graph clean = optimise(g, {.without = {"fuse", "schedule"}});
    check(optimise(clean, {.without = {"fuse", "schedule"}}), "optimised twice");
    check(Graph::parse(clean.str()), "text of the optimised one");
    check(optimise(g), "all passes");
  }
}

// Results must be as far apart in memory as they are line by line.
TEST(RandomGraphs, ResultsDoNotShareMemoryThatTheyDidNotShare) {
  const NoGradGuard no_grad;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const RandomProgram program(seed);
    const std::vector<Tensor> args = arguments();
    const std::vector<Tensor> eager = program(args);
    const Graph g =
        optimise(trace_list([&](const autograd::variable_list& in) { return program(in); }, args),
                 {.without = {"fuse", "schedule"}});
    const std::vector<Tensor> results = g.run(args);
    const auto shares = [](const Tensor& a, const Tensor& b) {
      return a.impl()->storage == b.impl()->storage;
    };
    for (size_t i = 0; i < eager.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (shares(results[i], results[j])) {
          EXPECT_TRUE(shares(eager[i], eager[j])) << seed << '\n' << g;
        }
      for (const Tensor& a : args)
        if (shares(results[i], a)) {
          EXPECT_TRUE(shares(eager[i], a)) << seed << '\n' << g;
        }
    }
  }
}

}  // namespace
}  // namespace tandem
