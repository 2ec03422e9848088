// Products of few rows with panels that were packed before; see PanelOps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/gemm_panel.cpp"
#include "hwy/foreach_target.h"
// Highway's order: foreach_target before the headers that it includes again.
#include <algorithm>

#include "tandem/kernels/gemm_block-inl.h"
#include "tandem/kernels/gemm_impl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
namespace {

using detail::PanelOps;

constexpr int kPanelVectors = 2;

template <class T>
constexpr int64_t panel_width() {
  return kPanelVectors * lanes<T>();
}

template <class T>
void pack(const T* b, int64_t row, int64_t col, int64_t k, int64_t width, T* panel) {
  constexpr int64_t kCols = panel_width<T>();
  if (width == kCols && row == 1) return copy_transposed(b, col, width, k, panel, kCols);
  for (int64_t p = 0; p < k; ++p, b += row, panel += kCols) {
    if (col == 1)
      std::memcpy(panel, b, static_cast<size_t>(width) * sizeof(T));
    else
      for (int64_t j = 0; j < width; ++j) panel[j] = b[j * col];
    for (int64_t j = width; j < kCols; ++j) panel[j] = T(0);
  }
}

template <int R, class T>
HWY_INLINE void rows(int64_t k, const T* a, int64_t lda, const T* panel, T* c, int64_t ldc,
                     bool add) {
  block<R, kPanelVectors, false, false>(Tag<T>(), k, a, lda, 1, panel, panel_width<T>(), 0, c, ldc,
                                        T(1), add ? T(1) : T(0));
}

template <class T>
void multiply(int64_t m, int64_t k, const T* a, int64_t lda, const T* panel, T* c, int64_t ldc,
              bool add) {
  // Blocks of nearly equal height: a last block of one or two rows would take as long as a full
  // one.
  const int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t begin = m * i / blocks, height = m * (i + 1) / blocks - begin;
    const T* ai = a + begin * lda;
    T* ci = c + begin * ldc;
    switch (height) {
      case 1:
        rows<1>(k, ai, lda, panel, ci, ldc, add);
        break;
      case 2:
        rows<2>(k, ai, lda, panel, ci, ldc, add);
        break;
      case 3:
        rows<3>(k, ai, lda, panel, ci, ldc, add);
        break;
      case 4:
        rows<4>(k, ai, lda, panel, ci, ldc, add);
        break;
      case 5:
        rows<5>(k, ai, lda, panel, ci, ldc, add);
        break;
      default:
        rows<6>(k, ai, lda, panel, ci, ldc, add);
        break;
    }
  }
}

template <class T>
const PanelOps<T>* panel_table() {
  static_assert(panel_width<T>() <= detail::kMostPanelCols && kBlockRows == 6);
  static constexpr PanelOps<T> kTable = {panel_width<T>(), pack<T>, multiply<T>};
  return &kTable;
}

}  // namespace

const PanelOps<float>* panel_table_f32() { return panel_table<float>(); }
const PanelOps<double>* panel_table_f64() { return panel_table<double>(); }

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(panel_table_f32);
HWY_EXPORT(panel_table_f64);

namespace detail {

template <>
const PanelOps<float>& panel_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(panel_table_f32)();
}
template <>
const PanelOps<double>& panel_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(panel_table_f64)();
}

}  // namespace detail
}  // namespace tandem::kernels
#endif  // HWY_ONCE
