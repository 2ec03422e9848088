#include "tandem/kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tandem/base/deterministic.h"
#include "tandem/base/one_thread.h"
#include "tandem/base/parallel.h"

namespace tandem::kernels {
namespace {

template <class T>
std::vector<T> random_values(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<T> v(n);
  for (T& x : v) {
    if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(rng());
    } else {
      x = static_cast<T>(std::uniform_real_distribution<float>(-1, 1)(rng));
    }
  }
  return v;
}

/// The definition, in long double (or wrapping integers).
template <class T>
std::vector<T> reference(const Gemm& g, const T* c_before) {
  const T *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b);
  std::vector<T> c(c_before, c_before + g.m * g.ldc);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      auto at = [&](int64_t p) { return g.transa ? a[p * g.lda + i] : a[i * g.lda + p]; };
      auto bt = [&](int64_t p) { return g.transb ? b[j * g.ldb + p] : b[p * g.ldb + j]; };
      T& out = c[i * g.ldc + j];
      if constexpr (std::is_integral_v<T>) {
        uint64_t sum = 0;
        for (int64_t p = 0; p < g.k; ++p)
          sum += static_cast<uint64_t>(at(p)) * static_cast<uint64_t>(bt(p));
        sum *= static_cast<uint64_t>(static_cast<int64_t>(g.alpha));
        if (g.beta != 0)
          sum += static_cast<uint64_t>(static_cast<int64_t>(g.beta)) * static_cast<uint64_t>(out);
        out = static_cast<T>(sum);
      } else {
        long double sum = 0;
        for (int64_t p = 0; p < g.k; ++p)
          sum += static_cast<long double>(static_cast<double>(at(p))) * static_cast<double>(bt(p));
        long double r = g.alpha * sum;
        if (g.beta != 0) r += g.beta * static_cast<double>(out);
        out = static_cast<T>(static_cast<double>(r));
      }
    }
  return c;
}

double tolerance(DType t, int64_t k) {
  const double size = std::sqrt(static_cast<double>(k) + 4) * 4;
  if (t == kDouble) return 9e-16 * static_cast<double>(k + 8);
  if (t == kFloat) return 5e-7 * static_cast<double>(k + 8);
  if (t == kHalf) return 1e-3 * size;
  return 8e-3 * size;
}

struct Case {
  int64_t m, n, k;
  bool ta = false, tb = false;
  double alpha = 1, beta = 0;
  int64_t pad = 0;  // added to every leading dimension
};

template <class T>
void check(const Case& s) {
  const DType t = dtype_of<T>();
  const int64_t lda = (s.ta ? s.m : s.k) + s.pad, ldb = (s.tb ? s.k : s.n) + s.pad;
  const int64_t ldc = s.n + s.pad;
  const auto a = random_values<T>((s.ta ? s.k : s.m) * lda, 1);
  const auto b = random_values<T>((s.tb ? s.n : s.k) * ldb, 2);
  const int64_t c_size = s.m * ldc;
  auto c = random_values<T>(c_size, 3);
  const Gemm g{t,        s.m, s.n,  s.k,      a.data(), lda,     s.ta,
               b.data(), ldb, s.tb, c.data(), ldc,      s.alpha, s.beta};
  const std::vector<T> want = reference<T>(g, c.data());
  gemm(g);
  const std::string where =
      str(t, " ", s.m, "x", s.n, "x", s.k, s.ta ? " T" : " N", s.tb ? "T" : "N", " alpha ", s.alpha,
          " beta ", s.beta, " pad ", s.pad, ", element ");
  for (int64_t i = 0; i < c_size; ++i) {
    const bool inside = i % ldc < s.n;
    const double got = static_cast<double>(c[i]), expected = static_cast<double>(want[i]);
    if (!inside || !is_floating(t)) {
      ASSERT_EQ(got, expected) << where << i / ldc << "," << i % ldc;
    } else {
      ASSERT_NEAR(got, expected, tolerance(t, s.k)) << where << i / ldc << "," << i % ldc;
    }
  }
}

template <class T>
void check_forms(int64_t m, int64_t n, int64_t k) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check<T>({m, n, k, ta, tb});
      check<T>({m, n, k, ta, tb, 2, 3, 5});
    }
}

class Deterministic {
 public:
  explicit Deterministic(bool on) : before_(deterministic_algorithms()) {
    use_deterministic_algorithms(on);
  }
  ~Deterministic() { use_deterministic_algorithms(before_); }

 private:
  bool before_;
};

