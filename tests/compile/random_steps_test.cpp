// Training steps put together at random, compiled and eager: results, parameters, gradients,
// moments and buffers stay the same over several calls, without machine code and with it.
#include <random>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/jit/kernel_cache.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

using Random = std::mt19937;

/// What a step reads and changes.
struct Model {
  std::vector<Tensor> parameters, moments, buffers;
  Tensor target;
  int64_t rows, hidden;

  Model(Random& random, int64_t large) {
    const auto extent = [&]() -> int64_t {
      return large > 0 && random() % 2 ? large : 1 + static_cast<int64_t>(random() % 12);
    };
    rows = extent();
    hidden = extent();
    const int64_t in = extent(), out = extent();
    for (const Sizes& sizes :
         {Sizes{in, hidden}, {hidden}, {hidden, out}, {out}, {hidden}, {hidden, hidden}}) {
      parameters.push_back((randn(sizes) * 0.3).requires_grad_());
      moments.push_back(zeros(sizes));
    }
    for (const Sizes& sizes : {Sizes{hidden}, {rows, hidden}, {hidden, rows}, {rows, out}})
      buffers.push_back(zeros(sizes));
    target = randn({rows, out});
  }
  Model(const Model& m) : target(m.target), rows(m.rows), hidden(m.hidden) {
    for (const Tensor& t : m.parameters) parameters.push_back(t.detach().clone().requires_grad_());
    for (const Tensor& t : m.moments) moments.push_back(t.clone());
    for (const Tensor& t : m.buffers) buffers.push_back(t.clone());
  }

  using Sizes = std::vector<int64_t>;
};

/// One step. What it consists of depends on the numbers that `random` gives and on nothing else.
class Step {
 public:
  Step(Model& m, Random random) : m_(m), p_(m.parameters), random_(random) {}

  std::vector<Tensor> run(const Tensor& x) {
    forget_gradients();
    values_ = {x.mm(p_[0]), x.mm(p_[0]) + p_[1]};
    for (int i = number(12) + 2; i > 0; --i) add_layer();
    const Tensor scores = values_.back().mm(p_[2]) + p_[3];
    const Tensor loss = loss_of(scores);
    if (number(4) > 0) {
      loss.backward();
      update();
    }
    if (number(2) == 0) m_.buffers[3].copy_(scores.detach());
    results_.push_back(loss.detach());
    if (number(2) == 0) results_.push_back(value().detach());
    if (number(3) == 0) results_.push_back(values_.back().detach().t());
    return results_;
  }

 private:
  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  Tensor value() { return values_[random_() % values_.size()]; }

  void forget_gradients() {
    const int way = number(3);
    for (const Tensor& p : p_) {
      if (way == 0) p.mutable_grad().reset();
      if (way == 1 && p.grad().defined()) p.mutable_grad().zero_();
    }
  }

  void add_layer() {
    const Tensor a = value(), b = value();
    if (const int kind = number(4); kind == 0)
      write_to_buffers(a.detach(), b.detach());
    else
      values_.push_back(kind == 1 ? row_layer(a, b) : kind == 2 ? view_layer(a, b) : layer(a, b));
  }
  Tensor layer(const Tensor& a, const Tensor& b) {
    switch (number(12)) {
      case 0:
        return (a + p_[4]).relu();
      case 1:
        return a * b.sigmoid();
      case 2:
        return (a.mm(p_[5]) + b).tanh();
      case 3:
        return a.mm(p_[5].t()).relu() * 0.5;
      case 4:
        return where(a > 0, b, a * 0.1);
      case 5:
        return a.clamp(-1, 1) + b.clamp_min(0).sqrt().detach();
      case 6:
        return a.to(kDouble).exp().clamp_max(5).to(kFloat);
      case 7:
        return (a > b).to(kFloat) * a;
      case 8:
        return maximum(a, b) - minimum(a, b);
      case 9:
        return einsum("ij,kj->ik", {a, a}).mm(b) * (0.1 / static_cast<double>(m_.rows));
      case 10: {
        const Tensor product = a.mm(p_[5]);
        results_.push_back(product.detach());
        return product.tanh() - b;
      }
      default:
        return gelu(a);
    }
  }
  Tensor row_layer(const Tensor& a, const Tensor& b) {
    switch (number(12)) {
      case 0:
        return softmax(a, 1);
      case 1:
        return log_softmax(a, 1) * 0.1;
      case 2:
        return layer_norm(a, {m_.hidden}, p_[4], p_[1]);
      case 3:
        return (a - a.mean(0, true)) / (a.var(0, false, true) + 1e-2).sqrt();
      case 4:
        return a / (a.pow(2).sum(1, true) + 1).sqrt();
      case 5:
        return b - a.amax(1, true);
      case 6:
        return a.cumsum(0) * 0.1;
      case 7:
        return a.tanh() - b.amax(0) * 0.1;
      case 8:
        return a * 0.5 + (a * b).mean(0, true).sigmoid();
      case 9: {
        const Tensor squares = a.square();
        results_.push_back(squares.sum(0).detach());
        return b / (squares + 1) - b.norm(2, 0) * 0.01;
      }
      case 10:
        return group_norm(a, 1, p_[4], p_[1]) * 0.5;
      default:
        return a.flip({0}) + b.sum() * 0.001;
    }
  }
  Tensor view_layer(const Tensor& a, const Tensor& b) {
    const int64_t n = m_.rows, h = m_.hidden;
    switch (number(8)) {
      case 0:
        return a.t().contiguous().t() - b.abs();
      case 1:
        return cat({a, b}, 1).narrow(1, h / 2, h);
      case 2:
        return a.index_select(0, arange(n, kLong).flip({0}));
      case 3:
        return a.view({n, h, 1}).expand({n, h, 3}).sum(2) * 0.3;
      case 4:
        return a.unsqueeze(0).permute({0, 2, 1}).squeeze(0).t();
      case 5:
        return a.reshape({h, n}).reshape({n, h});
      case 6: {
        Tensor c = a.clone();
        c.narrow(0, 0, (n + 1) / 2).mul_(0.5);
        return c.add_(b);
      }
      default: {
        Tensor c = a * 1;
        return c.index_put_({c > 1}, 0);
      }
    }
  }
  // Nothing that a gradient needs is overwritten: values read copies.
  void write_to_buffers(const Tensor& a, const Tensor& b) {
    const NoGradGuard no_grad;
    std::vector<Tensor>& buffers = m_.buffers;
    switch (number(4)) {
      case 0:
        buffers[0].mul_(0.9).add_(a.mean(0), 0.1);
        values_.push_back(b + buffers[0]);
        break;
      case 1:
        buffers[1].copy_(a);
        buffers[1].select(0, m_.rows / 2).mul_(2);
        values_.push_back(b + buffers[1]);
        break;
      case 2:
        buffers[1].add_(b, 0.1);
        break;
      default:
        buffers[2].sub_(a.t(), 0.5);
        values_.push_back(b + buffers[2].t() * 0.1);
    }
  }

