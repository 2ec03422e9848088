#include "tandem/kernels/lapack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tandem/base/error.h"
#include "tandem/base/parallel.h"

namespace tandem::kernels {
namespace {

/// A batch of matrices in double or float with its own memory; row-major unless `flip` lays each
/// matrix out by columns.
template <class T>
struct Batch {
  Dims sizes, strides;
  std::vector<T> v;

  Batch(Dims shape, bool flip = false) : sizes(shape), strides(contiguous_strides(shape)) {
    v.assign(numel_of(shape), T(0));
    if (!flip || shape.size() < 2) return;
    const size_t d = shape.size();
    strides[d - 2] = 1;
    strides[d - 1] = shape[d - 2];
  }
  Array array() {
    return {.data = v.data(),
            .sizes = sizes.data(),
            .strides = strides.data(),
            .numel = static_cast<int64_t>(v.size()),
            .ndim = static_cast<int32_t>(sizes.size()),
            .dtype = dtype_of<T>(),
            .contiguous = is_contiguous(sizes, strides)};
  }
  int64_t rows() const { return sizes[sizes.size() - 2]; }
  int64_t cols() const { return sizes[sizes.size() - 1]; }
  int64_t batch() const { return sizes.size() == 3 ? sizes[0] : 1; }
  T& at(int64_t b, int64_t i, int64_t j) {
    const size_t d = sizes.size();
    return v[(d == 3 ? b * strides[0] : 0) + i * strides[d - 2] + j * strides[d - 1]];
  }
  void fill_random(uint32_t seed) {
    std::mt19937 rng(seed);
    for (T& x : v) x = std::uniform_real_distribution<T>(-1, 1)(rng);
  }
};

template <class T>
Batch<T> random_batch(Dims shape, uint32_t seed, bool flip = false) {
  Batch<T> b(shape, flip);
  b.fill_random(seed);
  return b;
}

template <class T>
Batch<T> times(Batch<T>& a, Batch<T>& b, bool ta = false, bool tb = false) {
  const int64_t m = ta ? a.cols() : a.rows(), k = ta ? a.rows() : a.cols();
  const int64_t n = tb ? b.rows() : b.cols();
  Batch<T> c({a.batch(), m, n});
  for (int64_t s = 0; s < a.batch(); ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t p = 0; p < k; ++p)
          c.at(s, i, j) +=
              (ta ? a.at(s, p, i) : a.at(s, i, p)) * (tb ? b.at(s, j, p) : b.at(s, p, j));
  return c;
}

template <class T>
void expect_near(Batch<T>& a, Batch<T>& b, double tolerance) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  for (int64_t s = 0; s < a.batch(); ++s)
    for (int64_t i = 0; i < a.rows(); ++i)
      for (int64_t j = 0; j < a.cols(); ++j)
        ASSERT_NEAR(a.at(s, i, j), b.at(s, i, j), tolerance) << s << ", " << i << ", " << j;
}

template <class T>
void expect_identity(Batch<T>& a, double tolerance) {
  for (int64_t s = 0; s < a.batch(); ++s)
    for (int64_t i = 0; i < a.rows(); ++i)
      for (int64_t j = 0; j < a.cols(); ++j)
        ASSERT_NEAR(a.at(s, i, j), i == j ? 1 : 0, tolerance) << s << ", " << i << ", " << j;
}

template <class T>
class Lapack : public testing::Test {
 protected:
  static constexpr double kTolerance = sizeof(T) == 8 ? 1e-10 : 2e-3;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Lapack, Types);

TYPED_TEST(Lapack, InverseAndSolve) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 5, 40})
    for (bool flip : {false, true}) {
      auto a = random_batch<T>({3, n, n}, 1, flip);
      for (int64_t s = 0; s < 3; ++s)
        for (int64_t i = 0; i < n; ++i) a.at(s, i, i) += n;
      Batch<T> inv({3, n, n}, !flip);
      EXPECT_EQ(inverse(a.array(), inv.array()).code, 0);
      auto product = times(a, inv);
      expect_identity(product, this->kTolerance);

      auto b = random_batch<T>({3, n, 2}, 2, flip);
      Batch<T> x({3, n, 2});
      EXPECT_EQ(solve(a.array(), b.array(), x.array()).code, 0);
      auto ax = times(a, x);
      expect_near(ax, b, this->kTolerance);
    }
}