TEST(Gemm, SmallShapesOfEveryRemainder) {
  for (int64_t m : {1, 2, 3, 5, 7, 8, 20})
    for (int64_t n : {1, 2, 4, 7, 8, 9, 15, 16, 17, 20, 24, 33, 40})
      for (int64_t k : {1, 2, 3, 8, 13, 20}) {
        check_forms<float>(m, n, k);
        check_forms<double>(m, n, k);
      }
}

TEST(Gemm, MiddleAndLargeShapes) {
  const int64_t shapes[][3] = {{64, 64, 64},   {65, 67, 63},    {97, 130, 257}, {128, 10, 512},
                               {10, 512, 128}, {200, 150, 300}, {6, 2100, 40},  {1200, 20, 30},
                               {13, 17, 5000}, {1, 1000, 900},  {900, 1, 1000}, {1, 1, 100000},
                               {3, 1, 70000},  {1, 5, 70000},   {1160, 2060, 2}};
  for (auto& s : shapes) {
    for (bool deterministic : {false, true}) {
      const Deterministic guard(deterministic);
      check_forms<float>(s[0], s[1], s[2]);
    }
    check_forms<double>(s[0], s[1], s[2]);
  }
}

// Strips of registers end where columns do, and transposed copies where rows do, at any remainder.
TEST(Gemm, StripsOfEveryWidth) {
  for (int64_t n = 90; n <= 160; n += n < 100 ? 1 : 7)
    for (const int64_t m : {5, 37}) {
      check_forms<float>(m, n, 70);
      check_forms<double>(m, n, 70);
    }
  for (const int64_t k : {63, 64, 65, 71, 95, 97, 600}) {
    check_forms<float>(25, 150, k);
    check_forms<double>(25, 150, k);
  }
  // A second factor that comes from the third cache.
  check_forms<float>(131, 354, 790);
  check_forms<double>(67, 294, 520);
}

TEST(Gemm, FewColumns) {
  for (int64_t n = 2; n < 18; ++n)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const int64_t k : {40, 530}) {
          check<float>({211, n, k, ta, tb, 2, 0, 3});
          check<double>({211, n, k, ta, tb, 2, 0, 3});
        }
}

// A second factor that is transposed is not copied for a few rows.
TEST(Gemm, FewRows) {
  for (int64_t m = 2; m < 18; ++m)
    for (const bool deterministic : {false, true}) {
      const Deterministic guard(deterministic);
      check_forms<float>(m, 131, 203);
      check_forms<double>(m, 131, 203);
    }
}

TEST(Gemm, OtherTypes) {
  const int64_t shapes[][3] = {{3, 4, 5}, {20, 20, 20}, {33, 65, 70}, {2, 1030, 3}};
  for (auto& s : shapes) {
    check_forms<Half>(s[0], s[1], s[2]);
    check_forms<BFloat16>(s[0], s[1], s[2]);
    check_forms<uint8_t>(s[0], s[1], s[2]);
    check_forms<int8_t>(s[0], s[1], s[2]);
    check_forms<int16_t>(s[0], s[1], s[2]);
    check_forms<int32_t>(s[0], s[1], s[2]);
    check_forms<int64_t>(s[0], s[1], s[2]);
  }
}

TEST(Gemm, BoolIsOrOfAnds) {
  const bool a[] = {true, false, true, false, false, false}, b[] = {true, true, false};
  bool c[] = {false, true};
  gemm({.dtype = kBool,
        .m = 2,
        .n = 1,
        .k = 3,
        .a = a,
        .lda = 3,
        .b = b,
        .ldb = 1,
        .c = c,
        .ldc = 1});
  EXPECT_TRUE(c[0]);
  EXPECT_FALSE(c[1]);
}

TEST(Gemm, EmptyExtents) {
  check_forms<float>(0, 3, 4);
  check_forms<float>(3, 0, 4);
  check_forms<float>(3, 4, 0);
  check_forms<double>(3, 4, 0);
  check_forms<int64_t>(3, 4, 0);
  check_forms<Half>(3, 4, 0);
}

TEST(Gemm, BetaZeroDoesNotReadC) {
  for (int64_t n : {4, 20, 100}) {
    std::vector<float> a(n * n, 1), b(n * n, 1), c(n * n, std::numeric_limits<float>::quiet_NaN());
    gemm({.dtype = kFloat,
          .m = n,
          .n = n,
          .k = n,
          .a = a.data(),
          .lda = n,
          .b = b.data(),
          .ldb = n,
          .c = c.data(),
          .ldc = n});
    for (float x : c) ASSERT_EQ(x, static_cast<float>(n));
    std::fill(c.begin(), c.end(), std::numeric_limits<float>::quiet_NaN());
    gemm({.dtype = kFloat,
          .m = n,
          .n = n,
          .k = 0,
          .a = a.data(),
          .lda = n,
          .b = b.data(),
          .ldb = n,
          .c = c.data(),
          .ldc = n});
    for (float x : c) ASSERT_EQ(x, 0.0f);
  }
}

