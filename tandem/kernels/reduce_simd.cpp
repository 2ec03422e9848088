#include "tandem/kernels/reduce_simd.h"

#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/reduce_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct SumOp {
  static constexpr T kIdentity = static_cast<T>(-0.0);
  template <class V>
  static HWY_INLINE V map(V x) {
    return x;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
  static T map1(T x) { return x; }
  static T join1(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

template <class T>
struct SumSquaresOp : SumOp<T> {
  template <class V>
  static HWY_INLINE V map(V x) {
    return hn::Mul(x, x);
  }
  static T map1(T x) { return x * x; }
};

template <class T>
struct ProdOp {
  static constexpr T kIdentity = 1;
  template <class V>
  static HWY_INLINE V map(V x) {
    return x;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Mul(a, b);
  }
  static T map1(T x) { return x; }
  static T join1(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

// A nan wins over every number, and the first of two nans stays.
template <class T, bool kMax>
struct ExtremeOp {
  static constexpr T kIdentity =
      std::is_integral_v<T>
          ? (kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max())
          : (kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
  template <class V>
  static HWY_INLINE V map(V x) {
    return x;
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (std::is_integral_v<T>) {
      return kMax ? hn::Max(a, b) : hn::Min(a, b);
    } else {
      const auto better = kMax ? hn::Lt(a, b) : hn::Lt(b, a);
      return hn::IfThenElse(hn::Or(better, hn::AndNot(hn::Eq(b, b), hn::Eq(a, a))), b, a);
    }
  }
  static T map1(T x) { return x; }
  static T join1(T a, T b) {
    const bool better = kMax ? a < b : b < a;
    return (better || (b != b && a == a)) ? b : a;
  }
};

template <class T>
using MaxOp = ExtremeOp<T, true>;
template <class T>
using MinOp = ExtremeOp<T, false>;

// As many registers as hold the strands.
template <class T>
using D = hn::CappedTag<T, static_cast<size_t>(kLanes<T>)>;

template <class Op, class T>
HWY_INLINE void deal_out(T* HWY_RESTRICT strands, const T* HWY_RESTRICT x, int64_t n) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  constexpr int64_t kV = kLanes<T> / kN;
  static_assert(kV >= 2);
  using V = hn::Vec<D<T>>;
  int64_t i = 0;
  if constexpr (kV > 8) {
    // Too many registers: the target without vectors keeps its strands in memory.
    for (; i + kLanes<T> <= n; i += kLanes<T>)
      for (int64_t l = 0; l < kLanes<T>; ++l)
        strands[l] = Op::join1(strands[l], Op::map1(x[i + l]));
    for (int64_t l = 0; i < n; ++i, ++l) strands[l] = Op::join1(strands[l], Op::map1(x[i]));
    return;
  }
  V a0 = hn::LoadU(d, strands), a1 = hn::LoadU(d, strands + kN);
  V a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
  if constexpr (kV >= 4) {
    a2 = hn::LoadU(d, strands + 2 * kN);
    a3 = hn::LoadU(d, strands + 3 * kN);
  }
  if constexpr (kV >= 8) {
    a4 = hn::LoadU(d, strands + 4 * kN);
    a5 = hn::LoadU(d, strands + 5 * kN);
    a6 = hn::LoadU(d, strands + 6 * kN);
    a7 = hn::LoadU(d, strands + 7 * kN);
  }
  auto take = [&](V& a, const T* p) HWY_ATTR { a = Op::join(a, Op::map(hn::LoadU(d, p))); };
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    take(a0, x + i);
    take(a1, x + i + kN);
    if constexpr (kV >= 4) {
      take(a2, x + i + 2 * kN);
      take(a3, x + i + 3 * kN);
    }
    if constexpr (kV >= 8) {
      take(a4, x + i + 4 * kN);
      take(a5, x + i + 5 * kN);
      take(a6, x + i + 6 * kN);
      take(a7, x + i + 7 * kN);
    }
  }
  hn::StoreU(a0, d, strands);
  hn::StoreU(a1, d, strands + kN);
  if constexpr (kV >= 4) {
    hn::StoreU(a2, d, strands + 2 * kN);
    hn::StoreU(a3, d, strands + 3 * kN);
  }
  if constexpr (kV >= 8) {
    hn::StoreU(a4, d, strands + 4 * kN);
    hn::StoreU(a5, d, strands + 5 * kN);
    hn::StoreU(a6, d, strands + 6 * kN);
    hn::StoreU(a7, d, strands + 7 * kN);
  }
  int64_t lane = 0;
  for (; i + kN <= n; i += kN, lane += kN) {
    const V a = hn::LoadU(d, strands + lane);
    hn::StoreU(Op::join(a, Op::map(hn::LoadU(d, x + i))), d, strands + lane);
  }
  for (; i < n; ++i, ++lane) strands[lane] = Op::join1(strands[lane], Op::map1(x[i]));
}

// Folds the lanes of a vector in halves.
template <class Op, class Tag>
HWY_INLINE hn::TFromD<Tag> fold_lanes(Tag, hn::Vec<Tag> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(Tag()) > 1) {
    const hn::Half<Tag> half;
    return fold_lanes<Op>(half, Op::join(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

template <class Op, class T>
HWY_INLINE T fold_strands(const T* HWY_RESTRICT strands) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  HWY_ALIGN T half[kLanes<T> / 2];
  for (int64_t i = 0; i < kLanes<T> / 2; i += kN)
    hn::StoreU(Op::join(hn::LoadU(d, strands + i), hn::LoadU(d, strands + i + kLanes<T> / 2)), d,
               half + i);
  int64_t n = kLanes<T> / 2;
  for (; n >= 2 * kN; n /= 2)
    for (int64_t i = 0; i < n / 2; i += kN)
      hn::StoreU(Op::join(hn::LoadU(d, half + i), hn::LoadU(d, half + i + n / 2)), d, half + i);
  return fold_lanes<Op>(d, hn::LoadU(d, half));
}

// Folds that many values in halves.
template <class Op, int kLength, bool kMap = true, class T>
HWY_INLINE T fold_few(const T* HWY_RESTRICT x) {
  T few[kLength];
  for (int i = 0; i < kLength; ++i) few[i] = kMap ? Op::map1(x[i]) : x[i];
  if constexpr (kLength > 4)
    for (int i = 0; i < kLength - 4; ++i) few[i] = Op::join1(few[i], few[i + 4]);
  if constexpr (kLength > 2)
    for (int i = 0; i < (kLength > 4 ? 2 : kLength - 2); ++i)
      few[i] = Op::join1(few[i], few[i + 2]);
  if constexpr (kLength > 1) few[0] = Op::join1(few[0], few[1]);
  return few[0];
}

template <class Op, class T>
HWY_INLINE T block_inline(const T* HWY_RESTRICT x, int64_t n) {
  switch (n) {
    case 0:
      return Op::kIdentity;
    case 1:
      return fold_few<Op, 1>(x);
    case 2:
      return fold_few<Op, 2>(x);
    case 3:
      return fold_few<Op, 3>(x);
    case 4:
      return fold_few<Op, 4>(x);
    case 5:
      return fold_few<Op, 5>(x);
    case 6:
      return fold_few<Op, 6>(x);
    case 7:
      return fold_few<Op, 7>(x);
    case 8:
      return fold_few<Op, 8>(x);
    default:
      break;
  }
  if (n <= 16) {
    T few[8];
    for (int i = 0; i < 8; ++i) few[i] = Op::map1(x[i]);
    for (int64_t i = 8; i < n; ++i) few[i - 8] = Op::join1(few[i - 8], Op::map1(x[i]));
    return fold_few<Op, 8, false>(few);
  }
  HWY_ALIGN T strands[kLanes<T>];
  for (int64_t i = 0; i < kLanes<T>; ++i) strands[i] = Op::kIdentity;
  deal_out<Op>(strands, x, n);
  return fold_strands<Op>(strands);
}

template <class Op, class T>
T block(const T* x, int64_t n) {
  return block_inline<Op>(x, n);
}

template <class Op, class T>
void blocks(const T* x, int64_t stride, int64_t n, int64_t rows, T* HWY_RESTRICT out) {
  for (int64_t r = 0; r < rows; ++r) out[r] = block_inline<Op>(x + r * stride, n);
}

template <class Op, class T>
void accumulate(T* strands, const T* x, int64_t n) {
  deal_out<Op>(strands, x, n);
}

template <class Op, class T>
T fold(const T* strands) {
  return fold_strands<Op>(strands);
}

template <class Op, class T>
T join(T a, T b) {
  return Op::join1(a, b);
}

template <class Op, class T>
void merge(T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  int64_t i = 0;
  for (; i + kN <= n; i += kN)
    hn::StoreU(Op::join(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, a + i);
  for (; i < n; ++i) a[i] = Op::join1(a[i], b[i]);
}

template <class Op, class T>
void add_row(T* HWY_RESTRICT acc, const T* HWY_RESTRICT row, int64_t n, bool first) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  int64_t i = 0;
  if (first) {
    for (; i + kN <= n; i += kN) hn::StoreU(Op::map(hn::LoadU(d, row + i)), d, acc + i);
    for (; i < n; ++i) acc[i] = Op::map1(row[i]);
    return;
  }
  for (; i + kN <= n; i += kN)
    hn::StoreU(Op::join(hn::LoadU(d, acc + i), Op::map(hn::LoadU(d, row + i))), d, acc + i);
  for (; i < n; ++i) acc[i] = Op::join1(acc[i], Op::map1(row[i]));
}

template <class Op, class T>
void add_rows(T* HWY_RESTRICT acc, const T* HWY_RESTRICT x, const int64_t* HWY_RESTRICT offset,
              int64_t n, bool first) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  const T* HWY_RESTRICT r0 = x + offset[0];
  const T* HWY_RESTRICT r1 = x + offset[1];
  const T* HWY_RESTRICT r2 = x + offset[2];
  const T* HWY_RESTRICT r3 = x + offset[3];
  const T* HWY_RESTRICT r4 = x + offset[4];
  const T* HWY_RESTRICT r5 = x + offset[5];
  const T* HWY_RESTRICT r6 = x + offset[6];
  const T* HWY_RESTRICT r7 = x + offset[7];
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    auto get = [&](const T* p) HWY_ATTR { return Op::map(hn::LoadU(d, p + i)); };
    const auto s0 = Op::join(get(r0), get(r4));
    const auto s1 = Op::join(get(r1), get(r5));
    const auto s2 = Op::join(get(r2), get(r6));
    const auto s3 = Op::join(get(r3), get(r7));
    const auto sum = Op::join(Op::join(s0, s2), Op::join(s1, s3));
    hn::StoreU(first ? sum : Op::join(hn::LoadU(d, acc + i), sum), d, acc + i);
  }
  for (; i < n; ++i) {
    auto get = [&](const T* p) { return Op::map1(p[i]); };
    const T s0 = Op::join1(get(r0), get(r4));
    const T s1 = Op::join1(get(r1), get(r5));
    const T s2 = Op::join1(get(r2), get(r6));
    const T s3 = Op::join1(get(r3), get(r7));
    const T sum = Op::join1(Op::join1(s0, s2), Op::join1(s1, s3));
    acc[i] = first ? sum : Op::join1(acc[i], sum);
  }
}

template <class Op, class T>
constexpr CombineOps<T> make_ops() {
  return {Op::kIdentity, join<Op, T>,  block<Op, T>,   blocks<Op, T>,  accumulate<Op, T>,
          fold<Op, T>,   merge<Op, T>, add_row<Op, T>, add_rows<Op, T>};
}

template <class T>
const CombineOps<T>* table(Combine kind) {
  static constexpr CombineOps<T> kTable[] = {
      make_ops<SumOp<T>, T>(), make_ops<SumSquaresOp<T>, T>(), make_ops<ProdOp<T>, T>(),
      make_ops<MaxOp<T>, T>(), make_ops<MinOp<T>, T>()};
  return &kTable[static_cast<int>(kind)];
}
const CombineOps<float>* table_f32(Combine kind) { return table<float>(kind); }
const CombineOps<double>* table_f64(Combine kind) { return table<double>(kind); }
const CombineOps<int64_t>* table_i64(Combine kind) { return table<int64_t>(kind); }

template <class T>
int64_t find_first_impl(const T* x, int64_t n, T value) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  const bool nan = value != value;
  const auto want = hn::Set(d, value);
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const auto v = hn::LoadU(d, x + i);
    const auto hit = nan ? hn::Not(hn::Eq(v, v)) : hn::Eq(v, want);
    const intptr_t at = hn::FindFirstTrue(d, hit);
    if (at >= 0) return i + at;
  }
  for (; i < n; ++i)
    if (nan ? x[i] != x[i] : x[i] == value) return i;
  return n;
}
int64_t find_first_f32(const float* x, int64_t n, float v) { return find_first_impl(x, n, v); }
int64_t find_first_f64(const double* x, int64_t n, double v) { return find_first_impl(x, n, v); }
int64_t find_first_i64(const int64_t* x, int64_t n, int64_t v) { return find_first_impl(x, n, v); }

template <class T, bool kMax>
HWY_INLINE void arg_row_loop(T* HWY_RESTRICT best, int64_t* HWY_RESTRICT where,
                             const T* HWY_RESTRICT row, int64_t r, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T a = best[i], b = row[i];
    const bool take = (kMax ? a < b : b < a) || (b != b && a == a);
    best[i] = take ? b : a;
    where[i] = take ? r : where[i];
  }
}
void arg_row_f32(float* best, int64_t* where, const float* row, int64_t r, int64_t n, bool least) {
  least ? arg_row_loop<float, false>(best, where, row, r, n)
        : arg_row_loop<float, true>(best, where, row, r, n);
}
void arg_row_f64(double* best, int64_t* where, const double* row, int64_t r, int64_t n,
                 bool least) {
  least ? arg_row_loop<double, false>(best, where, row, r, n)
        : arg_row_loop<double, true>(best, where, row, r, n);
}
void arg_row_i64(int64_t* best, int64_t* where, const int64_t* row, int64_t r, int64_t n,
                 bool least) {
  least ? arg_row_loop<int64_t, false>(best, where, row, r, n)
        : arg_row_loop<int64_t, true>(best, where, row, r, n);
}

