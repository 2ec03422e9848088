// Large products: both operands are packed into panels that the register block reads in order.
//
// Note: why the result does not depend on the thread count. An element of C is summed over k in
// pieces of kDepth, each by one register block from first to last; which thread computes which tile
// changes nothing in that order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/gemm_packed.cpp"
#include "hwy/foreach_target.h"
// Highway's order: foreach_target before the headers that it includes again.
#include <hwy/cache_control.h>

#include <algorithm>

#include "tandem/kernels/gemm_block-inl.h"
#include "tandem/kernels/gemm_impl.h"

#ifndef TANDEM_KERNELS_GEMM_PACKED_ONCE_
#define TANDEM_KERNELS_GEMM_PACKED_ONCE_
namespace tandem::kernels::detail {

/// What one round of packing and multiplying works on; pointers to the packed panels.
template <class T>
struct Round {
  int64_t rows, cols, depth;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t ldc;
  T alpha, beta;
  T* packed_a;
  T* packed_b;
  bool a_is_packed;  // True iff all of A is packed, false: only what is left of six rows each.
  bool b_is_packed;  // True iff an earlier round has packed the same part of B.
  const ProductParts* parts;
};

}  // namespace tandem::kernels::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
namespace {

using detail::Round;

template <class T>
constexpr int64_t panel_cols() {
  return kBlockVectors * lanes<T>();
}

/// dst[p * W + w] = src[w * across + p * along], zeros for w >= width.
template <int64_t W, class T>
HWY_INLINE void pack_panel(const T* src, int64_t across, int64_t along, int64_t width,
                           int64_t depth, T* HWY_RESTRICT dst) {
  if (width < W) {
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t w = 0; w < W; ++w)
        dst[p * W + w] = w < width ? src[w * across + p * along] : T(0);
  } else if (across == 1) {
    for (int64_t p = 0; p < depth; ++p) std::memcpy(dst + p * W, src + p * along, W * sizeof(T));
  } else if (along == 1) {
    copy_transposed(src, across, W, depth, dst, W);
  } else {
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t w = 0; w < W; ++w) dst[p * W + w] = src[w * across + p * along];
  }
}

template <class T>
void pack_a(const Round<T>& r, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t row = i * kBlockRows;
    pack_panel<kBlockRows>(r.a + row * r.a_row, r.a_row, r.a_col,
                           std::min<int64_t>(kBlockRows, r.rows - row), r.depth,
                           r.packed_a + row * r.depth);
  }
}

template <class T>
void pack_b(const Round<T>& r, int64_t first, int64_t last) {
  constexpr int64_t kNr = panel_cols<T>();
  for (int64_t j = first; j < last; ++j) {
    const int64_t col = j * kNr;
    pack_panel<kNr>(r.b + col * r.b_col, r.b_col, r.b_row, std::min(kNr, r.cols - col), r.depth,
                    r.packed_b + col * r.depth);
  }
}

/// Rows of panels [i0, i1) times the columns of panel j, of which there are NV vectors.
template <int NV, bool kPackedA, class T>
HWY_NOINLINE void tile_columns(const Round<T>& r, int64_t i0, int64_t i1, int64_t j, int64_t cols) {
  constexpr int64_t kNr = panel_cols<T>(), kMr = kBlockRows, kCols = NV * lanes<T>();
  const Tag<T> d;
  const T* b = r.packed_b + j * kNr * r.depth;
  for (int64_t i = i0; i < i1; ++i) {
    const T* packed_a = r.packed_a + i * kMr * r.depth;
    const int64_t rows = std::min(kMr, r.rows - i * kMr);
    T* c = r.c + i * kMr * r.ldc + j * kNr;
    if (rows == kMr) {
      // Where the block ends up is fetched while it is worked out.
      claim_rows<kBlockRows, kCols>(c, r.ldc);
      if (r.parts) claim_along<kBlockRows, kCols>(*r.parts, c, r.ldc);
    }
    const auto multiply = [&](T* to, int64_t ld) {
      if (kPackedA || rows < kMr)
        block<kBlockRows, NV, false, true>(d, r.depth, packed_a, 1, kMr, b, kNr, 0, to, ld, r.alpha,
                                           r.beta);
      else
        block<kBlockRows, NV, false, false>(d, r.depth, r.a + i * kMr * r.a_row, r.a_row, r.a_col,
                                            b, kNr, 0, to, ld, r.alpha, r.beta);
    };
    if (rows == kMr && cols == kCols) {
      multiply(c, r.ldc);
      continue;
    }
    HWY_ALIGN T edge[kMr * kCols];
    if (r.beta != T(0))
      for (int64_t y = 0; y < kMr; ++y)
        for (int64_t x = 0; x < kCols; ++x)
          edge[y * kCols + x] = y < rows && x < cols ? c[y * r.ldc + x] : T(0);
    multiply(edge, kCols);
    for (int64_t y = 0; y < rows; ++y)
      std::memcpy(c + y * r.ldc, edge + y * kCols, cols * sizeof(T));
  }
}

