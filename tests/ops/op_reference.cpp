#include "tests/ops/op_reference.h"

#include <cmath>
#include <numbers>

namespace tandem::table {

double erfinv_reference(double x) {
  if (std::isnan(x) || std::abs(x) > 1) return NAN;
  if (std::abs(x) == 1) return x * INFINITY;
  // Newton's method from 0 converges on each side because erf bends away from the start.
  double y = 0;
  for (int i = 0; i < 200; ++i) {
    const double f = std::abs(x) > 0.5 ? (x > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x))
                                       : std::erf(y) - x;
    const double step = f * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
    y -= step;
    if (std::abs(step) < 1e-16 * std::abs(y)) break;
  }
  return y;
}

double digamma_reference(double x) {
  double sum = 0;
  for (; x < 20; ++x) sum -= 1 / x;
  const double f = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f / 132))));
}

double trigamma_reference(double x) {
  double sum = 0;
  for (; x < 20; ++x) sum += 1 / (x * x);
  const double f = 1 / (x * x);
  return sum + 1 / x + f / 2 +
         f / x * (1.0 / 6 - f * (1.0 / 30 - f * (1.0 / 42 - f * (1.0 / 30 - f * 5.0 / 66))));
}

double floor_divide_reference(double x, double y) {
  if (y == 0) return x / y;
  const double mod = std::fmod(x, y);
  double quotient = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, x / y);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double remainder_reference(double x, double y) {
  const double mod = std::fmod(x, y);
  return mod != 0 && (y < 0) != (mod < 0) ? mod + y : mod;
}

double logaddexp_reference(double x, double y) {
  if (std::isinf(x) && x == y) return x;
  return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
}

double logaddexp2_reference(double x, double y) {
  if (std::isinf(x) && x == y) return x;
  return std::max(x, y) + std::log1p(std::exp2(-std::abs(x - y))) / std::numbers::ln2;
}

Values matmul_reference(const Values& a, const Values& b) {
  const bool row = a.dim() == 1, column = b.dim() == 1;
  Values x = a, y = b;
  if (row) x.sizes.insert(x.sizes.begin(), 1);
  if (column) y.sizes.push_back(1);
  const Sizes batch =
      broadcast({x.sizes.begin(), x.sizes.end() - 2}, {y.sizes.begin(), y.sizes.end() - 2});
  const int64_t n = x.sizes[x.dim() - 2], k = x.sizes.back(), m = y.sizes.back();
  Sizes xs = batch, ys = batch, out_sizes = batch;
  xs.insert(xs.end(), {n, k});
  ys.insert(ys.end(), {k, m});
  out_sizes.insert(out_sizes.end(), {n, m});
  x = expand_to(x, xs);
  y = expand_to(y, ys);
  Values out = zeros_of(out_sizes);
  for (int64_t s = 0; s < count(batch); ++s)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j)
        for (int64_t p = 0; p < k; ++p)
          out.v[(s * n + i) * m + j] += x.v[(s * n + i) * k + p] * y.v[(s * k + p) * m + j];
  if (column) out.sizes.pop_back();
  if (row) out.sizes.erase(out.sizes.end() - (column ? 1 : 2));
  return out;
}

Values transpose_reference(const Values& a) {
  Sizes sizes = a.sizes;
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  Values out = zeros_of(sizes);
  each_index(sizes, [&](const Sizes& i) {
    Sizes from = i;
    std::swap(from[from.size() - 1], from[from.size() - 2]);
    out.at(i) = a.at(from);
  });
  return out;
}

namespace {

// Brings one matrix to the identity by row operations, doing the same to `other`; gives its
// determinant.
double eliminate(double* a, double* other, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c; r < n; ++r)
      if (std::abs(a[r * n + c]) > std::abs(a[pivot * n + c])) pivot = r;
    if (pivot != c) {
      det = -det;
      for (int64_t j = 0; j < n; ++j) {
        std::swap(a[pivot * n + j], a[c * n + j]);
        std::swap(other[pivot * n + j], other[c * n + j]);
      }
    }
    const double p = a[c * n + c];
    det *= p;
    if (p == 0) return 0;
    for (int64_t j = 0; j < n; ++j) a[c * n + j] /= p, other[c * n + j] /= p;
    for (int64_t r = 0; r < n; ++r) {
      const double f = a[r * n + c];
      if (r == c || f == 0) continue;
      for (int64_t j = 0; j < n; ++j) {
        a[r * n + j] -= f * a[c * n + j];
        other[r * n + j] -= f * other[c * n + j];
      }
    }
  }
  return det;
}

}  // namespace

Values inverse_reference(const Values& a) {
  Values x = a, out = zeros_of(a.sizes);
  const int64_t n = a.sizes.back();
  for (int64_t s = 0; n > 0 && s < a.numel() / (n * n); ++s) {
    for (int64_t i = 0; i < n; ++i) out.v[s * n * n + i * n + i] = 1;
    eliminate(&x.v[s * n * n], &out.v[s * n * n], n);
  }
  return out;
}

double det_reference(const Values& a) {
  Values x = a, other = zeros_of(a.sizes);
  return eliminate(x.v.data(), other.v.data(), a.sizes.back());
}

}  // namespace tandem::table