template <class T>
HWY_INLINE T squared_deviations_impl(const T* HWY_RESTRICT x, int64_t n, T mean) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  HWY_ALIGN T strands[kLanes<T>] = {};
  const auto m = hn::Set(d, mean);
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    for (int64_t l = 0; l < kLanes<T>; l += kN) {
      const auto v = hn::Sub(hn::LoadU(d, x + i + l), m);
      hn::StoreU(hn::Add(hn::LoadU(d, strands + l), hn::Mul(v, v)), d, strands + l);
    }
  for (int64_t l = 0; i < n; ++i, ++l) strands[l] += (x[i] - mean) * (x[i] - mean);
  return fold_strands<SumOp<T>>(strands);
}
float squared_deviations_f32(const float* x, int64_t n, float mean) {
  return squared_deviations_impl(x, n, mean);
}
double squared_deviations_f64(const double* x, int64_t n, double mean) {
  return squared_deviations_impl(x, n, mean);
}

template <class T>
HWY_INLINE Deviations<T> deviations_impl(const T* HWY_RESTRICT x, int64_t n, T mean) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  HWY_ALIGN T off[kMostDeviations];
  const auto m = hn::Set(d, mean);
  int64_t i = 0;
  for (; i + kN <= n; i += kN) hn::Store(hn::Sub(hn::LoadU(d, x + i), m), d, off + i);
  for (; i < n; ++i) off[i] = x[i] - mean;
  return {block_inline<SumOp<T>>(off, n), block_inline<SumSquaresOp<T>>(off, n)};
}
Deviations<float> deviations_f32(const float* x, int64_t n, float mean) {
  return deviations_impl(x, n, mean);
}
Deviations<double> deviations_f64(const double* x, int64_t n, double mean) {
  return deviations_impl(x, n, mean);
}

