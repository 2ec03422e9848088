#include "tandem/optim/lbfgs.h"

#include <cmath>

#include "tandem/core/recorder.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/line_search.h"
#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {
namespace {

bool same_list(const std::deque<Tensor>& a, const std::deque<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_tensor);
}

double largest(const Tensor& t) { return t.numel() ? t.abs().max().item<double>() : 0; }

// Takes the last step and what it did to the gradient into the record.
void remember_step(LBFGSParamState& s, const Tensor& gradient, int64_t history_size) {
  const Tensor y = gradient - s.prev_flat_grad(), step = s.d() * s.t();
  const Tensor ys = y.dot(step);
  if (!(ys.item<double>() > 1e-10)) return;
  if (static_cast<int64_t>(s.old_dirs().size()) >= history_size && !s.old_dirs().empty()) {
    s.old_dirs().pop_front();
    s.old_stps().pop_front();
    s.ro().pop_front();
  }
  s.old_dirs().push_back(y);
  s.old_stps().push_back(step);
  s.ro().push_back(1.0 / ys);
  s.H_diag(ys / y.dot(y));
}

// The record's approximation of the inverse Hessian times the gradient, downhill.
Tensor direction_of(LBFGSParamState& s, const Tensor& gradient) {
  const size_t n = s.old_dirs().size();
  std::vector<Tensor> alpha(n);
  Tensor q = gradient.neg();
  for (size_t i = n; i-- > 0;) {
    alpha[i] = s.old_stps()[i].dot(q) * s.ro()[i];
    q = q - s.old_dirs()[i] * alpha[i];
  }
  Tensor r = q * s.H_diag();
  for (size_t i = 0; i < n; ++i) {
    const Tensor beta = s.old_dirs()[i].dot(r) * s.ro()[i];
    r = r + s.old_stps()[i] * (alpha[i] - beta);
  }
  s.al(std::move(alpha));
  return r;
}

}  // namespace

std::vector<OptimizerParamState::Field> LBFGSParamState::fields() {
  return {{"func_evals", &func_evals_},
          {"n_iter", &n_iter_},
          {"t", &t_},
          {"prev_loss", &prev_loss_},
          {"d", &d_, Field::free},
          {"H_diag", &H_diag_, Field::free},
          {"prev_flat_grad", &prev_flat_grad_, Field::free},
          {"old_dirs", &old_dirs_, Field::free},
          {"old_stps", &old_stps_, Field::free},
          {"ro", &ro_, Field::free}};
}

bool operator==(const LBFGSParamState& a, const LBFGSParamState& b) {
  return a.func_evals() == b.func_evals() && a.n_iter() == b.n_iter() && a.t() == b.t() &&
         a.prev_loss() == b.prev_loss() && same_tensor(a.d(), b.d()) &&
         same_tensor(a.H_diag(), b.H_diag()) &&
         same_tensor(a.prev_flat_grad(), b.prev_flat_grad()) &&
         same_list(a.old_dirs(), b.old_dirs()) && same_list(a.old_stps(), b.old_stps()) &&
         same_list(a.ro(), b.ro());
}

LBFGS::LBFGS(std::vector<OptimizerParamGroup> param_groups, LBFGSOptions defaults)
    : Optimizer(std::move(param_groups), std::make_unique<LBFGSOptions>(defaults)) {
  TANDEM_CHECK(param_groups_.size() == 1,
               "LBFGS doesn't support per-parameter options (parameter groups)");
  check(defaults);
  if (defaults.max_eval()) return;
  const int64_t max_eval = defaults.max_iter() * 5 / 4;
  static_cast<LBFGSOptions&>(param_groups_[0].options()).max_eval(max_eval);
  static_cast<LBFGSOptions&>(*defaults_).max_eval(max_eval);
}

std::unique_ptr<OptimizerParamState> LBFGS::new_state() const {
  return std::make_unique<LBFGSParamState>();
}

Tensor LBFGS::flat_grad() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : params())
    parts.push_back(p.grad().defined() ? p.grad().detach().reshape({-1})
                                       : zeros({p.numel()}, TensorOptions(p.dtype())));
  return cat(parts);
}