/// Rows of panels [i0, i1) times columns of panels [j0, j1).
template <bool kPackedA, class T>
void tile(const Round<T>& r, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  for (int64_t j = j0; j < j1; ++j) {
    const int64_t cols = std::min(panel_cols<T>(), r.cols - j * panel_cols<T>());
    switch ((cols + lanes<T>() - 1) / lanes<T>()) {
      case 1:
        tile_columns<1, kPackedA>(r, i0, i1, j, cols);
        break;
      case 2:
        tile_columns<2, kPackedA>(r, i0, i1, j, cols);
        break;
#if HWY_TARGET == HWY_AVX3
      case 3:
        tile_columns<3, kPackedA>(r, i0, i1, j, cols);
        break;
      case 4:
        tile_columns<4, kPackedA>(r, i0, i1, j, cols);
        break;
#endif
    }
  }
}

template <class T>
void any_tile(const Round<T>& r, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
#if HWY_TARGET == HWY_AVX3
  if (!r.a_is_packed) return tile<false>(r, i0, i1, j0, j1);
#endif
  tile<true>(r, i0, i1, j0, j1);
}

}  // namespace

void pack_a_f32(const Round<float>& r, int64_t b, int64_t e) { pack_a(r, b, e); }
void pack_a_f64(const Round<double>& r, int64_t b, int64_t e) { pack_a(r, b, e); }
void pack_b_f32(const Round<float>& r, int64_t b, int64_t e) { pack_b(r, b, e); }
void pack_b_f64(const Round<double>& r, int64_t b, int64_t e) { pack_b(r, b, e); }
void tile_f32(const Round<float>& r, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  any_tile(r, i0, i1, j0, j1);
}
void tile_f64(const Round<double>& r, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  any_tile(r, i0, i1, j0, j1);
}
int64_t panel_cols_f32() { return panel_cols<float>(); }
int64_t panel_cols_f64() { return panel_cols<double>(); }
int64_t panel_rows() { return kBlockRows; }

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/base/processor.h"
#include "tandem/kernels/gemm_parts.h"

namespace tandem::kernels {
HWY_EXPORT(pack_a_f32);
HWY_EXPORT(pack_a_f64);
HWY_EXPORT(pack_b_f32);
HWY_EXPORT(pack_b_f64);
HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);
HWY_EXPORT(panel_cols_f32);
HWY_EXPORT(panel_cols_f64);
HWY_EXPORT(panel_rows);