TYPED_TEST(Lapack, SingularMatrixIsNamed) {
  using T = TypeParam;
  Batch<T> a({2, 3, 3}), out({2, 3, 3});
  for (int i = 0; i < 3; ++i) a.at(0, i, i) = 1;
  a.at(1, 0, 0) = a.at(1, 2, 2) = 1;  // the second matrix has a zero row
  const LapackInfo info = inverse(a.array(), out.array());
  EXPECT_EQ(info.code, 2);
  EXPECT_EQ(info.batch, 1);
  Batch<T> b({2, 3, 1}), x({2, 3, 1});
  EXPECT_EQ(solve(a.array(), b.array(), x.array()).code, 2);
}

TYPED_TEST(Lapack, LuFactorAndSolve) {
  using T = TypeParam;
  const int64_t n = 6;
  auto a = random_batch<T>({2, n, n}, 3), b = random_batch<T>({2, n, 3}, 4);
  Batch<T> lu({2, n, n}), x({2, n, 3});
  Batch<int32_t> pivots({2, n}), infos({2});
  EXPECT_EQ(lu_factor(a.array(), lu.array(), pivots.array(), infos.array()).code, 0);
  EXPECT_EQ(infos.v, (std::vector<int32_t>{0, 0}));
  for (bool transpose : {false, true}) {
    lu_solve(lu.array(), pivots.array(), b.array(), x.array(), transpose);
    auto ax = times(a, x, transpose);
    expect_near(ax, b, this->kTolerance * 10);
  }
  pivots.v[0] = 100;
  EXPECT_THROW(lu_solve(lu.array(), pivots.array(), b.array(), x.array(), false), Error);
}

TYPED_TEST(Lapack, Determinants) {
  using T = TypeParam;
  Batch<T> a({2, 2, 2}), det({2}), sign({2}), log_abs({2}), adj({2, 2, 2});
  a.v = {1, 2, 3, 4, 1, 2, 2, 4};
  determinant(a.array(), det.array());
  EXPECT_NEAR(det.v[0], -2, 1e-5);
  EXPECT_EQ(det.v[1], 0);
  sign_log_det(a.array(), sign.array(), log_abs.array());
  EXPECT_EQ(sign.v[0], -1);
  EXPECT_NEAR(log_abs.v[0], std::log(2.0), 1e-5);
  EXPECT_EQ(sign.v[1], 0);
  EXPECT_EQ(log_abs.v[1], -std::numeric_limits<T>::infinity());
  EXPECT_EQ(adjugate(a.array(), adj.array()).code, 0);
  const T expected[] = {4, -2, -3, 1, 4, -2, -2, 1};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(adj.v[i], expected[i], 1e-5) << i;
}

TYPED_TEST(Lapack, CholeskyAndTriangles) {
  using T = TypeParam;
  const int64_t n = 7;
  auto x = random_batch<T>({2, n, n}, 5);
  auto a = times(x, x, false, true);
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t i = 0; i < n; ++i) a.at(s, i, i) += 1;
  for (bool upper : {false, true}) {
    Batch<T> factor({2, n, n});
    EXPECT_EQ(cholesky(a.array(), factor.array(), upper).code, 0);
    auto back = times(factor, factor, upper, !upper);
    expect_near(back, a, this->kTolerance);
    auto b = random_batch<T>({2, n, 3}, 6);
    for (bool transpose : {false, true}) {
      Batch<T> y({2, n, 3});
      triangular_solve(factor.array(), b.array(), y.array(), upper, transpose, false);
      auto product = times(factor, y, transpose);
      expect_near(product, b, this->kTolerance);
    }
  }
  a.at(1, 3, 3) = -1;
  Batch<T> factor({2, n, n});
  const LapackInfo info = cholesky(a.array(), factor.array(), false);
  EXPECT_EQ(info.code, 4);
  EXPECT_EQ(info.batch, 1);
}

TYPED_TEST(Lapack, Qr) {
  using T = TypeParam;
  const int64_t shapes[][2] = {{5, 5}, {7, 3}, {3, 7}, {4, 0}, {0, 4}};
  for (auto& s : shapes)
    for (bool complete : {false, true}) {
      const int64_t k = complete ? s[0] : std::min(s[0], s[1]);
      auto a = random_batch<T>({2, s[0], s[1]}, 7, true);
      Batch<T> q({2, s[0], k}), r({2, k, s[1]}), only_r({2, k, s[1]});
      qr(a.array(), q.array(), r.array());
      auto product = times(q, r);
      expect_near(product, a, this->kTolerance);
      auto qtq = times(q, q, true);
      expect_identity(qtq, this->kTolerance);
      qr(a.array(), {}, only_r.array());
      expect_near(only_r, r, this->kTolerance);
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < std::min(i, s[1]); ++j) EXPECT_EQ(r.at(0, i, j), 0);
    }
}

