// Convolutions as matrix products, and the choice between these and oneDNN.
#include "tandem/kernels/conv.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tandem/base/deterministic.h"
#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/kernels/conv_impl.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/matmul.h"

namespace tandem::kernels {
namespace {

using detail::Temporary;

// Bytes of columns that are made at a time: they stay in the second cache.
constexpr int64_t kColumnBytes = 256 * 1024;
// Multiplications below which a call of oneDNN costs more than it saves.
constexpr int64_t kSmall = 1 << 15;

/// The same convolution with three spatial dimensions, the first of extent 1 where there are fewer.
ConvForm in_3d(const ConvForm& f) {
  ConvForm g = f;
  g.spatial = 3;
  const int64_t extra = 3 - f.spatial;
  for (int64_t d = 0; d < 3; ++d) {
    const bool real = d >= extra;
    g.in[d] = real ? f.in[d - extra] : 1;
    g.out[d] = real ? f.out[d - extra] : 1;
    g.kernel[d] = real ? f.kernel[d - extra] : 1;
    g.stride[d] = real ? f.stride[d - extra] : 1;
    g.begin[d] = real ? f.begin[d - extra] : 0;
    g.end[d] = real ? f.end[d - extra] : 0;
    g.dilation[d] = real ? f.dilation[d - extra] : 1;
  }
  return g;
}

/// Those o in [from, to) for which o * stride + shift lies in [0, extent).
std::pair<int64_t, int64_t> inside(int64_t from, int64_t to, int64_t stride, int64_t shift,
                                   int64_t extent) {
  int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  int64_t last = shift >= extent ? 0 : (extent - 1 - shift) / stride + 1;
  first = std::clamp(first, from, to);
  last = std::clamp(last, first, to);
  return {first, last};
}

/// Calls fn(place in x, place in the row, count) for each run of elements that row k of the columns
/// has between positions p0 and p1 of y, and pad(place, count) for those that x does not have.
template <class Run, class Pad>
void walk_row(const ConvForm& f, int64_t k, int64_t p0, int64_t p1, const Run& run,
              const Pad& pad) {
  const int64_t kx = k % f.kernel[2], ky = k / f.kernel[2] % f.kernel[1],
                kz = k / f.kernel[2] / f.kernel[1];
  const int64_t shift = kx * f.dilation[2] - f.begin[2];
  for (int64_t p = p0; p < p1;) {
    const int64_t ox = p % f.out[2], rest = p / f.out[2];
    const int64_t oy = rest % f.out[1], oz = rest / f.out[1];
    const int64_t count = std::min(f.out[2] - ox, p1 - p);
    const int64_t iy = oy * f.stride[1] - f.begin[1] + ky * f.dilation[1];
    const int64_t iz = oz * f.stride[0] - f.begin[0] + kz * f.dilation[0];
    if (iy < 0 || iy >= f.in[1] || iz < 0 || iz >= f.in[0]) {
      pad(p - p0, count);
    } else {
      const auto [first, last] = inside(ox, ox + count, f.stride[2], shift, f.in[2]);
      pad(p - p0, first - ox);
      if (last > first)
        run((iz * f.in[1] + iy) * f.in[2] + first * f.stride[2] + shift, p - p0 + first - ox,
            last - first);
      pad(p - p0 + last - ox, ox + count - last);
    }
    p += count;
  }
}

/// Columns of positions p0 to p1 for `channels` channels of x, a row for each channel and place of
/// the kernel; rows are `ld` apart.
template <class T>
void take_columns(const ConvForm& f, const T* x, int64_t channels, int64_t p0, int64_t p1, T* col,
                  int64_t ld) {
  const int64_t places = f.kernel_numel(), step = f.stride[2];
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, places * (p1 - p0)));
  parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t k = 0; k < places; ++k) {
        T* row = col + (c * places + k) * ld;
        const T* from = x + c * f.in_numel();
        walk_row(
            f, k, p0, p1,
            [&](int64_t at, int64_t to, int64_t n) {
              if (step == 1)
                std::memcpy(row + to, from + at, n * sizeof(T));
              else
                for (int64_t i = 0; i < n; ++i) row[to + i] = from[at + i * step];
            },
            [&](int64_t to, int64_t n) { std::fill_n(row + to, n, T(0)); });
      }
  });
}