  Tensor loss_of(const Tensor& scores) {
    switch (number(4)) {
      case 0:
        return (scores - m_.target).pow(2).mean();
      case 1:
        return (scores.relu() - m_.target).norm();
      case 2:
        return -(log_softmax(scores, 1) * softmax(m_.target, 1)).sum(1).mean();
      default:
        return cross_entropy_loss(scores, m_.target.argmax(1));
    }
  }

  void update() {
    const NoGradGuard no_grad;
    const int way = number(5);
    const bool clip = number(4) == 0;
    Tensor scale = ones({});
    if (clip) {
      Tensor squares = zeros({});
      for (const Tensor& p : p_)
        if (p.grad().defined()) squares = squares + p.grad().pow(2).sum();
      scale = 1 / (squares.sqrt() + 1);
    }
    for (size_t k = 0; k < p_.size(); ++k) {
      if (!p_[k].grad().defined()) continue;
      const Tensor& moment = m_.moments[k];
      const Tensor g = clip ? p_[k].grad() * scale : p_[k].grad();
      switch (way) {
        case 0:
          p_[k].sub_(g, 0.05);
          break;
        case 1:
          p_[k].sub_(moment.mul_(0.9).add_(g), 0.05);
          break;
        case 2:
          moment.mul_(0.9).addcmul_(g, g, 0.1);
          p_[k].sub_(g / (moment.sqrt() + 0.1), 0.05);
          break;
        case 3:
          p_[k].copy_(p_[k] - g * 0.05);
          break;
        default:
          p_[k].add_(p_[k] * 0.01 + g, -0.05);
      }
    }
  }

  Model& m_;
  std::vector<Tensor>& p_;
  Random random_;
  std::vector<Tensor> values_, results_;  // values are [rows, hidden]
};

/// Equal up to a part of the largest value.
void expect_close_to_largest(const Tensor& got, const Tensor& want, double tolerance,
                             const char* what) {
  ASSERT_EQ(got.defined(), want.defined()) << what;
  if (!want.defined()) return;
  ASSERT_EQ(str(got.type_of()), str(want.type_of())) << what;
  const double largest = want.abs().max().item<double>();
  EXPECT_TRUE(allclose(got, want, tolerance, tolerance * (1 + largest), /*equal_nan=*/true))
      << what;
}

void compare(unsigned seed, int64_t large) {
  SCOPED_TRACE(str("seed ", seed));
  manual_seed(seed);
  Random random(seed);
  Model eager(random, large), model = eager;
  const Tensor x = randn({eager.rows, eager.parameters[0].size(0)});
  const auto compiled = compile([&](const Tensor& x) { return Step(model, random).run(x); });
  for (int call = 0; call < 4 && !::testing::Test::HasFailure(); ++call) {
    SCOPED_TRACE(str("call ", call));
    if (call == 2) jit::wait_idle();
    const Tensor now = x + 0.1 * call;
    const std::vector<Tensor> want = Step(eager, random).run(now), got = compiled(now.clone());
    const double tolerance = 1e-3 * (1 + call);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      expect_close_to_largest(got[k], want[k], tolerance, "result");
    for (size_t k = 0; k < model.parameters.size(); ++k) {
      const Tensor &p = model.parameters[k], &q = eager.parameters[k];
      expect_close_to_largest(p.detach(), q.detach(), tolerance, "parameter");
      expect_close_to_largest(p.grad(), q.grad(), tolerance, "gradient");
      expect_close_to_largest(model.moments[k], eager.moments[k], tolerance, "moment");
    }
    for (size_t k = 0; k < model.buffers.size(); ++k)
      expect_close_to_largest(model.buffers[k], eager.buffers[k], tolerance, "buffer");
  }
}

TEST(RandomSteps, CompiledAndEagerAgree) {
  for (unsigned seed = 1; seed <= 60 && !HasFailure(); ++seed) compare(seed, 0);
}

// Large enough for threads, and for products that are taken in parts.
TEST(RandomSteps, LargeOnes) {
  for (unsigned seed = 1; seed <= 4 && !HasFailure(); ++seed) compare(seed, 400);
}

}  // namespace
}  // namespace tandem
