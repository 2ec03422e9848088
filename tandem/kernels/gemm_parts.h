#pragma once

#include <algorithm>

#include "tandem/base/parallel.h"
#include "tandem/kernels/gemm_impl.h"

namespace tandem::kernels::detail {

/// Multiplications that a thread should at least have before a second one is woken.
inline int64_t part_grain() {
  return registers() == Registers::kWide ? 176 * 1024 : 128 * 1024;
}

/// How C is cut into as many parts as there are threads, each a number of blocks high and wide.
struct Grid {
  int64_t rows, cols;
};
inline Grid grid_for(int64_t m, int64_t n, int64_t k, int64_t block_rows, int64_t block_cols) {
  if (in_parallel_region()) return {1, 1};
  // Multiplications that a core does in the time in which it packs an element.
  constexpr int64_t kProductsAtOnce = 4;
  const int64_t threads = std::min<int64_t>(get_num_threads(), m * n * k / part_grain());
  const int64_t high = (m + block_rows - 1) / block_rows;
  const int64_t wide = (n + block_cols - 1) / block_cols;
  Grid best = {1, 1};
  int64_t least = 0;
  for (int64_t rows = 1; rows <= std::min(threads, high); ++rows) {
    const int64_t cols = std::min(threads / rows, wide);
    // What the largest part costs for each k: its products, and the rows and columns that are
    // packed for it.
    const int64_t y = std::min(m, (high + rows - 1) / rows * block_rows);
    const int64_t x = std::min(n, (wide + cols - 1) / cols * block_cols);
    const int64_t cost = y * x / kProductsAtOnce + y + x;
    if (least == 0 || cost < least) {
      least = cost;
      best = {rows, cols};
    }
  }
  return best;
}

/// Each thread does a part of C by itself, with `one`: what several parts read is packed by each of
/// them, but threads never wait for each other. Parts are whole blocks of that many rows and
/// columns, but for the last.
template <class T, class F>
void in_parts(const GemmArgs<T>& g, int64_t block_rows, int64_t block_cols, const F& one) {
  const Grid grid = grid_for(g.m, g.n, g.k, block_rows, block_cols);
  const int64_t high = (g.m + block_rows - 1) / block_rows;
  const int64_t wide = (g.n + block_cols - 1) / block_cols;
  parallel_for(0, grid.rows * grid.cols, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i / grid.cols, x = i % grid.cols;
      const int64_t row = high * y / grid.rows * block_rows;
      const int64_t col = wide * x / grid.cols * block_cols;
      GemmArgs<T> part = g;
      part.m = std::min(g.m, high * (y + 1) / grid.rows * block_rows) - row;
      part.n = std::min(g.n, wide * (x + 1) / grid.cols * block_cols) - col;
      part.a += row * g.a_row;
      part.b += col * g.b_col;
      part.c += row * g.ldc + col;
      one(part);
    }
  });
}

}  // namespace tandem::kernels::detail
