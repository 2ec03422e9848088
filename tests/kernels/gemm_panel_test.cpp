// Products with panels that were packed before.
#include <gtest/gtest.h>

#include <vector>

#include "tandem/kernels/gemm_impl.h"

namespace tandem::kernels::detail {
namespace {

template <class T>
void check_panel(int64_t m, int64_t k, int64_t width, bool transposed) {
  const PanelOps<T>& ops = panel_ops<T>();
  ASSERT_LE(ops.cols, kMostPanelCols);
  ASSERT_LE(width, ops.cols);
  const auto number = [](int64_t i) { return static_cast<T>((i * 37) % 11 - 5); };
  const int64_t lda = k + 3, ldc = ops.cols + 5;
  std::vector<T> a(static_cast<size_t>(m * lda)), b(static_cast<size_t>(k * width + 1));
  for (size_t i = 0; i < a.size(); ++i) a[i] = number(static_cast<int64_t>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = number(static_cast<int64_t>(3 * i + 1));
  const int64_t row = transposed ? 1 : width, col = transposed ? k : 1;
  std::vector<T> panel(static_cast<size_t>(k * ops.cols), T(99));
  ops.pack(b.data(), row, col, k, width, panel.data());
  std::vector<T> c(static_cast<size_t>(m * ldc), T(7));
  ops.multiply(m, k, a.data(), lda, panel.data(), c.data(), ldc, false);
  ops.multiply(m, k, a.data(), lda, panel.data(), c.data(), ldc, true);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < ldc; ++j) {
      T sum = 0;  // small whole numbers: exact in any order
      for (int64_t p = 0; p < k && j < width; ++p)
        sum += a[static_cast<size_t>(i * lda + p)] * b[static_cast<size_t>(p * row + j * col)];
      const T expected = j >= ops.cols ? T(7) : 2 * sum;
      ASSERT_EQ(c[static_cast<size_t>(i * ldc + j)], expected) << i << ", " << j;
    }
}

TEST(PanelOps, MultiplyAnyNumberOfRows) {
  for (int64_t m = 1; m <= 14; ++m)
    for (const int64_t k : {1, 7, 64}) {
      check_panel<float>(m, k, panel_ops<float>().cols, m % 2 == 0);
      check_panel<double>(m, k, panel_ops<double>().cols, m % 2 == 1);
    }
}

TEST(PanelOps, PadsWithZeros) {
  for (int64_t width = 1; width < panel_ops<float>().cols; ++width)
    check_panel<float>(5, 9, width, width % 2 == 0);
  for (int64_t width = 1; width < panel_ops<double>().cols; ++width)
    check_panel<double>(5, 9, width, width % 2 == 0);
}

}  // namespace
}  // namespace tandem::kernels::detail