/// Adds columns up at the places that they were taken from.
template <class T>
void put_columns(const ConvForm& f, const T* col, int64_t ld, int64_t channels, int64_t p0,
                 int64_t p1, T* x) {
  const int64_t places = f.kernel_numel(), step = f.stride[2];
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, places * (p1 - p0)));
  parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t k = 0; k < places; ++k) {
        const T* row = col + (c * places + k) * ld;
        T* to = x + c * f.in_numel();
        walk_row(
            f, k, p0, p1,
            [&](int64_t at, int64_t from, int64_t n) {
              for (int64_t i = 0; i < n; ++i)
                to[at + i * step] = static_cast<T>(to[at + i * step] + row[from + i]);
            },
            [](int64_t, int64_t) {});
      }
  });
}

/// Positions of y whose columns are made at a time.
template <class T>
int64_t chunk_of(const ConvForm& f) {
  const int64_t rows = f.in_channels / f.groups * f.kernel_numel();
  const int64_t fit = kColumnBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, rows);
  return std::min(std::max<int64_t>(fit / 16 * 16, 64), f.out_numel());
}

/// True iff the columns of x are x itself.
bool is_plain_product(const ConvForm& f) {
  for (int64_t d = 0; d < 3; ++d)
    if (f.kernel[d] != 1 || f.stride[d] != 1 || f.begin[d] != 0 || f.in[d] != f.out[d])
      return false;
  return true;
}

template <class T>
void product_forward(const ConvForm& f, const T* x, const T* w, const T* bias, T* y) {
  const int64_t ic = f.in_channels / f.groups, oc = f.out_channels / f.groups;
  const int64_t rows = ic * f.kernel_numel(), positions = f.out_numel();
  const bool plain = is_plain_product(f);
  const int64_t chunk = plain ? positions : chunk_of<T>(f);
  const int64_t chunks = (positions + chunk - 1) / chunk;
  parallel_for(0, f.batch * f.groups * chunks, 1, [&](int64_t begin, int64_t end) {
    Temporary col(plain ? 0 : static_cast<size_t>(rows * chunk) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = i / chunks, group = item % f.groups;
      const int64_t p0 = i % chunks * chunk, p1 = std::min(p0 + chunk, positions);
      const T* from = x + item * ic * f.in_numel();
      T* to = y + item * oc * positions + p0;
      if (bias)
        for (int64_t o = 0; o < oc; ++o)
          std::fill_n(to + o * positions, p1 - p0, bias[group * oc + o]);
      if (!plain) take_columns(f, from, ic, p0, p1, static_cast<T*>(col.data()), p1 - p0);
      gemm({.dtype = dtype_v<T>,
            .m = oc,
            .n = p1 - p0,
            .k = rows,
            .a = w + group * oc * rows,
            .lda = rows,
            .b = plain ? from : static_cast<T*>(col.data()),
            .ldb = p1 - p0,
            .c = to,
            .ldc = positions,
            .beta = bias ? 1.0 : 0.0});
    }
  });
}

template <class T>
void product_input(const ConvForm& f, const T* y, const T* w, const T* bias, T* x) {
  const int64_t ic = f.in_channels / f.groups, oc = f.out_channels / f.groups;
  const int64_t rows = ic * f.kernel_numel(), positions = f.out_numel();
  const int64_t chunk = chunk_of<T>(f);
  parallel_for(0, f.batch * f.groups, 1, [&](int64_t begin, int64_t end) {
    Temporary col(static_cast<size_t>(rows * chunk) * sizeof(T));
    T* columns = static_cast<T*>(col.data());
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item % f.groups;
      T* to = x + item * ic * f.in_numel();
      for (int64_t c = 0; c < ic; ++c)
        std::fill_n(to + c * f.in_numel(), f.in_numel(), bias ? bias[group * ic + c] : T(0));
      for (int64_t p0 = 0; p0 < positions; p0 += chunk) {
        const int64_t p1 = std::min(p0 + chunk, positions);
        gemm({.dtype = dtype_v<T>,
              .m = rows,
              .n = p1 - p0,
              .k = oc,
              .a = w + group * oc * rows,
              .lda = rows,
              .transa = true,
              .b = y + item * oc * positions + p0,
              .ldb = positions,
              .c = columns,
              .ldc = p1 - p0});
        put_columns(f, columns, p1 - p0, ic, p0, p1, to);
      }
    }
  });
}