template <class T>
HWY_INLINE void add_squared_deviations_impl(T* HWY_RESTRICT acc, const T* HWY_RESTRICT row,
                                            const T* HWY_RESTRICT mean, int64_t n) {
  const D<T> d;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D<T>()));
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const auto v = hn::Sub(hn::LoadU(d, row + i), hn::LoadU(d, mean + i));
    hn::StoreU(hn::Add(hn::LoadU(d, acc + i), hn::Mul(v, v)), d, acc + i);
  }
  for (; i < n; ++i) acc[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
}
void add_squared_deviations_f32(float* acc, const float* row, const float* mean, int64_t n) {
  add_squared_deviations_impl(acc, row, mean, n);
}
void add_squared_deviations_f64(double* acc, const double* row, const double* mean, int64_t n) {
  add_squared_deviations_impl(acc, row, mean, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(table_f32);
HWY_EXPORT(table_f64);
HWY_EXPORT(table_i64);
HWY_EXPORT(find_first_f32);
HWY_EXPORT(find_first_f64);
HWY_EXPORT(find_first_i64);
HWY_EXPORT(arg_row_f32);
HWY_EXPORT(arg_row_f64);
HWY_EXPORT(arg_row_i64);
HWY_EXPORT(squared_deviations_f32);
HWY_EXPORT(squared_deviations_f64);
HWY_EXPORT(deviations_f32);
HWY_EXPORT(deviations_f64);
HWY_EXPORT(add_squared_deviations_f32);
HWY_EXPORT(add_squared_deviations_f64);

template <>
const CombineOps<float>& combine_ops<float>(Combine kind) {
  return *HWY_DYNAMIC_DISPATCH(table_f32)(kind);
}
template <>
const CombineOps<double>& combine_ops<double>(Combine kind) {
  return *HWY_DYNAMIC_DISPATCH(table_f64)(kind);
}
template <>
const CombineOps<int64_t>& combine_ops<int64_t>(Combine kind) {
  return *HWY_DYNAMIC_DISPATCH(table_i64)(kind);
}
template <>
int64_t find_first<float>(const float* x, int64_t n, float value) {
  return HWY_DYNAMIC_DISPATCH(find_first_f32)(x, n, value);
}
template <>
int64_t find_first<double>(const double* x, int64_t n, double value) {
  return HWY_DYNAMIC_DISPATCH(find_first_f64)(x, n, value);
}
template <>
int64_t find_first<int64_t>(const int64_t* x, int64_t n, int64_t value) {
  return HWY_DYNAMIC_DISPATCH(find_first_i64)(x, n, value);
}
template <>
void arg_row<float>(float* best, int64_t* where, const float* row, int64_t r, int64_t n,
                    bool least) {
  HWY_DYNAMIC_DISPATCH(arg_row_f32)(best, where, row, r, n, least);
}
template <>
void arg_row<double>(double* best, int64_t* where, const double* row, int64_t r, int64_t n,
                     bool least) {
  HWY_DYNAMIC_DISPATCH(arg_row_f64)(best, where, row, r, n, least);
}
template <>
void arg_row<int64_t>(int64_t* best, int64_t* where, const int64_t* row, int64_t r, int64_t n,
                      bool least) {
  HWY_DYNAMIC_DISPATCH(arg_row_i64)(best, where, row, r, n, least);
}
template <>
float squared_deviations<float>(const float* x, int64_t n, float mean) {
  return HWY_DYNAMIC_DISPATCH(squared_deviations_f32)(x, n, mean);
}
template <>
double squared_deviations<double>(const double* x, int64_t n, double mean) {
  return HWY_DYNAMIC_DISPATCH(squared_deviations_f64)(x, n, mean);
}
template <>
Deviations<float> deviations<float>(const float* x, int64_t n, float mean) {
  return HWY_DYNAMIC_DISPATCH(deviations_f32)(x, n, mean);
}
template <>
Deviations<double> deviations<double>(const double* x, int64_t n, double mean) {
  return HWY_DYNAMIC_DISPATCH(deviations_f64)(x, n, mean);
}
template <>
void add_squared_deviations<float>(float* acc, const float* row, const float* mean, int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_squared_deviations_f32)(acc, row, mean, n);
}
template <>
void add_squared_deviations<double>(double* acc, const double* row, const double* mean, int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_squared_deviations_f64)(acc, row, mean, n);
}

}  // namespace tandem::kernels
#endif