TEST(Gemm, NanInAnOperandReachesTheResult) {
  for (int64_t n : {4, 20, 100}) {
    std::vector<double> a(n * n, 0), b(n * n, 1), c(n * n);
    b[0] = std::numeric_limits<double>::quiet_NaN();
    gemm({.dtype = kDouble,
          .m = n,
          .n = n,
          .k = n,
          .a = a.data(),
          .lda = n,
          .b = b.data(),
          .ldb = n,
          .c = c.data(),
          .ldc = n});
    EXPECT_TRUE(std::isnan(c[0]));
    EXPECT_EQ(c[1], 0.0);
  }
}

template <class T>
std::vector<T> product_with_threads(int threads, int64_t m, int64_t n, int64_t k, bool ta,
                                    bool tb) {
  const int before = get_num_threads();
  set_num_threads(threads);
  const auto a = random_values<T>(m * k, 1), b = random_values<T>(k * n, 2);
  std::vector<T> c(m * n);
  gemm({.dtype = dtype_of<T>(),
        .m = m,
        .n = n,
        .k = k,
        .a = a.data(),
        .lda = ta ? m : k,
        .transa = ta,
        .b = b.data(),
        .ldb = tb ? k : n,
        .transb = tb,
        .c = c.data(),
        .ldc = n});
  set_num_threads(before);
  return c;
}

TEST(Gemm, SameBitsForAnyThreadCount) {
  const Deterministic guard(true);
  const int64_t shapes[][3] = {{128, 512, 784},  {128, 10, 512}, {512, 784, 128}, {8, 8, 20000},
                               {1, 3000, 700},   {3000, 1, 700}, {1, 1, 200000},  {333, 77, 1000},
                               {2000, 130, 300}, {64, 64, 3000}, {128, 354, 354}, {47, 294, 784},
                               {700, 10, 300},   {3, 300, 500},  {12, 300, 500}};
  for (auto& s : shapes)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        const auto one = product_with_threads<float>(1, s[0], s[1], s[2], ta, tb);
        const auto one_d = product_with_threads<double>(1, s[0], s[1], s[2], ta, tb);
        for (int threads : {2, 3, 5}) {
          ASSERT_EQ(one, product_with_threads<float>(threads, s[0], s[1], s[2], ta, tb))
              << s[0] << "x" << s[1] << "x" << s[2];
          ASSERT_EQ(one_d, product_with_threads<double>(threads, s[0], s[1], s[2], ta, tb))
              << s[0] << "x" << s[1] << "x" << s[2];
        }
      }
}

// What is claimed stays as it is, bit for bit, and so does the product.
TEST(Gemm, ClaimsMemoryAlong) {
  const int64_t m = 70, n = 99, k = 80;
  const auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
  std::vector<float> want(m * n), got(m * n), first(m * n), second(m * n);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = std::bit_cast<float>(0x7f800001u + static_cast<uint32_t>(i));  // NaNs that signal
    second[i] = static_cast<float>(i);
  }
  const auto first_before = first, second_before = second;
  Gemm g{.dtype = kFloat, .m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n};
  g.ldc = n;
  g.c = want.data();
  gemm(g);
  {
    ProductParts parts(m);
    parts.next(got.data());
    parts.claim(first.data());
    parts.claim(second.data());
    g.c = got.data();
    gemm(g);
  }
  EXPECT_EQ(want, got);
  EXPECT_EQ(second, second_before);
  EXPECT_EQ(std::memcmp(first.data(), first_before.data(), first.size() * sizeof(float)), 0);
}

TEST(Gemm, PartsAreSmallerThanTheWhole) {
  const int before = get_num_threads();
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (const DType dtype : {kFloat, kDouble, kHalf, kLong})
      for (const int64_t m : {1, 47, 100, 128, 784, 5000})
        for (const int64_t n : {1, 10, 256, 354, 512, 3000})
          for (const int64_t k : {1, 10, 128, 784})
            for (const int rows : {0, 1, 2, 3}) {
              const PartRows part = part_rows(dtype, m, n, k, rows & 1, rows & 2);
              const bool shared = part.rows > 0 && part.rows * threads >= m && threads > 1;
              EXPECT_TRUE(part.rows >= 0 && part.rows < m) << m << "x" << n << "x" << k;
              EXPECT_TRUE(shared || !part.of_thread) << m << "x" << n << "x" << k;
            }
  }
  set_num_threads(before);
}