namespace detail {
namespace {

// A packed panel of B (kDepth x 16 floats) stays in the first cache, a tile's rows of A in the
// second, and everything packed in one round in the third.
constexpr int64_t kDepth = 256;
constexpr int64_t kRoundRows = 1152;
constexpr int64_t kRoundCols = 2048;
constexpr int64_t kTileRows = 144;

template <class T>
struct Target {
  void (*pack_a)(const Round<T>&, int64_t, int64_t);
  void (*pack_b)(const Round<T>&, int64_t, int64_t);
  void (*tile)(const Round<T>&, int64_t, int64_t, int64_t, int64_t);
  int64_t mr, nr;
};
Target<float> target(float) {
  return {HWY_DYNAMIC_DISPATCH(pack_a_f32), HWY_DYNAMIC_DISPATCH(pack_b_f32),
          HWY_DYNAMIC_DISPATCH(tile_f32), HWY_DYNAMIC_DISPATCH(panel_rows)(),
          HWY_DYNAMIC_DISPATCH(panel_cols_f32)()};
}
Target<double> target(double) {
  return {HWY_DYNAMIC_DISPATCH(pack_a_f64), HWY_DYNAMIC_DISPATCH(pack_b_f64),
          HWY_DYNAMIC_DISPATCH(tile_f64), HWY_DYNAMIC_DISPATCH(panel_rows)(),
          HWY_DYNAMIC_DISPATCH(panel_cols_f64)()};
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
void one_round(const Target<T>& t, const Round<T>& r) {
  const int64_t row_panels = ceil_div(r.rows, t.mr), col_panels = ceil_div(r.cols, t.nr);
  // Wide registers are so fast that packing six rows takes longer than reading them where they lie.
  t.pack_a(r, r.a_is_packed ? 0 : r.rows / t.mr, row_panels);
  if (!r.b_is_packed) t.pack_b(r, 0, col_panels);
  const int64_t step = kTileRows / t.mr;
  for (int64_t i = 0; i < row_panels; i += step)
    t.tile(r, i, std::min(row_panels, i + step), 0, col_panels);
}

/// With `parts` the next part of the product finds B packed, if it is small.
template <class T>
void by_one_thread(const Target<T>& t, const GemmArgs<T>& g, ProductParts* parts) {
  const bool keeps = parts && g.n <= kRoundCols && g.n * g.k * sizeof(T) <= kKeptBytes;
  const int64_t depth_pieces = ceil_div(g.k, kDepth);
  const int64_t most_depth = ceil_div(g.k, depth_pieces);
  const int64_t a_room = ceil_div(std::min(g.m, kRoundRows), t.mr) * t.mr * most_depth;
  const int64_t b_cols = ceil_div(std::min(g.n, kRoundCols), t.nr) * t.nr;
  const int64_t b_room = b_cols * (keeps ? g.k : most_depth);
  const int64_t b_bytes = ceil_div(b_room * sizeof(T), 4096) * 4096;
  char* room = static_cast<char*>(scratch(b_bytes + a_room * sizeof(T)));
  const ProductParts::Packed mine = {g.b, g.b_row, g.b_col, g.n, g.k, room};
  const bool b_is_packed = keeps && parts->packed == mine;
  Round<T> r;
  r.a_row = g.a_row, r.a_col = g.a_col, r.b_row = g.b_row, r.b_col = g.b_col;
  r.ldc = g.ldc;
  r.alpha = g.alpha;
  r.a_is_packed = registers() != Registers::kWide;
  r.parts = parts && !parts->claimed().empty() ? parts : nullptr;
  r.packed_a = reinterpret_cast<T*>(room + b_bytes);
  for (int64_t j = 0; j < g.n; j += kRoundCols) {
    r.cols = std::min(kRoundCols, g.n - j);
    for (int64_t p = 0; p < g.k; p += most_depth) {
      r.depth = std::min(most_depth, g.k - p);
      r.beta = p == 0 ? g.beta : T(1);
      r.b = g.b + p * g.b_row + j * g.b_col;
      r.packed_b = reinterpret_cast<T*>(room) + (keeps ? p * b_cols : 0);
      for (int64_t i = 0; i < g.m; i += kRoundRows) {
        r.rows = std::min(kRoundRows, g.m - i);
        r.b_is_packed = b_is_packed || i > 0;
        r.a = g.a + i * g.a_row + p * g.a_col;
        r.c = g.c + i * g.ldc + j;
        one_round(t, r);
      }
    }
  }
  if (parts) parts->packed = keeps ? mine : ProductParts::Packed{};
}

template <class T>
void packed(const GemmArgs<T>& g) {
  const Target<T> t = target(T());
  in_parts(g, t.mr, t.nr, [&](const GemmArgs<T>& part) {
    const bool whole = part.m == g.m && part.n == g.n;
    by_one_thread(t, part, whole ? g.parts : nullptr);
  });
}

/// Long sums for few results: k is cut into pieces by its length alone, and the partial products
/// are added in order, so that several threads have work and the bits stay the same.
template <class T>
void packed_split(const GemmArgs<T>& g, int64_t pieces) {
  const int64_t size = g.m * g.n;
  std::vector<T> partial(pieces * size);
  const int64_t depth = ceil_div(g.k, pieces);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      GemmArgs<T> part = g;
      const int64_t from = std::min(g.k, s * depth);
      part.k = std::min(g.k, from + depth) - from;
      part.a += from * g.a_col;
      part.b += from * g.b_row;
      part.c = partial.data() + s * size;
      part.ldc = g.n;
      part.beta = 0;
      part.parts = nullptr;
      if (part.k > 0) packed(part);
    }
  });
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      T sum = 0;
      for (int64_t s = 0; s < pieces; ++s) sum += partial[s * size + i * g.n + j];
      T* c = g.c + i * g.ldc + j;
      *c = g.beta == T(0) ? sum : sum + g.beta * *c;
    }
}

template <class T>
void packed_or_split(const GemmArgs<T>& g) {
  if (g.m * g.n <= 64 * 64 && g.k >= 8 * kDepth) {
    packed_split(g, std::min<int64_t>(16, g.k / (2 * kDepth)));
  } else {
    packed(g);
  }
}

}  // namespace

Registers registers() {
  static const Registers found = [] {
    if (HWY_DYNAMIC_DISPATCH(panel_cols_f32)() < 64) return Registers::kNarrow;
    // AMD's Zen 4, of family 25, multiplies by halves.
    const Processor& p = this_processor();
    const bool halves = p.vendor == Processor::Vendor::kAmd && p.family <= 25;
    return halves ? Registers::kHalves : Registers::kWide;
  }();
  return found;
}
void packed_gemm(const GemmArgs<float>& g) { packed_or_split(g); }
void packed_gemm(const GemmArgs<double>& g) { packed_or_split(g); }

}  // namespace detail
}  // namespace tandem::kernels
#endif  // HWY_ONCE