template <class T>
void product_weight(const ConvForm& f, const T* x, const T* y, T* w) {
  const int64_t ic = f.in_channels / f.groups, oc = f.out_channels / f.groups;
  const int64_t rows = ic * f.kernel_numel(), positions = f.out_numel();
  const bool plain = is_plain_product(f);
  const int64_t chunk = plain ? positions : chunk_of<T>(f);
  parallel_for(0, f.groups, 1, [&](int64_t begin, int64_t end) {
    Temporary col(plain ? 0 : static_cast<size_t>(rows * chunk) * sizeof(T));
    T* columns = static_cast<T*>(col.data());
    for (int64_t group = begin; group < end; ++group) {
      T* to = w + group * oc * rows;
      bool first = true;
      for (int64_t n = 0; n < f.batch; ++n)
        for (int64_t p0 = 0; p0 < positions; p0 += chunk) {
          const int64_t p1 = std::min(p0 + chunk, positions), item = n * f.groups + group;
          const T* from = x + item * ic * f.in_numel();
          if (!plain) take_columns(f, from, ic, p0, p1, columns, p1 - p0);
          gemm({.dtype = dtype_v<T>,
                .m = oc,
                .n = rows,
                .k = p1 - p0,
                .a = y + item * oc * positions + p0,
                .lda = positions,
                .b = plain ? from : columns,
                .ldb = p1 - p0,
                .transb = true,
                .c = to,
                .ldc = rows,
                .beta = first ? 0.0 : 1.0});
          first = false;
        }
      if (first) std::fill_n(to, oc * rows, T(0));
    }
  });
}

/// A contiguous array of that dtype with the values of another: itself, or a copy.
class Dense {
 public:
  Dense(const Array& a, DType dtype) : array_(a) {
    if (a.contiguous && a.dtype == dtype) return;
    strides_ = contiguous_strides(a.shape());
    memory_ = Temporary(static_cast<size_t>(a.numel) * size_of(dtype));
    array_.data = memory_.data();
    array_.strides = strides_.data();
    array_.dtype = dtype;
    array_.contiguous = true;
    if (a.numel > 0) copy(a, array_);
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  template <class T>
  T* ptr() const {
    return array_.ptr<T>();
  }

 private:
  Array array_;
  Dims strides_;
  Temporary memory_;
};

/// Runs fn(out) with out or, where it has another dtype, with memory that is converted afterwards.
template <class T, class F>
void into(const Array& out, const F& fn) {
  if (out.contiguous && out.dtype == dtype_v<T>) return fn(out.ptr<T>());
  const Temporary memory(static_cast<size_t>(out.numel) * sizeof(T));
  fn(static_cast<T*>(memory.data()));
  const Dims strides = contiguous_strides(out.shape());
  Array from = out;
  from.data = memory.data();
  from.strides = strides.data();
  from.dtype = dtype_v<T>;
  from.contiguous = true;
  copy(from, out);
}

template <class T>
constexpr bool is_computed =
    !std::is_same_v<T, bool> && !std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>;

/// Calls fn with a value of the type that this dtype is computed in.
template <class F>
void dispatch_computed(DType dtype, const F& fn) {
  TANDEM_ASSERT(dtype != kBool, "convolution of bool");
  dispatch(dtype, [&]<class T>(T) {
    if constexpr (is_computed<T>)
      fn(T());
    else
      fn(float());
  });
}

bool worth_a_library(const ConvForm& f) {
  const int64_t products =
      f.batch * f.out_channels * f.out_numel() * (f.in_channels / f.groups) * f.kernel_numel();
  return products > kSmall && !deterministic_algorithms();
}

}  // namespace