// Parts of a product are the rows that the whole has, whatever other products come between them.
template <class T>
void expect_parts_of_the_whole(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  const auto a = random_values<T>(m * k, 1), b = random_values<T>(k * n, 2),
             b2 = random_values<T>(k * n, 3);
  std::vector<T> whole(m * n), parts(m * n), other(m * n), other_alone(m * n);
  Gemm g{.dtype = dtype_of<T>(), .m = m, .n = n, .k = k};
  g.a = a.data();
  g.lda = ta ? m : k;
  g.transa = ta;
  g.b = b.data();
  g.ldb = tb ? k : n;
  g.transb = tb;
  g.c = whole.data();
  g.ldc = n;
  gemm(g);
  Gemm between = g;
  between.b = b2.data();
  between.c = other_alone.data();
  gemm(between);
  between.c = other.data();

  const OneThread one;
  ProductParts made(m);
  const int64_t heights[] = {50, 66, 7, 128};
  for (int64_t from = 0, i = 0; from < m; from += g.m, ++i) {
    g.m = std::min(m - from, heights[i % 4]);
    g.a = a.data() + from * (ta ? 1 : k);
    g.c = parts.data() + from * n;
    made.next(g.c);
    gemm(g);
    if (i == 1) gemm(between);
  }
  EXPECT_EQ(whole, parts) << m << "x" << n << "x" << k;
  EXPECT_EQ(other_alone, other);
}

TEST(Gemm, InParts) {
  const Deterministic guard(true);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      expect_parts_of_the_whole<float>(300, 102, 128, ta, tb);
      expect_parts_of_the_whole<float>(300, 512, 128, ta, tb);
      expect_parts_of_the_whole<float>(200, 90, 600, ta, tb);
      expect_parts_of_the_whole<double>(400, 70, 130, ta, tb);
      expect_parts_of_the_whole<double>(300, 354, 128, ta, tb);
    }
}

TEST(Gemm, Batched) {
  for (int64_t n : {3, 20, 70}) {
    const int64_t batch = 9, size = n * n;
    const auto a = random_values<float>(batch * size, 1), b = random_values<float>(batch * size, 2);
    for (int64_t sa : {int64_t{0}, size})
      for (int64_t sb : {int64_t{0}, size})
        for (bool ta : {false, true}) {
          std::vector<float> c(batch * size), want(batch * size);
          Gemm g{.dtype = kFloat,
                 .m = n,
                 .n = n,
                 .k = n,
                 .a = a.data(),
                 .lda = n,
                 .transa = ta,
                 .b = b.data(),
                 .ldb = n,
                 .c = c.data(),
                 .ldc = n};
          batched_gemm(g, batch, sa, sb, size);
          for (int64_t i = 0; i < batch; ++i) {
            g.a = a.data() + i * sa;
            g.b = b.data() + i * sb;
            const auto one = reference<float>(g, want.data() + i * size);
            for (int64_t j = 0; j < size; ++j)
              ASSERT_NEAR(c[i * size + j], one[j], tolerance(kFloat, n));
          }
        }
  }
}

struct Strided {
  std::vector<float> values;
  Dims sizes, strides;
  Array array() {
    return {values.data(),
            sizes.data(),
            strides.data(),
            numel_of(sizes),
            static_cast<int32_t>(sizes.size()),
            kFloat,
            is_contiguous(sizes, strides)};
  }
  /// The same values seen transposed.
  void flip() {
    std::swap(sizes[sizes.size() - 2], sizes[sizes.size() - 1]);
    std::swap(strides[sizes.size() - 2], strides[sizes.size() - 1]);
  }
  float& at(int64_t b, int64_t i, int64_t j) {
    return values[(sizes.size() == 3 ? (sizes[0] == 1 ? 0 : b) * strides[0] : 0) +
                  i * strides[sizes.size() - 2] + j * strides[sizes.size() - 1]];
  }
};

/// A rows x cols matrix laid out in one of several ways.
Strided make_strided(int64_t batch, int64_t rows, int64_t cols, int layout, uint32_t seed) {
  Strided s;
  const bool three = batch >= 0;
  int64_t row, col, step;
  switch (layout) {
    case 0:
      row = cols, col = 1, step = rows * cols;
      break;  // row-major
    case 1:
      row = 1, col = rows, step = rows * cols;
      break;  // transposed
    case 2:
      row = cols + 3, col = 1, step = rows * (cols + 3) + 2;
      break;  // padded rows
    case 3:
      row = 2 * cols, col = 2, step = 2 * rows * cols;
      break;  // every other element
    case 4:
      row = 1, col = rows * std::max<int64_t>(batch, 1), step = rows;
      break;
    default:
      row = 0, col = 1, step = 0;
      break;  // one row repeated
  }
  const int64_t b = std::max<int64_t>(batch, 1);
  s.values = random_values<float>((b - 1) * step + (rows - 1) * row + (cols - 1) * col + 1, seed);
  s.sizes = three ? Dims{batch, rows, cols} : Dims{rows, cols};
  s.strides = three ? Dims{step, row, col} : Dims{row, col};
  return s;
}