void LBFGS::move(double length, const Tensor& direction) {
  int64_t at = 0;
  for (const Tensor& p : params()) {
    p.add_(direction.narrow(0, at, p.numel()).view(p.sizes()), length);
    at += p.numel();
  }
}

Tensor LBFGS::step(LossClosure closure) {
  TANDEM_CHECK(!t_mode.recorder || !t_mode.recorder->keeps_branches(),
               "LBFGS: a step looks at values and decides by them how to go on, so it cannot be "
               "recorded. Call it outside of the compiled function; its closure may call one.");
  TANDEM_CHECK(closure, "LBFGS requires a closure function that computes the loss again");
  TANDEM_CHECK(!params().empty(), "LBFGS: there are no parameters");
  const auto& o = static_cast<const LBFGSOptions&>(param_groups_[0].options());
  const auto& search = o.line_search_fn();
  TANDEM_CHECK(!search || *search == "strong_wolfe",
               "LBFGS: only 'strong_wolfe' is supported, not '", search.value_or(""), "'");
  const NoGradGuard no_grad;
  auto& s = state_of<LBFGSParamState>(params()[0]);

  const Tensor first_loss = evaluate(closure);
  double loss = first_loss.item<double>();
  s.func_evals() += 1;
  Tensor gradient = flat_grad();
  TANDEM_CHECK(!s.d().defined() || s.d().sizes() == gradient.sizes(),
               "LBFGS: what it remembers is about ", s.d().numel(),
               " numbers, its parameters hold ", gradient.numel());
  if (largest(gradient) <= o.tolerance_grad()) return first_loss;
  int64_t evaluations = 1;
  const int64_t most_evaluations = o.max_eval().value_or(o.max_iter() * 5 / 4);

  for (int64_t round = 1; round <= o.max_iter(); ++round) {
    s.n_iter() += 1;
    if (s.n_iter() == 1 || !s.d().defined() || !s.prev_flat_grad().defined()) {
      s.d(gradient.neg());
      s.H_diag(ones({}, TensorOptions(gradient.dtype())));
      s.old_dirs({}).old_stps({}).ro({});
    } else {
      remember_step(s, gradient, o.history_size());
      s.d(direction_of(s, gradient));
    }
    s.prev_flat_grad(gradient.clone());
    s.prev_loss(loss);
    s.t(o.lr());
    if (s.n_iter() == 1) s.t(std::min(1.0, 1.0 / gradient.abs().sum().item<double>()) * s.t());

    const double slope = gradient.dot(s.d()).item<double>();
    if (slope > -o.tolerance_change()) break;
    const int64_t before = evaluations;
    if (search) {
      std::vector<Tensor> start;
      for (const Tensor& p : params()) start.push_back(p.clone());
      const auto restore = [&] {
        for (size_t i = 0; i < start.size(); ++i) params()[i].copy_(start[i]);
      };
      const auto look = [&](double t) {
        move(t, s.d());
        const double value = evaluate(closure).item<double>();
        const Tensor there = flat_grad();
        restore();
        return std::pair(value, there);
      };
      const LinePoint found = strong_wolfe(look, {0, loss, gradient, slope}, s.d(), s.t(),
                                           o.tolerance_change(), evaluations);
      s.t(found.t);
      loss = found.loss;
      gradient = found.gradient;
      move(s.t(), s.d());
    } else {
      move(s.t(), s.d());
      // After the last round nobody would look at it.
      if (round != o.max_iter()) {
        loss = evaluate(closure).item<double>();
        gradient = flat_grad();
        ++evaluations;
      }
    }
    s.func_evals() += evaluations - before;
    if (evaluations >= most_evaluations || largest(gradient) <= o.tolerance_grad() ||
        largest(s.d() * s.t()) <= o.tolerance_change() ||
        std::abs(loss - s.prev_loss()) < o.tolerance_change())
      break;
  }
  return first_loss;
}

}  // namespace tandem::optim