void conv_forward(const ConvForm& f, const Array& x, const Array& w, const Array* bias,
                  const Array& y) {
  if (y.numel == 0) return;
  dispatch_computed(y.dtype, [&]<class T>(T) {
    const Dense dx(x, dtype_v<T>), dw(w, dtype_v<T>), db(bias ? *bias : w, dtype_v<T>);
    const T* b = bias ? db.template ptr<T>() : nullptr;
    into<T>(y, [&](T* out) {
      if constexpr (std::is_same_v<T, float>)
        if (worth_a_library(f) &&
            detail::dnnl_conv(ConvPart::y, f, dx.template ptr<T>(), dw.template ptr<T>(), b, out))
          return;
      product_forward<T>(in_3d(f), dx.template ptr<T>(), dw.template ptr<T>(), b, out);
    });
  });
}

void conv_input(const ConvForm& f, const Array& y, const Array& w, const Array* bias,
                const Array& x) {
  if (x.numel == 0) return;
  dispatch_computed(x.dtype, [&]<class T>(T) {
    const Dense dy(y, dtype_v<T>), dw(w, dtype_v<T>), db(bias ? *bias : w, dtype_v<T>);
    const T* b = bias ? db.template ptr<T>() : nullptr;
    into<T>(x, [&](T* out) {
      if constexpr (std::is_same_v<T, float>)
        if (worth_a_library(f) && detail::dnnl_conv(ConvPart::x, f, dy.template ptr<T>(),
                                                    dw.template ptr<T>(), nullptr, out)) {
          if (!b) return;
          const int64_t size = f.in_numel();
          const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, size));
          parallel_for(0, f.batch * f.in_channels, grain, [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c)
              for (int64_t i = 0; i < size; ++i) out[c * size + i] += b[c % f.in_channels];
          });
          return;
        }
      product_input<T>(in_3d(f), dy.template ptr<T>(), dw.template ptr<T>(), b, out);
    });
  });
}

void conv_weight(const ConvForm& f, const Array& x, const Array& y, const Array& w) {
  if (w.numel == 0) return;
  dispatch_computed(w.dtype, [&]<class T>(T) {
    const Dense dx(x, dtype_v<T>), dy(y, dtype_v<T>);
    into<T>(w, [&](T* out) {
      if constexpr (std::is_same_v<T, float>)
        if (worth_a_library(f) && detail::dnnl_conv(ConvPart::w, f, dx.template ptr<T>(),
                                                    dy.template ptr<T>(), nullptr, out))
          return;
      product_weight<T>(in_3d(f), dx.template ptr<T>(), dy.template ptr<T>(), out);
    });
  });
}

void im2col(const ConvForm& f, const Array& x, const Array& columns) {
  if (columns.numel == 0) return;
  const ConvForm g = in_3d(f);
  const int64_t positions = g.out_numel();
  dispatch(x.dtype, [&]<class T>(T) {
    const Dense from(x, dtype_v<T>);
    into<T>(columns, [&](T* to) {
      take_columns(g, from.template ptr<T>(), g.batch * g.in_channels, 0, positions, to, positions);
    });
  });
}

void col2im(const ConvForm& f, const Array& columns, const Array& x) {
  if (x.numel == 0) return;
  const ConvForm g = in_3d(f);
  const int64_t positions = g.out_numel();
  dispatch_computed(x.dtype, [&]<class T>(T) {
    const Dense from(columns, dtype_v<T>);
    into<T>(x, [&](T* to) {
      std::fill_n(to, x.numel, T(0));
      put_columns(g, from.template ptr<T>(), positions, g.batch * g.in_channels, 0, positions, to);
    });
  });
}

}  // namespace tandem::kernels
