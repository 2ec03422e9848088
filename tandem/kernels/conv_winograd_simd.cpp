#include "tandem/kernels/conv_winograd_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/conv_winograd_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR

using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;

/// The positions of a square that are there, zeros for the others; rows of kSide * 8 floats.
template <int kSide>
HWY_INLINE void with_zeros(const float* image, int64_t row, const Square& s, float* to) {
  const D d;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const bool there = y >= s.top && y < s.bottom && x >= s.left && x < s.right;
      hn::StoreU(there ? hn::LoadU(d, image + s.offset + y * row + x * 8) : hn::Zero(d), d,
                 to + (y * kSide + x) * 8);
    }
}
HWY_INLINE bool is_whole(const Square& s, int side) {
  return s.top == 0 && s.left == 0 && s.bottom == side && s.right == side;
}

void inputs(const float* image, int64_t row, const Square* squares, int64_t n, float* to,
            int64_t point) {
  const D d;
  HWY_ALIGN float copy[16 * 8];
  for (int64_t i = 0; i < n; ++i, to += 8) {
    const Square& s = squares[i];
    const float* from = image + s.offset;
    int64_t step = row;
    if (!is_whole(s, 4)) {
      with_zeros<4>(image, row, s, copy);
      from = copy;
      step = 4 * 8;
    }
    V t[4][4];
    for (int x = 0; x < 4; ++x) {
      const V d0 = hn::LoadU(d, from + x * 8), d1 = hn::LoadU(d, from + step + x * 8);
      const V d2 = hn::LoadU(d, from + 2 * step + x * 8),
              d3 = hn::LoadU(d, from + 3 * step + x * 8);
      t[0][x] = hn::Sub(d0, d2);
      t[1][x] = hn::Add(d1, d2);
      t[2][x] = hn::Sub(d2, d1);
      t[3][x] = hn::Sub(d1, d3);
    }
    for (int y = 0; y < 4; ++y) {
      float* p = to + 4 * y * point;
      hn::StoreU(hn::Sub(t[y][0], t[y][2]), d, p);
      hn::StoreU(hn::Add(t[y][1], t[y][2]), d, p + point);
      hn::StoreU(hn::Sub(t[y][2], t[y][1]), d, p + 2 * point);
      hn::StoreU(hn::Sub(t[y][1], t[y][3]), d, p + 3 * point);
    }
  }
}

void gradients(const float* image, int64_t row, const Square* squares, int64_t n, float* to,
               int64_t point) {
  const D d;
  HWY_ALIGN float copy[4 * 8];
  for (int64_t i = 0; i < n; ++i, to += 8) {
    const Square& s = squares[i];
    const float* from = image + s.offset;
    int64_t step = row;
    if (!is_whole(s, 2)) {
      with_zeros<2>(image, row, s, copy);
      from = copy;
      step = 2 * 8;
    }
    V t[4][2];
    for (int x = 0; x < 2; ++x) {
      const V g0 = hn::LoadU(d, from + x * 8), g1 = hn::LoadU(d, from + step + x * 8);
      t[0][x] = g0;
      t[1][x] = hn::Add(g0, g1);
      t[2][x] = hn::Sub(g0, g1);
      t[3][x] = hn::Neg(g1);
    }
    for (int y = 0; y < 4; ++y) {
      float* p = to + 4 * y * point;
      hn::StoreU(t[y][0], d, p);
      hn::StoreU(hn::Add(t[y][0], t[y][1]), d, p + point);
      hn::StoreU(hn::Sub(t[y][0], t[y][1]), d, p + 2 * point);
      hn::StoreU(hn::Neg(t[y][1]), d, p + 3 * point);
    }
  }
}

void outputs(const float* from, int64_t point, float* image, int64_t row, const Square* squares,
             int64_t n, const float* bias, bool add, bool relu) {
  const D d;
  const V b = bias ? hn::LoadU(d, bias) : hn::Zero(d);
  for (int64_t i = 0; i < n; ++i, from += 8) {
    const Square& s = squares[i];
    V t[2][4];
    for (int x = 0; x < 4; ++x) {
      const float* p = from + x * point;
      const V m1 = hn::LoadU(d, p + 4 * point), m2 = hn::LoadU(d, p + 8 * point);
      t[0][x] = hn::Add(hn::Add(hn::LoadU(d, p), m1), m2);
      t[1][x] = hn::Sub(hn::Sub(m1, m2), hn::LoadU(d, p + 12 * point));
    }
    for (int y = s.top; y < s.bottom; ++y) {
      const V* r = t[y];
      V result[2] = {hn::Add(hn::Add(r[0], r[1]), r[2]), hn::Sub(hn::Sub(r[1], r[2]), r[3])};
      for (int x = s.left; x < s.right; ++x) {
        float* to = image + s.offset + y * row + x * 8;
        V v = hn::Add(result[x], b);
        if (add) v = hn::Add(v, hn::LoadU(d, to));
        if (relu) v = hn::Max(hn::Zero(d), v);  // the second one where it is no number
        hn::StoreU(v, d, to);
      }
    }
  }
}