TYPED_TEST(Lapack, Svd) {
  using T = TypeParam;
  const int64_t shapes[][2] = {{5, 5}, {7, 3}, {3, 7}, {4, 0}, {0, 4}};
  for (auto& s : shapes)
    for (bool full : {false, true}) {
      const int64_t m = s[0], n = s[1], k = std::min(m, n);
      auto a = random_batch<T>({2, m, n}, 8);
      Batch<T> u({2, m, full ? m : k}), values({2, k}), vh({2, full ? n : k, n}), alone({2, k});
      EXPECT_EQ(svd(a.array(), u.array(), values.array(), vh.array()).code, 0);
      auto utu = times(u, u, true), vvt = times(vh, vh, false, true);
      expect_identity(utu, this->kTolerance);
      expect_identity(vvt, this->kTolerance);
      Batch<T> scaled({2, m, n});
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t p = 0; p < k; ++p)
              scaled.at(b, i, j) += u.at(b, i, p) * values.v[b * k + p] * vh.at(b, p, j);
      expect_near(scaled, a, this->kTolerance);
      EXPECT_EQ(svd(a.array(), {}, alone.array(), {}).code, 0);
      for (int64_t i = 0; i < 2 * k; ++i) EXPECT_NEAR(alone.v[i], values.v[i], this->kTolerance);
    }
  auto bad = random_batch<T>({1, 3, 3}, 9);
  bad.v[4] = std::numeric_limits<T>::quiet_NaN();
  Batch<T> values({1, 3});
  EXPECT_THROW(svd(bad.array(), {}, values.array(), {}), Error);
}

TYPED_TEST(Lapack, Eigh) {
  using T = TypeParam;
  const int64_t n = 6;
  auto x = random_batch<T>({2, n, n}, 10);
  Batch<T> a({2, n, n});
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) a.at(s, i, j) = x.at(s, i, j) + x.at(s, j, i);
  for (bool upper : {false, true}) {
    Batch<T> half = a;  // the other triangle must not matter
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) (upper ? half.at(0, i, j) : half.at(0, j, i)) = 99;
    Batch<T> values({2, n}), vectors({2, n, n}), alone({2, n});
    EXPECT_EQ(eigh(half.array(), values.array(), vectors.array(), upper).code, 0);
    auto av = times(a, vectors);
    Batch<T> scaled({2, n, n});
    for (int64_t s = 0; s < 2; ++s)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          scaled.at(s, i, j) = vectors.at(s, i, j) * values.v[s * n + j];
    expect_near(av, scaled, this->kTolerance);
    EXPECT_EQ(eigh(half.array(), alone.array(), {}, upper).code, 0);
    for (int64_t i = 0; i < 2 * n; ++i) EXPECT_NEAR(alone.v[i], values.v[i], this->kTolerance);
  }
}

TYPED_TEST(Lapack, LeastSquares) {
  using T = TypeParam;
  const int64_t shapes[][2] = {{7, 3}, {3, 7}, {4, 4}};
  for (auto& s : shapes) {
    auto a = random_batch<T>({2, s[0], s[1]}, 11), b = random_batch<T>({2, s[0], 2}, 12);
    Batch<T> x({2, s[1], 2}), values({2, std::min(s[0], s[1])});
    Batch<int64_t> rank({2});
    EXPECT_EQ(
        least_squares(a.array(), b.array(), x.array(), values.array(), rank.array(), 1e-6).code, 0);
    EXPECT_EQ(rank.v[0], std::min(s[0], s[1]));
    // The rest is orthogonal to the columns of a.
    auto ax = times(a, x);
    for (int64_t i = 0; i < static_cast<int64_t>(ax.v.size()); ++i) ax.v[i] -= b.v[i];
    auto normal = times(a, ax, true);
    for (T e : normal.v) EXPECT_NEAR(e, 0, this->kTolerance);
  }
}

TEST(LapackThreads, BatchesAreTheSameForAnyThreadCount) {
  auto a = random_batch<double>({64, 12, 12}, 13);
  const int before = get_num_threads();
  std::vector<std::vector<double>> results;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Batch<double> out({64, 12, 12});
    inverse(a.array(), out.array());
    results.push_back(out.v);
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace tandem::kernels