TEST(Matmul, AnyStrides) {
  const int64_t shapes[][3] = {{5, 7, 3},    {20, 20, 20},  {1, 20, 20}, {20, 1, 20},
                               {50, 60, 70}, {130, 1, 300}, {1, 1, 9}};
  for (auto& s : shapes)
    for (int64_t batch : {-1, 1, 4})
      for (int la = 0; la < 6; ++la)
        for (int lb = 0; lb < 6; ++lb)
          for (int lc = 0; lc < 5; ++lc)
            for (double beta : {0.0, 0.5}) {
              Strided a = make_strided(batch, s[0], s[2], la, 1);
              Strided b = make_strided(batch, s[2], s[1], lb, 2);
              Strided c = make_strided(batch, s[0], s[1], lc, 3);
              Strided before = c;
              const bool ta = lc % 2 == 1, tb = la % 2 == 1;  // the same product by other flags
              if (ta) a.flip();
              if (tb) b.flip();
              matmul(a.array(), b.array(), c.array(), {.trans_a = ta, .trans_b = tb, .beta = beta});
              if (ta) a.flip();
              if (tb) b.flip();
              for (int64_t i = 0; i < std::max<int64_t>(batch, 1); ++i)
                for (int64_t y = 0; y < s[0]; ++y)
                  for (int64_t x = 0; x < s[1]; ++x) {
                    double sum = beta * before.at(i, y, x);
                    for (int64_t p = 0; p < s[2]; ++p)
                      sum += static_cast<double>(a.at(i, y, p)) * b.at(i, p, x);
                    ASSERT_NEAR(c.at(i, y, x), sum, tolerance(kFloat, s[2]))
                        << "layouts " << la << lb << lc << " batch " << batch << " shape " << s[0]
                        << "x" << s[1] << "x" << s[2] << " at " << i << "," << y << "," << x;
                  }
            }
}

TEST(Matmul, BatchOfOneRepeats) {
  Strided a = make_strided(1, 4, 5, 0, 1), b = make_strided(6, 5, 3, 0, 2);
  Strided c = make_strided(6, 4, 3, 0, 3);
  matmul(a.array(), b.array(), c.array());
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t y = 0; y < 4; ++y)
      for (int64_t x = 0; x < 3; ++x) {
        double sum = 0;
        for (int64_t p = 0; p < 5; ++p) sum += static_cast<double>(a.at(0, y, p)) * b.at(i, p, x);
        ASSERT_NEAR(c.at(i, y, x), sum, 1e-5);
      }
}

TEST(Dot, StridesAndLengths) {
  for (int64_t n : {0, 1, 7, 64, 1000, 50000})
    for (int64_t stride : {0, 1, 3}) {
      const auto a = random_values<double>(n * stride + 1, 1), b = random_values<double>(n + 1, 2);
      double got = -1, want = 0;
      for (int64_t i = 0; i < n; ++i) want += a[i * stride] * b[i];
      dot(kDouble, n, a.data(), stride, b.data(), 1, &got);
      EXPECT_NEAR(got, want, 1e-11);
    }
  const int32_t x[] = {1, 2, 3}, y[] = {4, 5, 6};
  int32_t sum = 0;
  dot(kInt, 3, x, 1, y, 1, &sum);
  EXPECT_EQ(sum, 32);
}

TEST(Gemv, BothForms) {
  for (int64_t rows : {1, 9, 700})
    for (int64_t cols : {1, 13, 800}) {
      const auto a = random_values<float>(rows * cols, 1), x = random_values<float>(1000, 2);
      for (bool trans : {false, true}) {
        std::vector<float> y(1000, 1.0f);
        gemv(kFloat, trans, rows, cols, 2, a.data(), cols, x.data(), 3, y.data());
        for (int64_t i = 0; i < (trans ? cols : rows); ++i) {
          double want = 3;
          for (int64_t p = 0; p < (trans ? rows : cols); ++p)
            want += 2.0 * x[p] * (trans ? a[p * cols + i] : a[i * cols + p]);
          ASSERT_NEAR(y[i], want, 1e-3);
        }
      }
    }
}

}  // namespace
}  // namespace tandem::kernels