template <int kRows>
HWY_INLINE void rows_by_16(int64_t channels, const float* HWY_RESTRICT v, int64_t block,
                           const float* HWY_RESTRICT u, float* HWY_RESTRICT m, int64_t next) {
  const D d;
  V acc[kRows][2];
  for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = hn::Zero(d);
  for (int64_t c = 0; c < channels; c += 8, v += block)
    for (int k = 0; k < 8; ++k, u += 16) {
      const V u0 = hn::LoadU(d, u), u1 = hn::LoadU(d, u + 8);
      for (int i = 0; i < kRows; ++i) {
        const V a = hn::Set(d, v[i * 8 + k]);
        acc[i][0] = hn::MulAdd(a, u0, acc[i][0]);
        acc[i][1] = hn::MulAdd(a, u1, acc[i][1]);
      }
    }
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(acc[i][0], d, m + i * 8);
    hn::StoreU(acc[i][1], d, m + next + i * 8);
  }
}

void multiply(int64_t channels, const float* v, int64_t block, const float* u, float* m,
              int64_t next, int64_t n) {
  // As even as possible: a sum does not depend on what stands beside it.
  for (int64_t groups = (n + 5) / 6; groups > 0; --groups) {
    const int64_t rows = (n + groups - 1) / groups;
    switch (rows) {
      case 6:
        rows_by_16<6>(channels, v, block, u, m, next);
        break;
      case 5:
        rows_by_16<5>(channels, v, block, u, m, next);
        break;
      case 4:
        rows_by_16<4>(channels, v, block, u, m, next);
        break;
      case 3:
        rows_by_16<3>(channels, v, block, u, m, next);
        break;
      case 2:
        rows_by_16<2>(channels, v, block, u, m, next);
        break;
      default:
        rows_by_16<1>(channels, v, block, u, m, next);
        break;
    }
    v += rows * 8;
    m += rows * 8;
    n -= rows;
  }
}

void weights(const float* g, float* u, int64_t point) {
  const D d;
  const V half = hn::Set(d, 0.5f);
  for (int lane = 0; lane < 16; lane += 8) {
    V t[4][3];
    for (int x = 0; x < 3; ++x) {
      const V g0 = hn::LoadU(d, g + x * 16 + lane), g1 = hn::LoadU(d, g + (3 + x) * 16 + lane);
      const V g2 = hn::LoadU(d, g + (6 + x) * 16 + lane);
      const V ends = hn::Mul(half, hn::Add(g0, g2)), middle = hn::Mul(half, g1);
      t[0][x] = g0;
      t[1][x] = hn::Add(ends, middle);
      t[2][x] = hn::Sub(ends, middle);
      t[3][x] = g2;
    }
    for (int y = 0; y < 4; ++y) {
      float* p = u + 4 * y * point + lane;
      const V ends = hn::Mul(half, hn::Add(t[y][0], t[y][2])), middle = hn::Mul(half, t[y][1]);
      hn::StoreU(t[y][0], d, p);
      hn::StoreU(hn::Add(ends, middle), d, p + point);
      hn::StoreU(hn::Sub(ends, middle), d, p + 2 * point);
      hn::StoreU(t[y][2], d, p + 3 * point);
    }
  }
}

void weight_gradients(const float* u, int64_t point, float* g) {
  const D d;
  const V half = hn::Set(d, 0.5f);
  V t[3][4];
  for (int x = 0; x < 4; ++x) {
    const float* p = u + x * point;
    const V u1 = hn::LoadU(d, p + 4 * point), u2 = hn::LoadU(d, p + 8 * point);
    const V sum = hn::Mul(half, hn::Add(u1, u2));
    t[0][x] = hn::Add(hn::LoadU(d, p), sum);
    t[1][x] = hn::Mul(half, hn::Sub(u1, u2));
    t[2][x] = hn::Add(sum, hn::LoadU(d, p + 12 * point));
  }
  for (int y = 0; y < 3; ++y) {
    const V sum = hn::Mul(half, hn::Add(t[y][1], t[y][2]));
    hn::StoreU(hn::Add(t[y][0], sum), d, g + y * 24);
    hn::StoreU(hn::Mul(half, hn::Sub(t[y][1], t[y][2])), d, g + y * 24 + 8);
    hn::StoreU(hn::Add(sum, t[y][3]), d, g + y * 24 + 16);
  }
}

WinogradOps winograd_here() {
  return {true, inputs, gradients, outputs, multiply, weights, weight_gradients};
}

#else

WinogradOps winograd_here() { return {}; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(winograd_here);

const WinogradOps& winograd_ops() {
  static const WinogradOps ops = HWY_DYNAMIC_DISPATCH(winograd_here)();
  return ops;
}

}  // namespace tandem::kernels
#endif
