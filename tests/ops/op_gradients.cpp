#include "tests/ops/op_gradients.h"

#include <cmath>

#include "tandem/autograd/autograd.h"

namespace tandem::table {
namespace {

constexpr double kStep = 1e-6;

using Matrix = std::vector<std::vector<double>>;  // [element of the inputs][element of the results]

List wanting_gradients(const List& inputs) {
  List r;
  for (const Tensor& t : inputs)
    if (t.defined() && t.requires_grad()) r.push_back(t);
  return r;
}

std::vector<double> flatten(const List& tensors) {
  std::vector<double> r;
  for (const Tensor& t : tensors) {
    const Values v = read(t);
    r.insert(r.end(), v.v.begin(), v.v.end());
  }
  return r;
}

Matrix by_differences(const Fn& fn, const List& inputs) {
  Matrix m;
  for (const Tensor& x : wanting_gradients(inputs)) {
    double* p = x.data_ptr<double>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double before = p[i];
      p[i] = before + kStep;
      const std::vector<double> up = flatten(floating_only(fn(inputs)));
      p[i] = before - kStep;
      const std::vector<double> down = flatten(floating_only(fn(inputs)));
      p[i] = before;
      std::vector<double> row(up.size());
      for (size_t k = 0; k < up.size(); ++k) row[k] = (up[k] - down[k]) / (2 * kStep);
      m.push_back(std::move(row));
    }
  }
  return m;
}

Matrix by_autograd(const List& results, const List& inputs) {
  const List wanted = wanting_gradients(inputs);
  int64_t n_in = 0, n_out = 0;
  for (const Tensor& t : wanted) n_in += t.numel();
  for (const Tensor& t : results) n_out += t.numel();
  Matrix m(n_in, std::vector<double>(n_out));
  int64_t column = 0;
  for (size_t k = 0; k < results.size(); ++k) {
    for (int64_t j = 0; j < results[k].numel(); ++j, ++column) {
      List weights;
      for (const Tensor& t : results)
        weights.push_back(make_tensor(zeros_of(t.sizes().vec()), kDouble));
      weights[k].data_ptr<double>()[j] = 1;
      const std::vector<double> g = flatten(gradients(results, wanted, weights, false));
      for (int64_t i = 0; i < n_in; ++i) m[i][column] = g[i];
    }
  }
  return m;
}

std::string difference(const Matrix& numeric, const Matrix& exact, double tolerance) {
  for (size_t i = 0; i < exact.size(); ++i) {
    if (numeric[i].size() != exact[i].size())
      return str("the number of results changed from ", exact[i].size(), " to ", numeric[i].size());
    for (size_t k = 0; k < exact[i].size(); ++k) {
      const double a = exact[i][k], n = numeric[i][k];
      if (std::abs(a - n) <= tolerance * (1 + std::abs(n))) continue;
      return str("derivative of result element ", k, " by input element ", i, " is ", n,
                 " by differences and ", a, " by autograd");
    }
  }
  return "";
}

}  // namespace

List floating_only(const List& tensors) {
  List r;
  for (const Tensor& t : tensors)
    if (t.defined() && is_floating(t.dtype())) r.push_back(t);
  return r;
}

List gradients(const List& results, const List& inputs, const List& weights, bool create_graph) {
  List from, with;
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].requires_grad()) continue;
    from.push_back(results[k]);
    with.push_back(weights[k]);
  }
  const List wanted = wanting_gradients(inputs);
  List grads(wanted.size());
  if (!from.empty()) grads = autograd::grad(from, wanted, with, true, create_graph, true);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!grads[i].defined())
      grads[i] = make_tensor(zeros_of(wanted[i].sizes().vec()), wanted[i].dtype());
  return grads;
}

List some_weights(const List& results) {
  List weights;
  double x = 0.5;
  for (const Tensor& t : results) {
    Values v = zeros_of(t.sizes().vec());
    for (double& w : v.v) w = x = x > 1.4 ? x - 0.91 : x + 0.13;
    weights.push_back(make_tensor(v, t.dtype()));
  }
  return weights;
}

std::string check_gradient(const Fn& fn, const List& inputs, double tolerance) {
  return difference(by_differences(fn, inputs), by_autograd(floating_only(fn(inputs)), inputs),
                    tolerance);
}

std::string check_second_gradient(const Fn& fn, const List& inputs, double tolerance) {
  List all = inputs;
  for (Tensor& w : some_weights(floating_only(fn(inputs)))) all.push_back(w.requires_grad_());
  const auto n = static_cast<std::ptrdiff_t>(inputs.size());
  const Fn once = [&](const List& a) {
    const List in(a.begin(), a.begin() + n), weights(a.begin() + n, a.end());
    return gradients(floating_only(fn(in)), in, weights, true);
  };
  return check_gradient(once, all, tolerance);
}

}  // namespace tandem::table
